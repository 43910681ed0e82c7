package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider/framing"
	"umg/app/provider/framing/framingtest"
)

// The models of the providers that speak Converse and Cohere.
const (
	sonnet  = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	command = "command-a-reasoning-08-2025"
)

// upstreamServer is an HTTP server that answers in a style that only providers speak. It keeps what it was asked.
type upstreamServer struct {
	mu     sync.Mutex
	answer func(w http.ResponseWriter, stream bool)
	path   string
	body   string
}

func (s *upstreamServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.path, s.body = r.URL.EscapedPath(), string(body)
	answer := s.answer
	s.mu.Unlock()
	var asks struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(body, &asks)
	answer(w, asks.Stream || strings.HasSuffix(r.URL.Path, "-stream"))
}

func (s *upstreamServer) setAnswer(answer func(w http.ResponseWriter, stream bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// asked returns the path and the body of the last call.
func (s *upstreamServer) asked() (path string, body members) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := json.NewDecoder(strings.NewReader(s.body))
	d.UseNumber()
	_ = d.Decode(&body)
	return s.path, body
}

// newUpstreamServer is a bench whose models test/converse and test/cohere are served by one server.
func newUpstreamServer(t *testing.T, answer func(w http.ResponseWriter, stream bool)) (*replayBench, *upstreamServer) {
	t.Helper()
	s := &upstreamServer{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	var providers, models []string
	for style, model := range map[llm.Style]string{llm.Converse: sonnet, llm.Cohere: command} {
		reader := map[llm.Style]string{llm.Converse: "bedrock", llm.Cohere: "cohere"}[style]
		providers = append(providers, fmt.Sprintf("  - {id: %s, name: %s, usage: %s, styles: [%s], base_url: \"%s/v9\", credential: \"${SECRET}\"}",
			style, style, reader, style, server.URL))
		models = append(models, fmt.Sprintf("  - {id: test/%s, %s [{provider: %s, model: %q, style: %s}]}", style, recordedTerms, style, model, style))
	}
	return newReplayBench(t, providers, models), s
}

// call makes a call and returns what its client got.
func (b *replayBench) call(c gateway.Call) (*gateway.Report, *sink) {
	b.t.Helper()
	s := &sink{}
	report, _ := gateway.New(b.options).Generate(b.t.Context(), c, s)
	b.spent += report.Cost
	return report, s
}

// converseAnswer answers with a thought, a text and a call of a tool.
func converseAnswer(w http.ResponseWriter, stream bool) {
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"metrics":{"latencyMs":5},"output":{"message":{"role":"assistant","content":[`+
			`{"reasoningContent":{"reasoningText":{"text":"Rome, then.","signature":"c2ln"}}},{"text":"Let me look."},`+
			`{"toolUse":{"toolUseId":"tooluse_1","name":"get_weather","input":{"city":"Rome"}}}]}},"stopReason":"tool_use",`+
			`"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":630,"cacheReadInputTokens":500,"cacheWriteInputTokens":10}}`)
		return
	}
	w.Header().Set("Content-Type", framing.EventStream.ContentType())
	flush := http.NewResponseController(w).Flush
	for _, message := range converseMessages() {
		_, _ = w.Write(message)
		_ = flush()
	}
}

func converseMessages() (all [][]byte) {
	for _, m := range [][2]string{
		{"messageStart", `{"p":"ab","role":"assistant"}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Rome, "}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"then."}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`},
		{"contentBlockStop", `{"contentBlockIndex":0}`},
		{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"text":"Let me look."}}`},
		{"contentBlockStop", `{"contentBlockIndex":1}`},
		{"contentBlockStart", `{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"get_weather"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"city\":"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"\"Rome\"}"}}}`},
		{"contentBlockStop", `{"contentBlockIndex":2}`},
		{"messageStop", `{"stopReason":"tool_use"}`},
		{"metadata", `{"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":630,"cacheReadInputTokens":500,"cacheWriteInputTokens":10}}`},
	} {
		all = append(all, framingtest.AppendEvent(nil, m[0], m[1]))
	}
	return all
}

// cohereAnswer answers with a thought, a tool plan and a call of a tool.
func cohereAnswer(w http.ResponseWriter, stream bool) {
	const usage = `"usage":{"billed_units":{"input_tokens":610,"output_tokens":20},"tokens":{"input_tokens":900,"output_tokens":33},"cached_tokens":500}`
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Rome, then."}],`+
			`"tool_plan":"Let me look.","tool_calls":[{"id":"get_weather_1","type":"function","function":{"name":"get_weather",`+
			`"arguments":"{\"city\":\"Rome\"}"}}]},"finish_reason":"TOOL_CALL",`+usage+`}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range []string{
		`{"id":"1","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`,
		`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}`,
		`{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Rome, "}}}}`,
		`{"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"then."}}}}`,
		`{"type":"content-end","index":0}`,
		`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"Let me look."}}}`,
		`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"get_weather_1","type":"function",` +
			`"function":{"name":"get_weather","arguments":""}}}}}`,
		`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"city\":"}}}}}`,
		`{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"\"Rome\"}"}}}}}`,
		`{"type":"tool-call-end","index":0}`,
		`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL",` + usage + `}}`,
	} {
		var event struct{ Type string }
		_ = json.Unmarshal([]byte(frame), &event)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.Type, frame)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// TestUpstreamStylesServeAllClients makes calls in the four client styles, streamed and whole, to providers that speak Converse and
// Cohere. It checks what each provider is asked, what each client reads, and the price.
func TestUpstreamStylesServeAllClients(t *testing.T) {
	t.Parallel()
	b, server := newUpstreamServer(t, nil)
	for upstream, tc := range map[llm.Style]struct {
		answer func(w http.ResponseWriter, stream bool)
		check  func(t *testing.T, path string, body members, stream bool)
		usage  string
		cost   string
	}{
		llm.Converse: {converseAnswer, checkConverseRequest, "input 100, cache_read 500, cache_write 10, output 20", "0.0002625"},
		llm.Cohere:   {cohereAnswer, checkCohereRequest, "input 610, output 20", "0.00071"},
	} {
		server.setAnswer(tc.answer)
		for _, style := range llm.Styles() {
			for _, stream := range []bool{false, true} {
				name := fmt.Sprintf("%s for %s, stream %t", upstream, style, stream)
				call := b.styledCall(style, "test/"+string(upstream), asked{
					system: "Be brief.", prompt: "Weather in Rome?", stream: stream, bound: 9000, tool: true, thinks: true,
				})
				report, s := b.call(call)
				path, body := server.asked()
				tc.check(t, path, body, stream)
				if report.Err != nil || usageText(report) != tc.usage || report.Cost.String() != tc.cost || report.FinishReason != "tool_calls" {
					t.Errorf("%s: %v, %s at %s, %s", name, report.Err, usageText(report), report.Cost, report.FinishReason)
				}
				got := readAnswer(style, stream, s.text())
				if got.texts("thought") != "Rome, then." || got.texts("text") != "Let me look." ||
					fmt.Sprint(got.calls()) != `[get_weather {"city":"Rome"}]` {
					t.Errorf("%s: %s", name, s.text())
				}
			}
		}
	}
}

// checkConverseRequest compares a request with the form of the Converse API.
func checkConverseRequest(t *testing.T, path string, body members, stream bool) {
	t.Helper()
	want := "/v9/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse"
	if stream {
		want += "-stream"
	}
	if path != want || body["model"] != nil || body["stream"] != nil {
		t.Errorf("%s is not %s, with %v", path, want, body)
	}
	if str(at(body, "messages", 0, "content", 0, "text")) != "Weather in Rome?" || str(at(body, "system", 0, "text")) != "Be brief." ||
		str(at(body, "toolConfig", "tools", 0, "toolSpec", "inputSchema", "json", "type")) != "object" ||
		num(at(body, "inferenceConfig", "maxTokens")) != 9000 ||
		num(at(body, "additionalModelRequestFields", "thinking", "budget_tokens")) != 1024 {
		t.Errorf("%v", body)
	}
}

// checkCohereRequest compares a request with the form of the chat API of Cohere.
func checkCohereRequest(t *testing.T, path string, body members, stream bool) {
	t.Helper()
	if path != "/v9/chat" || str(body["model"]) != command || (body["stream"] == true) != stream {
		t.Errorf("%s, %v", path, body)
	}
	if str(at(body, "messages", 0, "content")) != "Be brief." || str(at(body, "messages", 1, "content")) != "Weather in Rome?" ||
		str(at(body, "tools", 0, "function", "name")) != "get_weather" || num(body["max_tokens"]) != 9000 ||
		num(at(body, "thinking", "token_budget")) != 1024 {
		t.Errorf("%v", body)
	}
}

// TestHistoryGoesBackToItsProvider sends the thought, the call and its result back. The signature of the thought is the provider's own.
func TestHistoryGoesBackToItsProvider(t *testing.T) {
	t.Parallel()
	b, server := newUpstreamServer(t, nil)
	for upstream, answer := range map[llm.Style]func(w http.ResponseWriter, stream bool){llm.Converse: converseAnswer, llm.Cohere: cohereAnswer} {
		server.setAnswer(answer)
		ask := asked{prompt: "Weather in Rome?", bound: 9000, tool: true, thinks: true}
		_, s := b.call(b.styledCall(llm.Messages, "test/"+string(upstream), ask))
		said := decoded(t, s.text())["content"]
		id := str(at(said, 2, "id"))
		ask.more = members{"messages": []any{
			members{"role": "user", "content": "Weather in Rome?"}, members{"role": "assistant", "content": said},
			members{"role": "user", "content": []any{members{"type": "tool_result", "tool_use_id": id, "content": "18 degrees"}}},
		}}
		report, _ := b.call(b.styledCall(llm.Messages, "test/"+string(upstream), ask))
		_, body := server.asked()
		if report.Err != nil {
			t.Errorf("%s: %v", upstream, report.Err)
		}
		got, want := fmt.Sprint(at(body, "messages", 1), at(body, "messages", 2)), ""
		switch upstream {
		case llm.Converse:
			want = "map[content:[map[reasoningContent:map[reasoningText:map[signature:c2ln text:Rome, then.]]] map[text:Let me look.] " +
				"map[toolUse:map[input:map[city:Rome] name:get_weather toolUseId:tooluse_1]]] role:assistant] " +
				"map[content:[map[toolResult:map[content:[map[text:18 degrees]] toolUseId:tooluse_1]]] role:user]"
		case llm.Cohere:
			want = "map[content:[map[thinking:Rome, then. type:thinking]] role:assistant tool_calls:[map[function:map[arguments:" +
				`{"city":"Rome"} name:get_weather] id:get_weather_1 type:function]] tool_plan:Let me look.] ` +
				"map[content:18 degrees role:tool tool_call_id:get_weather_1]"
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", upstream, got, want)
		}
	}
}

// TestUpstreamStylesDropAndRefuse lists what the two styles cannot express, and refuses what would change the answer.
func TestUpstreamStylesDropAndRefuse(t *testing.T) {
	t.Parallel()
	b, server := newUpstreamServer(t, nil)
	for upstream, tc := range map[llm.Style]struct {
		answer  func(w http.ResponseWriter, stream bool)
		dropped string
	}{
		llm.Converse: {converseAnswer, "seed,presence_penalty,user"},
		llm.Cohere:   {cohereAnswer, "user,parallel_tool_calls"},
	} {
		server.setAnswer(tc.answer)
		call := b.styledCall(llm.Chat, "test/"+string(upstream), asked{prompt: "Hi", tool: true, more: members{
			"seed": 3, "presence_penalty": 0.5, "user": "u1", "parallel_tool_calls": false,
		}})
		report, s := b.call(call)
		dropped := "," + s.header.Get("X-Gateway-Dropped") + ","
		for name := range strings.SplitSeq(tc.dropped, ",") {
			if report.Err != nil || !strings.Contains(dropped, ","+name+",") {
				t.Errorf("%s: %v, dropped %s", upstream, report.Err, dropped)
			}
		}
		report, _ = b.call(b.styledCall(llm.Chat, "test/"+string(upstream), asked{prompt: "Hi", choices: 2}))
		if report.Err == nil || report.Err.Param != "n" || report.Attempts > 0 {
			t.Errorf("%s: %v", upstream, report.Err)
		}
	}
}

// TestImagesGoToTheUpstreamStyles sends an image as data.
func TestImagesGoToTheUpstreamStyles(t *testing.T) {
	t.Parallel()
	b, server := newUpstreamServer(t, nil)
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for upstream, want := range map[llm.Style]string{
		llm.Converse: "map[image:map[format:png source:map[bytes:" + pixel + "]]]",
		llm.Cohere:   "map[image_url:map[url:data:image/png;base64," + pixel + "] type:image_url]",
	} {
		answer := map[llm.Style]func(w http.ResponseWriter, stream bool){llm.Converse: converseAnswer, llm.Cohere: cohereAnswer}[upstream]
		server.setAnswer(answer)
		report, _ := b.call(b.styledCall(llm.Messages, "test/"+string(upstream), asked{bound: 100, more: members{"messages": []any{
			members{"role": "user", "content": []any{
				members{"type": "text", "text": "What is this?"},
				members{"type": "image", "source": members{"type": "base64", "media_type": "image/png", "data": pixel}},
			}},
		}}}))
		_, body := server.asked()
		if got := fmt.Sprint(at(body, "messages", 0, "content", 1)); report.Err != nil || got != want {
			t.Errorf("%s: %v, %s", upstream, report.Err, got)
		}
	}
}

// TestConverseStreamsThatFail ends a stream with an exception, a cut and a wrong checksum, before and after the client has a part of the
// answer. No client sees a whole answer, and no call costs more than what came.
func TestConverseStreamsThatFail(t *testing.T) {
	t.Parallel()
	damaged := framingtest.AppendEvent(nil, "contentBlockDelta", `{"contentBlockIndex":1,"delta":{"text":" It is 18."}}`)
	damaged[len(damaged)-8] ^= 1
	b, server := newUpstreamServer(t, nil)
	for name, end := range map[string][]byte{
		"throttled": framingtest.AppendException(nil, "throttlingException", `{"message":"Too many requests"}`),
		"failed":    framingtest.AppendException(nil, "modelStreamErrorException", `{"message":"The model stopped."}`),
		"cut":       damaged[:20],
		"damaged":   damaged,
		"ended":     nil,
	} {
		for _, from := range []int{0, 6} {
			server.setAnswer(func(w http.ResponseWriter, _ bool) {
				w.Header().Set("Content-Type", framing.EventStream.ContentType())
				for _, message := range converseMessages()[:from] {
					_, _ = w.Write(message)
				}
				_, _ = w.Write(end)
			})
			for _, style := range llm.Styles() {
				report, s := b.call(b.styledCall(style, "test/converse", asked{prompt: "Hi", stream: true, bound: 100, thinks: style == llm.Native}))
				if report.Err == nil || report.Outcome == "succeeded" {
					t.Errorf("%s after %d messages for %s: %s, %v", name, from, style, report.Outcome, report.Err)
				}
				isThrottled := name == "throttled" && len(report.Tries) > 0 && report.Tries[0].Meaning == "rate"
				if name == "throttled" && from == 0 && !isThrottled {
					t.Errorf("%s for %s: %+v", name, style, report.Tries)
				}
				if from > 0 && readAnswer(style, true, s.text()).failed == "" {
					t.Errorf("%s for %s: the client sees no error: %s", name, style, s.text())
				}
			}
		}
	}
}

// TestInvokeStreamsThatFail ends a stream of Claude on Bedrock, which has the messages style in an AWS event stream, with an exception. The
// stream passes through for clients of the same style.
func TestInvokeStreamsThatFail(t *testing.T) {
	t.Parallel()
	b := setupUpstream(t)
	start := framingtest.AppendChunk(nil, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m",`+
		`"content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`)
	text := framingtest.AppendChunk(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	text = framingtest.AppendChunk(text, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`)
	for _, before := range [][]byte{nil, start, text} {
		stream := framingtest.AppendException(bytes.Clone(before), "modelStreamErrorException", `{"message":"The model stopped."}`)
		b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", framing.EventStream.ContentType())
			_, _ = w.Write(stream)
		}))
		for _, style := range llm.Styles() {
			ask := asked{prompt: "Hi", stream: true, bound: 100, thinks: style == llm.Native}
			report, s := b.call(b.styledCall(style, upstreamModel(llm.Messages), ask))
			if report.Err == nil || report.Outcome == "succeeded" || strings.Contains(s.text(), "The model stopped.") {
				t.Errorf("%d bytes for %s: %s, %s", len(before), style, report.Outcome, s.text())
			}
			if len(before) == len(text) && readAnswer(style, true, s.text()).failed == "" {
				t.Errorf("%s: the client sees no error: %s", style, s.text())
			}
		}
	}
}
