package dialect_test

import (
	"fmt"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// TestSpliceOfUpstreamStyles sets the name of the model and the bound on output of requests in styles that only providers speak.
func TestSpliceOfUpstreamStyles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		style     llm.Style
		body      string
		maxTokens int64
		want      string
	}{
		{llm.Converse, `{"model":"m","stream":true,"messages":[]}`, 0, `{"messages":[]}`},
		{llm.Converse, `{"model":"m","messages":[]}`, 70, `{"inferenceConfig":{"maxTokens":70},"messages":[]}`},
		{llm.Converse, `{"model":"m","messages":[],"inferenceConfig":{"topP":1}}`, 70, `{"messages":[],"inferenceConfig":{"maxTokens":70,"topP":1}}`},
		{llm.Converse, `{"model":"m","messages":[],"inferenceConfig":{"maxTokens":50}}`, 70, `{"messages":[],"inferenceConfig":{"maxTokens":50}}`},
		{
			llm.Converse,
			`{"model":"m","inferenceConfig":{"maxTokens":9000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":4000}}}`, 3000,
			`{"inferenceConfig":{"maxTokens":3000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2999}}}`,
		},
		{
			llm.Converse,
			`{"model":"m","inferenceConfig":{"maxTokens":9000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":4000}}}`, 500,
			`{"inferenceConfig":{"maxTokens":500},"additionalModelRequestFields":{"thinking":{"type":"disabled"}}}`,
		},
		{llm.Cohere, `{"model":"m","stream":true,"messages":[]}`, 0, `{"model":"up","stream":true,"messages":[]}`},
		{llm.Cohere, `{"model":"m","messages":[]}`, 70, `{"max_tokens":70,"model":"up","messages":[]}`},
		{
			llm.Cohere, `{"model":"m","max_tokens":9000,"thinking":{"type":"enabled","token_budget":4000}}`, 2000,
			`{"model":"up","max_tokens":2000,"thinking":{"type":"enabled","token_budget":1999}}`,
		},
	} {
		d, _ := dialect.Of(tc.style)
		head, err := d.Peek([]byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Splice(nil, []byte(tc.body), &head, dialect.Edit{Model: "up", MaxTokens: tc.maxTokens})); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.body, got, tc.want)
		}
	}
}

// TestFramesOfUpstreamStyles writes whole answers as streams. The usage stays that of the provider.
func TestFramesOfUpstreamStyles(t *testing.T) {
	t.Parallel()
	for style, body := range map[llm.Style]string{
		llm.Converse: `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"},{"toolUse":{"toolUseId":"t","name":"f","input":{"a":1}}}]}},` +
			`"stopReason":"tool_use","usage":{"inputTokens":3,"outputTokens":2,"totalTokens":15,"cacheReadInputTokens":10,` +
			`"cacheWriteInputTokens":4,"cacheDetails":[{"ttl":"1h","inputTokens":4}]}}`,
		llm.Cohere: `{"id":"1","message":{"role":"assistant","tool_plan":"Hi","tool_calls":[{"id":"t","type":"function","function":` +
			`{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":3,"output_tokens":2,"search_units":1}}}`,
	} {
		d, _ := dialect.Of(style)
		frames, err := d.Frames([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		events, err := llmtest.DecodeStream(d.Codec.Decoder(llmtest.NewOptions()), frames)
		if err != nil {
			t.Fatalf("%s: %v", frames, err)
		}
		want, err := d.Codec.DecodeResponse([]byte(body), llmtest.NewOptions())
		if err != nil {
			t.Fatal(err)
		}
		got := llm.Fold(events)
		got.ID, want.ID = "", ""
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", style, got, want)
		}
		if _, err := d.Frames([]byte(`{}`)); err == nil {
			t.Errorf("%s: an answer that is broken has frames", style)
		}
	}
}
