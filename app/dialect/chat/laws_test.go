package chat_test

import (
	"testing"

	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestTheCodecKeepsTheLaws(t *testing.T) {
	t.Parallel()
	llmtest.Laws(t, chat.Codec{}, llmtest.Options{
		Systems: 3, SystemParts: 3, LateSystem: true, Strict: true, FormatName: true, ResultParts: true, Refusals: true,
		Verbosities: []string{"low", "medium", "high"},
		Reasonings: []llm.ReasoningOptions{
			{Effort: "none"}, {Effort: "minimal"}, {Effort: "low"}, {Effort: "medium"}, {Effort: "high"}, {Effort: "xhigh"}, {Effort: "max"},
		},
		Stops: []llm.Stop{llm.StopEnd, llm.StopLength, llm.StopFilter},
	})
}
