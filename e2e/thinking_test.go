package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestThinkingReachesModelsOfBothForms calls two models whose provider refuses one form of thinking each, as real ones do, with clients
// that always send the same: all are answered, and the conversion is listed. A strict key is refused.
func TestThinkingReachesModelsOfBothForms(t *testing.T) {
	t.Parallel()
	g := start(t, "--token-interval", "0s")
	g.addModels(t,
		model{id: "test/adaptive-thinker", upstream: "m+thinking=adaptive", speaks: "messages", more: everything + "    thinking: [adaptive, effort]\n"},
		model{id: "test/budget-thinker", upstream: "m+thinking=enabled;no-effort", speaks: "messages", more: everything + "    thinking: [enabled]\n"})
	c := g.newCustomer(t, "thinks")
	const (
		enabled  = `"max_tokens":8000,"thinking":{"type":"enabled","budget_tokens":4000}`
		adaptive = `"max_tokens":8000,"thinking":{"type":"adaptive"}`
	)
	for _, want := range []struct{ style, model, members, dropped string }{
		{"messages", "adaptive", enabled, "thinking.type=enabled->adaptive"},
		{"messages", "adaptive", adaptive, ""},
		{"messages", "budget", enabled, ""},
		{"messages", "budget", adaptive, "thinking.type=adaptive->enabled"},
		{"messages", "budget", adaptive + `,"output_config":{"effort":"low"}`, "output_config.effort,thinking.type=adaptive->enabled"},
		{"messages", "budget", `"max_tokens":500,"thinking":{"type":"adaptive"}`, "thinking"},
		{"chat", "adaptive", `"reasoning_effort":"high"`, ""}, {"chat", "budget", `"reasoning_effort":"high"`, ""},
		{"responses", "adaptive", `"reasoning":{"effort":"low"}`, ""}, {"responses", "budget", `"reasoning":{"effort":"low"}`, ""},
		{"native", "adaptive", `"generationConfig":{"thinkingConfig":{"thinkingBudget":2048}}`, ""},
		{"native", "budget", `"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`, ""},
	} {
		p := protocols[want.style]
		body := p.ask("test/"+want.model+"-thinker", "echo: x", want.members)
		answer, a := p.answers(t, c, body)
		if got := a.header.Get("X-Gateway-Dropped"); answer.text != "x" || got != want.dropped {
			t.Errorf("%s: answered %q, listed %q", body, answer.text, got)
		}
		if a := p.send(t, c, body, "X-Dry-Run", "1"); a.status != http.StatusOK || a.header.Get("X-Gateway-Dropped") != want.dropped {
			t.Errorf("%s: a dry run is answered with %d, and lists %q", body, a.status, a.header.Get("X-Gateway-Dropped"))
		}
	}
	strict := g.newCustomer(t, "thinks-strictly")
	strict.setStrict(t)
	for model, members := range map[string]string{"adaptive": enabled, "budget": adaptive} {
		p := protocols["messages"]
		p.fails(t, p.send(t, strict, p.ask(fmt.Sprintf("test/%s-thinker", model), "echo: x", members)), "invalid", "", "thinking.type")
	}
}
