package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// managementKey makes a key of the account that manages it by API.
func (p *person) managementKey(t *testing.T) string {
	t.Helper()
	made := p.visit(t, "/console/keys", url.Values{"name": {"manager"}, "mode": {"documented"}, "kind": {"management"}})
	secret := secretPattern.FindString(made.body)
	if secret == "" {
		t.Fatalf("no management key: %d %s", made.status, made.body)
	}
	return secret
}

// TestExportHasEverythingButSecrets reads the export of an account that has something of everything: one document with all
// of it, nothing of a neighbour, and nothing that opens anything.
func TestExportHasEverythingButSecrets(t *testing.T) {
	t.Parallel()
	c, neighbour := filmmaker(t, videoDemo(t), "exports"), videoDemo(t).newCustomer(t, "neighbour")
	p, db := c.signedIn(t), c.db(t)
	_, codes := p.enrols(t, c.Password)
	hook := c.listens(t, newReceiver(t))
	asset := textAt(c.makeAsset(t, "image", "picture.png", "exported picture"), "asset_id")
	request := c.call(t, http.MethodPost, chatPath, ask(cheapModel, "echo: exported")).header.Get("X-Request-Id")
	c.record(t, request)
	manager := p.managementKey(t)
	a := c.call(t, http.MethodGet, "/v1/account/export", "", bearer(manager)...)
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Disposition"), "attachment") || !json.Valid([]byte(a.body)) {
		t.Fatalf("export: %d %q %.400s", a.status, a.header.Get("Content-Disposition"), a.body)
	}
	for _, has := range []string{c.accountID, c.Email, hook.id, asset, "exported picture", request, "account.exported", "ledger_entries"} {
		if !strings.Contains(a.body, has) {
			t.Errorf("the export lacks %s", has)
		}
	}
	var hash, neighbours string
	if err := db.Get(&hash, `select password_hash from users where email = $1`, c.Email); err != nil {
		t.Fatal(err)
	}
	if err := db.Get(&neighbours, `select id from api_keys where account_id = $1`, neighbour.accountID); err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]string{
		"a key": c.APIKey, "the management key": manager, "a webhook secret": hook.secret, "the password": hash, "a recovery code": codes[0],
		"a neighbour": neighbours, "a neighbour's account": neighbour.accountID,
	} {
		if strings.Contains(a.body, secret) {
			t.Errorf("the export tells %s", what)
		}
	}
	if secretPattern.MatchString(a.body) || strings.Contains(a.body, "whsec_") || strings.Contains(a.body, "$argon2") {
		t.Error("the export tells something that is secret")
	}
	if a := c.call(t, http.MethodGet, "/v1/account/export", "", bearer(c.APIKey)...); a.status != http.StatusForbidden {
		t.Errorf("a standard key exports the account: %d", a.status)
	}
}

// worksIn changes to another account by the menu, with the keyboard.
func (p *tab) worksIn(t *testing.T, role string) {
	t.Helper()
	p.reach(p.Locator("#account-menu-button"))
	p.key("Enter")
	to := p.GetByRole("button", playwright.PageGetByRoleOptions{Name: regexp.MustCompile("^Change to .* " + role + "$")})
	p.reach(to)
	p.key("Enter")
	p.sees("You work in ")
}

// TestMembershipCountsWithTheNextRequest changes to an account by keyboard, and finds that a smaller role and the end of the
// membership hold for the very next page.
func TestMembershipCountsWithTheNextRequest(t *testing.T) {
	t.Parallel()
	g := running(t)
	c, guest := g.newCustomer(t, "boss"), g.newCustomer(t, "guest")
	manager, db := c.signedIn(t).managementKey(t), c.db(t)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		c.accountID, guest.Email)
	var user, owner string
	for email, id := range map[string]*string{guest.Email: &user, c.Email: &owner} {
		if err := db.Get(id, `select id from users where email = $1`, email); err != nil {
			t.Fatal(err)
		}
	}
	p := newTab(t, desktopSize)
	p.signsIn(g, guest.Email, guest.Password)
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	p.worksIn(t, "developer")
	p.open(g.ConsoleURL + "/console/keys")
	theirs := p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "manager"})
	p.must(p.expect.Locator(theirs).ToHaveCount(1))

	if a := c.call(t, http.MethodPost, "/v1/members/"+user, `{"role":"billing"}`, bearer(manager)...); a.status != http.StatusOK {
		t.Fatalf("role: %d %s", a.status, a.body)
	}
	p.open(g.ConsoleURL + "/console/keys")
	p.sees("Your role in this account is billing")
	p.must(p.expect.Locator(theirs).ToHaveCount(0))
	p.open(g.ConsoleURL + "/console/billing")
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())

	if a := c.call(t, http.MethodDelete, "/v1/members/"+user, "", bearer(manager)...); a.status != http.StatusOK {
		t.Fatalf("remove: %d %s", a.status, a.body)
	}
	// The session is in the person's own account again.
	p.open(g.ConsoleURL + "/console/keys")
	p.must(p.expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "guest"})).ToHaveCount(1))
	p.must(p.expect.Locator(theirs).ToHaveCount(0))
	isRefused(t, c.call(t, http.MethodPost, "/v1/members/"+owner, `{"role":"admin"}`, bearer(manager)...), http.StatusForbidden, "owner_required", "")
	isRefused(t, c.call(t, http.MethodDelete, "/v1/members/"+owner, "", bearer(manager)...), http.StatusForbidden, "owner_required", "")
}
