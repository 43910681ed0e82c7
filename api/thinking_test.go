package api_test

import (
	"net/http"
	"strings"
	"testing"

	"umg/app/apikey"
)

// thinkers are models that take one form of thinking each.
var thinkers = strings.ReplaceAll(`
providers:
  - {id: up, name: Up, base_url: "http://127.0.0.1:9/v1"}
models:
  - {id: test/adaptive, thinking: [adaptive, effort], THINKS [{provider: up, model: a, style: messages}]}
  - {id: test/budget, thinking: [enabled], THINKS [{provider: up, model: b, style: messages}]}
`, "THINKS", strings.Replace(cheap, "parameters: [temperature]", "parameters: [reasoning_effort]", 1))

// TestTheFormOfThinkingIsListedOrRefused reads in a dry run which form of thinking goes to the model. A strict key is refused for the other
// form.
func TestTheFormOfThinkingIsListedOrRefused(t *testing.T) {
	t.Parallel()
	withThinkers := withModels(t, thinkers)
	h := setup(t, func(p *plan) {
		withThinkers(p)
		p.text.Snapshot = p.api.Catalog.Snapshot
	})
	_, lenient := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	_, strict := h.key(apikey.Spec{ErrorMode: apikey.Standard, Strict: true})
	const enabled, adaptive = `,"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}`, `,"max_tokens":4000,"thinking":{"type":"adaptive"}`
	for _, c := range []struct{ model, members, listed string }{
		{"test/adaptive", enabled, "thinking.type=enabled->adaptive"}, {"test/adaptive", adaptive, ""},
		{"test/budget", adaptive, "thinking.type=adaptive->enabled"}, {"test/budget", enabled, ""},
	} {
		send := func(secret string) reply {
			return h.call("POST", "/v1/messages", ask(c.model, c.members), append(bearer(secret), "X-Dry-Run", "1")...)
		}
		if a := send(lenient); a.status != http.StatusOK || a.header.Get("X-Gateway-Dropped") != c.listed {
			t.Errorf("%s%s: %d %s, listed %q", c.model, c.members, a.status, a.body, a.header.Get("X-Gateway-Dropped"))
		}
		if a := send(strict); (a.status == http.StatusBadRequest) != (c.listed != "") || c.listed != "" && !strings.Contains(a.body, "thinking.type") {
			t.Errorf("%s%s with a strict key: %d %s", c.model, c.members, a.status, a.body)
		}
	}
}
