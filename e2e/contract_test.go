package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestAPIContracts reads a model's contract in both forms and holds the published schema against what the API accepts.
func TestAPIContracts(t *testing.T) {
	t.Parallel()
	g := running(t)
	text := g.call(t, "GET", "/v1/model/api.md?model="+cheapModel, "")
	if text.status != http.StatusOK || !strings.HasPrefix(text.header.Get("Content-Type"), "text/markdown") {
		t.Fatalf("status %d, %s", text.status, text.header.Get("Content-Type"))
	}
	for _, want := range []string{"POST /v1/chat/completions", "`messages`", "`max_tokens`", "at most 16000", "$0.15 per 1000000", "60 requests"} {
		if !strings.Contains(text.body, want) {
			t.Errorf("api.md does not say %q:\n%s", want, text.body)
		}
	}
	document := g.call(t, "GET", "/v1/model/openapi.json?model="+cheapModel, "")
	if again := g.call(t, "GET", "/v1/model/openapi.json?model="+cheapModel, "", "If-None-Match", document.header.Get("Etag")); again.status != 304 {
		t.Errorf("with its ETag: %d", again.status)
	}
	schema, _ := requestSchemaOf(t, document.body, "chat")
	strict := g.newCustomer(t, "contracts")
	strict.setStrict(t)
	for body, want := range map[string]bool{
		ask(cheapModel, "echo: x"):                          true,
		ask(cheapModel, "echo: x", `"temperature":0.5`):     true,
		ask(cheapModel, "echo: x", `"temperature":3`):       false,
		ask(cheapModel, "echo: x", `"max_tokens":16001`):    false,
		`{"model":"` + cheapModel + `","messages":[]}`:      false,
		ask(cheapModel, "echo: x", `"unknown":{"a":[1,2]}`): true,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		published := schema.Validate(value) == nil
		accepted := strict.call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard").status == http.StatusOK
		if published != want || accepted != want {
			t.Errorf("%s: the schema says %v, the API %v, want %v", body, published, accepted, want)
		}
	}
	for path, status := range map[string]int{
		"/v1/model/api.md": 400, "/v1/model/openapi.json?model=nobody/nothing": 404, "/v1/model/api.md?model=tessera/canvas": 404,
	} {
		if a := g.call(t, "GET", path, ""); a.status != status || !strings.Contains(a.body, `"param":"model"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestAPIErrorsLeadToTheContract follows the address that an error about a field gives.
func TestAPIErrorsLeadToTheContract(t *testing.T) {
	t.Parallel()
	g := running(t)
	a := g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "x", `"temperature":9`))
	var f struct {
		Error struct {
			Doc string `json:"doc_url"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(a.body), &f); err != nil || f.Error.Doc == "" {
		t.Fatalf("%v in %s", err, a.body)
	}
	_, path, _ := strings.Cut(strings.TrimPrefix(f.Error.Doc, "http://"), "/")
	if guide := g.call(t, "GET", "/"+path, ""); guide.status != http.StatusOK || !strings.Contains(guide.body, "`temperature`") {
		t.Errorf("%s: %d", f.Error.Doc, guide.status)
	}
}
