package api_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/api"
	"umg/app"
	"umg/app/apikey"
	"umg/app/audit"
	"umg/app/contentlog"
	"umg/app/webhook"
)

// TestEveryBodyBesideTheContractsIsReadStrictly walks all routes that take JSON and have no contract of a model: what they do not
// know, what comes twice and what stands behind the body are refused, by name where it has one.
func TestEveryBodyBesideTheContractsIsReadStrictly(t *testing.T) {
	t.Parallel()
	var service *webhook.Service
	var s shelf
	h := setup(t, withAccounts, withWebhooks(t, newInbox(t), &service), withAssets(t, &s), func(p *plan) {
		p.api.Content = contentlog.New(p.db, contentlog.Options{Audit: audit.New(p.db, time.Now, app.IDs{Now: time.Now, Random: rand.Reader}), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	})
	_, managing := h.key(apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	shop := sells(t)
	walked := 0
	for _, r := range api.Routes() {
		if r.Method != http.MethodPost && r.Method != http.MethodPatch || r.Open || r.Style != "" || strings.Contains(r.Path, "videos") {
			continue
		}
		walked++
		on, auth := h, bearer(h.secret())
		switch r.Right {
		case app.ManageMoney:
			on, auth = shop.house, shop.auth
			if r.Path == "/v1/spend_limit" {
				on, auth = h, bearer(managing)
			}
		case app.ManageKeys, app.ManageMembers, app.ManageAccount:
			auth = bearer(managing)
		}
		path := strings.NewReplacer(":id", "key_x", ":delivery", "whd_x").Replace(r.Path)
		for body, says := range map[string][2]string{
			`{"nonsense_field":1}`:    {"unknown_parameter", "nonsense_field"},
			`{"a":1,"a":2}`:           {"invalid_json", "a"},
			`{"a":{"b":1,"b":2}}`:     {"invalid_json", "a.b"},
			`{} {}`:                   {"invalid_json", ""},
			`{}]`:                     {"invalid_json", ""},
			`[]`:                      {"invalid_json", ""},
			`"text"`:                  {"invalid_json", ""},
			"{\"a\":\"\xff\"}":        {"invalid_json", ""},
			`{"` + long("x") + `":1}`: {"unknown_parameter", ""},
		} {
			a := on.call(r.Method, path, body, auth...)
			if a.status != http.StatusBadRequest || a.header.Get("X-Error-Code") != says[0] || says[1] != "" && a.param(t) != says[1] || len(a.message(t)) > 700 {
				t.Errorf("%s %s %.40q: %d %s", r.Method, path, body, a.status, a.body)
			}
		}
	}
	if walked < 25 {
		t.Errorf("only %d routes take a body", walked)
	}
}

func long(s string) string { return strings.Repeat(s, 5000) }
