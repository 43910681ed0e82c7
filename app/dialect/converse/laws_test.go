package converse_test

import (
	"testing"

	"umg/app/dialect/converse"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, converse.Codec{}, llmtest.Options{
		Systems: 3, Strict: true, FormatName: true, ResultError: true, ResultParts: true, Interleaved: true, Signed: true, NoThoughts: true,
		Stops: []llm.Stop{llm.StopEnd, llm.StopSequence, llm.StopLength, llm.StopContextFull, llm.StopFilter},
		Canon: canon,
	})
}

// canon takes away what the style says in another way. A format is always strict. A request that offers no tools, or forbids their use,
// has none, and has calls as text.
func canon(r *llm.Request) {
	r.Format.Strict = nil
	if r.Choice.Mode == llm.ChooseNone {
		r.Choice, r.Tools = llm.ToolChoice{}, nil
	}
	if len(r.Tools) == 0 {
		r.Turns = nil
	}
}
