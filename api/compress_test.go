package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"umg/app/apikey"
)

func TestTheWholeListOfModelsComesCompressedToWhoReadsIt(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	plain := h.call("GET", "/v1/models", "", append(bearer(secret), "Accept-Encoding", "identity")...)
	var tag string
	for encoding, want := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "gzip, deflate, br": true, "gzip;q=0": false, "gzip; q=0.000": false, "br": false, "x-gzip": false,
	} {
		a := h.call("GET", "/v1/models", "", append(bearer(secret), "Accept-Encoding", encoding)...)
		if (a.header.Get("Content-Encoding") == "gzip") != want || !strings.Contains(a.header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %v", encoding, a.header)
			continue
		}
		if !want {
			if a.body != plain.body {
				t.Errorf("%s: another body", encoding)
			}
			continue
		}
		tag = a.header.Get("ETag")
		z, err := gzip.NewReader(strings.NewReader(a.body))
		must(t, err)
		text, err := io.ReadAll(z)
		must(t, err)
		if string(text) != plain.body || len(a.body) >= len(plain.body) || tag == plain.header.Get("ETag") {
			t.Errorf("%s: %d bytes for %d, tag %s", encoding, len(a.body), len(plain.body), tag)
		}
	}
	again := h.call("GET", "/v1/models", "", append(bearer(secret), "Accept-Encoding", "gzip", "If-None-Match", tag)...)
	if again.status != http.StatusNotModified || again.body != "" || again.header.Get("Content-Encoding") != "" {
		t.Errorf("with its own tag: %d %v", again.status, again.header)
	}
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow"}})
	if a := h.call("GET", "/v1/models", "", append(bearer(narrow), "Accept-Encoding", "gzip")...); !strings.Contains(a.body, `"test/slow"`) ||
		strings.Contains(a.body, `"test/plain"`) {
		t.Errorf("a narrowed key got %s", a.body)
	}
}

func TestTheErrorStatusHeaderIsReadInAnyCase(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for value, status := range map[string]int{
		"standard": 404, "STANDARD": 404, "Standard": 404, "documented": 200, "Documented": 200, "native": 200, "404": 200,
	} {
		a := h.call("POST", "/v1/chat/completions", ask("test/none", ""), append(bearer(secret), "X-Error-Status", value)...)
		if a.status != status || a.header.Get("X-Error-Code") != "model_not_found" {
			t.Errorf("%q: %d %s", value, a.status, a.body)
		}
	}
}

// TestRefusalsAreSentences checks that a refusal begins with a capital or with the field at fault, and ends with a full stop. It names
// neither the pattern of a route nor the words of a library.
func TestRefusalsAreSentences(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	chat := "/v1/chat/completions"
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow"}})
	for _, c := range []struct{ method, path, body, secret string }{
		{"POST", chat, "", secret}, {"POST", chat, "{}", secret}, {"POST", chat, "[1]", secret}, {"POST", chat, `{"model":`, secret},
		{"POST", chat, `{"model":7}`, secret}, {"POST", chat, `{"model":"a","model":"b"}`, secret}, {"POST", chat, ask("none", ""), secret},
		{"POST", chat, ask("test/plian", ""), secret}, {"POST", chat, ask("test/plain:x", ""), secret}, {"POST", chat, ask("test/coming", ""), secret},
		{"POST", chat, ask("test/paused", ""), secret}, {"POST", chat, ask("test/nowhere", ""), secret}, {"POST", chat, ask("test/plain", ""), narrow},
		{"POST", chat, ask("test/plain", `,"temperature":9`), secret}, {"POST", chat, ask("test/plain", `,"stream":1`), secret},
		{"POST", chat, ask("test/plain", `,"n":0`), secret}, {"POST", chat, ask("test/plain", `,"max_tokens":1.5`), secret},
		{"POST", chat, ask("test/refusing", ""), secret}, {"POST", chat, ask("test/failing", ""), secret}, {"POST", chat, ask("test/dear", ""), secret},
		{"GET", chat, "", secret}, {"PUT", "/v1/models/test/plain", "", secret}, {"GET", "/v1/models/none", "", secret},
		{"GET", "/v1/models/test/plain", "", narrow}, {"GET", "/v1/models?limit=x", "", secret}, {"GET", "/v1/nothing", "", secret},
		{"GET", "/v1/models", "", "sk-umg-wrong"}, {"POST", chat + "/", "{}", secret}, {"GET", "/models", "", secret},
	} {
		headers := append(bearer(c.secret), "X-Error-Status", "standard", "Content-Type", "application/json")
		a := h.call(c.method, c.path, c.body, headers...)
		said := a.message(t)
		begins := said != "" && (said[0] >= 'A' && said[0] <= 'Z' || strings.HasPrefix(said, a.param(t)) && a.param(t) != "")
		if a.status < 400 || !begins || !strings.HasSuffix(said, ".") || strings.Contains(said, "*") || strings.Contains(said, "jsontext") {
			t.Errorf("%s %s %.60s: %d %q", c.method, c.path, c.body, a.status, said)
		}
	}
}
