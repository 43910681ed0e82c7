package simulator

import (
	"slices"
	"strings"
	"testing"
)

// wish is a request body and what must come of it.
type wish struct {
	path, body string
	text       string // The answer contains text.
	calls      []string
}

func (u *upstream) grants(t *testing.T, wishes []wish) {
	t.Helper()
	for _, w := range wishes {
		style := "native"
		for name, path := range map[string]string{"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"} {
			if w.path == path {
				style = name
			}
		}
		res := u.do("POST", w.path, []byte(w.body), nil)
		if res.status != 200 {
			t.Errorf("%s: %d %s", w.body, res.status, res.body)
			continue
		}
		r := read(t, style, false, res.body)
		var names []string
		for _, c := range r.calls {
			names = append(names, c.name)
		}
		if !strings.Contains(r.text, w.text) || !slices.Equal(names, w.calls) {
			t.Errorf("%s: %q, calls %v", w.body, r.text, names)
		}
	}
}

const (
	chatPath      = "/v1/chat/completions"
	messagesPath  = "/v1/messages"
	responsesPath = "/v1/responses"
	nativePath    = "/v1beta/models/m:generateContent"
)

func TestToolChoiceIsObeyed(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	const chat = `{"model":"m","messages":[{"role":"user","content":"both, in parallel"}],"tools":[{"type":"function",` +
		`"function":{"name":"a"}},` +
		`{"type":"custom","custom":{"name":"b"}}]`
	const messages = `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"both, in parallel"}],"tools":[{"name":"a"},` +
		`{"name":"b"}]`
	const responses = `{"model":"m","input":"both, in parallel","tools":[{"type":"function","name":"a"},{"type":"web_search"},` +
		`{"type":"function","name":"b"}]`
	const native = `{"contents":[{"parts":[{"text":"both, in parallel"}]}],"tools":[{"functionDeclarations":[{"name":"a",` +
		`"parameters":{"type":"OBJECT",` +
		`"properties":{"n":{"type":"INTEGER"}}}},{"name":"b"}]}]`
	two, a, b := []string{"a", "b"}, []string{"a"}, []string{"b", "b"}
	u.grants(t, []wish{
		{chatPath, chat + `}`, "", nil},
		{chatPath, chat + `,"tool_choice":"required"}`, "", two},
		{chatPath, chat + `,"tool_choice":"required","parallel_tool_calls":false}`, "", a},
		{chatPath, chat + `,"tool_choice":"none"}`, "parallel", nil},
		{chatPath, chat + `,"tool_choice":{"type":"function","function":{"name":"b"}}}`, "", b},
		{chatPath, chat + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}}`, "", two},
		{messagesPath, messages + `,"tool_choice":{"type":"any"}}`, "", two},
		{messagesPath, messages + `,"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`, "", a},
		{messagesPath, messages + `,"tool_choice":{"type":"tool","name":"b"}}`, "", b},
		{messagesPath, messages + `,"tool_choice":{"type":"none"}}`, "parallel", nil},
		{messagesPath, messages + `,"tool_choice":{"type":"auto"}}`, "parallel", nil},
		{responsesPath, responses + `,"tool_choice":"required"}`, "", two},
		{responsesPath, responses + `,"tool_choice":{"type":"function","name":"b"}}`, "", b},
		{responsesPath, responses + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[]}}`, "", two},
		{nativePath, native + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`, "", two},
		{nativePath, native + `,"tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["b"]}}}`, "", b},
		{nativePath, native + `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`, "parallel", nil},
	})
}

func TestAttachmentsAreAcknowledged(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	const ask = "What would you like to know about it?"
	u.grants(t, []wish{
		{chatPath, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},` +
			`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"format":"wav",` +
			`"data":"AAA="}},` +
			`{"type":"file","file":{"file_data":"data:text/plain,a%20b"}},{"type":"file","file":{"file_id":"file-7"}}]}]}`,
			"I see 2 images (image/png, 3 bytes; https://example.com/a.png). I see 1 audio (audio/wav, 2 bytes). " +
				"I see 2 files (text/plain, 3 bytes; file-7). " + ask, nil},
		{messagesPath, `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url",` +
			`"url":"https://example.com/a"}},` +
			`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"12345"}},` +
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAAAA=="}}]}]}`,
			"I see 1 image (https://example.com/a). I see 2 files (text/plain, 5 bytes; application/pdf, 4 bytes). " + ask, nil},
		{responsesPath, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","file_id":"file-1"},` +
			`{"type":"input_file","file_url":"https://example.com/` + strings.Repeat("long", 30) + `"}]}]}`,
			"I see 1 image (file-1). I see 1 file (https://example.com/longlong", nil},
		{nativePath, `{"contents":[{"parts":[{"inline_data":{"mime_type":"audio/mp3","data":"AAAA"}},` +
			`{"fileData":{"mimeType":"video/mp4","fileUri":"files/7"}},{"inlineData":{"mimeType":"","data":"AAAA"}}]}]}`,
			"I see 1 audio (audio/mp3, 3 bytes). I see 2 files (files/7; 3 bytes). " + ask, nil},
	})
}

// TestOnlyTheLastTurnIsAnswered proves that what the assistant has answered is history.
func TestOnlyTheLastTurnIsAnswered(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	u.grants(t, []wish{
		{chatPath, `{"model":"m","messages":[{"role":"developer","content":[{"type":"text","text":"hm"}]},{"role":"user",` +
			`"content":"echo: old"},` +
			`{"role":"assistant","content":"old"},{"role":"user","content":"echo: new"}]}`, "new", nil},
		{messagesPath, `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"echo: old"},{"role":"system","content":"hm"},` +
			`{"role":"assistant","content":[{"type":"text","text":"old"}]},{"role":"user",` +
			`"content":"echo: new"}]}`, "new", nil},
		{responsesPath, `{"model":"m","input":[{"role":"developer","content":"hm"},{"role":"user","content":"echo: old"},` +
			`{"type":"reasoning","id":"rs_1"},` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"old"}]},{"role":"user","content":"echo: new"}],` +
			`"store":false,"truncation":"auto","text":{"verbosity":"low"},"metadata":{"a":"b"}}`, "new", nil},
		{nativePath, `{"contents":[{"role":"user","parts":[{"text":"echo: old"}]},{"role":"model","parts":[{"text":"hm","thought":true},` +
			`{"text":"old"}]},{"role":"user","parts":[{"text":"echo: new"}]}]}`, "new", nil},
		{messagesPath, `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"echo: one"},{"role":"user",` +
			`"content":"and two"}]}`, "one\nand two", nil},
	})
}

func TestFormatsAreObeyed(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	const object = `{"answer":"a simulated reply","prompt":"Dinner in Porto"}`
	u.grants(t, []wish{
		{chatPath, `{"model":"m","response_format":{"type":"json_object"},"messages":[{"role":"user",` +
			`"content":"Dinner in Porto"}]}`, object, nil},
		{chatPath, `{"model":"m","response_format":{"type":"text"},"messages":[{"role":"user",` +
			`"content":"Dinner in Porto"}]}`, "“Dinner in Porto”", nil},
		{responsesPath, `{"model":"m","text":{"format":{"type":"json_object"}},"input":"Dinner in Porto"}`, object, nil},
		{nativePath, `{"contents":[{"parts":[{"text":"Dinner in Porto"}]}],` +
			`"generationConfig":{"responseMimeType":"application/json"}}`, object, nil},
		{nativePath, `{"contents":[{"parts":[{"text":"Dinner in Porto"}]}],"generationConfig":{"responseMimeType":"application/json",` +
			`"responseSchema":{"type":"ARRAY","items":{"type":"STRING"}}}}`, `["Porto"]`, nil},
	})
}

// TestResponsesRepeatsTheSettings proves that a response shows what was asked for, in a form that fits the schema.
func TestResponsesRepeatsTheSettings(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	res := u.do("POST", responsesPath, []byte(`{"model":"m","input":"echo: x","instructions":"Be \"brief\".","max_output_tokens":77,`+
		`"temperature":0.5,`+
		`"top_p":0.25,"metadata":{"k":"v"},"store":false,"truncation":"auto","parallel_tool_calls":false,"tool_choice":"none",`+
		`"reasoning":{"effort":"none"},"text":{"format":{"type":"text"},"verbosity":"low"},`+
		`"tools":[{"type":"function","name":"a","parameters":null,"strict":true},{"type":"web_search"}]}`), nil)
	loadSchemas(t).check(t, "responses", false, res.body)
	for _, want := range []string{`"instructions":"Be \"brief\"."`, `"max_output_tokens":77`, `"temperature":0.5`, `"top_p":0.25`,
		`"metadata":{"k":"v"}`,
		`"store":false`, `"truncation":"auto"`, `"parallel_tool_calls":false`, `"tool_choice":"none"`, `"effort":"none","summary":null`,
		`"verbosity":"low"`, `{"type":"function","name":"a","description":null,"parameters":null,"strict":true},{"type":"web_search"}`} {
		if !strings.Contains(string(res.body), want) {
			t.Errorf("%s is missing in %s", want, res.body)
		}
	}
}
