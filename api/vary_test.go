package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// varies are the request headers that an answer says it depends on.
func varies(r reply) (names []string) {
	for _, v := range r.header.Values("Vary") {
		for name := range strings.SplitSeq(v, ",") {
			names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	return names
}

// TestVaryNamesTheHeadersThatDecideTheLayout asks routes whose layout a header decides, and routes where none does, as clients that send
// the header and as those that do not.
func TestVaryNamesTheHeadersThatDecideTheLayout(t *testing.T) {
	t.Parallel()
	w := newErrorWorld(t)
	const genai = "google-genai-sdk/1.30.0 gl-python/3.12"
	for _, c := range []struct {
		method, path, body string
		names              []string // The response depends on exactly these headers.
	}{
		{"GET", "/v1/models", "", []string{"User-Agent", "Anthropic-Version", "Vendorb-Version"}},
		{"GET", "/v1/models?limit=x", "", []string{"User-Agent", "Anthropic-Version", "Vendorb-Version"}},
		{"GET", "/v1/models/test/plain", "", []string{"User-Agent", "Anthropic-Version", "Vendorb-Version"}},
		{"GET", "/v1/models/test/nothing", "", []string{"User-Agent", "Anthropic-Version", "Vendorb-Version"}},
		{"GET", "/v1beta/models", "", nil}, {"GET", "/v1beta/models?pageSize=x", "", nil}, {"GET", "/v1beta/models/test/plain", "", nil},
		{"GET", "/v1/model/api.md?model=test/plain", "", nil}, {"GET", "/v1/model/openapi.json?model=test/plain", "", nil},
		{"GET", "/v1/usage", "", []string{"Accept"}}, {"GET", "/v1/videos", "", nil}, {"GET", "/v1/nothing", "", nil},
		{"POST", "/v1/chat/completions", `{"model":7}`, []string{"X-Error-Status"}}, {"POST", "/v1/messages", `{"model":7}`, nil},
		{"POST", "/v1/responses", `{"model":7}`, nil}, {"POST", "/vendorc/native", `{"model":7}`, nil},
	} {
		for _, agent := range []string{genai, "curl/8"} {
			r := w.send("caller", c.method, c.path, c.body, "User-Agent", agent)
			named := varies(r)
			for _, name := range []string{"User-Agent", "Anthropic-Version", "Vendorb-Version", "Accept", "X-Error-Status"} {
				if slices.Contains(named, name) != slices.Contains(c.names, name) {
					t.Errorf("%s %s by %s: Vary is %q, of which %s is wrong or missing", c.method, c.path, agent, named, name)
				}
			}
		}
	}
}
