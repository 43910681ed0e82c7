package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// endedWithin is how soon a key of a deleted account is refused everywhere.
const endedWithin = time.Second

// asksForEnd sends the form that deletes an account.
func (p *person) asksForEnd(t *testing.T, name, password string) answer {
	t.Helper()
	return p.visit(t, "/console/settings/account/delete", url.Values{"name": {name}, "password": {password}})
}

// refusesEnd insists that an account is not deleted, and that what is wrong is said beside its field.
func (p *person) refusesEnd(t *testing.T, c customer, name, password, field string) {
	t.Helper()
	a := p.asksForEnd(t, name, password)
	wrong := regexp.MustCompile(`id="delete-(name|password)-error"`).FindAllStringSubmatch(a.body, -1)
	if a.status != http.StatusUnprocessableEntity || len(wrong) != 1 || wrong[0][1] != field {
		t.Errorf("a wrong %s: %d, errors beside %v", field, a.status, wrong)
	}
	if password != "" && strings.Contains(a.body, password) {
		t.Errorf("a wrong %s: the password is shown again", field)
	}
	if a := c.call(t, http.MethodPost, chatPath, ask(cheapModel, "echo: still here")); a.status != http.StatusOK {
		t.Fatalf("after a refused deletion the key answers %d %s", a.status, a.body)
	}
}

// TestAccountEndsAtOnce deletes an account: its keys are refused within a second, its owner is let out gently, the books
// balance, and nothing tells any more who was in it, except of those who are in another account as well.
func TestAccountEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := running(t)
	c, guest := g.newCustomer(t, "ends"), g.newCustomer(t, "remains")
	db, p := c.db(t), c.signedIn(t)
	manager := p.managementKey(t)
	var name, owner string
	if err := db.Get(&name, `select name from accounts where id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	if err := db.Get(&owner, `select id from users where email = $1`, c.Email); err != nil {
		t.Fatal(err)
	}
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		c.accountID, guest.Email)
	p.refusesEnd(t, c, name, "not the password", "password")
	p.refusesEnd(t, c, "another name", c.Password, "name")

	a := p.asksForEnd(t, name, c.Password)
	done := time.Now()
	if a.status != http.StatusSeeOther {
		t.Fatalf("delete: %d %s", a.status, a.body)
	}
	for _, key := range []string{c.APIKey, manager} {
		status := 0
		for status != http.StatusUnauthorized && time.Since(done) < endedWithin {
			status = c.call(t, http.MethodGet, "/v1/models", "", bearer(key)...).status
		}
		if status != http.StatusUnauthorized {
			t.Errorf("a key of the deleted account answers %d", status)
		}
	}
	for hops := 0; a.status == http.StatusSeeOther && hops < 5; hops++ {
		a = p.visit(t, a.header.Get("Location"), nil)
	}
	if a.status != http.StatusOK {
		t.Errorf("the owner lands on %d %s", a.status, a.body)
	}
	p.out(t)
	if a := p.signIn(t, c.Email, c.Password); a.status != http.StatusUnprocessableEntity {
		t.Errorf("the owner signs in again: %d", a.status)
	}
	var left []string
	if err := db.Select(&left, `select email || name from users where email = $1 or id = $2`, c.Email, owner); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] != "deleted-"+owner+"@deleted.invalid" {
		t.Errorf("what is left of the owner: %q", left)
	}
	guest.signedIn(t).in(t)
	if a := guest.call(t, http.MethodPost, chatPath, ask(cheapModel, "echo: untouched")); a.status != http.StatusOK {
		t.Errorf("the other account of a member: %d %s", a.status, a.body)
	}
	c.books(t)
}
