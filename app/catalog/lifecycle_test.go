package catalog

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
)

// endingFile is smallFile with a second text model whose days are counted.
func endingFile(t testing.TB) string {
	t.Helper()
	return with(t, "  - id: acme/film:fast", `  - id: acme/old
    name: Old
    owner: acme
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    rates: {input_tokens: 0.15 per 1M, output_tokens: 0.60 per 1M}
    released: 2025-05-01
    deprecated: 2026-12-01
    shutdown: 2027-06-01
    successor: acme/one
    routes:
      - {provider: north, model: old, style: chat}
  - id: acme/film:fast`)
}

func TestAModelThatWillGoSaysWhen(t *testing.T) {
	t.Parallel()
	s := snapshotFrom(t, parse(t, endingFile(t)))
	m, _ := s.Model("acme/old")
	got := map[string]string{}
	for _, h := range m.LifecycleHeaders() {
		got[h.Name] = h.Value
	}
	if len(got) != 3 || got["Deprecation"] != "@1796083200" || got["Sunset"] != "Tue, 01 Jun 2027 00:00:00 GMT" ||
		got["Link"] != `</v1/model/api.md?model=acme/old>; rel="deprecation"; type="text/markdown", </v1/models/acme/one>; rel="successor-version"` {
		t.Errorf("headers %v", got)
	}
	if at, err := http.ParseTime(got["Sunset"]); err != nil || !at.Equal(*m.ShutdownAt) {
		t.Errorf("Sunset is %v, %v", at, err)
	}
	var e map[string]any
	if err := json.Unmarshal(m.ListEntry(), &e); err != nil || e["deprecated_at"] != "2026-12-01T00:00:00Z" || e["deprecation_date"] != "2026-12-01" ||
		e["shutdown_date"] != "2027-06-01" || e["successor"] != "acme/one" {
		t.Errorf("%s, %v", m.ListEntry(), err)
	}
	if one, _ := s.Model("acme/one"); len(one.LifecycleHeaders()) != 0 || one.Ended(time.Now().AddDate(100, 0, 0)) != nil {
		t.Error("a model that stays has a last day")
	}
}

func TestAModelEndsAtItsHour(t *testing.T) {
	t.Parallel()
	end := time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)
	for at, over := range map[time.Time]bool{end.Add(-time.Nanosecond): false, end: true, end.AddDate(1, 0, 0): true} {
		s := snapshotAt(t, parse(t, endingFile(t)), at)
		m, ok := s.Model("acme/old")
		if !ok {
			t.Fatal("the model is unknown")
		}
		err := m.Ended(at)
		if (err != nil) != over || strings.Contains(string(s.List(nil)), "acme/old") == over ||
			strings.Contains(string(s.List(func(string) bool { return true })), "acme/old") == over {
			t.Errorf("at %s: %v\n%s", at, err, s.List(nil))
		}
		if e := app.AsError(err); over && (e.Kind != app.NotFound || e.Code != "model_not_found" || e.Param != "model" ||
			e.Message != "The model acme/old was shut down on 1 June 2027. Its successor is acme/one.") {
			t.Errorf("%+v", e)
		}
		if s.hasNewlyEnded(end.AddDate(2, 0, 0)) == over {
			t.Errorf("a snapshot of %s does not know when it is out of date", at)
		}
	}
}

func TestTheListForgetsAModelThatEndsWithoutAChange(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if err := Apply(t.Context(), db, parse(t, endingFile(t))); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2027, 5, 31, 23, 59, 59, 0, time.UTC)
	c, err := Open(t.Context(), db, Options{Now: func() time.Time { return now }, Secrets: lookup, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot()
	now = now.Add(time.Second)
	if err := c.reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := c.Snapshot()
	if after == before || after.Version() != before.Version() || strings.Contains(string(after.List(nil)), "acme/old") || after.ETag() == before.ETag() {
		t.Errorf("the list is still %s", after.List(nil))
	}
	if err := c.reload(t.Context()); err != nil || c.Snapshot() != after {
		t.Errorf("the document is rebuilt at each request: %v", err)
	}
}

func TestSuccessorsAreModelsOfTheFile(t *testing.T) {
	t.Parallel()
	for successor, says := range map[string]string{"acme/none": "is not a model of this file", "acme/old": "is the model itself"} {
		f := parse(t, strings.Replace(endingFile(t), "successor: acme/one", "successor: "+successor, 1))
		all := Check(f)
		if len(all) != 1 || !strings.Contains(all[0].Error(), "models[1].successor") || !strings.Contains(all[0].Error(), says) {
			t.Errorf("%s: %v", successor, all)
		}
	}
	f := parse(t, with(t, "owner: acme", "owner: acme\n    successor: acme/film:fast"))
	if all := Check(f); len(all) != 1 || !strings.Contains(all[0].Error(), "never leaves") {
		t.Errorf("a successor of a model that stays: %v", all)
	}
}
