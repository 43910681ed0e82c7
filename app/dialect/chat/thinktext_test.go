package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// readThought reads the reasoning and the text of an answer whose content is sent in pieces of n bytes, or whole when n is zero.
func readThought(t *testing.T, content string, isExpected bool, n int) (reasoning, text string) {
	t.Helper()
	options := llmtest.NewOptions()
	options.ThinkText = isExpected
	r := &llm.Response{}
	if n == 0 {
		var err error
		r, err = chat.Codec{}.DecodeResponse(fmt.Appendf(nil, `{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, content), options)
		if err != nil {
			t.Fatal(err)
		}
	} else {
		var wire strings.Builder
		for rest := content; rest != ""; {
			end := min(n, len(rest))
			fmt.Fprintf(&wire, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", rest[:end])
			rest = rest[end:]
		}
		wire.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		events, err := llmtest.DecodeStream(chat.Codec{}.Decoder(options), []byte(wire.String()))
		if err != nil || llmtest.Legal(events) != "" {
			t.Fatal(err, llmtest.Legal(events))
		}
		r = llm.Fold(events)
	}
	for _, p := range r.Parts {
		switch p.Kind {
		case llm.Reasoning:
			reasoning += p.Text
		case llm.Text:
			text += p.Text
		default:
			t.Errorf("a part of kind %d", p.Kind)
		}
	}
	return reasoning, text
}

func TestReasoningBetweenMarksInTheText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content         string
		isOff           bool
		reasoning, text string
	}{
		{content: "<think>\na < b\n</think>\n\nfour", reasoning: "a < b\n", text: "four"},
		{content: "\n <think>x</think>y <think>z</think>", reasoning: "x", text: "y <think>z</think>"},
		{content: "<think>cut off </th", reasoning: "cut off </th"},
		{content: "<think></think>y", text: "y"},
		{content: "<thin air", text: "<thin air"},
		{content: "<thi", text: "<thi"},
		{content: "say <think>x</think>", text: "say <think>x</think>"},
		{content: "<think>x</think>y", isOff: true, text: "<think>x</think>y"},
	} {
		for n := range 5 {
			if reasoning, text := readThought(t, c.content, !c.isOff, n); reasoning != c.reasoning || text != c.text {
				t.Errorf("%q in pieces of %d: %q and %q", c.content, n, reasoning, text)
			}
		}
	}
}
