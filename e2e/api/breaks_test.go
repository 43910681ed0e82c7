package api

import (
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// streamBreak is a way for a stream to break off, with the kind of error that a client reads and the reason in the ledger.
type streamBreak struct{ does, as, outcome string }

var streamBreaks = []streamBreak{
	{"cut-after=6t", "upstream", "cut"},
	{"reset-after=6t", "upstream", "cut"},
	{"error-after=6t", "upstream", "cut"},
	{"end-after=6t", "upstream", "cut"},
	{"stall-after=6t", "timeout", "timed_out"},
}

// lateKinds are the words of an error inside a stream. The responses style has no word for a time-out there.
var lateKinds = map[string]map[string]string{
	"chat":      {"upstream": "server_error", "timeout": "server_error"},
	"messages":  {"upstream": "api_error", "timeout": "timeout_error"},
	"responses": {"upstream": "server_error", "timeout": "server_error"},
	"native":    {"upstream": "INTERNAL", "timeout": "DEADLINE_EXCEEDED"},
}

// TestAPIChecklistStreamsThatBreak breaks streams of every upstream style in the middle, for clients of every style:
// each gets what came and one error in its own words, no end is invented, and what came is charged as an estimate.
func TestAPIChecklistStreamsThatBreak(t *testing.T) {
	t.Parallel()
	k := &checklist{Customer: harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "breaks")}
	k.SetLimits(t, 1000)
	k.speaking(t)
	for _, p := range harness.AllStyles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for upstream, id := range k.speaks {
				for _, b := range streamBreaks {
					// This case waits for a timeout and is the same for all pairs of styles, so one pair is enough.
					if b.does == "stall-after=6t" && upstream != p.Name {
						continue
					}
					b.isTold(t, k, p, id)
				}
			}
		})
	}
}

func (b streamBreak) isTold(t *testing.T, k *checklist, p harness.Style, id string) {
	t.Helper()
	a := p.Send(t, k.Customer, p.Request(id, "simulate: "+b.does+"\ncount to 50", `"stream":true`))
	if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s of %s: %d %v %s", b.does, id, a.Status, a.Header, a.Body)
	}
	all := p.Frames(t, a.Body)
	if kind := p.ReadStreamError(t, all); kind != lateKinds[p.Name][b.as] {
		t.Errorf("%s of %s: the kind is %s", b.does, id, kind)
	}
	if text := p.Text(t, all[:len(all)-1]); !strings.HasPrefix(text, "1 2 3") || strings.Contains(text, "8") {
		t.Errorf("%s of %s: the text is %q", b.does, id, text)
	}
	if r := k.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost == 0 || r.Cost > r.Reserved || !r.Estimated || r.Outcome != b.outcome || r.Output > 8 || r.Output < 3 {
		t.Errorf("%s of %s: the record is %+v", b.does, id, r)
	}
}
