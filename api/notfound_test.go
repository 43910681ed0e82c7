package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAnUnknownPathNamesTheMistake calls what clients call with the usual mistakes of base URLs, and what is misspelled.
func TestAnUnknownPathNamesTheMistake(t *testing.T) {
	t.Parallel()
	h := setup(t)
	auth := bearer(h.secret())
	for _, c := range []struct{ method, path, says, not string }{
		{"POST", "/chat/completions", "Add /v1 to the base URL", "Near"},
		{"POST", "/responses", "Add /v1 to the base URL", ""},
		{"GET", "/models", "Add /v1 to the base URL", ""},
		{"GET", "/models/test/plain", "Add /v1 to the base URL", ""},
		{"POST", "/v1/v1/messages", "leave it out of the base URL", ""},
		{"POST", "/v1/v1/messages/count_tokens", "leave it out of the base URL", ""},
		{"POST", "/v1/v1beta/models/test/plain:generateContent", "leave the version out of the base URL", ""},
		{"POST", "/api/v1/chat/completions", `leave "/api" out of the base URL`, ""},
		{"POST", "/openai/v1/responses", `leave "/openai" out of the base URL`, ""},
		{"POST", "/v1/chat/completions/", "Remove the slash at its end", ""},
		{"POST", "//v1/chat/completions", "two slashes", ""},
		{"POST", "/v1/chat/completion", "Near it are POST /v1/chat/completions", ""},
		{"POST", "/v1/message", "POST /v1/messages", ""},
		{"GET", "/v1/video", "/v1/videos", ""},
		{"GET", "/v1/usages", "GET /v1/usage", ""},
		{"POST", "/v1/keys/key_1/rotates", "POST /v1/keys/:id/rotate", ""},
		{"POST", "/v1/" + strings.Repeat("x", 5000), "There are POST /v1/chat/completions", "Near"},
		{"POST", "/v1beta/models/test/plain:embedContent", "There are generateContent, streamGenerateContent, countTokens", ""},
	} {
		a := h.call(c.method, c.path, "{}", auth...)
		message := a.message(t)
		if a.status != http.StatusNotFound || a.header.Get("X-Error-Code") != "not_found" || !strings.Contains(message, c.says) ||
			c.not != "" && strings.Contains(message, c.not) || len(message) > 600 || strings.Count(message, "Near it are") > 0 && strings.Count(message, ", ") > 3 {
			t.Errorf("%s %.60s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
	for path, allow := range map[string]string{"/v1/chat/completions": "POST", "/v1/models": "GET"} {
		a := h.call("DELETE", path, "", auth...)
		if a.status != http.StatusMethodNotAllowed || !strings.Contains(a.header.Get("Allow"), allow) || !strings.Contains(a.message(t), allow) ||
			!strings.Contains(a.message(t), path) || !strings.Contains(a.message(t), "DELETE") {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
}

// foreignSecret is well formed, and no gateway of a test has made it.
const foreignSecret = "sk-umg-AnotherEnvironmentsKey01234567894P1OkZ"

// TestACallWithoutAKeyIsToldSo tells no key, a key of another service and a part of a key apart.
func TestACallWithoutAKeyIsToldSo(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for name, c := range map[string]struct {
		headers []string
		says    string
	}{
		"none":            {nil, "bears no key"},
		"empty":           {[]string{"Authorization", ""}, "bears no key"},
		"nothing behind":  {[]string{"Authorization", "Bearer "}, "bears no key"},
		"another service": {bearer("sk-proj-0123456789"), "not a key of this gateway"},
		"a placeholder":   {bearer("undefined"), "not a key of this gateway"},
		"cut":             {bearer(secret[:20]), "has 20 characters"},
		"mistyped":        {bearer(secret[:len(secret)-1] + "-"), "was mistyped"},
		"another gateway": {bearer(foreignSecret), "belongs to another environment"},
	} {
		for _, path := range []string{"/v1/models", "/v1/chat/completions"} {
			method := map[bool]string{true: "GET", false: "POST"}[path == "/v1/models"]
			a := h.call(method, path, "", c.headers...)
			if a.status != http.StatusUnauthorized || !strings.Contains(a.message(t), c.says) || strings.Contains(a.body, "0123456789") ||
				strings.Contains(a.message(t), "bears no key") != (c.says == "bears no key") {
				t.Errorf("%s, %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
}
