package modelstatus

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/billing/usage"
)

func TestHealthNeedsTwentyCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		succeeded, failed int64
		want              State
	}{
		{0, 0, Available}, {0, 19, Available}, {18, 2, Failing}, {19, 1, Degraded}, {20, 0, Available}, {991, 9, Available}, {990, 10, Degraded},
		{1182, 22, Degraded}, {901, 99, Degraded}, {900, 100, Failing},
	} {
		if got := (Health{c.succeeded, c.failed}).state(); got != c.want {
			t.Errorf("%d of %d: %s, want %s", c.succeeded, c.succeeded+c.failed, got, c.want)
		}
	}
}

const statusCatalog = `
providers:
  - {id: one, base_url: "http://one.test/v1"}
  - {id: two, base_url: "http://two.test/v1"}
  - {id: off, base_url: "${UNSET}/v1"}
models:
  - {id: a/main, fallbacks: [a/backup], ROUTES [{provider: one, model: x, style: chat, order: 1}, {provider: two, model: x, style: chat, order: 2}]}
  - {id: a/backup, ROUTES [{provider: two, model: y, style: chat}]}
  - {id: a/like, ROUTES [{provider: two, model: z, style: chat}]}
  - {id: a/unserved, ROUTES [{provider: off, model: x, style: chat}]}
  - {id: a/stopped, paused: true, notice: Being moved., ROUTES [{provider: one, model: w, style: chat}]}
  - {id: a/coming, availability: coming, ROUTES [{provider: one, model: v, style: chat}]}
  - {id: a/gone, deprecated: 2026-01-02, shutdown: 2026-02-03, successor: a/like, ROUTES [{provider: one, model: u, style: chat}]}
`

// TestOneVerdictOfCatalogPausesRoutesAndCalls judges a model in every state, and names what to use instead.
func TestOneVerdictOfCatalogPausesRoutesAndCalls(t *testing.T) {
	t.Parallel()
	s := snapshotOf(t, statusCatalog)
	monitor := health.New(health.Options{Now: time.Now, Random: rand.IntN})
	stats := map[string]usage.ModelStats{"a/like": {Answered: 985, Failed: 15}}
	var failure error
	service := New(Options{Now: time.Now, Health: monitor, Stats: func(context.Context) (map[string]usage.ModelStats, error) { return stats, failure }})
	judge := func(id string, want State, instead ...string) Verdict {
		t.Helper()
		v := service.Board(t.Context(), s).Of(id)
		if v.State != want || len(v.Instead) != len(instead) {
			t.Errorf("%s is %s with %v, want %s with %v", id, v.State, v.Instead, want, instead)
			return v
		}
		for i, m := range v.Instead {
			if m.ID != instead[i] {
				t.Errorf("%s: %s instead, want %s", id, m.ID, instead[i])
			}
		}
		return v
	}
	judge("a/main", Available)
	judge("a/like", Degraded)
	judge("a/unserved", Unserved, "a/backup", "a/like")
	if v := judge("a/stopped", Paused, "a/backup", "a/like"); v.Reason != "Being moved." {
		t.Errorf("the reason is %q", v.Reason)
	}
	judge("a/coming", Coming)
	judge("a/gone", Ended, "a/like")
	judge("no/such", Ended)

	stats = map[string]usage.ModelStats{"a/main": {Answered: 80, Failed: 20}, "a/backup": {Answered: 1, Failed: 99}}
	judge("a/main", Failing, "a/like")
	failure, stats = errors.New("the store is away"), nil
	judge("a/main", Failing, "a/like")
	failure = nil
	eject(t, monitor, s, "a/backup")
	if v := judge("a/backup", Failing, "a/like", "a/main"); !v.NoRoute {
		t.Error("all routes are ejected")
	}
	eject(t, monitor, s, "a/main")
	judge("a/main", Failing, "a/like")

	// The short list of every page agrees with the board.
	var want, got []string
	board := service.Board(t.Context(), s)
	for _, m := range s.Models() {
		if state := board.Of(m.ID).State; state == Paused || state == Failing {
			want = append(want, m.ID+" "+string(state))
		}
	}
	for _, one := range service.Troubled(t.Context(), s, 10) {
		got = append(got, one.Model.ID+" "+string(one.State))
	}
	if len(want) < 3 || !slices.Equal(got, want) {
		t.Errorf("troubled models are %v, want %v", got, want)
	}
	if first := service.Troubled(t.Context(), s, 1); len(first) != 1 {
		t.Errorf("%d models, want 1", len(first))
	}
}

// eject fails attempts on all routes of a model until each is ejected.
func eject(t *testing.T, monitor *health.Monitor, s *catalog.Snapshot, id string) {
	t.Helper()
	const attemptsMax = 100
	m, _ := s.Model(id)
	for i := range m.Routes {
		for range attemptsMax {
			try, block := monitor.Begin(&m.Routes[i], false)
			if block == health.Ejected {
				break
			}
			try.End(&provider.Fault{Class: provider.ClassServer, Status: 500}, 0)
		}
		if monitor.Blocked(&m.Routes[i]) != health.Ejected {
			t.Fatalf("route %d of %s is not ejected", i, id)
		}
	}
}

// snapshotOf is the snapshot of a catalog file in which ROUTES stands for all that the models share.
func snapshotOf(t *testing.T, file string) *catalog.Snapshot {
	t.Helper()
	const common = `name: Test, owner: a, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 128000,
     max_output_tokens: 4096, released: 2026-01-01, rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M}, routes:`
	f, err := catalog.ParseFile([]byte(strings.ReplaceAll(file, "ROUTES", common)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := catalog.NewSnapshot(f, catalog.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: func(string) (string, bool) { return "", false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
