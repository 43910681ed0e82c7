package responses_test

import (
	"testing"

	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, responses.Codec{}, llmtest.Options{
		Systems:     3,
		LateSystem:  true,
		Reasonings:  []llm.ReasoningOptions{{Effort: "low"}, {Effort: "high", Show: "auto"}, {Show: "detailed"}, {Effort: "none"}},
		Verbosities: []string{"low", "medium", "high"},
		Strict:      true,
		FormatName:  true,
		ResultParts: true,
		Groups:      true,
		Stops:       []llm.Stop{llm.StopEnd, llm.StopLength, llm.StopFilter},
		Interleaved: true,
		Refusals:    true,
	})
}
