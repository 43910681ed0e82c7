package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// at walks into a decoded JSON value: names lead into objects, numbers into lists. What is not there is nil.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(map[string]any)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

func textAt(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

// tokensAt reads a count, which must be a whole number.
func tokensAt(t *testing.T, v any, path ...any) int64 {
	t.Helper()
	n, err := number(at(v, path...)).Int64()
	if err != nil {
		t.Errorf("%v is no count in %v", path, v)
	}
	return n
}

func number(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}

// only insists that an object has no other member than these.
func only(t *testing.T, o any, names ...string) {
	t.Helper()
	members, isObject := o.(map[string]any)
	if !isObject {
		t.Fatalf("%v is no object", o)
	}
	for name := range members {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			t.Errorf("%s does not belong into %v", name, members)
		}
	}
}

func chatRefusal(t *testing.T, a answer) refusal {
	t.Helper()
	layoutHolds(t, a.body)
	f := decodeFailure(t, a.body)
	return refusal{f.Error.Type, f.Error.Code, f.Error.Param, f.Error.Message}
}

func messagesRefusal(t *testing.T, a answer) refusal {
	t.Helper()
	o := object(t, a.body)
	only(t, o, "type", "error", "request_id")
	only(t, o["error"], "type", "message", "details", "doc_url")
	r := refusal{textAt(o, "error", "type"), textAt(o, "error", "details", "error_code"), textAt(o, "error", "details", "param"), textAt(o, "error", "message")}
	if o["type"] != "error" || r.kind == "" || r.code == "" || r.message == "" || textAt(o, "request_id") != a.header.Get("Request-Id") {
		t.Errorf("not the layout of the messages route: %s", a.body)
	}
	return r
}

func openAIRefusal(t *testing.T, a answer) refusal {
	t.Helper()
	o := object(t, a.body)
	only(t, o, "error")
	only(t, o["error"], "message", "type", "param", "code", "doc_url")
	r := refusal{textAt(o, "error", "type"), textAt(o, "error", "code"), textAt(o, "error", "param"), textAt(o, "error", "message")}
	if _, told := o["error"].(map[string]any)["param"]; !told || r.kind == "" || r.code == "" || r.message == "" {
		t.Errorf("not the layout of the routes like responses: %s", a.body)
	}
	return r
}

func nativeRefusal(t *testing.T, a answer) refusal {
	t.Helper()
	r := nativeError(t, a.body)
	if got := number(at(object(t, a.body), "error", "code")); got.String() != fmt.Sprint(a.status) {
		t.Errorf("the code is %s under status %d", got, a.status)
	}
	return r
}

func nativeError(t *testing.T, body string) refusal {
	t.Helper()
	o := object(t, body)
	only(t, o, "error", "usageMetadata")
	only(t, o["error"], "code", "message", "status", "details")
	r := refusal{kind: textAt(o, "error", "status"), message: textAt(o, "error", "message")}
	details, _ := at(o, "error", "details").([]any)
	for _, d := range details {
		switch kind := textAt(d, "@type"); kind[strings.LastIndex(kind, ".")+1:] {
		case "ErrorInfo":
			r.code = textAt(d, "metadata", "code")
			if textAt(d, "reason") != strings.ToUpper(r.code) {
				t.Errorf("the reason is not the code: %s", body)
			}
		case "BadRequest":
			r.param = textAt(d, "fieldViolations", 0, "field")
		}
	}
	if r.kind == "" || r.code == "" || r.message == "" {
		t.Errorf("not the layout of the native route: %s", body)
	}
	return r
}

func chatSaid(t *testing.T, o map[string]any) said {
	t.Helper()
	return said{
		model: textAt(o, "model"), text: textAt(o, "choices", 0, "message", "content"), stop: textAt(o, "choices", 0, "finish_reason"),
		input: tokensAt(t, o, "usage", "prompt_tokens"), output: tokensAt(t, o, "usage", "completion_tokens"), cost: number(at(o, "usage", "cost")).String(),
	}
}

func messagesSaid(t *testing.T, o map[string]any) said {
	t.Helper()
	s := said{
		model: textAt(o, "model"), stop: textAt(o, "stop_reason"),
		input: tokensAt(t, o, "usage", "input_tokens"), output: tokensAt(t, o, "usage", "output_tokens"), cost: number(at(o, "usage", "cost")).String(),
	}
	blocks, _ := o["content"].([]any)
	for _, b := range blocks {
		s.text += textAt(b, "text")
	}
	return s
}

func responsesSaid(t *testing.T, o map[string]any) said {
	t.Helper()
	s := said{
		model: textAt(o, "model"), stop: textAt(o, "status"),
		input: tokensAt(t, o, "usage", "input_tokens"), output: tokensAt(t, o, "usage", "output_tokens"), cost: number(at(o, "usage", "cost")).String(),
	}
	items, _ := o["output"].([]any)
	for _, item := range items {
		s.text += textAt(item, "content", 0, "text")
	}
	return s
}

func nativeSaid(t *testing.T, o map[string]any) said {
	t.Helper()
	s := said{
		model: textAt(o, "modelVersion"), stop: textAt(o, "candidates", 0, "finishReason"),
		input: tokensAt(t, o, "usageMetadata", "promptTokenCount"), output: tokensAt(t, o, "usageMetadata", "candidatesTokenCount"),
		cost: number(at(o, "usageMetadata", "cost")).String(),
	}
	parts, _ := at(o, "candidates", 0, "content", "parts").([]any)
	for _, p := range parts {
		if at(p, "thought") != true {
			s.text += textAt(p, "text")
		}
	}
	return s
}

func chatPiece(t *testing.T, f sseFrame) string {
	t.Helper()
	if f.data == "[DONE]" {
		return ""
	}
	return textAt(object(t, f.data), "choices", 0, "delta", "content")
}

func messagesPiece(t *testing.T, f sseFrame) string {
	t.Helper()
	if f.event != "content_block_delta" {
		return ""
	}
	return textAt(object(t, f.data), "delta", "text")
}

func responsesPiece(t *testing.T, f sseFrame) string {
	t.Helper()
	if f.event != "response.output_text.delta" {
		return ""
	}
	return textAt(object(t, f.data), "delta")
}

func nativePiece(t *testing.T, f sseFrame) string {
	t.Helper()
	parts, _ := at(object(t, f.data), "candidates", 0, "content", "parts").([]any)
	text := ""
	for _, p := range parts {
		if at(p, "thought") != true {
			text += textAt(p, "text")
		}
	}
	return text
}

func chatLast(t *testing.T, frames []sseFrame) {
	t.Helper()
	end := len(frames) - 2
	// The usage is in the last chunk when the request asks for it.
	if object(t, frames[end].data)["usage"] != nil {
		end--
	}
	if frames[len(frames)-1].data != "[DONE]" || textAt(object(t, frames[end].data), "choices", 0, "finish_reason") == "" {
		t.Errorf("the stream ends with %v", frames[end:])
	}
}

func messagesLast(t *testing.T, frames []sseFrame) {
	t.Helper()
	delta := frames[len(frames)-2]
	if frames[0].event != "message_start" || delta.event != "message_delta" || textAt(object(t, delta.data), "delta", "stop_reason") == "" ||
		frames[len(frames)-1].event != "message_stop" {
		t.Errorf("the stream begins with %v and ends with %v", frames[0], frames[len(frames)-2:])
	}
}

func responsesLast(t *testing.T, frames []sseFrame) {
	t.Helper()
	for i, f := range frames {
		if got := number(at(object(t, f.data), "sequence_number")); got.String() != fmt.Sprint(i) {
			t.Errorf("the frame %d has the number %s", i, got)
		}
		ends := f.event == "response.completed" || f.event == "response.incomplete" || f.event == "response.failed"
		if ends != (i == len(frames)-1) || (f.event == "response.created") != (i == 0) {
			t.Errorf("the event %d of %d is %s", i, len(frames), f.event)
		}
	}
}

func nativeLast(t *testing.T, frames []sseFrame) {
	t.Helper()
	for i, f := range frames {
		if ends := textAt(object(t, f.data), "candidates", 0, "finishReason") != ""; ends != (i == len(frames)-1) {
			t.Errorf("the frame %d of %d is %s", i, len(frames), f.data)
		}
	}
}

// chatLate and its like insist that a stream was ended by an error in the way of the style, and by nothing else. They
// return the error's code or kind.
func chatLate(t *testing.T, frames []sseFrame) string {
	t.Helper()
	if frames[len(frames)-1].data != "[DONE]" {
		t.Fatalf("the stream ends with %v", frames[len(frames)-1])
	}
	for _, f := range frames[:len(frames)-2] {
		if o := object(t, f.data); at(o, "choices", 0, "finish_reason") != nil || o["error"] != nil {
			t.Errorf("an end before the end: %s", f.data)
		}
	}
	layoutHolds(t, frames[len(frames)-2].data)
	return decodeFailure(t, frames[len(frames)-2].data).Error.Type
}

func messagesLate(t *testing.T, frames []sseFrame) string {
	t.Helper()
	last := frames[len(frames)-1]
	for _, f := range frames[:len(frames)-1] {
		if f.event == "message_stop" || f.event == "message_delta" || f.event == "error" {
			t.Errorf("an end before the end: %s", f.data)
		}
	}
	o := object(t, last.data)
	if last.event != "error" || textAt(o, "error", "message") == "" || textAt(o, "request_id") == "" {
		t.Errorf("the stream ends with %v", last)
	}
	return textAt(o, "error", "type")
}

func responsesLate(t *testing.T, frames []sseFrame) string {
	t.Helper()
	responsesLast(t, frames)
	last := frames[len(frames)-1]
	o := object(t, last.data)
	if last.event != "response.failed" || textAt(o, "response", "status") != "failed" || textAt(o, "response", "error", "message") == "" {
		t.Errorf("the stream ends with %v", last)
	}
	return textAt(o, "response", "error", "code")
}

func nativeLate(t *testing.T, frames []sseFrame) string {
	t.Helper()
	for _, f := range frames[:len(frames)-1] {
		if o := object(t, f.data); textAt(o, "candidates", 0, "finishReason") != "" || o["error"] != nil {
			t.Errorf("an end before the end: %s", f.data)
		}
	}
	return nativeError(t, frames[len(frames)-1].data).kind
}
