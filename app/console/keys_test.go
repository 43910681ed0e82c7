package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app"
)

// keyState is a key as its table holds it.
type keyState struct {
	AccountID   string     `db:"account_id"`
	Name        string     `db:"name"`
	Env         string     `db:"env"`
	ErrorMode   string     `db:"error_mode"`
	Scopes      string     `db:"scopes"`
	Models      string     `db:"models"`
	Addresses   string     `db:"addresses"`
	Requests    int64      `db:"requests_per_minute"`
	Tokens      int64      `db:"tokens_per_minute"`
	Concurrency int64      `db:"concurrency"`
	LogContent  bool       `db:"log_content"`
	Disabled    bool       `db:"disabled"`
	Expires     *time.Time `db:"expires_at"`
	Budget      string     `db:"budget"`
	Alerts      string     `db:"alerts"`
	Secret      string     `db:"secret"`
	Previous    string     `db:"previous"`
	Created     time.Time  `db:"created_at"`
	LastUsed    *time.Time `db:"last_used_at"`
}

func (h *fixture) keyNamed(name string) (k keyState) {
	h.t.Helper()
	err := h.db.Get(&k, `
		select account_id, name, env, error_mode, array_to_string(scopes, ' ') as scopes, array_to_string(models, ' ') as models,
			array_to_string(addresses, ' ') as addresses, requests_per_minute, tokens_per_minute, concurrency, log_content,
			disabled_at is not null as disabled, expires_at, encode(secret_hash, 'hex') as secret,
			coalesce(encode(previous_hash, 'hex'), '') as previous, created_at, last_used_at,
			coalesce((select limit_nanos || ' ' || period from key_budgets b where b.key_id = k.id), '') as budget,
			array_to_string(budget_alerts, ' ') as alerts
		from api_keys k where name = $1 and deleted_at is null`, name)
	if err != nil {
		h.t.Fatalf("the key %q: %v", name, err)
	}
	return k
}

// role makes the person another one in their account.
func (h *fixture) role(email string, role app.Role) {
	h.t.Helper()
	_, err := h.db.ExecContext(h.t.Context(), `
		update memberships set role = $2 where user_id = (select id from users where email = $1)`, email, role)
	if err != nil {
		h.t.Fatal(err)
	}
}

var idPattern = regexp.MustCompile(`key_[0-9a-z]{26}`)

func madeKey(t *testing.T, p *person, form url.Values) (id, secret string) {
	t.Helper()
	a := p.send("/console/keys", form)
	id, secret = idPattern.FindString(a.body), secretPattern.FindString(a.body)
	if a.status != http.StatusOK || id == "" || secret == "" {
		t.Fatalf("create: %d %.500s", a.status, a.body)
	}
	return id, secret
}

func fullForm() url.Values {
	return url.Values{
		"name": {"Full"}, "env": {"production"}, "mode": {"standard"}, "kind": {""}, "scopes": {"inference:text", "usage:read"},
		"models": {"aurora-mini", "aurora-large"}, "requests": {"600"}, "tokens": {"1,500,000"}, "concurrency": {" 20 "},
		"addresses": {"203.0.113.7\r\n\r\n 2001:db8:51::1/48 ,\r\n"}, "expiry": {"date"}, "expiry_day": {"2099-03-31"},
		"log_content": {"true"}, "budget": {"2.5"}, "budget_period": {"week"}, "budget_alerts": {"", "90", "50"},
	}
}

func TestAKeyIsMadeAndChangedAsItsFormSays(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("full@example.com")
	id, _ := madeKey(t, p, fullForm())
	k := p.keyNamed("Full")
	if k.Scopes != "inference:text usage:read" || k.Models != "aurora-mini aurora-large" || k.Addresses != "203.0.113.7/32 2001:db8:51::/48" ||
		k.Requests != 600 || k.Tokens != 1_500_000 || k.Concurrency != 20 || !k.LogContent || k.Budget != "2500000000 week" || k.Alerts != "50 90" ||
		k.Expires == nil || !k.Expires.Equal(time.Date(2099, 4, 1, 0, 0, 0, 0, time.UTC)) || k.ErrorMode != "standard" || k.Env != "production" {
		t.Errorf("made: %+v", k)
	}
	page := p.see("/console/keys/" + id)
	for _, want := range []string{
		`value="Full"`, `value="600"`, `value="1500000"`, "203.0.113.7\n2001:db8:51::/48</textarea>", `value="2099-03-31"`, `value="2.5"`,
		`value="aurora-large" checked`, `value="50" checked`, `value="90" checked`, `name="log_content" value="true" checked`, `value="usage:read" checked`,
	} {
		if page.status != http.StatusOK || !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	// An exact time stays as it is while its day does.
	if _, err := p.db.ExecContext(t.Context(), `update api_keys set expires_at = '2099-03-31 12:34:56Z' where id = $1`, id); err != nil {
		t.Fatal(err)
	}
	change := fullForm()
	change.Set("name", "Changed")
	change.Set("addresses", "")
	change.Set("budget", "")
	change.Set("requests", "")
	change.Del("models")
	change.Del("log_content")
	change["budget_alerts"] = []string{""}
	if a := p.send("/console/keys/"+id, change); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/keys/"+id {
		t.Fatalf("change: %d %.400s", a.status, a.body)
	}
	c := p.keyNamed("Changed")
	if c.Models != "" || c.Addresses != "" || c.Requests != 0 || c.Tokens != 1_500_000 || c.LogContent || c.Budget != "" || c.Alerts != "" ||
		c.Expires == nil || !c.Expires.Equal(time.Date(2099, 3, 31, 12, 34, 56, 0, time.UTC)) || c.Secret != k.Secret {
		t.Errorf("changed: %+v", c)
	}
	change.Set("expiry", "never")
	if p.send("/console/keys/"+id, change); p.keyNamed("Changed").Expires != nil {
		t.Error("it still expires")
	}
	change.Set("expiry", "30")
	p.send("/console/keys/"+id, change)
	if at := p.keyNamed("Changed").Expires; at == nil || time.Until(*at) < 30*24*time.Hour || time.Until(*at) > 31*24*time.Hour {
		t.Errorf("it expires %v", at)
	}
}

// TestAMistakeLosesNothingThatWasTyped sends each mistake with everything else, to both forms.
func TestAMistakeLosesNothingThatWasTyped(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("mistakes@example.com")
	id, _ := madeKey(t, p, url.Values{"name": {"Kept"}, "mode": {"standard"}})
	before := p.keyNamed("Kept")
	for _, c := range []struct{ field, value, marked string }{
		{"name", "", "key-name"}, {"requests", "many", "key-rpm"}, {"requests", "-1", "key-rpm"}, {"tokens", "1.5", "key-tpm"},
		{"requests", "9999999999999999999", "key-rpm"}, {"concurrency", "10001", "key-concurrency"}, {"concurrency", "99999999999999", "key-concurrency"},
		{"addresses", "203.0.113.7\noffice", "key-addresses"}, {"addresses", "203.0.113.7/33", "key-addresses"},
		{"addresses", strings.Repeat("\n", 300), "key-addresses"}, {"expiry_day", "2001-01-01", "key-expiry-day"}, {"expiry_day", "soon", "key-expiry-day"},
		{"expiry", "forever", "key-expiry-day"}, {"budget", "2,50", "key-budget"}, {"budget_period", "decade", "key-budget-period"},
		{"scopes", "", "key-scopes"}, {"scopes", "root", "key-scopes"}, {"env", "NO", "key-env"}, {"models", strings.Repeat("x", 300), "key-models"},
	} {
		form := fullForm()
		form[c.field] = []string{c.value}
		if c.field == "scopes" && c.value == "" {
			form.Del("scopes")
		}
		for _, path := range []string{"/console/keys", "/console/keys/" + id} {
			a := p.send(path, form)
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `id="`+c.marked+`-error"`) {
				t.Errorf("%s with %s=%q: %d", path, c.field, c.value, a.status)
			}
			for field, kept := range map[string]string{"tokens": `value="1,500,000"`, "models": `value="aurora-large" checked`, "log_content": `name="log_content" value="true" checked`} {
				if c.field != field && !strings.Contains(a.body, kept) {
					t.Errorf("%s with %s=%q lost %s", path, c.field, c.value, field)
				}
			}
		}
	}
	if p.keyNamed("Kept") != before {
		t.Error("a refused change changed something")
	}
	var n int
	if err := p.db.Get(&n, `select count(*) from api_keys`); err != nil || n != 1 {
		t.Errorf("%d keys after refused forms, %v", n, err)
	}
}

func TestTheOwnAddressIsAddedByAFormAndNothingElseHappens(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("address@example.com")
	form := url.Values{"name": {"Office"}, "mode": {"standard"}, "kind": {""}, "addresses": {"203.0.113.0/24\r\n"}, "requests": {"oops"}, "add_address": {"true"}}
	a := p.send("/console/keys", form)
	if a.status != http.StatusOK || !strings.Contains(a.body, "203.0.113.0/24\n192.0.2.1</textarea>") || !strings.Contains(a.body, `value="oops"`) {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	if strings.Contains(a.body, "field-error") || strings.Contains(a.body, "Add my address") {
		t.Error("it complains before anything was sent, or offers the address again")
	}
	id, _ := madeKey(t, p, url.Values{"name": {"Page"}, "mode": {"standard"}})
	if a := p.send("/console/keys/"+id, form); a.status != http.StatusOK || p.keyNamed("Page").Addresses != "" {
		t.Errorf("the page of a key: %d", a.status)
	}
	var n int
	if err := p.db.Get(&n, `select count(*) from api_keys`); err != nil || n != 1 {
		t.Errorf("%d keys, %v", n, err)
	}
}

func TestAKeyIsRotatedWithOverlapAndTheOldSecretEnded(t *testing.T) {
	t.Parallel()
	p := setup(t).signedIn("rotate@example.com")
	id, first := madeKey(t, p, url.Values{"name": {"Turned"}, "mode": {"standard"}})
	path := "/console/keys/" + id
	for _, wrong := range []string{"", "x", "60", "-3600", "99999999999999999999"} {
		if a := p.send(path+"/rotate", url.Values{"overlap": {wrong}}); a.status != http.StatusUnprocessableEntity || secretPattern.MatchString(a.body) {
			t.Errorf("overlap %q: %d", wrong, a.status)
		}
	}
	before := p.keyNamed("Turned")
	a := p.send(path+"/rotate", url.Values{"overlap": {"3600"}})
	second := secretPattern.FindString(a.body)
	if a.status != http.StatusOK || second == "" || second == first || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("rotate: %d", a.status)
	}
	if k := p.keyNamed("Turned"); k.Previous != before.Secret || k.Secret == before.Secret {
		t.Error("the old secret is not kept beside the new one")
	}
	page := p.see(path)
	if secretPattern.MatchString(page.body) || !strings.Contains(page.body, "Two secrets of this key work") || !strings.Contains(page.body, "…"+first[len(first)-4:]) {
		t.Error("the page does not tell of the old secret")
	}
	if list := p.see("/console/keys?status=rotating"); !strings.Contains(list.body, "old secret works until") {
		t.Error("the list does not tell of the old secret")
	}
	if a := p.see(path + "/end-old"); a.status != http.StatusOK || !strings.Contains(a.body, first[len(first)-4:]) {
		t.Errorf("asking: %d", a.status)
	}
	if a := p.send(path+"/end-old", nil); a.status != http.StatusSeeOther || p.keyNamed("Turned").Previous != "" {
		t.Errorf("ending: %d", a.status)
	}
	if a := p.send(path+"/end-old", nil); a.status != http.StatusSeeOther {
		t.Errorf("ending again: %d", a.status)
	}
	p.send(path+"/rotate", url.Values{"overlap": {"0"}})
	if k := p.keyNamed("Turned"); k.Previous != "" {
		t.Error("without overlap the old secret still works")
	}
	var entries []string
	err := p.db.Select(&entries, `select action from audit_entries where object_id = $1 order by id`, id)
	if got := strings.Join(entries, " "); err != nil || got != "key.created key.rotated key.updated key.rotated" {
		t.Errorf("the audit log: %s, %v", got, err)
	}
}

func TestFieldsThatNoFormHasChangeNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("mass@example.com")
	other := h.signedIn("victim@example.com")
	theirs, _ := madeKey(t, other, url.Values{"name": {"Theirs"}, "mode": {"standard"}})
	victim := h.keyNamed("Theirs")
	foreign := url.Values{
		"id": {theirs}, "account_id": {victim.AccountID}, "AccountID": {victim.AccountID}, "created_at": {"2001-01-01T00:00:00Z"}, "created_by": {"x"},
		"created_by_key": {theirs}, "credit": {"1000000"}, "balance": {"1000000"}, "role": {"owner"}, "limit_factor": {"1000"}, "operator": {"true"},
		"disabled": {"true"}, "last_used_at": {"2001-01-01T00:00:00Z"}, "secret": {"sk-umg-x"}, "prefix": {"sk"}, "rights": {"4294967295"},
		"previous_until": {"2099-01-01"}, "user_id": {"user_x"}, "frozen": {"true"}, "leaked_at": {"2001-01-01"},
	}
	with := func(form url.Values) url.Values {
		maps.Copy(form, foreign)
		return form
	}
	credit := func() (all string) {
		err := h.db.Get(&all, `select string_agg(a.id || m.role || a.limit_factor || coalesce(a.frozen_at::text, '') || u.operator, ';' order by a.id)
			|| (select coalesce(string_agg(account_id || amount_nanos, ';' order by id), '') from ledger_entries) from accounts a join memberships m on m.account_id = a.id join users u on u.id = m.user_id`)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := credit()
	id, _ := madeKey(t, p, with(fullForm()))
	made := h.keyNamed("Full")
	if id == theirs || made.AccountID == victim.AccountID || time.Since(made.Created) > time.Hour || made.Disabled || made.LastUsed != nil ||
		made.Scopes != "inference:text usage:read" {
		t.Errorf("made: %+v", made)
	}
	if a := p.send("/console/keys/"+id, with(fullForm())); a.status != http.StatusSeeOther {
		t.Errorf("change: %d", a.status)
	}
	after := h.keyNamed("Full")
	if after.AccountID != made.AccountID || after.Secret != made.Secret || after.Created != made.Created || after.Disabled || after.Previous != "" {
		t.Errorf("changed: %+v", after)
	}
	p.send("/console/keys/"+id+"/rotate", with(url.Values{"overlap": {"0"}}))
	p.send("/console/keys/"+id+"/disable", with(url.Values{}))
	if h.keyNamed("Theirs") != victim || credit() != before {
		t.Error("something of another account, or what the account is, changed")
	}
}
