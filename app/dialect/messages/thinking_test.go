package messages_test

import (
	"strings"
	"testing"

	"umg/app/llm"
)

// TestEncodeWritesThinkingInTheFormThatTheModelTakes encodes thinking in the form that the model takes, whatever form the client's style
// has.
func TestEncodeWritesThinkingInTheFormThatTheModelTakes(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	var (
		adaptive = llm.ThinkingForms{NoBudget: true}
		newest   = llm.ThinkingForms{NoBudget: true, Efforts: []llm.Effort{"none", "low", "high", "max"}}
		bare     = llm.ThinkingForms{NoBudget: true, NoEffort: true}
		budget   = llm.ThinkingForms{NoAdaptive: true}
		oldest   = llm.ThinkingForms{NoAdaptive: true, NoEffort: true}
		none     = llm.ThinkingForms{NoBudget: true, NoAdaptive: true, NoEffort: true}
	)
	for _, c := range []struct {
		forms  llm.ThinkingForms
		asked  llm.ReasoningOptions
		output int64
		want   string
	}{
		{adaptive, llm.ReasoningOptions{Effort: "high"}, 5000, `,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{adaptive, llm.ReasoningOptions{Effort: "low"}, 500, `,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`},
		{adaptive, llm.ReasoningOptions{Budget: "2048", Show: "auto"}, 5000,
			`,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}`},
		{adaptive, llm.ReasoningOptions{Budget: "-1"}, 5000, `,"thinking":{"type":"adaptive"}`},
		{adaptive, llm.ReasoningOptions{Budget: "0"}, 5000, `,"thinking":{"type":"disabled"}`},
		{adaptive, llm.ReasoningOptions{Effort: "none"}, 5000, `,"thinking":{"type":"disabled"}`},
		{newest, llm.ReasoningOptions{Budget: "2048"}, 5000, `,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`},
		{newest, llm.ReasoningOptions{Budget: "60000"}, 64000, `,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{bare, llm.ReasoningOptions{Effort: "high"}, 5000, `,"thinking":{"type":"adaptive"}`},
		{bare, llm.ReasoningOptions{Budget: "2048"}, 5000, `,"thinking":{"type":"adaptive"}`},
		{budget, llm.ReasoningOptions{Budget: "-1"}, 5000, `,"thinking":{"type":"enabled","budget_tokens":2500}`},
		{budget, llm.ReasoningOptions{Budget: "-1", Effort: "low"}, 5000,
			`,"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low"}`},
		{budget, llm.ReasoningOptions{Budget: "-1"}, 1025, `,"thinking":{"type":"enabled","budget_tokens":1024}`},
		{budget, llm.ReasoningOptions{Budget: "-1"}, 1024, ``},
		{budget, llm.ReasoningOptions{Effort: "high"}, 5000, `,"thinking":{"type":"enabled","budget_tokens":2500},"output_config":{"effort":"high"}`},
		{oldest, llm.ReasoningOptions{Effort: "high"}, 5000, `,"thinking":{"type":"enabled","budget_tokens":2500}`},
		{none, llm.ReasoningOptions{Effort: "high"}, 5000, ``},
		{none, llm.ReasoningOptions{Budget: "-1"}, 5000, ``},
	} {
		got := encode(t, s, &llm.Request{Reasoning: c.asked, MaxOutput: c.output, Thinking: c.forms})
		if _, rest, _ := strings.Cut(got, `"text":"hi"}]}]`); rest != c.want+"}" {
			t.Errorf("%+v of a model with %+v: %s\nwant %s}", c.asked, c.forms, rest, c.want)
		}
	}
}
