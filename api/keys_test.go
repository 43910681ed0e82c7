package api_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/billing"
)

// withAccounts serves the routes about keys, members and the account.
func withAccounts(p *plan) {
	p.api.Accounts = account.New(p.db, p.api.Ledger, account.Options{
		PasswordMemoryKiB: apptest.PasswordMemoryKiB,
		Now:               time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
}

// managing is a house with a key that manages it.
func managing(t *testing.T) (h *house, boss apikey.Key, auth []string) {
	t.Helper()
	h = setup(t, withAccounts)
	boss, secret := h.key(apikey.Spec{Scopes: []app.Scope{app.ScopeManagement}})
	return h, boss, bearer(secret)
}

// told is a key as clients read it.
type told struct {
	ID, Object, Name, Secret, Environment, Status string
	LastFour                                      string `json:"last_four"`
	ErrorMode                                     string `json:"error_mode"`
	Scopes, Models, Addresses                     []string
	Budget                                        *struct{ Limit, Period, Spent, Remaining string }
	RequestsPerMinute                             int64 `json:"requests_per_minute"`
	TokensPerMinute                               int64 `json:"tokens_per_minute"`
	Concurrency                                   int
	LogContent                                    bool    `json:"log_content"`
	Strict                                        bool    `json:"strict"`
	BudgetAlerts                                  []int   `json:"budget_alerts"`
	ExpiresAt                                     *int64  `json:"expires_at"`
	CreatedByKey                                  *string `json:"created_by_key"`
	RotatedAt                                     *int64  `json:"rotated_at"`
	OldSecretUntil                                *int64  `json:"old_secret_valid_until"`
}

const allKeys = "/v1/keys"

func TestAKeyIsManagedByAPIFromItsMakingToItsEnd(t *testing.T) {
	t.Parallel()
	h, boss, auth := managing(t)
	made := decode[told](t, h.call("POST", allKeys, `{"name":"Laptop","environment":"staging","error_mode":"standard","scopes":["models:read","inference:text"],
		"models":["test/plain"],"addresses":["127.0.0.1","::1/128","2001:db8::7/32"],"budget":{"limit":"2.50","period":"month"},"budget_alerts":[90,50],"requests_per_minute":60,
		"tokens_per_minute":9000,"concurrency":3,"log_content":true,"strict":true,"expires_at":4102444800}`, auth...), 200)
	if made.Object != "api_key" || made.Secret == "" || made.Name != "Laptop" || made.Environment != "staging" || made.Status != "active" ||
		made.ErrorMode != "standard" || strings.Join(made.Scopes, " ") != "inference:text models:read" || made.Models[0] != "test/plain" ||
		strings.Join(made.Addresses, " ") != "127.0.0.1/32 ::1/128 2001:db8::/32" || made.Budget == nil || made.Budget.Limit != "2.5" ||
		made.Budget.Remaining != "2.5" || made.RequestsPerMinute != 60 || made.TokensPerMinute != 9000 || made.Concurrency != 3 ||
		!made.LogContent || !made.Strict || fmt.Sprint(made.BudgetAlerts) != "[50 90]" || *made.ExpiresAt != 4102444800 || *made.CreatedByKey != boss.ID {
		t.Errorf("%+v", made)
	}
	one := allKeys + "/" + made.ID
	if r := h.call("GET", "/v1/models", "", bearer(made.Secret)...); r.status != 200 {
		t.Errorf("the new key: %d %s", r.status, r.body)
	}
	if shown := decode[told](t, h.call("GET", one, "", auth...), 200); shown.Secret != "" || shown.ID != made.ID {
		t.Errorf("%+v", shown)
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch} {
		got := decode[told](t, h.call(method, one, `{"name":"`+method+`","budget":null,"expires_at":null,"addresses":[]}`, auth...), 200)
		if got.Name != method || got.Budget != nil || got.ExpiresAt != nil || len(got.Addresses) != 0 || got.Concurrency != 3 || got.Secret != "" {
			t.Errorf("%s: %+v", method, got)
		}
	}
	rotated := decode[told](t, h.call("POST", one+"/rotate", `{"overlap_seconds":3600}`, auth...), 200)
	if rotated.Secret == "" || rotated.Secret == made.Secret || rotated.OldSecretUntil == nil || *rotated.OldSecretUntil != *rotated.RotatedAt+3600 {
		t.Errorf("%+v", rotated)
	}
	if off := decode[told](t, h.call("POST", one+"/disable", "", auth...), 200); off.Status != "disabled" {
		t.Errorf("%+v", off)
	}
	if on := decode[told](t, h.call("POST", one+"/enable", "{}", auth...), 200); on.Status != "active" {
		t.Errorf("%+v", on)
	}
	if r := h.call("DELETE", one, "", auth...); r.status != 200 || !strings.Contains(r.body, `"api_key.deleted"`) || !strings.Contains(r.body, made.ID) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.call("DELETE", one, "", auth...); r.status != 404 {
		t.Errorf("deleted twice: %d %s", r.status, r.body)
	}
}

func TestKeysAreListedInPages(t *testing.T) {
	t.Parallel()
	h, boss, auth := managing(t)
	second, _ := h.key(apikey.Spec{Budget: &billing.Allowance{Limit: app.Dollar, Period: "day"}})
	third, _ := h.key(apikey.Spec{})
	type list struct {
		Object  string
		Data    []told
		HasMore bool `json:"has_more"`
	}
	for query, want := range map[string][]string{
		"":                     {third.ID, second.ID, boss.ID},
		"?limit=2":             {third.ID, second.ID},
		"?order=asc&limit=1":   {boss.ID},
		"?after=" + second.ID:  {boss.ID},
		"?after=" + boss.ID:    {},
		"?limit=100&order=asc": {boss.ID, second.ID, third.ID},
	} {
		got := decode[list](t, h.call("GET", allKeys+query, "", auth...), 200)
		var ids []string
		for _, k := range got.Data {
			ids = append(ids, k.ID)
			if k.Secret != "" || k.Models == nil || k.Addresses == nil || (k.Budget != nil) != (k.ID == second.ID) {
				t.Errorf("%+v", k)
			}
		}
		if got.Object != "list" || strings.Join(ids, " ") != strings.Join(want, " ") || got.HasMore != strings.HasPrefix(query, "?limit=2") &&
			query != "?order=asc&limit=1" {
			t.Errorf("%q: %+v", query, got)
		}
	}
	for query, param := range map[string]string{"?limit=0": "limit", "?limit=101": "limit", "?order=up": "order", "?after=key_unknown": "after"} {
		if r := h.call("GET", allKeys+query, "", auth...); r.status != 400 || r.param(t) != param {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// TestABodyAboutAKeyIsTakenAtItsWord sends wrong settings. A setting that is silently ignored would leave a key wider than its creator
// meant.
func TestABodyAboutAKeyIsTakenAtItsWord(t *testing.T) {
	t.Parallel()
	h, _, auth := managing(t)
	k, _ := h.key(apikey.Spec{})
	for body, param := range map[string]string{
		`{"name":"x","scope":["videos"]}`:                          "scope",
		`{"name":"x","disabled":true}`:                             "disabled",
		`{"name":null}`:                                            "name",
		`{"name":"x","scopes":null}`:                               "scopes",
		`{"name":"x","models":null}`:                               "models",
		`{"name":"x","addresses":null}`:                            "addresses",
		`{"name":"x","concurrency":null}`:                          "concurrency",
		`{"name":"x","log_content":null}`:                          "log_content",
		`{"name":"x","strict":"yes"}`:                              "strict",
		`{"name":"x","scopes":[]}`:                                 "scopes",
		`{"name":"x","scopes":"videos"}`:                           "scopes",
		`{"name":"x","scopes":["root"]}`:                           "scopes",
		`{"name":"x","scopes":["management","inference:text"]}`:    "scopes",
		`{"name":"x","addresses":["203.0.113.0/33"]}`:              "addresses",
		`{"name":"x","environment":"Prod!"}`:                       "environment",
		`{"name":"x","error_mode":"loud"}`:                         "error_mode",
		`{"name":"x","requests_per_minute":1.5}`:                   "requests_per_minute",
		`{"name":"x","tokens_per_minute":-1}`:                      "tokens_per_minute",
		`{"name":"x","expires_at":1}`:                              "expires_at",
		`{"name":"x","expires_at":99999999999999}`:                 "expires_at",
		`{"name":"x","budget":{"limit":"1"}}`:                      "budget",
		`{"name":"x","budget":{"limit":1,"period":"day"}}`:         "budget",
		`{"name":"x","budget":{"limit":"1","period":"year"}}`:      "budget.period",
		`{"name":"x","budget":{"limit":"1","period":"day","a":1}}`: "budget",
		`{"name":"x","budget_alerts":null}`:                        "budget_alerts",
		`{"name":"x","budget_alerts":[80,0]}`:                      "budget_alerts",
		`{"name":"x","budget_alerts":["80"]}`:                      "budget_alerts",
		`{"name":"x","budget_alerts":{"at":80}}`:                   "budget_alerts",
		`{"name":"x","name":"y"}`:                                  "name",
		`{"name":"x","budget":{"limit":"1","limit":"2"}}`:          "budget.limit",
		`["name"]`: "",
		`{`:        "",
	} {
		for _, path := range []string{allKeys, allKeys + "/" + k.ID} {
			if r := h.call("POST", path, body, auth...); r.status != 400 || r.param(t) != param {
				t.Errorf("%s %s: %d %s", path, body, r.status, r.body)
			}
		}
	}
	if r := h.call("POST", allKeys, `{}`, auth...); r.status != 400 || r.param(t) != "name" {
		t.Errorf("no name: %d %s", r.status, r.body)
	}
	for body, param := range map[string]string{
		`{"overlap_seconds":1}`: "overlap_seconds", `{"overlap_seconds":"3600"}`: "overlap_seconds", `{"overlap":3600}`: "overlap",
	} {
		if r := h.call("POST", allKeys+"/"+k.ID+"/rotate", body, auth...); r.status != 400 || r.param(t) != param {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	for _, word := range []string{"/disable", "/enable"} {
		if r := h.call("POST", allKeys+"/"+k.ID+word, `{"now":true}`, auth...); r.status != 400 || r.param(t) != "now" {
			t.Errorf("%s: %d %s", word, r.status, r.body)
		}
	}
	if now, err := h.apiKeys.Get(t.Context(), h.owner.Principal(), k.ID); err != nil || now.Name != "test" || now.Disabled || now.Secret.RotatedAt != nil {
		t.Errorf("%+v, %v", now, err)
	}
}

// keyCalls are all routes about keys, with a body that they take.
func keyCalls(id string) [][3]string {
	one := allKeys + "/" + id
	return [][3]string{
		{"GET", allKeys, ""}, {"POST", allKeys, `{"name":"x"}`}, {"GET", one, ""}, {"POST", one, `{"name":"x"}`}, {"PATCH", one, `{"name":"x"}`},
		{"POST", one + "/rotate", `{"overlap_seconds":0}`}, {"POST", one + "/disable", ""}, {"POST", one + "/enable", ""}, {"DELETE", one, ""},
	}
}

func TestForeignAndUnknownKeysAreTheSame(t *testing.T) {
	t.Parallel()
	h, _, auth := managing(t)
	other, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "other@example.com", Password: "a long enough passphrase", IP: "192.0.2.1"})
	must(t, err)
	foreign, _, err := h.apiKeys.Create(t.Context(), other.Principal(), apikey.Spec{Name: "theirs"})
	must(t, err)
	unknown := keyCalls("key_01ARZ3NDEKTSV4RRFFQ69G5FAV")
	plain := func(r reply) string { return strings.ReplaceAll(r.body, r.header.Get("X-Request-Id"), "") }
	for i, c := range keyCalls(foreign.ID)[2:] {
		theirs, none := h.call(c[0], c[1], c[2], auth...), h.call(unknown[i+2][0], unknown[i+2][1], unknown[i+2][2], auth...)
		if theirs.status != 404 || none.status != 404 || plain(theirs) != plain(none) || theirs.header.Get("X-Error-Code") != "key_not_found" {
			t.Errorf("%s %s: %d %s, unknown %d %s", c[0], c[1], theirs.status, theirs.body, none.status, none.body)
		}
	}
	if now, err := h.apiKeys.Get(t.Context(), other.Principal(), foreign.ID); err != nil || now.Name != "theirs" || now.Disabled {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestKeysThatSpendDoNotManageAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	h, boss, auth := managing(t)
	k, secret := h.key(apikey.Spec{})
	for _, c := range keyCalls(k.ID) {
		if r := h.call(c[0], c[1], c[2], bearer(secret)...); r.status != 403 || r.header.Get("X-Error-Code") != "insufficient_scope" {
			t.Errorf("%s %s: %d %s", c[0], c[1], r.status, r.body)
		}
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses"} {
		r := h.call("POST", path, ask("test/plain", `,"max_tokens":16`), auth...)
		if r.status != 403 || r.header.Get("X-Error-Code") != "insufficient_scope" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := h.call("POST", allKeys+"/"+boss.ID, `{"scopes":["inference:text"]}`, auth...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	preflight := h.call("OPTIONS", allKeys+"/"+k.ID, "", "Origin", "https://app.example", "Access-Control-Request-Method", "PATCH")
	if !strings.Contains(preflight.header.Get("Access-Control-Allow-Methods"), "PATCH") {
		t.Errorf("pages may not change keys: %v", preflight.header)
	}
}

func TestAKeyTellsItsBearerItsLimits(t *testing.T) {
	t.Parallel()
	h, _, auth := managing(t)
	type limits struct {
		Concurrency       int
		Factor            int
		RequestsPerMinute *int64 `json:"requests_per_minute"`
		TokensPerMinute   *int64 `json:"tokens_per_minute"`
	}
	type answer struct {
		Data struct {
			Scopes, Models, Addresses []string
			LogContent                bool       `json:"log_content"`
			OldSecretUntil            *time.Time `json:"old_secret_valid_until"`
			RateLimits                limits     `json:"rate_limits"`
		}
	}
	_, secret := h.key(apikey.Spec{Concurrency: 100})
	plain := decode[answer](t, h.call("GET", "/v1/key", "", bearer(secret)...), 200).Data
	if len(plain.Scopes) != len(app.StandardScopes()) || plain.Models == nil || plain.Addresses == nil || plain.LogContent ||
		plain.OldSecretUntil != nil || plain.RateLimits != (limits{Concurrency: 16, Factor: 1}) {
		t.Errorf("%+v", plain)
	}
	made := decode[told](t, h.call("POST", allKeys,
		`{"name":"n","addresses":["127.0.0.0/8"],"requests_per_minute":5,"tokens_per_minute":50,"concurrency":2,"log_content":true}`, auth...), 200)
	made = decode[told](t, h.call("POST", allKeys+"/"+made.ID+"/rotate", `{"overlap_seconds":3600}`, auth...), 200)
	got := decode[answer](t, h.call("GET", "/v1/key", "", bearer(made.Secret)...), 200).Data
	if got.Addresses[0] != "127.0.0.0/8" || !got.LogContent || got.OldSecretUntil == nil || got.OldSecretUntil.Unix() != *made.OldSecretUntil ||
		got.RateLimits.Concurrency != 2 || *got.RateLimits.RequestsPerMinute != 5 || *got.RateLimits.TokensPerMinute != 50 {
		t.Errorf("%+v", got)
	}
}

func TestAStrictKeyIsRefusedForAHint(t *testing.T) {
	t.Parallel()
	h, _, auth := managing(t)
	k, secret := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	send := func() reply {
		return h.call("POST", "/v1/chat/completions", ask("test/plain", `,"verbosity":"low","max_tokens":1000000`), bearer(secret)...)
	}
	if r := send(); r.status != 200 || !strings.Contains(r.header.Get("X-Gateway-Dropped"), "verbosity") {
		t.Fatalf("%d %v %s", r.status, r.header, r.body)
	}
	for _, strict := range []bool{true, false, true} {
		got := decode[told](t, h.call("PATCH", allKeys+"/"+k.ID, fmt.Sprintf(`{"strict":%t}`, strict), auth...), 200)
		if got.Strict != strict {
			t.Fatalf("%+v", got)
		}
		r := send()
		for deadline := time.Now().Add(10 * time.Second); (r.status == 400) != strict && time.Now().Before(deadline); {
			r = send() // The key in memory changes only once the notification arrives.
		}
		if (r.status == 400) != strict || strict && !strings.Contains(r.body, `"param":"verbosity"`) {
			t.Errorf("strict %t: %d %s", strict, r.status, r.body)
		}
	}
}

func TestALimitOfAKeyRefusesByItsName(t *testing.T) {
	t.Parallel()
	h, _, _ := managing(t)
	_, secret := h.key(apikey.Spec{RequestsPerMinute: 1, ErrorMode: apikey.Standard})
	_, other := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	body := ask("test/plain", `,"max_tokens":16`)
	first := h.call("POST", "/v1/chat/completions", body, bearer(secret)...)
	if first.status != 200 || first.header.Get("X-Ratelimit-Limit-Requests") != "1" || first.header.Get("X-Ratelimit-Remaining-Requests") != "0" {
		t.Errorf("%d %v", first.status, first.header)
	}
	r := h.call("POST", "/v1/chat/completions", body, bearer(secret)...)
	if r.status != 429 || r.header.Get("X-Error-Code") != "rate_limit_exceeded" ||
		!strings.Contains(r.message(t), "1 request per minute of this API key") || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	if r := h.call("POST", "/v1/chat/completions", body, bearer(other)...); r.status != 200 {
		t.Errorf("another key of the account: %d %s", r.status, r.body)
	}
}
