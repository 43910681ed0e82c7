package dialect_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/meter"
	"umg/app/sse"
	"umg/app/usagereader"
)

// usagePath is an answer of a provider as a body and as a stream, with what its usage means.
type usagePath struct {
	provider     string
	style        llm.Style
	body, stream string
	counts       map[meter.Meter]int64
	terms        string
	unread       bool
}

var usagePaths = []usagePath{
	{
		provider: "xai", style: llm.Chat,
		body: `{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` + xaiUsage + `}`,
		stream: `data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"id":"a","choices":[],` + xaiUsage + "}\n\n" + "data: [DONE]\n\n",
		counts: map[meter.Meter]int64{meter.InputTokens: 21, meter.CacheReadTokens: 192, meter.OutputTokens: 2, meter.ReasoningTokens: 256},
	},
	{
		provider: "groq", style: llm.Chat, terms: "service_tier=flex",
		body: `{"id":"a","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],"service_tier":"flex","x_groq":` +
			`{"usage":{"prompt_tokens":7,"completion_tokens":3}}}`,
		stream: `data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"finish_reason":null}]}` + "\n\n" +
			`data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"service_tier":"flex",` +
			`"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":3}}}` + "\n\n" + "data: [DONE]\n\n",
		counts: map[meter.Meter]int64{meter.InputTokens: 7, meter.OutputTokens: 3},
	},
	{
		provider: "anthropic", style: llm.Messages, terms: "service_tier=priority region=us",
		body: `{"id":"a","type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":5,` +
			`"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":8},"output_tokens":3,"service_tier":"priority",` +
			`"inference_geo":"us","server_tool_use":{"web_search_requests":2}}}`,
		stream: `data: {"type":"message_start","message":{"id":"a","content":[],"usage":{"input_tokens":5,"cache_creation_input_tokens":9,` +
			`"cache_creation":{"ephemeral_1h_input_tokens":8},"output_tokens":1,"service_tier":"priority","inference_geo":"us"}}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3,` +
			`"server_tool_use":{"web_search_requests":2}}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
		counts: map[meter.Meter]int64{
			meter.InputTokens: 5, meter.CacheWriteTokens: 1, meter.CacheWriteHourTokens: 8, meter.OutputTokens: 3, meter.WebSearches: 2,
		},
	},
	{
		provider: "openai", style: llm.Responses, terms: "service_tier=flex", body: openaiResponse,
		stream: `data: {"type":"response.created","sequence_number":0,"response":{"id":"a","status":"in_progress","output":[]}}` + "\n\n" +
			`data: {"type":"response.completed","sequence_number":1,"response":` + openaiResponse + "}\n\n",
		counts: map[meter.Meter]int64{meter.InputTokens: 5, meter.OutputTokens: 3, meter.WebSearches: 2},
	},
	{
		provider: "gemini", style: llm.Native, terms: "service_tier=flex", unread: true,
		body: `{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["a","b"]}}],` +
			geminiUsage + `}`,
		stream: `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["a","b"]}}],` +
			geminiUsage + "}\n\n",
		counts: map[meter.Meter]int64{
			meter.InputTokens: 5, meter.OutputTokens: 3, meter.ReasoningTokens: 4, meter.GroundedQueries: 2, meter.GroundedPrompts: 1,
		},
	},
}

const (
	xaiUsage = `"usage":{"prompt_tokens":213,"completion_tokens":2,"total_tokens":471,"prompt_tokens_details":{"cached_tokens":192},` +
		`"completion_tokens_details":{"reasoning_tokens":256},"cost_in_usd_ticks":3950400}`
	openaiResponse = `{"id":"a","status":"completed","service_tier":"flex","output":[{"type":"web_search_call","action":{"type":"search"}},` +
		`{"type":"web_search_call","action":{"type":"open_page"}},{"type":"web_search_call"},{"type":"message","role":"assistant",` +
		`"content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":5,"output_tokens":3,"total_tokens":8}}`
	geminiUsage = `"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3,"thoughtsTokenCount":4,"trafficType":"ON_DEMAND_FLEX",` +
		`"dreamsTokenCount":1}`
)

// TestUsageIsReadAlikeOnEveryPath reads each answer as a body and as a stream, passed through and decoded for a translation.
func TestUsageIsReadAlikeOnEveryPath(t *testing.T) {
	t.Parallel()
	for _, c := range usagePaths {
		t.Run(c.provider, func(t *testing.T) {
			t.Parallel()
			reader, ok := usagereader.Of(c.provider, c.style)
			if !ok {
				t.Fatal("there is no reader")
			}
			options := llm.ResponseOptions{Model: "public", CallID: "x", Choices: 1, UsageReader: reader}
			d := dialectOf(t, c.style)
			read := map[string]llm.Usage{}
			body, err := d.ReadBody([]byte(c.body), options)
			if err != nil {
				t.Fatal(err)
			}
			read["body, passed through"] = body.Stats().Usage
			answer, err := d.Codec.DecodeResponse([]byte(c.body), &options)
			if err != nil {
				t.Fatal(err)
			}
			read["body, decoded"] = answer.Usage
			stream, decoder := d.NewStream(options), d.Codec.Decoder(&options)
			defer stream.Close()
			frames := sse.NewReader(strings.NewReader(c.stream), nil)
			defer frames.Close()
			var events []llm.Event
			for {
				f, err := frames.Next()
				if err != nil {
					break
				}
				if _, _, err := stream.Frame(nil, f); err != nil {
					t.Fatalf("%s: %v", f.Data, err)
				}
				if events, err = decoder.Decode(events, f.Event, f.Data); err != nil && !errors.Is(err, llm.ErrEnd) {
					t.Fatalf("%s: %v", f.Data, err)
				}
			}
			if events, err = decoder.End(events); err != nil {
				t.Fatal(err)
			}
			if !stream.Stats().Reported {
				t.Error("the stream reported no usage")
			}
			read["stream, passed through"] = stream.Stats().Usage
			read["stream, decoded"] = llm.Fold(events).Usage
			want := meter.Counts{meter.Requests: 1}
			for m, n := range c.counts {
				want[m] = n
			}
			for path, got := range read {
				if got.Counts() != want || got.Terms.String() != c.terms || got.Unread != c.unread || got.Doubts != 0 {
					t.Errorf("%s: %v, terms %q, unread %t, doubts %d", path, got.Counts(), got.Terms, got.Unread, got.Doubts)
				}
				if !reflect.DeepEqual(got, read["body, decoded"]) {
					t.Errorf("%s: %+v differs from %+v", path, got, read["body, decoded"])
				}
			}
		})
	}
}

// TestUsageDetailsAreWrittenInEachStyle encodes a usage with the details that a style has members for, and reads it back.
func TestUsageDetailsAreWrittenInEachStyle(t *testing.T) {
	t.Parallel()
	for style, parts := range map[llm.Style]map[meter.Meter]int64{
		llm.Chat:      {meter.InputAudioTokens: 20, meter.InputImageTokens: 10, meter.OutputAudioTokens: 5, meter.OutputImageTokens: 6},
		llm.Messages:  {meter.CacheWriteHourTokens: 7, meter.WebSearches: 2, meter.WebFetches: 1},
		llm.Responses: {},
		llm.Native: {
			meter.InputAudioTokens: 20, meter.InputImageTokens: 10, meter.InputVideoTokens: 30, meter.CacheReadAudioTokens: 3,
			meter.CacheReadImageTokens: 4, meter.OutputAudioTokens: 5, meter.OutputImageTokens: 6,
		},
	} {
		usage := llm.Usage{Input: 100, CacheRead: 50, CacheWrite: 8, Output: 40, Reasoning: 15}
		if style == llm.Native {
			usage.CacheWrite = 0
		}
		for m, n := range parts {
			usage.Parts[m] = n
		}
		codec, options := dialectOf(t, style).Codec, &llm.ResponseOptions{Model: "m", CallID: "x", Choices: 1}
		answer := &llm.Response{Parts: []llm.Part{{Kind: llm.Text, Text: "Hi"}}, Stop: llm.StopEnd, Usage: usage, Reported: true}
		body := codec.EncodeResponse(nil, answer, options)
		got, err := codec.DecodeResponse(body, options)
		if err != nil || got.Usage != usage {
			t.Errorf("%s: %v, %+v is read as %+v\n%s", style, err, usage, got.Usage, body)
		}
		events := llm.Unfold(nil, answer)
		var frames []byte
		encoder := codec.Encoder(&llm.ResponseOptions{Model: "m", CallID: "x", Choices: 1, IncludeUsage: true})
		for i := range events {
			frames = encoder.Append(frames, &events[i])
		}
		if got := decodeStream(t, dialectOf(t, style), string(frames)); got.Usage != usage {
			t.Errorf("%s, stream: %+v is read as %+v\n%s", style, usage, got.Usage, frames)
		}
	}
}
