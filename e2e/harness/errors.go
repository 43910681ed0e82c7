package harness

import (
	"encoding/json"
	"testing"
)

// ChatError is the error layout of the chat route.
type ChatError struct {
	Code  int `json:"code"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   string `json:"param"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func DecodeChatError(t *testing.T, body string) ChatError {
	t.Helper()
	var f ChatError
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if f.Code == 0 || f.Error.Code == "" || f.Error.Message == "" || f.Error.Type == "" || f.RequestID == "" {
		t.Fatalf("not the chat error layout: %s", body)
	}
	return f
}
