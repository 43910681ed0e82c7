package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app/apikey"
	"umg/app/webhook"
)

// idsOf are the texts under a name in a list of an answer.
func idsOf(t *testing.T, r reply, list, name string) (ids []string) {
	t.Helper()
	var body map[string]json.RawMessage
	var entries []map[string]any
	if r.status != http.StatusOK || json.Unmarshal([]byte(r.body), &body) != nil || json.Unmarshal(body[list], &entries) != nil {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for _, e := range entries {
		id, _ := e[name].(string)
		ids = append(ids, id)
	}
	return ids
}

func TestTheListInTheNativeLayout(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := []string{"X-Goog-Api-Key", h.secret()}
	all := idsOf(t, h.call("GET", "/v1beta/models", "", secret...), "models", "name")
	if len(all) != 8 || all[0] != "models/test/plain" || slices.Contains(all, "models/test/coming") {
		t.Fatalf("%v", all)
	}
	var pages []string
	path := "/v1beta/models?pageSize=4"
	for range 2 {
		r := h.call("GET", path, "", secret...)
		pages = append(pages, idsOf(t, r, "models", "name")...)
		var next struct{ NextPageToken string }
		must(t, json.Unmarshal([]byte(r.body), &next))
		path = "/v1beta/models?pageSize=4&pageToken=" + next.NextPageToken
	}
	if !slices.Equal(pages, all) || !strings.HasSuffix(path, "pageToken=") {
		t.Errorf("the pages %v, then %s", pages, path)
	}
	var m struct {
		Name, DisplayName                 string
		InputTokenLimit, OutputTokenLimit int64
		SupportedGenerationMethods        []string
	}
	r := h.call("GET", "/v1beta/models/test%2Fplain", "", secret...)
	must(t, json.Unmarshal([]byte(r.body), &m))
	if r.status != 200 || m.Name != "models/test/plain" || m.DisplayName != "Test" || m.InputTokenLimit != 128000 || m.OutputTokenLimit != 4096 ||
		!slices.Contains(m.SupportedGenerationMethods, "generateContent") {
		t.Errorf("%d %s", r.status, r.body)
	}
	for path, param := range map[string]string{
		"/v1beta/models?pageSize=-1": "pageSize", "/v1beta/models?pageSize=many": "pageSize", "/v1beta/models?pageToken=none": "pageToken",
	} {
		if r := h.call("GET", path, "", secret...); r.status != 400 || !strings.Contains(r.body, "INVALID_ARGUMENT") || !strings.Contains(r.body, param) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := h.call("GET", "/v1beta/models/test/unknown", "", secret...); r.status != 404 || !strings.Contains(r.body, "NOT_FOUND") {
		t.Errorf("%d %s", r.status, r.body)
	}
	_, narrow := h.key(apikey.Spec{Models: []string{"test/slow"}})
	if got := idsOf(t, h.call("GET", "/v1beta/models", "", bearer(narrow)...), "models", "name"); !slices.Equal(got, []string{"models/test/slow"}) {
		t.Errorf("a key for one model lists %v", got)
	}
}

// styledModels are models that answer in other styles.
const styledModels = `
aliases:
  headers: {x-api-key: authorization, anthropic-version: vendorb-version}
providers:
  - {id: up, name: Up, base_url: "http://127.0.0.1:9/v1"}
models:
  - {id: test/chat, styles: [chat], ROUTES [{provider: up, model: a, style: chat}]}
  - {id: test/all, ROUTES [{provider: up, model: a, style: chat}]}
  - {id: test/messages, styles: [messages], ROUTES [{provider: up, model: b, style: messages}]}
`

func TestTheListForClientsOfTheMessagesStyle(t *testing.T) {
	t.Parallel()
	h := setup(t, withModels(t, styledModels))
	ask := []string{"X-Api-Key", h.secret(), "Anthropic-Version", "2023-06-01"}
	r := h.call("GET", "/v1/models?limit=1", "", ask...)
	if got := idsOf(t, r, "data", "id"); !slices.Equal(got, []string{"test/all"}) || !strings.Contains(r.body, `"has_more":true,"first_id":"test/all","last_id":"test/all"`) ||
		!strings.Contains(r.header.Get("Vary"), "Anthropic-Version") {
		t.Errorf("%v: %s", r.header, r.body)
	}
	if got := idsOf(t, h.call("GET", "/v1/models?after_id=test/all", "", ask...), "data", "id"); !slices.Equal(got, []string{"test/messages"}) {
		t.Errorf("behind the first: %v", got)
	}
	var m map[string]any
	must(t, json.Unmarshal([]byte(h.call("GET", "/v1/models/test/messages", "", ask...).body), &m))
	if m["type"] != "model" || m["display_name"] != "Test" || m["max_tokens"] != 4096.0 || m["lifecycle"] != "active" || m["capabilities"] != nil || m["object"] != nil {
		t.Errorf("%v", m)
	}
	for path, says := range map[string]string{"/v1/models?after_id=test/chat": "after names no model", "/v1/models?limit=0": "limit", "/v1/models/none": "none"} {
		if r := h.call("GET", path, "", ask...); !strings.Contains(r.body, `{"type":"error","error":{"type":`) || !strings.Contains(r.body, says) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// TestListsRefuseWhatTheyDoNotTake gives every list a parameter that it does not know, a cursor of no page and values that nothing
// can be.
func TestListsRefuseWhatTheyDoNotTake(t *testing.T) {
	t.Parallel()
	h, _, auth := managing(t)
	var service *webhook.Service
	hooks := setup(t, withWebhooks(t, newInbox(t), &service))
	for path, cursor := range map[string]string{
		"/v1/keys": "key_nothing", "/v1/members": "user_nothing", "/v1/invitations": "inv_nothing",
	} {
		refusesQueries(t, h, auth, path, cursor)
	}
	for path, cursor := range map[string]string{"/v1/webhook_endpoints": "whe_nothing", "/v1/webhook_events": "evt_nothing"} {
		refusesQueries(t, hooks, bearer(hooks.secret()), path, cursor)
	}
	for query, param := range map[string]string{"before=x": "before", "offset=1": "offset", "page=2": "page", "kind=none": "kind"} {
		if r := h.call("GET", "/v1/models?"+query, "", bearer(h.secret())...); r.status != 400 || r.param(t) != param {
			t.Errorf("models?%s: %d %s", query, r.status, r.body)
		}
	}
	if got := idsOf(t, h.call("GET", "/v1/models?kind=video", "", bearer(h.secret())...), "data", "id"); len(got) != 0 {
		t.Errorf("videos: %v", got)
	}
}

func refusesQueries(t *testing.T, h *house, auth []string, path, cursor string) {
	t.Helper()
	for query, param := range map[string]string{
		"before=" + cursor: "before", "after=" + cursor: "after", "after=%27": "after", "after=%00": "after", "unknown=1": "unknown",
		"limit=0": "limit", "limit=-1": "limit", "limit=101": "limit", "limit=x": "limit", "limit=1&limit=2": "limit", "offset=1": "offset",
		"after=" + strings.Repeat("x", 600): "after",
	} {
		if r := h.call("GET", path+"?"+query, "", auth...); r.status != 400 || r.param(t) != param || r.message(t) == "" {
			t.Errorf("%s?%s: %d %s", path, query, r.status, r.body)
		}
	}
}
