package api_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/postgres/pgtest"
)

// lifecycleModels are a model that stays, one whose days are counted and one that has ended.
const lifecycleModels = `
providers:
  - {id: up, name: Up, base_url: "http://127.0.0.1:9/v1"}
models:
  - {id: test/stays, ROUTES [{provider: up, model: a, style: chat}]}
  - {id: test/goes, deprecated: 2020-02-01, shutdown: 2099-06-01, successor: test/stays, ROUTES [{provider: up, model: b, style: messages}]}
  - {id: test/gone, deprecated: 2020-02-01, shutdown: 2021-06-01, successor: test/stays, ROUTES [{provider: up, model: c, style: chat}]}
`

// withModels serves a catalog, in which ROUTES stands for cheap routes.
func withModels(t *testing.T, text string) func(*plan) {
	t.Helper()
	db := pgtest.New(t)
	f, err := catalog.ParseFile([]byte(strings.ReplaceAll(text, "ROUTES", cheap)))
	must(t, err)
	must(t, catalog.Apply(t.Context(), db, f))
	c, err := catalog.Open(t.Context(), db, catalog.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: func(string) (string, bool) { return "", false },
	})
	must(t, err)
	return func(p *plan) { p.api.Catalog = c }
}

func TestContractsComeInTwoForms(t *testing.T) {
	t.Parallel()
	h := setup(t, withModels(t, lifecycleModels))
	secret := h.secret()
	for path, mediaType := range map[string]string{"openapi.json": "application/json", "api.md": "text/markdown; charset=utf-8"} {
		path = "/v1/model/" + path + "?model=test/goes"
		a := h.call("GET", path, "", bearer(secret)...)
		tag := a.header.Get("ETag")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != mediaType || !strings.HasPrefix(tag, `"`) ||
			a.header.Get("Cache-Control") != "private, max-age=60" || a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		for _, want := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/vendorc/native", "test/goes"} {
			if !strings.Contains(a.body, want) {
				t.Errorf("%s does not have %s", path, want)
			}
		}
		if b := h.call("GET", path, "", append(bearer(secret), "If-None-Match", tag)...); b.status != http.StatusNotModified || b.body != "" || b.header.Get("ETag") != tag {
			t.Errorf("%s with its tag: %d %v", path, b.status, b.header)
		}
		head := h.call("HEAD", path, "", bearer(secret)...)
		if head.status != http.StatusOK || head.body != "" || head.header.Get("ETag") != tag || head.header.Get("Content-Type") != mediaType ||
			head.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
		if no := h.call("GET", path, ""); no.status != http.StatusUnauthorized {
			t.Errorf("%s without a key: %d", path, no.status)
		}
	}
	_, narrow := h.key(apikey.Spec{Models: []string{"test/stays"}})
	for path, status := range map[string]int{"": 400, "?model=": 400, "?model=test/none": 404, "?model=test/goes": 403, "?model=test/stays": 200} {
		for _, of := range []string{"openapi.json", "api.md"} {
			if a := h.call("GET", "/v1/model/"+of+path, "", bearer(narrow)...); a.status != status || status != 200 && !strings.Contains(a.body, `"param":"model"`) {
				t.Errorf("%s%s: %d %s", of, path, a.status, a.body)
			}
		}
	}
}

func TestModelsShowTheStylesTheyAreServedIn(t *testing.T) {
	t.Parallel()
	h := setup(t, withModels(t, lifecycleModels))
	a := h.call("GET", "/v1/models/test/goes", "", bearer(h.secret())...)
	var m struct {
		Protocols []llm.Style          `json:"protocols"`
		Hashes    map[llm.Style]string `json:"contract_hashes"`
	}
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || !slices.Equal(m.Protocols, llm.Styles()) || len(m.Hashes) != 4 {
		t.Errorf("%v in %s", err, a.body)
	}
}

func TestModelsThatWillGoSaySo(t *testing.T) {
	t.Parallel()
	h := setup(t, withModels(t, lifecycleModels))
	secret := h.secret()
	for _, path := range []string{"/v1/models/test/goes", "/v1/model/api.md?model=test/goes", "/v1/model/openapi.json?model=test/goes"} {
		a := h.call("GET", path, "", bearer(secret)...)
		if a.header.Get("Deprecation") != "@1580515200" || a.header.Get("Sunset") != "Mon, 01 Jun 2099 00:00:00 GMT" ||
			!strings.Contains(a.header.Get("Link"), `</v1/models/test/stays>; rel="successor-version"`) {
			t.Errorf("%s: %v", path, a.header)
		}
		b := h.call("GET", strings.Replace(path, "goes", "stays", 1), "", bearer(secret)...)
		if b.header.Get("Deprecation")+b.header.Get("Sunset")+b.header.Get("Link") != "" {
			t.Errorf("%s: %v", path, b.header)
		}
		c := h.call("GET", strings.Replace(path, "goes", "gone", 1), "", bearer(secret)...)
		if c.status != http.StatusNotFound || !strings.Contains(c.body, `"code":"model_not_found"`) ||
			!strings.Contains(c.body, "was shut down on 1 June 2021. Its successor is test/stays.") {
			t.Errorf("%s: %d %s", path, c.status, c.body)
		}
	}
	if a := h.call("GET", "/v1/models", "", bearer(secret)...); strings.Contains(a.body, "test/gone") || !strings.Contains(a.body, `"shutdown_date":"2099-06-01"`) {
		t.Errorf("the list: %s", a.body)
	}
}
