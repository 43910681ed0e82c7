package cohere_test

import (
	"slices"
	"strings"
	"testing"

	"umg/app/dialect/cohere"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, cohere.Codec{}, llmtest.Options{
		Systems: 3, LateSystem: true, Unsigned: true, NoCacheRead: true, NoCacheWrite: true, NoThoughts: true,
		Reasonings: []llm.ReasoningOptions{{Effort: "none"}, {Budget: "1024"}, {Budget: "5000"}, {Budget: "-1"}},
		Stops:      []llm.Stop{llm.StopEnd, llm.StopLength, llm.StopContextFull, llm.StopFilter},
		Canon:      canon,
	})
}

// canon takes away what the style says in another way: the bounds of some numbers, and a choice of one tool, which is the only tool then.
func canon(r *llm.Request) {
	switch s := &r.Sampling; s.TopP {
	case "0":
		s.TopP = "0.01"
	case "1":
		s.TopP = "0.99"
	}
	r.Sampling.Seed = llm.Number(strings.TrimPrefix(string(r.Sampling.Seed), "-"))
	if names := r.Choice.Names; len(names) > 0 {
		r.Tools = slices.DeleteFunc(r.Tools, func(t llm.Tool) bool { return !slices.Contains(names, t.Name) })
		r.Choice.Names = nil
	}
	if r.Choice.Mode == llm.ChooseAuto {
		r.Choice.Mode = llm.ChooseUnset
	}
}
