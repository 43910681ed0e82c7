package harness

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const ChatPath = "/v1/chat/completions"

// Chat sends a body to the chat route with the customer's key.
func (c Customer) Chat(t *testing.T, body string, headers ...string) Response {
	t.Helper()
	return c.Call(t, "POST", ChatPath, body, headers...)
}

// SignInToConsole is the customer at the console.
func (c Customer) SignInToConsole(t *testing.T) *ConsoleClient {
	t.Helper()
	p := NewConsoleClient(t, c.Gateway)
	if a := p.SignIn(t, c.Email, c.Password); a.Status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", a.Status)
	}
	return p
}

func BearerHeader(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// DecodeObject reads a JSON object whose numbers stay as they are written.
func DecodeObject(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}
