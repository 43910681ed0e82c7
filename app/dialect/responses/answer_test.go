package responses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestAnAnswerRepeatsItsRequest(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	body := codec.EncodeResponse(nil, &llm.Response{Stop: llm.StopEnd}, fullAsk())
	fits(t, s.response, body)
	m := members(t, body)
	for member, want := range map[string]string{
		"id": `"resp_01test"`, "object": `"response"`, "created_at": `1760000000`, "model": `"meridian/atlas"`, "status": `"completed"`,
		"instructions": `"Be brief."`, "temperature": `1.50`, "top_p": `0.9`, "max_output_tokens": `4000`, "parallel_tool_calls": `false`,
		"text":      `{"format":{"description":"d","name":"n","schema":{"type":"object"},"strict":true,"type":"json_schema"},"verbosity":"low"}`,
		"reasoning": `{"effort":"high","summary":"auto"}`, "metadata": `{"a":"é","z":"1"}`, "safety_identifier": `"user-1"`, "store": `false`,
		"tool_choice": `{"mode":"auto","tools":[{"name":"get","type":"function"},{"name":"free","type":"custom"}],"type":"allowed_tools"}`,
		"output":      `[]`, "error": `null`, "incomplete_details": `null`, "previous_response_id": `null`, "background": `false`, "truncation": `"disabled"`,
	} {
		if got := text(m[member]); got != want {
			t.Errorf("%s is %s, want %s", member, got, want)
		}
	}
	if tools := text(m["tools"]); !strings.Contains(tools, `"name":"group"`) || strings.Count(tools, `"type":"function"`) != 3 {
		t.Errorf("tools are %s", tools)
	}
}

func TestAnAnswerWithoutItsRequestHasTheDefaults(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	body := codec.EncodeResponse([]byte("x"), &llm.Response{Stop: llm.StopEnd}, llmtest.NewOptions())
	want := `{"id":"resp_01test","object":"response","created_at":1760000000,"status":"completed","error":null,"incomplete_details":null,` +
		`"model":"meridian/atlas","background":false,"store":false,"previous_response_id":null,"instructions":null,"tools":[],` +
		`"tool_choice":"auto","parallel_tool_calls":true,"temperature":1,"top_p":1,"max_output_tokens":null,"text":{"format":{"type":"text"}},` +
		`"reasoning":{"effort":null,"summary":null},"truncation":"disabled","metadata":{},"output":[]}`
	if string(body) != "x"+want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	fits(t, s.response, body[1:])
}

func TestTheItemsOfAnAnswerHaveTheirOwnIds(t *testing.T) {
	t.Parallel()
	body := codec.EncodeResponse(nil, &llm.Response{Stop: llm.StopLength, Parts: []llm.Part{
		{Kind: llm.Reasoning, Text: "Hm", Signature: "sig"},
		{Kind: llm.Text, Text: "é\n"}, {Kind: llm.Refusal, Text: "no"},
		{Kind: llm.Call, Call: llm.ToolCall{ID: "toolu_1", Name: "f", Group: "g", Arguments: `{"a":1.0}`}},
		{Kind: llm.Call, Call: llm.ToolCall{ID: "toolu_1", Name: "c", Custom: true, Arguments: "ls"}},
		{Kind: llm.Call, Call: llm.ToolCall{Name: "f"}},
	}}, llmtest.NewOptions())
	want := `[{"encrypted_content":"sig","id":"rs_01test","summary":[{"text":"Hm","type":"summary_text"}],"type":"reasoning"},` +
		`{"content":[{"annotations":[],"logprobs":[],"text":"é\n","type":"output_text"},{"refusal":"no","type":"refusal"}],"id":"msg_01test_1","role":"assistant","status":"completed","type":"message"},` +
		`{"arguments":"{\"a\":1.0}","call_id":"toolu_1","id":"fc_01test_2","name":"f","namespace":"g","status":"completed","type":"function_call"},` +
		`{"call_id":"call_01test_3","id":"ctc_01test_3","input":"ls","name":"c","type":"custom_tool_call"},` +
		`{"arguments":"{}","call_id":"call_01test_4","id":"fc_01test_4","name":"f","status":"incomplete","type":"function_call"}]`
	if got := text(members(t, body)["output"]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUsageIsToldWithItsPrice(t *testing.T) {
	t.Parallel()
	cost := 43_000 * app.Nano
	usage := llm.Usage{Input: 3, CacheRead: 4, CacheWrite: 5, Output: 6, Reasoning: 2}
	const counts = `"input_tokens":12,"input_tokens_details":{"cache_write_tokens":5,"cached_tokens":4},"output_tokens":6,` +
		`"output_tokens_details":{"reasoning_tokens":2},"total_tokens":18}`
	for _, c := range []struct {
		r    llm.Response
		want string
	}{
		{llm.Response{Usage: usage, Reported: true}, "{" + counts},
		{llm.Response{Usage: usage, Reported: true, Cost: &cost}, `{"cost":0.000043,` + counts},
		{llm.Response{Usage: usage, Cost: &cost}, `{"cost":0.000043,` + counts},
		{llm.Response{Usage: usage}, `absent`},
	} {
		got := "absent"
		if v, there := members(t, codec.EncodeResponse(nil, &c.r, llmtest.NewOptions()))["usage"]; there {
			got = text(v)
		}
		if got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestErrorsHaveTheirWords(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	for _, c := range []struct {
		err    *app.Error
		status int
		want   string
	}{
		{app.Errorf(app.Invalid, "invalid_value", "a \"b\"\n\xff").At("input"), 400, `{"error":{"message":"a \"b\"\n` + "\ufffd" + `","type":"invalid_request_error","param":"input","code":"invalid_value"}}`},
		{app.Errorf(app.Unauthenticated, "invalid_api_key", "m"), 401, `{"error":{"message":"m","type":"authentication_error","param":null,"code":"invalid_api_key"}}`},
		{app.Errorf(app.NotFound, "model_not_found", "m"), 404, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"model_not_found"}}`},
		{app.Errorf(app.Exhausted, "rate_limit_exceeded", "m"), 429, `{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`},
		{app.Errorf(app.Unfunded, "insufficient_quota", "m"), 402, `{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{app.Errorf(app.Internal, "internal_error", "m"), 500, `{"error":{"message":"m","type":"server_error","param":null,"code":"internal_error"}}`},
		{app.Errorf(app.Upstream, "upstream_error", "m"), 502, `{"error":{"message":"m","type":"server_error","param":null,"code":"upstream_error"}}`},
		{&app.Error{Kind: app.Upstream, Code: "upstream_error", Message: "m", Status: 422}, 422, `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"upstream_error"}}`},
		{app.Errorf(app.Unavailable, "no_available_provider", "m"), 503, `{"error":{"message":"m","type":"server_error","param":null,"code":"no_available_provider"}}`},
	} {
		got := responses.AppendError(nil, c.err, "req_1")
		if string(got) != c.want || app.HTTPStatus(c.err) != c.status {
			t.Errorf("got  %d %s\nwant %d %s", app.HTTPStatus(c.err), got, c.status, c.want)
		}
		fits(t, s.failure, got)
	}
	for kind := app.Internal; kind <= app.Canceled+1; kind++ {
		e := app.Errorf(kind, "x", "y")
		if n := app.HTTPStatus(e); n < 400 || n > 599 || responses.Type(e) == "" || kind != app.Internal && kind <= app.Canceled && n == 500 {
			t.Errorf("kind %d has status %d and type %q", kind, n, responses.Type(e))
		}
	}
}

func TestAStreamThatWasPassedOnEndsWithOneFailure(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	failure := app.Errorf(app.Timeout, "upstream_timeout", "The provider fell silent.")
	const told = `"error":{"code":"server_error","message":"The provider fell silent.","request_id":"req_1"}`
	seen := `{ "id":"resp_up","object":"response","created_at":1,"status":"in_progress","error":null,"incomplete_details":null,"instructions":"a\u0041",
		"model":"m","tools":[],"output":[],"parallel_tool_calls":true,"metadata":{},"tool_choice":"auto","temperature":1.0,"top_p":1,"usage":null,"user":null,"new":{"a":1} }`
	got := responses.AppendFailed([]byte("x"), 7, []byte(seen), nil, failure, "req_1", nil)
	want := "xevent: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":7,\"response\":" +
		`{"id":"resp_up","object":"response","created_at":1,"instructions":"a\u0041","model":"m","tools":[],"output":[],"parallel_tool_calls":true,` +
		`"metadata":{},"tool_choice":"auto","temperature":1.0,"top_p":1,"new":{"a":1},"status":"failed",` + told + `,"incomplete_details":null}}` + "\n\n"
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	fits(t, s.event, []byte(framesOf(t, got[1:])[0].data))

	for _, nothing := range [][]byte{nil, []byte("[]"), []byte(`{"id":`)} {
		frames := framesOf(t, responses.AppendFailed(nil, 0, nothing, fullAsk(), failure, "req_1", nil))
		if len(frames) != 2 || frames[0].name != "response.created" || frames[1].name != "response.failed" || !strings.Contains(frames[1].data, told) {
			t.Fatalf("got %q", frames)
		}
		for i, f := range frames {
			fits(t, s.event, []byte(f.data))
			if n := text(members(t, []byte(f.data))["sequence_number"]); n != []string{"0", "1"}[i] {
				t.Errorf("event %d has number %s", i, n)
			}
		}
	}
	bare := responses.AppendFailed(nil, 3, []byte(`{}`), nil, failure, "", nil)
	if data := framesOf(t, bare)[0].data; !json.Valid([]byte(data)) || !strings.Contains(data, `"output":[]`) || strings.Contains(data, "request_id") {
		t.Errorf("got %s", data)
	}
}

func TestTheCodeOfAFailureIsOneThatClientsKnow(t *testing.T) {
	t.Parallel()
	for kind, want := range map[app.Kind]string{
		app.Exhausted: "rate_limit_exceeded", app.Invalid: "invalid_prompt", app.Upstream: "server_error", app.Internal: "server_error",
	} {
		wire := codec.Encoder(llmtest.NewOptions()).Fail(nil, app.Errorf(kind, "some_code", "m"), "req_1", nil)
		if !strings.Contains(string(wire), `"error":{"code":"`+want+`"`) {
			t.Errorf("kind %d: %s", kind, wire)
		}
	}
}

func TestAFailureKeepsTheOutputSoFar(t *testing.T) {
	t.Parallel()
	enc := codec.Encoder(llmtest.NewOptions())
	events := llm.Unfold(nil, &llm.Response{Parts: []llm.Part{{Kind: llm.Text, Text: "Hel"}, {Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f", Arguments: `{"a`}}}})
	var wire []byte
	for i := range events[:6] { // The events end with the arguments.
		wire = enc.Append(wire, &events[i])
	}
	wire = enc.Fail(wire, app.Errorf(app.Upstream, "upstream_error", "m"), "req_1", nil)
	frames := framesOf(t, wire)
	response, _ := members(t, []byte(frames[len(frames)-1].data))["response"].(map[string]any)
	want := `[{"content":[{"annotations":[],"logprobs":[],"text":"Hel","type":"output_text"}],"id":"msg_01test","role":"assistant","status":"completed","type":"message"},` +
		`{"arguments":"{\"a","call_id":"c","id":"fc_01test_1","name":"f","status":"incomplete","type":"function_call"}]`
	if got := text(response["output"]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
