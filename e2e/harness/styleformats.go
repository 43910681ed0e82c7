package harness

import (
	"fmt"
	"strings"
	"testing"
)

func chatError(t *testing.T, a Response) APIError {
	t.Helper()
	CheckChatErrorLayout(t, a.Body)
	f := DecodeChatError(t, a.Body)
	return APIError{f.Error.Type, f.Error.Code, f.Error.Param, f.Error.Message}
}

func messagesError(t *testing.T, a Response) APIError {
	t.Helper()
	o := DecodeObject(t, a.Body)
	OnlyMembers(t, o, "type", "error", "request_id")
	OnlyMembers(t, o["error"], "type", "message", "details", "doc_url")
	r := APIError{TextMember(o, "error", "type"), TextMember(o, "error", "details", "error_code"), TextMember(o, "error",
		"details", "param"), TextMember(o, "error", "message")}
	if o["type"] != "error" || r.Type == "" || r.Code == "" || r.Message == "" || TextMember(o, "request_id") != a.Header.Get("Request-Id") {
		t.Errorf("not the layout of the messages route: %s", a.Body)
	}
	return r
}

// OpenAIError reads an error of the routes that have the layout of Responses.
func OpenAIError(t *testing.T, a Response) APIError {
	t.Helper()
	o := DecodeObject(t, a.Body)
	OnlyMembers(t, o, "error")
	OnlyMembers(t, o["error"], "message", "type", "param", "code", "doc_url")
	r := APIError{TextMember(o, "error", "type"), TextMember(o, "error", "code"), TextMember(o, "error", "param"), TextMember(o,
		"error", "message")}
	if _, told := o["error"].(map[string]any)["param"]; !told || r.Type == "" || r.Code == "" || r.Message == "" {
		t.Errorf("not the layout of the routes like responses: %s", a.Body)
	}
	return r
}

func nativeRouteError(t *testing.T, a Response) APIError {
	t.Helper()
	r := nativeError(t, a.Body)
	if got := Number(Member(DecodeObject(t, a.Body), "error", "code")); got.String() != fmt.Sprint(a.Status) {
		t.Errorf("the code is %s under status %d", got, a.Status)
	}
	return r
}

func nativeError(t *testing.T, body string) APIError {
	t.Helper()
	o := DecodeObject(t, body)
	OnlyMembers(t, o, "error", "usageMetadata")
	OnlyMembers(t, o["error"], "code", "message", "status", "details")
	r := APIError{Type: TextMember(o, "error", "status"), Message: TextMember(o, "error", "message")}
	details, _ := Member(o, "error", "details").([]any)
	for _, d := range details {
		switch kind := TextMember(d, "@type"); kind[strings.LastIndex(kind, ".")+1:] {
		case "ErrorInfo":
			r.Code = TextMember(d, "metadata", "code")
			if TextMember(d, "reason") != strings.ToUpper(r.Code) {
				t.Errorf("the reason is not the code: %s", body)
			}
		case "BadRequest":
			r.Param = TextMember(d, "fieldViolations", 0, "field")
		}
	}
	if r.Type == "" || r.Code == "" || r.Message == "" {
		t.Errorf("not the layout of the native route: %s", body)
	}
	return r
}

func chatAnswer(t *testing.T, o map[string]any) Answer {
	t.Helper()
	return Answer{
		Model: TextMember(o, "model"), Text: TextMember(o, "choices", 0, "message", "content"), Stop: TextMember(o, "choices", 0,
			"finish_reason"),
		Input: TokensMember(t, o, "usage", "prompt_tokens"), Output: TokensMember(t, o, "usage", "completion_tokens"),
		Cost: Number(Member(o, "usage", "cost")).String(),
	}
}

func messagesAnswer(t *testing.T, o map[string]any) Answer {
	t.Helper()
	s := Answer{
		Model: TextMember(o, "model"), Stop: TextMember(o, "stop_reason"),
		Input: TokensMember(t, o, "usage", "input_tokens"), Output: TokensMember(t, o, "usage", "output_tokens"),
		Cost: Number(Member(o, "usage", "cost")).String(),
	}
	blocks, _ := o["content"].([]any)
	for _, b := range blocks {
		s.Text += TextMember(b, "text")
	}
	return s
}

func responsesAnswer(t *testing.T, o map[string]any) Answer {
	t.Helper()
	s := Answer{
		Model: TextMember(o, "model"), Stop: TextMember(o, "status"),
		Input: TokensMember(t, o, "usage", "input_tokens"), Output: TokensMember(t, o, "usage", "output_tokens"),
		Cost: Number(Member(o, "usage", "cost")).String(),
	}
	items, _ := o["output"].([]any)
	for _, item := range items {
		s.Text += TextMember(item, "content", 0, "text")
	}
	return s
}

// NativeAnswer reads a whole answer of the native style.
func NativeAnswer(t *testing.T, o map[string]any) Answer {
	t.Helper()
	s := Answer{
		Model: TextMember(o, "modelVersion"), Stop: TextMember(o, "candidates", 0, "finishReason"),
		Input: TokensMember(t, o, "usageMetadata", "promptTokenCount"), Output: TokensMember(t, o, "usageMetadata", "candidatesTokenCount"),
		Cost: Number(Member(o, "usageMetadata", "cost")).String(),
	}
	parts, _ := Member(o, "candidates", 0, "content", "parts").([]any)
	for _, p := range parts {
		if Member(p, "thought") != true {
			s.Text += TextMember(p, "text")
		}
	}
	return s
}

func chatPiece(t *testing.T, f StreamEvent) string {
	t.Helper()
	if f.Data == "[DONE]" {
		return ""
	}
	return TextMember(DecodeObject(t, f.Data), "choices", 0, "delta", "content")
}

func messagesPiece(t *testing.T, f StreamEvent) string {
	t.Helper()
	if f.Name != "content_block_delta" {
		return ""
	}
	return TextMember(DecodeObject(t, f.Data), "delta", "text")
}

func responsesPiece(t *testing.T, f StreamEvent) string {
	t.Helper()
	if f.Name != "response.output_text.delta" {
		return ""
	}
	return TextMember(DecodeObject(t, f.Data), "delta")
}

func nativePiece(t *testing.T, f StreamEvent) string {
	t.Helper()
	parts, _ := Member(DecodeObject(t, f.Data), "candidates", 0, "content", "parts").([]any)
	var text strings.Builder
	for _, p := range parts {
		if Member(p, "thought") != true {
			text.WriteString(TextMember(p, "text"))
		}
	}
	return text.String()
}

func checkChatEnd(t *testing.T, frames []StreamEvent) {
	t.Helper()
	end := len(frames) - 2
	// The usage is in the last chunk when the request asks for it.
	if DecodeObject(t, frames[end].Data)["usage"] != nil {
		end--
	}
	if frames[len(frames)-1].Data != "[DONE]" || TextMember(DecodeObject(t, frames[end].Data), "choices", 0, "finish_reason") == "" {
		t.Errorf("the stream ends with %v", frames[end:])
	}
}

func checkMessagesEnd(t *testing.T, frames []StreamEvent) {
	t.Helper()
	delta := frames[len(frames)-2]
	if frames[0].Name != "message_start" || delta.Name != "message_delta" || TextMember(DecodeObject(t, delta.Data), "delta",
		"stop_reason") == "" ||
		frames[len(frames)-1].Name != "message_stop" {
		t.Errorf("the stream begins with %v and ends with %v", frames[0], frames[len(frames)-2:])
	}
}

func checkResponsesEnd(t *testing.T, frames []StreamEvent) {
	t.Helper()
	for i, f := range frames {
		if got := Number(Member(DecodeObject(t, f.Data), "sequence_number")); got.String() != fmt.Sprint(i) {
			t.Errorf("the frame %d has the number %s", i, got)
		}
		ends := f.Name == "response.completed" || f.Name == "response.incomplete" || f.Name == "response.failed"
		if ends != (i == len(frames)-1) || (f.Name == "response.created") != (i == 0) {
			t.Errorf("the event %d of %d is %s", i, len(frames), f.Name)
		}
	}
}

func checkNativeEnd(t *testing.T, frames []StreamEvent) {
	t.Helper()
	for i, f := range frames {
		if ends := TextMember(DecodeObject(t, f.Data), "candidates", 0, "finishReason") != ""; ends != (i == len(frames)-1) {
			t.Errorf("the frame %d of %d is %s", i, len(frames), f.Data)
		}
	}
}

// chatStreamError and its like insist that a stream was ended by an error in the way of the style, and by nothing else. They
// return the error's code or kind.
func chatStreamError(t *testing.T, frames []StreamEvent) string {
	t.Helper()
	if frames[len(frames)-1].Data != "[DONE]" {
		t.Fatalf("the stream ends with %v", frames[len(frames)-1])
	}
	for _, f := range frames[:len(frames)-2] {
		if o := DecodeObject(t, f.Data); Member(o, "choices", 0, "finish_reason") != nil || o["error"] != nil {
			t.Errorf("an end before the end: %s", f.Data)
		}
	}
	CheckChatErrorLayout(t, frames[len(frames)-2].Data)
	return DecodeChatError(t, frames[len(frames)-2].Data).Error.Type
}

func messagesStreamError(t *testing.T, frames []StreamEvent) string {
	t.Helper()
	last := frames[len(frames)-1]
	for _, f := range frames[:len(frames)-1] {
		if f.Name == "message_stop" || f.Name == "message_delta" || f.Name == "error" {
			t.Errorf("an end before the end: %s", f.Data)
		}
	}
	o := DecodeObject(t, last.Data)
	if last.Name != "error" || TextMember(o, "error", "message") == "" || TextMember(o, "request_id") == "" {
		t.Errorf("the stream ends with %v", last)
	}
	return TextMember(o, "error", "type")
}

func responsesStreamError(t *testing.T, frames []StreamEvent) string {
	t.Helper()
	checkResponsesEnd(t, frames)
	last := frames[len(frames)-1]
	o := DecodeObject(t, last.Data)
	if last.Name != "response.failed" || TextMember(o, "response", "status") != "failed" || TextMember(o, "response", "error",
		"message") == "" {
		t.Errorf("the stream ends with %v", last)
	}
	return TextMember(o, "response", "error", "code")
}

func nativeStreamError(t *testing.T, frames []StreamEvent) string {
	t.Helper()
	for _, f := range frames[:len(frames)-1] {
		if o := DecodeObject(t, f.Data); TextMember(o, "candidates", 0, "finishReason") != "" || o["error"] != nil {
			t.Errorf("an end before the end: %s", f.Data)
		}
	}
	return nativeError(t, frames[len(frames)-1].Data).Type
}
