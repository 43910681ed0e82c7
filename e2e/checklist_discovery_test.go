package e2e

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
)

var discoveryLines = []checkLine{
	{"F122 GET v1 models lists the models that the key may call", listsModels},
	{"F123 GET v1 model openapi.json gives the machine-readable contract of one model", func(t *testing.T, k *checklist) {
		for id, styles := range k.protocolsOf(t) {
			a := k.contract(t, "openapi.json", id, "application/json")
			d := object(t, a.body)
			paths, _ := d["paths"].(map[string]any)
			if d["openapi"] != "3.1.0" || len(paths) != len(styles) {
				t.Errorf("%s: OpenAPI %v with the paths %v for %v", id, d["openapi"], paths, styles)
			}
			for _, style := range styles {
				if at(paths, protocols[style].path, "post", "requestBody") == nil || !strings.Contains(a.body, fmt.Sprintf(`"const":%q`, id)) {
					t.Errorf("%s: the document does not explain %s", id, protocols[style].path)
				}
			}
		}
	}},
	{"F124 GET v1 model api.md gives the Markdown contract of one model", func(t *testing.T, k *checklist) {
		for id, styles := range k.protocolsOf(t) {
			a := k.contract(t, "api.md", id, "text/markdown; charset=utf-8")
			for style, p := range protocols {
				if got := strings.Contains(a.body, "\n## POST "+p.path+"\n"); got != slices.Contains(styles, style) {
					t.Errorf("%s: the guide explains %s: %v", id, p.path, got)
				}
			}
			if !strings.HasPrefix(a.body, "# ") || !strings.Contains(a.body, "`"+id+"`") {
				t.Errorf("%s: the guide begins %.200s", id, a.body)
			}
		}
	}},
	{"F125 all three demand authentication", func(t *testing.T, k *checklist) {
		for _, path := range []string{"/v1/models", "/v1/models/" + cheapModel, "/v1/model/openapi.json?model=" + cheapModel, "/v1/model/api.md?model=" + cheapModel} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				for _, headers := range [][]string{{"Authorization", ""}, bearer("sk-umg-nonsense"), {"Authorization", k.APIKey}} {
					a := k.call(t, method, path, "", headers...)
					if a.status != http.StatusUnauthorized || a.header.Get("X-Error-Code") != "invalid_api_key" || a.header.Get("Www-Authenticate") != "Bearer" {
						t.Errorf("%s %s with %q: %d", method, path, headers, a.status)
					}
					if method == http.MethodGet {
						protocols["responses"].fails(t, a, "unauthenticated", "invalid_api_key", "")
					}
				}
			}
		}
	}},
	{"F126 what a contract says is what validation enforces", contractsAreEnforced},
	{"F126 what a guide says is what validation enforces", guidesAreEnforced},
}

// contract reads a contract of a model in one of its forms, and tries what caches do with it.
func (c customer) contract(t *testing.T, form, id, mediaType string) answer {
	t.Helper()
	path := "/v1/model/" + form + "?model=" + id
	a := c.call(t, http.MethodGet, path, "")
	tag := a.header.Get("Etag")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != mediaType || !strings.HasPrefix(tag, `"`) {
		t.Fatalf("%s: %d %v %s", path, a.status, a.header, a.body)
	}
	if b := c.call(t, http.MethodGet, strings.Replace(path, "/"+id[strings.Index(id, "/")+1:], "%2F"+id[strings.Index(id, "/")+1:], 1), ""); b.body != a.body {
		t.Errorf("%s: another document for an escaped id: %d", path, b.status)
	}
	for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		if b := c.call(t, http.MethodGet, path, "", "If-None-Match", sent); b.status != http.StatusNotModified || b.body != "" || b.header.Get("Etag") != tag {
			t.Errorf("%s: with %s: %d", path, sent, b.status)
		}
	}
	if b := c.call(t, http.MethodGet, path, "", "If-None-Match", `"other"`); b.status != http.StatusOK {
		t.Errorf("%s: with another tag: %d", path, b.status)
	}
	head := c.call(t, http.MethodHead, path, "")
	if head.status != http.StatusOK || head.body != "" || head.header.Get("Etag") != tag || head.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
		t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
	}
	return a
}

func listsModels(t *testing.T, k *checklist) {
	a := k.call(t, http.MethodGet, "/v1/models", "")
	list := object(t, a.body)
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
			if whole(t, o, name) <= 0 {
				t.Errorf("%s is not told of %v", name, o["id"])
			}
		}
		for _, name := range []string{"capabilities", "protocols", "pricing", "rate_limits", "supported_parameters"} {
			if o[name] == nil {
				t.Errorf("%v lacks %s", o["id"], name)
			}
		}
	}
	c := k.newCustomer(t, "narrow")
	c.allow(t, cheapModel, "quillon/folio-large")
	if got := c.listed(t); !slices.Equal(got, []string{cheapModel, "quillon/folio-large"}) {
		t.Errorf("a key for two models lists %v", got)
	}
	for path, status := range map[string]int{
		"/v1/models/" + cheapModel: 200, "/v1/models/meridian/forge": 403, "/v1/models/nobody/nothing": 404, "/v1/model/api.md?model=quillon/folio-large": 200,
		"/v1/model/api.md?model=meridian/forge": 403, "/v1/model/openapi.json?model=meridian/forge": 403, "/v1/model/openapi.json?model=nobody/nothing": 404,
		"/v1/model/openapi.json": 400, "/v1/model/api.md?model=": 400, "/v1/model/api.md?model=tessera/canvas": 404,
	} {
		if a := c.call(t, http.MethodGet, path, ""); a.status != status || status != 200 && openAIRefusal(t, a).param != "model" {
			t.Errorf("%s: %d, not %d: %.300s", path, a.status, status, a.body)
		}
	}
	for _, p := range allProtocols() {
		p.fails(t, p.send(t, c, p.ask(k.speaks[p.style], "echo: not with this key")), "forbidden", "model_not_allowed", "model")
		if p.count != "" {
			p.fails(t, c.call(t, http.MethodPost, p.count, p.ask(k.speaks[p.style], "x")), "forbidden", "model_not_allowed", "model")
		}
	}
	if got := c.received(t, "not with this key"); got != "" {
		t.Errorf("a provider got %s", got)
	}
}

// listed are the ids of the models that the key may call, in order.
func (c customer) listed(t *testing.T) []string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if a := c.call(t, http.MethodGet, "/v1/models", ""); json.Unmarshal([]byte(a.body), &list) != nil {
		t.Fatal(a.body)
	}
	ids := []string{}
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

// allow limits the customer's key to some models, as an operator would, and waits until the gateway knows.
func (c customer) allow(t *testing.T, models ...string) {
	t.Helper()
	c.db(t).MustExec(`update api_keys set models = $2 where account_id = $1`, c.accountID, pq.Array(models))
	for deadline := time.Now().Add(callTimeMax); len(c.listed(t)) > len(models); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the gateway never learns what the key may call")
		}
	}
}

// contractsAreEnforced draws bodies from the published schema of a model in each style, right ones and wrong ones, and
// holds what the schema says of each against what the route does.
func contractsAreEnforced(t *testing.T, k *checklist) {
	k.setAvailable(t, 1_000_000_000_000)
	for style, id := range map[string]string{
		"chat": "meridian/atlas-large", "messages": "quillon/folio-large", "responses": "tessera/mosaic-pro", "native": "boreal/fjord-pro",
	} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			p := protocols[style]
			document := k.call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "")
			guide := k.call(t, http.MethodGet, "/v1/model/api.md?model="+id, "")
			schema, whole := requestSchemaOf(t, document.body, style)
			d := drawing{document: object(t, document.body)}
			drawn := d.bodies(t, p.path)
			verdicts := map[bool]int{}
			for _, body := range drawn {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				published := schema.Validate(value) == nil
				verdicts[published]++
				a := p.send(t, k.customer, body)
				if accepted := a.status == http.StatusOK || strings.Contains(a.body, "The upstream provider refused"); accepted != published {
					t.Errorf("the schema says %v, the route %d %s\nof %s", published, a.status, a.body, body)
				}
			}
			if verdicts[true] < 40 || verdicts[false] < 40 {
				t.Errorf("%v of the bodies are right and wrong", verdicts)
			}
			for _, name := range whole {
				if !strings.Contains(guide.body, "`"+name+"`") {
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
	ref := textAt(value, "paths", protocols[style].path, "post", "requestBody", "content", "application/json", "schema", "$ref")
	schema, err := c.Compile("https://gateway.example/openapi.json" + ref)
	if err != nil {
		t.Fatal(err)
	}
	properties, _ := at(value, "components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/"), "properties").(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	return schema, names
}
