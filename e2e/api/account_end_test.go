package api

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// endedWithin is how soon a key of a deleted account is refused everywhere.
const endedWithin = time.Second

// asksForEnd sends the form that deletes an account.
func asksForEnd(t *testing.T, p *harness.ConsoleClient, name, password string) harness.Response {
	t.Helper()
	return p.Visit(t, "/console/settings/account/delete", url.Values{"name": {name}, "password": {password}})
}

// refusesEnd insists that an account is not deleted, and that what is wrong is said beside its field.
func refusesEnd(t *testing.T, p *harness.ConsoleClient, c harness.Customer, name, password, field string) {
	t.Helper()
	a := asksForEnd(t, p, name, password)
	wrong := regexp.MustCompile(`id="delete-(name|password)-error"`).FindAllStringSubmatch(a.Body, -1)
	if a.Status != http.StatusUnprocessableEntity || len(wrong) != 1 || wrong[0][1] != field {
		t.Errorf("a wrong %s: %d, errors beside %v", field, a.Status, wrong)
	}
	if password != "" && strings.Contains(a.Body, password) {
		t.Errorf("a wrong %s: the password is shown again", field)
	}
	if a := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: still here")); a.Status != http.StatusOK {
		t.Fatalf("after a refused deletion the key answers %d %s", a.Status, a.Body)
	}
}

// TestAccountEndsAtOnce deletes an account: its keys are refused within a second, its owner is let out gently, the books
// balance, and nothing tells any more who was in it, except of those who are in another account as well.
func TestAccountEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c, guest := g.NewCustomer(t, "ends"), g.NewCustomer(t, "remains")
	db, p := c.DB(t), c.SignInToConsole(t)
	manager := p.CreateManagementKey(t)
	var name, owner string
	if err := db.Get(&name, `select name from accounts where id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	if err := db.Get(&owner, `select id from users where email = $1`, c.Email); err != nil {
		t.Fatal(err)
	}
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		c.AccountID, guest.Email)
	refusesEnd(t, p, c, name, "not the password", "password")
	refusesEnd(t, p, c, "another name", c.Password, "name")

	a := asksForEnd(t, p, name, c.Password)
	done := time.Now()
	if a.Status != http.StatusSeeOther {
		t.Fatalf("delete: %d %s", a.Status, a.Body)
	}
	for _, key := range []string{c.APIKey, manager} {
		status := 0
		for status != http.StatusUnauthorized && time.Since(done) < endedWithin {
			status = c.Call(t, http.MethodGet, "/v1/models", "", harness.BearerHeader(key)...).Status
		}
		if status != http.StatusUnauthorized {
			t.Errorf("a key of the deleted account answers %d", status)
		}
	}
	for hops := 0; a.Status == http.StatusSeeOther && hops < 5; hops++ {
		a = p.Visit(t, a.Header.Get("Location"), nil)
	}
	if a.Status != http.StatusOK {
		t.Errorf("the owner lands on %d %s", a.Status, a.Body)
	}
	p.RequireSignedOut(t)
	if a := p.SignIn(t, c.Email, c.Password); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("the owner signs in again: %d", a.Status)
	}
	var left []string
	if err := db.Select(&left, `select email || name from users where email = $1 or id = $2`, c.Email, owner); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] != "deleted-"+owner+"@deleted.invalid" {
		t.Errorf("what is left of the owner: %q", left)
	}
	guest.SignInToConsole(t).RequireSignedIn(t)
	if a := guest.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: untouched")); a.Status != http.StatusOK {
		t.Errorf("the other account of a member: %d %s", a.Status, a.Body)
	}
	c.CheckLedger(t)
}
