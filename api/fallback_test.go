package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestAFallbackModelIsNamedWhereverItServed(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for path, more := range map[string]string{"/v1/chat/completions": "", "/v1/messages": `,"max_tokens":50`} {
		a := h.call("POST", path, ask("test/falls", more), bearer(secret)...)
		if a.status != http.StatusOK || !strings.Contains(a.body, `"model":"test/plain"`) || strings.Contains(a.body, "test/falls") {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		g := decode[generationReply](t, h.call("GET", "/v1/generation?id="+a.header.Get("X-Generation-Id"), "", bearer(secret)...), 200).Data
		if g["model"] != "test/plain" {
			t.Errorf("%s: %v", path, g)
		}
		refused := h.call("POST", path, ask("test/falls", more), append(bearer(secret), "X-Gateway-Fallback", "none", "X-Error-Status", "standard")...)
		if refused.status < 500 || strings.Contains(refused.body, "test/plain") || refused.header.Get("X-Error-Code") != "no_available_provider" {
			t.Errorf("%s without fallback models: %d %s", path, refused.status, refused.body)
		}
		if wrong := h.call("POST", path, ask("test/falls", more), append(bearer(secret), "X-Gateway-Fallback", "maybe")...); wrong.header.Get("X-Error-Code") != "invalid_value" {
			t.Errorf("%s with another word: %d %s", path, wrong.status, wrong.body)
		}
	}
	if a := h.call("GET", "/v1/models/test/falls", "", bearer(secret)...); !strings.Contains(a.body, `"fallbacks":["test/plain"]`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
