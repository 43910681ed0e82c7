package emulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"umg/app/simulator/emulator"
)

// get asks for a list with headers, which are pairs of names and values.
func (b *bench) get(path string, headers ...string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

func TestListsAreAsStrictAsCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := []string{"X-Api-Key", emulator.Key("anthropic"), "Anthropic-Version", "2023-06-01"}
	for _, c := range []struct {
		path    string
		headers []string
		status  int
	}{
		{"/anthropic/v1/models", key, http.StatusOK},
		{"/anthropic/v1/models", nil, http.StatusUnauthorized},
		{"/anthropic/v1/models", []string{"X-Api-Key", "sk-other", "Anthropic-Version", "2023-06-01"}, http.StatusUnauthorized},
		{"/anthropic/v1/models", key[:2], http.StatusBadRequest},
		{"/anthropic/v1/models?limit=1001", key, http.StatusBadRequest},
		{"/anthropic/v1/others", key, http.StatusNotFound},
		{"/openrouter/api/v1/models", nil, http.StatusOK},
		{"/openai/v1/models", []string{"Authorization", "Bearer " + emulator.Key("groq")}, http.StatusUnauthorized},
		{"/gemini/v1beta/models?pageToken=other", []string{"X-Goog-Api-Key", emulator.Key("gemini")}, http.StatusBadRequest},
		{"/bedrock/foundation-models", nil, http.StatusForbidden},
	} {
		if got := b.get(c.path, c.headers...); got.status != c.status {
			t.Errorf("%s with %v: %d %s", c.path, c.headers, got.status, got.body)
		}
	}
}

func TestListsHavePagesAndFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := []string{"X-Goog-Api-Key", emulator.Key("gemini")}
	b.ListMore("gemini", 99)
	seen, path := 0, "/gemini/v1beta/models?pageSize=40"
	for pages := 0; path != ""; pages++ {
		var page struct {
			Models []struct{ Name string }
			Next   string `json:"nextPageToken"`
		}
		if err := json.Unmarshal([]byte(b.get(path, key...).body), &page); err != nil || pages > 2 {
			t.Fatalf("page %d: %v", pages, err)
		}
		seen += len(page.Models)
		if path = ""; page.Next != "" {
			path = "/gemini/v1beta/models?pageSize=40&pageToken=" + page.Next
		}
	}
	if seen != 100 {
		t.Errorf("%d models", seen)
	}
	for _, fault := range []string{emulator.Empty, emulator.Broken, "overloaded"} {
		b.Clear()
		b.Add(emulator.Rule{Provider: "gemini", Path: "/models", Fault: fault})
		got := b.get("/gemini/v1beta/models", key...)
		switch {
		case fault == emulator.Empty && !strings.Contains(got.body, `"models":[]`),
			fault == emulator.Broken && (got.status != http.StatusOK || json.Valid([]byte(got.body))),
			fault == "overloaded" && got.status != http.StatusServiceUnavailable:
			t.Errorf("%s: %d %s", fault, got.status, got.body)
		}
	}
}
