package messages_test

import (
	"testing"

	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, messages.Codec{}, llmtest.Options{
		Systems: 3,
		Reasonings: []llm.ReasoningOptions{
			{Effort: "none"}, {Effort: "low"}, {Effort: "medium", Show: "auto"}, {Effort: "high", Show: "omitted"}, {Effort: "xhigh"},
			{Effort: "max"}, {Budget: "1024"}, {Budget: "5000", Show: "omitted"}, {Budget: "-1", Show: "auto"}, {Effort: "high", Budget: "-1"},
			{Effort: "low", Budget: "30000"},
		},
		Strict:      true,
		ResultError: true,
		ResultParts: true,
		Stops: []llm.Stop{
			llm.StopEnd, llm.StopSequence, llm.StopLength, llm.StopContextFull, llm.StopRefusal, llm.StopPause,
		},
		Interleaved: true,
		Signed:      true,
		Canon:       canon,
	})
}

// canon takes away what the style says in another way: thinking goes with its own sampling, a format has no name, and
// a choice is said whenever one call at most is.
func canon(r *llm.Request) {
	r.Format.Strict = nil
	o := &r.Reasoning
	if inTheMiddle(r.Turns) && o.Budget != "-1" && o.Effort != "none" {
		o.Budget, o.Show = "", ""
		r.Sampling = llm.Sampling{}
	}
	if o.Effort == "max" {
		o.Budget = "" // Half of a small output limit is less than the budget of this effort.
	}
	if o.Effort != "none" && *o != (llm.ReasoningOptions{}) {
		r.Sampling.Temperature, r.Sampling.TopK = "", ""
		if r.Sampling.TopP != "1" {
			r.Sampling.TopP = ""
		}
	}
	if r.Parallel != nil && r.Choice.Mode == llm.ChooseUnset {
		r.Choice.Mode = llm.ChooseAuto
	}
}

// inTheMiddle reports whether a request goes on with tools that were called without a thought.
func inTheMiddle(turns []llm.Turn) bool {
	first := llm.Part{Kind: llm.Reasoning}
	for i := len(turns) - 1; i > 0 && turns[i].Role == llm.User && turns[i].Parts[0].Kind == llm.Result; i -= 2 {
		first = turns[i-1].Parts[0]
	}
	return first.Kind != llm.Reasoning
}
