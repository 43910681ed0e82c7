package translate

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"umg/app"
	"umg/app/llm"
)

var fuzzStyles = []llm.Style{llm.Chat, llm.Messages, llm.Responses, llm.Native}

// FuzzTranslate takes any body through every translation: what comes out is one line of JSON that its own style can
// read, or an error that says what is wrong; and thoughts taken out in place leave JSON behind.
func FuzzTranslate(f *testing.F) {
	for style, body := range map[int]string{
		0: `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"q"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aaaa"}}]},` +
			`{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"a:1","type":"function","function":{"name":"f","arguments":""},"extra_content":{"google":{"thought_signature":"gw1.p~x.y"}}},` +
			`{"id":"a:1","type":"custom","custom":{"name":"c","input":"x"}}]},{"role":"tool","tool_call_id":"a:1","content":"1"},{"role":"developer","content":"d"},{"role":"tool","tool_call_id":"a:1","content":"2"}],` +
			`"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}],"stop":[" "],"presence_penalty":1}`,
		1: `{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"gw1.p.x"},` +
			`{"type":"tool_use","id":"t","name":"f","input":{"a":1.0}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]}]}],` +
			`"thinking":{"type":"enabled","budget_tokens":2000},"max_tokens":3000,"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
		2: patching,
		3: `{"model":"m","systemInstruction":"s","contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"text":"t","thought":true,"thoughtSignature":"Z3cxLnAueA=="},{"functionCall":{"name":"f.g","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"f.g","response":{"output":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aaaa"}}]}}]}],"tools":[{"functionDeclarations":[{"name":"f.g"}]}]}`,
	} {
		f.Add(byte(style), []byte(body))
	}
	f.Fuzz(func(t *testing.T, style byte, body []byte) {
		client := allDialects()[fuzzStyles[int(style)%len(fuzzStyles)]]
		if way, ok := PassthroughWithoutSignatures(client, body); ok && json.Valid(body) && !json.Valid(way.body) {
			t.Fatalf("no JSON is left: %s", way.body)
		}
		if head, err := client.Peek(body); err != nil || head.Err() != nil {
			return // The gateway does not translate such a request.
		}
		r, err := client.Read(body)
		if err != nil {
			needsReason(t, err)
			return
		}
		for _, upstream := range allUpstreams() {
			way, err := New(client, upstream, r, "p", 4096)
			if err == nil && len(way.Images()) > 0 {
				continue // Images must be fetched first.
			}
			if err == nil {
				err = way.Prepare()
			}
			if err != nil {
				needsReason(t, err)
				continue
			}
			if !json.Valid(way.body) || bytes.ContainsAny(way.body, "\r\n") {
				t.Fatalf("to %s: %s", upstream.Style, way.body)
			}
			if _, err := upstream.Read(way.body); err != nil {
				t.Fatalf("to %s: %v\n%s", upstream.Style, err, way.body)
			}
			_ = way.Dropped()
		}
	})
}

func needsReason(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Message == "" || e.Kind != app.Invalid {
		t.Fatalf("%T %v", err, err)
	}
}
