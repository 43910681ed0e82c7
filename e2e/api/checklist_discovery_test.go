package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/e2e/harness"
)

var discoveryLines = []checkLine{
	{"F122 GET v1 models lists the models that the key may call", listsModels},
	{"F123 GET v1 model openapi.json gives the machine-readable contract of one model", func(t *testing.T, k *checklist) {
		for id, styles := range protocolsOf(t, k.Customer) {
			a := readContract(t, k.Customer, "openapi.json", id, "application/json")
			d := harness.DecodeObject(t, a.Body)
			paths, _ := d["paths"].(map[string]any)
			if d["openapi"] != "3.1.0" || len(paths) != len(styles) {
				t.Errorf("%s: OpenAPI %v with the paths %v for %v", id, d["openapi"], paths, styles)
			}
			for _, style := range styles {
				if harness.Member(paths, harness.Styles[style].Path, "post", "requestBody") == nil || !strings.Contains(a.Body, fmt.Sprintf(`"const":%q`, id)) {
					t.Errorf("%s: the document does not explain %s", id, harness.Styles[style].Path)
				}
			}
		}
	}},
	{"F124 GET v1 model api.md gives the Markdown contract of one model", func(t *testing.T, k *checklist) {
		for id, styles := range protocolsOf(t, k.Customer) {
			a := readContract(t, k.Customer, "api.md", id, "text/markdown; charset=utf-8")
			for style, p := range harness.Styles {
				if got := strings.Contains(a.Body, "\n## POST "+p.Path+"\n"); got != slices.Contains(styles, style) {
					t.Errorf("%s: the guide explains %s: %v", id, p.Path, got)
				}
			}
			if !strings.HasPrefix(a.Body, "# ") || !strings.Contains(a.Body, "`"+id+"`") {
				t.Errorf("%s: the guide begins %.200s", id, a.Body)
			}
		}
	}},
	{"F125 all three demand authentication", func(t *testing.T, k *checklist) {
		for _, path := range []string{"/v1/models", "/v1/models/" + harness.CheapModel, "/v1/model/openapi.json?model=" + harness.CheapModel, "/v1/model/api.md?model=" + harness.CheapModel} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				for _, headers := range [][]string{{"Authorization", ""}, harness.BearerHeader("sk-umg-nonsense"), {"Authorization", k.APIKey}} {
					a := k.Call(t, method, path, "", headers...)
					if a.Status != http.StatusUnauthorized || a.Header.Get("X-Error-Code") != "invalid_api_key" || a.Header.Get("Www-Authenticate") != "Bearer" {
						t.Errorf("%s %s with %q: %d", method, path, headers, a.Status)
					}
					if method == http.MethodGet {
						harness.Styles["responses"].CheckError(t, a, "unauthenticated", "invalid_api_key", "")
					}
				}
			}
		}
	}},
	{"F126 what a contract says is what validation enforces", contractsAreEnforced},
	{"F126 what a guide says is what validation enforces", guidesAreEnforced},
}

// readContract reads a contract of a model in one of its forms, and tries what caches do with it.
func readContract(t *testing.T, c harness.Customer, form, id, mediaType string) harness.Response {
	t.Helper()
	path := "/v1/model/" + form + "?model=" + id
	a := c.Call(t, http.MethodGet, path, "")
	tag := a.Header.Get("Etag")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != mediaType || !strings.HasPrefix(tag, `"`) {
		t.Fatalf("%s: %d %v %s", path, a.Status, a.Header, a.Body)
	}
	if b := c.Call(t, http.MethodGet, strings.Replace(path, "/"+id[strings.Index(id, "/")+1:], "%2F"+id[strings.Index(id, "/")+1:], 1), ""); b.Body != a.Body {
		t.Errorf("%s: another document for an escaped id: %d", path, b.Status)
	}
	for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		if b := c.Call(t, http.MethodGet, path, "", "If-None-Match", sent); b.Status != http.StatusNotModified || b.Body != "" || b.Header.Get("Etag") != tag {
			t.Errorf("%s: with %s: %d", path, sent, b.Status)
		}
	}
	if b := c.Call(t, http.MethodGet, path, "", "If-None-Match", `"other"`); b.Status != http.StatusOK {
		t.Errorf("%s: with another tag: %d", path, b.Status)
	}
	head := c.Call(t, http.MethodHead, path, "")
	if head.Status != http.StatusOK || head.Body != "" || head.Header.Get("Etag") != tag || head.Header.Get("Content-Length") != fmt.Sprint(len(a.Body)) {
		t.Errorf("HEAD %s: %d %v", path, head.Status, head.Header)
	}
	return a
}

func listsModels(t *testing.T, k *checklist) {
	a := k.Call(t, http.MethodGet, "/v1/models", "")
	list := harness.DecodeObject(t, a.Body)
	is(t, list, "object", "list")
	data, _ := list["data"].([]any)
	for _, m := range data {
		o, _ := m.(map[string]any)
		is(t, o, "object", "model")
		for _, name := range []string{"id", "owned_by", "display_name"} {
			isText(t, o, name)
		}
		counts := []string{"created", "context_length", "max_output_tokens"}
		// Video models are measured in other units.
		if o["kind"] == "video" {
			counts = counts[:1]
			for _, name := range []string{"supported_sizes", "supported_seconds", "endpoints"} {
				if list, _ := o[name].([]any); len(list) == 0 {
					t.Errorf("%v lacks %s", o["id"], name)
				}
			}
		}
		for _, name := range counts {
			if harness.IntMember(t, o, name) <= 0 {
				t.Errorf("%s is not told of %v", name, o["id"])
			}
		}
		for _, name := range []string{"capabilities", "protocols", "pricing", "rate_limits", "supported_parameters"} {
			if o[name] == nil {
				t.Errorf("%v lacks %s", o["id"], name)
			}
		}
	}
	c := k.NewCustomer(t, "narrow")
	allowModels(t, c, harness.CheapModel, "quillon/folio-large")
	if got := listedModelIDs(t, c); !slices.Equal(got, []string{harness.CheapModel, "quillon/folio-large"}) {
		t.Errorf("a key for two models lists %v", got)
	}
	for path, status := range map[string]int{
		"/v1/models/" + harness.CheapModel: 200, "/v1/models/meridian/forge": 403, "/v1/models/unknown/nothing": 404, "/v1/model/api.md?model=quillon/folio-large": 200,
		"/v1/model/api.md?model=meridian/forge": 403, "/v1/model/openapi.json?model=meridian/forge": 403, "/v1/model/openapi.json?model=unknown/nothing": 404,
		"/v1/model/openapi.json": 400, "/v1/model/api.md?model=": 400, "/v1/model/api.md?model=tessera/canvas": 404,
	} {
		if a := c.Call(t, http.MethodGet, path, ""); a.Status != status || status != 200 && harness.OpenAIError(t, a).Param != "model" {
			t.Errorf("%s: %d, not %d: %.300s", path, a.Status, status, a.Body)
		}
	}
	for _, p := range harness.AllStyles() {
		p.CheckError(t, p.Send(t, c, p.Request(k.speaks[p.Name], "echo: not with this key")), "forbidden", "model_not_allowed", "model")
		if p.CountPath != "" {
			p.CheckError(t, c.Call(t, http.MethodPost, p.CountPath, p.Request(k.speaks[p.Name], "x")), "forbidden", "model_not_allowed", "model")
		}
	}
	if got := c.UpstreamBodies(t, "not with this key"); got != "" {
		t.Errorf("a provider got %s", got)
	}
}

// listedModelIDs are the ids of the models that the key may call, in order.
func listedModelIDs(t *testing.T, c harness.Customer) []string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if a := c.Call(t, http.MethodGet, "/v1/models", ""); json.Unmarshal([]byte(a.Body), &list) != nil {
		t.Fatal(a.Body)
	}
	ids := []string{}
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// allowModels limits the customer's key to some models, as an operator would, and waits until the gateway knows.
func allowModels(t *testing.T, c harness.Customer, models ...string) {
	t.Helper()
	c.DB(t).MustExec(`update api_keys set models = $2 where account_id = $1`, c.AccountID, pq.Array(models))
	for deadline := time.Now().Add(harness.CallTimeMax); len(listedModelIDs(t, c)) > len(models); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the gateway never learns what the key may call")
		}
	}
}

// contractsAreEnforced draws bodies from the published schema of a model in each style, right ones and wrong ones, and
// holds what the schema says of each against what the route does.
func contractsAreEnforced(t *testing.T, k *checklist) {
	k.SetAvailable(t, 1_000_000_000_000)
	for style, id := range map[string]string{
		"chat": "meridian/atlas-large", "messages": "quillon/folio-large", "responses": "tessera/mosaic-pro", "native": "boreal/fjord-pro",
	} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			p := harness.Styles[style]
			document := k.Call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "")
			guide := k.Call(t, http.MethodGet, "/v1/model/api.md?model="+id, "")
			schema, whole := requestSchemaOf(t, document.Body, style)
			d := harness.SchemaBodies{Document: harness.DecodeObject(t, document.Body)}
			drawn := d.ForPath(t, p.Path)
			verdicts := map[bool]int{}
			for _, body := range drawn {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				published := schema.Validate(value) == nil
				verdicts[published]++
				a := p.Send(t, k.Customer, body)
				if accepted := a.Status == http.StatusOK || strings.Contains(a.Body, "The upstream provider refused"); accepted != published {
					t.Errorf("the schema says %v, the route %d %s\nof %s", published, a.Status, a.Body, body)
				}
			}
			if verdicts[true] < 40 || verdicts[false] < 40 {
				t.Errorf("%v of the bodies are right and wrong", verdicts)
			}
			for _, name := range whole {
				if !strings.Contains(guide.Body, "`"+name+"`") {
					t.Errorf("the guide does not name %s", name)
				}
			}
		})
	}
}

// requestSchemaOf compiles the schema of a style's requests inside an OpenAPI document, and lists its members.
func requestSchemaOf(t *testing.T, document, style string) (*jsonschema.Schema, []string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(document)))
	if err != nil {
		t.Fatalf("%v in %.300s", err, document)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://gateway.example/openapi.json", value); err != nil {
		t.Fatal(err)
	}
	ref := harness.TextMember(value, "paths", harness.Styles[style].Path, "post", "requestBody", "content", "application/json", "schema", "$ref")
	schema, err := c.Compile("https://gateway.example/openapi.json" + ref)
	if err != nil {
		t.Fatal(err)
	}
	properties, _ := harness.Member(value, "components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/"), "properties").(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	return schema, names
}
