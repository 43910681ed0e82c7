package console

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// TestExportHasEverythingButSecrets reads the export of an account that has something of everything: one document with all
// of it, nothing of a neighbour, and nothing that opens anything.
func TestExportHasEverythingButSecrets(t *testing.T) {
	t.Parallel()
	c, neighbour := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "exports"), harness.SharedVideoDemo(t).NewCustomer(t, "neighbour")
	p, db := c.SignInToConsole(t), c.DB(t)
	_, codes := enrols(t, p, c.Password)
	hook := c.AddWebhook(t, harness.NewWebhookReceiver(t))
	asset := harness.TextMember(c.CreateAsset(t, "image", "picture.png", "exported picture"), "asset_id")
	request := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: exported")).Header.Get("X-Request-Id")
	c.UsageRecord(t, request)
	manager := p.CreateManagementKey(t)
	a := c.Call(t, http.MethodGet, "/v1/account/export", "", harness.BearerHeader(manager)...)
	if a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Content-Disposition"), "attachment") || !json.Valid([]byte(a.Body)) {
		t.Fatalf("export: %d %q %.400s", a.Status, a.Header.Get("Content-Disposition"), a.Body)
	}
	for _, has := range []string{c.AccountID, c.Email, hook.ID, asset, "exported picture", request, "account.exported", "ledger_entries"} {
		if !strings.Contains(a.Body, has) {
			t.Errorf("the export lacks %s", has)
		}
	}
	var hash, neighbours string
	if err := db.Get(&hash, `select password_hash from users where email = $1`, c.Email); err != nil {
		t.Fatal(err)
	}
	if err := db.Get(&neighbours, `select id from api_keys where account_id = $1`, neighbour.AccountID); err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]string{
		"a key": c.APIKey, "the management key": manager, "a webhook secret": hook.Secret, "the password": hash, "a recovery code": codes[0],
		"a neighbour": neighbours, "a neighbour's account": neighbour.AccountID,
	} {
		if strings.Contains(a.Body, secret) {
			t.Errorf("the export tells %s", what)
		}
	}
	if harness.SecretPattern.MatchString(a.Body) || strings.Contains(a.Body, "whsec_") || strings.Contains(a.Body, "$argon2") {
		t.Error("the export tells something that is secret")
	}
	if a := c.Call(t, http.MethodGet, "/v1/account/export", "", harness.BearerHeader(c.APIKey)...); a.Status != http.StatusForbidden {
		t.Errorf("a standard key exports the account: %d", a.Status)
	}
}

// worksIn changes to another account by the menu, with the keyboard.
func worksIn(t *testing.T, p *harness.Tab, role string) {
	t.Helper()
	reachByKeyboard(p, p.Locator("#account-menu-button"))
	pressKey(p, "Enter")
	to := p.GetByRole("button", playwright.PageGetByRoleOptions{Name: regexp.MustCompile("^Change to .* " + role + "$")})
	reachByKeyboard(p, to)
	pressKey(p, "Enter")
	p.RequireText("You work in ")
}

// TestMembershipCountsWithTheNextRequest changes to an account by keyboard, and finds that a smaller role and the end of the
// membership hold for the very next page.
func TestMembershipCountsWithTheNextRequest(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c, guest := g.NewCustomer(t, "boss"), g.NewCustomer(t, "guest")
	manager, db := c.SignInToConsole(t).CreateManagementKey(t), c.DB(t)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		c.AccountID, guest.Email)
	var user, owner string
	for email, id := range map[string]*string{guest.Email: &user, c.Email: &owner} {
		if err := db.Get(id, `select id from users where email = $1`, email); err != nil {
			t.Fatal(err)
		}
	}
	p := harness.NewTab(t, desktopSize)
	signsIn(p, g, guest.Email, guest.Password)
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	worksIn(t, p, "developer")
	p.Open(g.ConsoleURL + "/console/keys")
	theirs := p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "manager"})
	p.Must(p.Expect.Locator(theirs).ToHaveCount(1))

	if a := c.Call(t, http.MethodPost, "/v1/members/"+user, `{"role":"billing"}`, harness.BearerHeader(manager)...); a.Status != http.StatusOK {
		t.Fatalf("role: %d %s", a.Status, a.Body)
	}
	p.Open(g.ConsoleURL + "/console/keys")
	p.RequireText("Your role in this account is billing")
	p.Must(p.Expect.Locator(theirs).ToHaveCount(0))
	p.Open(g.ConsoleURL + "/console/billing")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())

	if a := c.Call(t, http.MethodDelete, "/v1/members/"+user, "", harness.BearerHeader(manager)...); a.Status != http.StatusOK {
		t.Fatalf("remove: %d %s", a.Status, a.Body)
	}
	// The session is in the person's own account again.
	p.Open(g.ConsoleURL + "/console/keys")
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="key"]`).Filter(playwright.LocatorFilterOptions{HasText: "guest"})).ToHaveCount(1))
	p.Must(p.Expect.Locator(theirs).ToHaveCount(0))
	harness.CheckVideoError(t, c.Call(t, http.MethodPost, "/v1/members/"+owner, `{"role":"admin"}`, harness.BearerHeader(manager)...), http.StatusForbidden, "owner_required", "")
	harness.CheckVideoError(t, c.Call(t, http.MethodDelete, "/v1/members/"+owner, "", harness.BearerHeader(manager)...), http.StatusForbidden, "owner_required", "")
}
