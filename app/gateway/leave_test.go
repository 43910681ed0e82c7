package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

var errGone = errors.New("broken pipe")

func TestAClientThatIsGoneAlreadyReachesNoUpstream(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r, err := b.gateway.Generate(ctx, b.call("test/two", "hi", streamed), &sink{})
	if e := app.AsError(err); e == nil || e.Kind != app.Canceled || r.Attempts != 0 || len(b.sim.Requests()) != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	if got := b.balance().Posted; got != startMoney || b.reserved() != 0 {
		t.Errorf("posted %s", got)
	}
}

func TestAClientThatLeavesMidwayPaysWhatCame(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"context", "write"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := setup(t, startMoney)
			b.fault("alpha", "stall-after=10t")
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s, writes := &sink{}, 0
			s.hook = func(p []byte) error {
				if writes++; strings.Contains(string(p), `" 5"`) || writes > 1 {
					if how == "write" && writes > 1 {
						return errGone
					}
					if how == "context" {
						leave()
					}
				}
				return nil
			}
			if how == "write" {
				b.fault("alpha", "pace=20ms")
			}
			r, err := b.gateway.Generate(ctx, b.call("test/one", "count to 60", streamed), s)
			must(t, err)
			if r.Outcome != "client_left" || !r.Estimated || r.Usage[3] == 0 || r.Usage[3] > 59 || r.Cost == 0 || r.Err.Kind != app.Canceled {
				t.Errorf("report %+v", r)
			}
			b.settled(r.Cost)
			if up := b.finished(1); !up[0].ClientLeft {
				t.Error("the upstream was not told")
			}
		})
	}
}

func TestAClientThatCannotBeWrittenToAtAllPaysWhatCame(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	s := &sink{hook: func([]byte) error { return errGone }}
	r, err := b.gateway.Generate(t.Context(), b.call("test/one", "count to 60", streamed), s)
	must(t, err)
	if whole := r.Reason == billing.ReasonClientLeftAtEnd && r.Usage[3] == 60; r.Outcome != "client_left" || r.Usage[3] == 0 || r.Usage[3] > 60 ||
		!whole && (r.Reason != billing.ReasonClientLeftWaiting || !r.Estimated) {
		t.Errorf("report %+v", r)
	}
	b.settled(r.Cost)
}

func TestAClientThatLeavesBeforeTheEndPaysTheWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	s := &sink{hook: func(p []byte) error {
		if strings.Contains(string(p), "[DONE]") {
			return errGone
		}
		return nil
	}}
	r, err := b.gateway.Generate(t.Context(), b.call("test/one", "count to 60", streamed), s)
	must(t, err)
	if r.Outcome != "client_left" || r.Usage[3] != 60 || r.Estimated {
		t.Errorf("report %+v", r)
	}
	b.settled(r.Cost)
}

func TestWithoutAStoreNoStreamEndsAndNoChargeIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	s := &sink{hook: func([]byte) error { b.line.cut(); return nil }}
	r, err := b.gateway.Generate(t.Context(), b.call("test/one", "count to 60", withUsage), s)
	must(t, err)
	a := readStream(t, s.text())
	if a.err == nil || a.err.Error.Code != "service_unavailable" || a.err.Code != 503 || a.finish != "" || !a.done || a.frames != 60 {
		t.Fatalf("err %+v, finish %q, %d frames", a.err, a.finish, a.frames)
	}
	if a.usage == nil || a.usage.Completion != 60 || a.usage.cost(t) != r.Cost { // The call is charged once the store is reachable.
		t.Errorf("told of %+v, charged %s", a.usage, r.Cost)
	}
	b.line.mend()
	if r.Cost == 0 || b.manager.Stats().Kept != 1 {
		t.Error("what was delivered is forgotten")
	}
	b.drained()
	b.settled(r.Cost)
}

func TestWithoutAStoreNoBodyIsSentAndNothingCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.control(http.MethodPost, "hold", nil)
	go func() {
		b.control(http.MethodGet, "waiting?at_least=1&timeout=5s", nil)
		b.line.cut()
		b.control(http.MethodPost, "release", nil)
	}()
	r, s, err := b.generate(b.call("test/patient", "count to 60", ""))
	if e := app.AsError(err); e == nil || e.Kind != app.Unavailable || s.status != 0 || r.Cost != 0 {
		t.Errorf("%v, status %d, cost %s", err, s.status, r.Cost)
	}
	b.line.mend()
	b.drained()
	if got := b.balance().Posted; got != startMoney || b.reserved() != 0 {
		t.Errorf("posted %s and reserved %s", got, b.reserved())
	}
}

func TestWithoutAStoreNothingIsSentUpstream(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.line.cut()
	_, _, err := b.generate(b.call("test/patient", "count to 60", ""))
	if e := app.AsError(err); e == nil || e.Kind != app.Unavailable || e.RetryAfter == 0 || len(b.sim.Requests()) != 0 {
		t.Errorf("%v", err)
	}
}

// drained waits until the books have everything.
func (b *bench) drained() {
	b.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for b.manager.Stats().Kept+int(b.manager.Stats().Unapplied) > 0 && time.Now().Before(deadline) {
		// The test polls the lease manager, which sends no signal when it has applied a settlement.
		time.Sleep(5 * time.Millisecond)
	}
}
