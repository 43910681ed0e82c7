package protocols

import (
	"fmt"
	"net/http"
	"testing"

	"umg/e2e/harness"
)

// TestThinkingReachesModelsOfBothForms calls two models whose provider refuses one form of thinking each, as real ones do, with clients
// that always send the same: all are answered, and the conversion is listed. A strict key is refused.
func TestThinkingReachesModelsOfBothForms(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	g.AddModels(t,
		harness.Model{ID: "test/adaptive-thinker", UpstreamModel: "m+thinking=adaptive", Style: "messages", Extra: harness.EveryStyle + "    thinking: [adaptive, effort]\n"},
		harness.Model{ID: "test/budget-thinker", UpstreamModel: "m+thinking=enabled;no-effort", Style: "messages", Extra: harness.EveryStyle + "    thinking: [enabled]\n"})
	c := g.NewCustomer(t, "thinks")
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
		p := harness.Styles[want.style]
		body := p.Request("test/"+want.model+"-thinker", "echo: x", want.members)
		answer, a := p.Complete(t, c, body)
		if got := a.Header.Get("X-Gateway-Dropped"); answer.Text != "x" || got != want.dropped {
			t.Errorf("%s: answered %q, listed %q", body, answer.Text, got)
		}
		if a := p.Send(t, c, body, "X-Dry-Run", "1"); a.Status != http.StatusOK || a.Header.Get("X-Gateway-Dropped") != want.dropped {
			t.Errorf("%s: a dry run is answered with %d, and lists %q", body, a.Status, a.Header.Get("X-Gateway-Dropped"))
		}
	}
	strict := g.NewCustomer(t, "thinks-strictly")
	strict.SetStrict(t)
	for model, members := range map[string]string{"adaptive": enabled, "budget": adaptive} {
		p := harness.Styles["messages"]
		p.CheckError(t, p.Send(t, strict, p.Request(fmt.Sprintf("test/%s-thinker", model), "echo: x", members)), "invalid", "", "thinking.type")
	}
}
