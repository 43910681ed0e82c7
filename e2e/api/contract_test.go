package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/e2e/harness"
)

// TestAPIContracts reads a model's contract in both forms and holds the published schema against what the API accepts.
func TestAPIContracts(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	text := g.Call(t, "GET", "/v1/model/api.md?model="+harness.CheapModel, "")
	if text.Status != http.StatusOK || !strings.HasPrefix(text.Header.Get("Content-Type"), "text/markdown") {
		t.Fatalf("status %d, %s", text.Status, text.Header.Get("Content-Type"))
	}
	for _, want := range []string{"POST /v1/chat/completions", "`messages`", "`max_tokens`", "at most 16000", "$0.15 per 1M tokens", "60 requests"} {
		if !strings.Contains(text.Body, want) {
			t.Errorf("api.md does not say %q:\n%s", want, text.Body)
		}
	}
	document := g.Call(t, "GET", "/v1/model/openapi.json?model="+harness.CheapModel, "")
	if again := g.Call(t, "GET", "/v1/model/openapi.json?model="+harness.CheapModel, "", "If-None-Match", document.Header.Get("Etag")); again.Status != 304 {
		t.Errorf("with its ETag: %d", again.Status)
	}
	schema, _ := requestSchemaOf(t, document.Body, "chat")
	strict := g.NewCustomer(t, "contracts")
	strict.SetStrict(t)
	for body, want := range map[string]bool{
		harness.ChatRequest(harness.CheapModel, "echo: x"):                          true,
		harness.ChatRequest(harness.CheapModel, "echo: x", `"temperature":0.5`):     true,
		harness.ChatRequest(harness.CheapModel, "echo: x", `"temperature":3`):       false,
		harness.ChatRequest(harness.CheapModel, "echo: x", `"max_tokens":16001`):    false,
		`{"model":"` + harness.CheapModel + `","messages":[]}`:                      false,
		harness.ChatRequest(harness.CheapModel, "echo: x", `"unknown":{"a":[1,2]}`): true,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		published := schema.Validate(value) == nil
		accepted := strict.Call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard").Status == http.StatusOK
		if published != want || accepted != want {
			t.Errorf("%s: the schema says %v, the API %v, want %v", body, published, accepted, want)
		}
	}
	for path, status := range map[string]int{
		"/v1/model/api.md": 400, "/v1/model/openapi.json?model=unknown/nothing": 404, "/v1/model/api.md?model=tessera/canvas": 404,
	} {
		if a := g.Call(t, "GET", path, ""); a.Status != status || !strings.Contains(a.Body, `"param":"model"`) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// TestAPIErrorsLeadToTheContract follows the address that an error about a field gives.
func TestAPIErrorsLeadToTheContract(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "x", `"temperature":9`))
	var f struct {
		Error struct {
			Doc string `json:"doc_url"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.Body), &f); err != nil || f.Error.Doc == "" {
		t.Fatalf("%v in %s", err, a.Body)
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(f.Error.Doc, "http://"), "/")
	if guide := g.Call(t, "GET", "/"+path, ""); guide.Status != http.StatusOK || !strings.Contains(guide.Body, "`temperature`") {
		t.Errorf("%s: %d", f.Error.Doc, guide.Status)
	}
}
