package native_test

import (
	"testing"

	"umg/app/dialect/native"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// options say what this wire keeps apart. A tool result has one text here, and nothing tells a strict tool.
var options = llmtest.Options{
	Systems: 1, SystemParts: 3,
	Reasonings: []llm.ReasoningOptions{
		{Budget: "0"}, {Budget: "-1", Show: "auto"}, {Budget: "1024", Show: "auto"}, {Budget: "24576", Show: "omitted"}, {Show: "auto"},
	},
	ResultError:  true,
	Stops:        []llm.Stop{llm.StopEnd, llm.StopLength, llm.StopFilter, llm.StopOther},
	NoCacheWrite: true,
	Interleaved:  true,
}

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, native.Codec{}, options)
}

func TestTheCodecKeepsTheLawsWhereAllReasoningIsSigned(t *testing.T) {
	t.Parallel()
	signed := options
	signed.Signed = true
	llmtest.Laws(t, native.Codec{}, signed)
}
