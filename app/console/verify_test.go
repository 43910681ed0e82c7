package console_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
	"umg/app/trial"
)

var linkOfMail = regexp.MustCompile(`http://gateway\.test(/console/verify\?token=(\S+))`)

func TestALinkVerifiesOnlyWhenItsButtonIsPressed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	post, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h := newFixture(t, db, db, nil, func(o *console.Options) {
		o.Trial = trial.Policy{Amount: 5 * app.Dollar, Days: 30, RequireVerified: true}
		o.Accounts = account.New(db, o.Ledger, account.Options{
			Now: time.Now, IDs: ids, Random: rand.Reader, Log: log, Trial: o.Trial, Mail: post, BaseURL: "http://gateway.test",
		})
	})
	if a := h.visitor().see("/console/sign-up"); !strings.Contains(a.body, "once you have opened the link") {
		t.Errorf("the sign-up page does not say what the credit waits for:\n%s", a.body)
	}
	p := h.signedIn("ada@example.com")
	a := p.see("/console")
	if !strings.Contains(a.body, "We sent a link to") || !strings.Contains(a.body, "Verify it to get $5.00 of trial credit") &&
		!strings.Contains(a.body, "Verify it to get $5 of trial credit") {
		t.Errorf("the overview:\n%s", a.body)
	}
	link := lastLink(t, post)
	scanner := h.visitor()
	for range 3 {
		if a := scanner.see(link[1]); a.status != http.StatusOK || !strings.Contains(a.body, "Verify this address") {
			t.Fatalf("the link shows %d %s", a.status, a.body)
		}
	}
	a = p.send("/console/verify", url.Values{"token": {link[2]}})
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/console" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a = p.see("/console"); !strings.Contains(a.body, "ada@example.com is verified.") || strings.Contains(a.body, "We sent a link to") {
		t.Errorf("afterwards:\n%s", a.body)
	}
	if a := p.send("/console/verify", url.Values{"token": {link[2]}}); a.status != http.StatusConflict || !strings.Contains(a.body, "was used already") {
		t.Errorf("again: %d %s", a.status, a.body)
	}
	eveKeepsHerKeyOnScreen(t, h, post)
	if a := scanner.see("/console/verify?token=nonsense"); a.status != http.StatusNotFound || !strings.Contains(a.body, "not complete") {
		t.Errorf("nonsense: %d %s", a.status, a.body)
	}
	if a := scanner.see("/console/verify"); a.status != http.StatusOK || !strings.Contains(a.body, "Sign in") {
		t.Errorf("without a link: %d %s", a.status, a.body)
	}
	eve := h.signedIn("eve@example.com")
	if a := eve.send("/console/verify/resend", nil); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := eve.see("/console/verify"); !strings.Contains(a.body, "Another link is on its way to eve@example.com") {
		t.Errorf("after another link:\n%s", a.body)
	}
	if a := eve.send("/console/verify/trial", nil); a.header.Get("Location") != "/console/verify" ||
		!strings.Contains(eve.see("/console/verify").body, "whose e-mail address is verified") {
		t.Errorf("a trial without verification: %d %v", a.status, a.header)
	}
}

// eveKeepsHerKeyOnScreen makes a key in the first steps before she verifies her address, and comes back from the mail to another one.
func eveKeepsHerKeyOnScreen(t *testing.T, h *fixture, post *mail.Service) {
	t.Helper()
	p := h.signedIn("keeps@example.com")
	holds(t, "the steps", p.see("/console"), http.StatusOK, "Verify your address", "Run this and see it arrive", "We sent a link to")
	made := p.send("/console/keys", url.Values{"from": {"overview"}, "name": {"First key"}, "mode": {"standard"}})
	holds(t, "the key", made, http.StatusOK, "this key ends and another one is shown")
	before := secretPattern.FindString(made.body)
	back := p.send("/console/verify", url.Values{"token": {lastLink(t, post)[2]}})
	holds(t, "back from the mail", back, http.StatusOK, "$5.00 of trial credit was added", "This one replaces it", "Your address is verified.")
	after := secretPattern.FindString(back.body)
	if before == "" || after == "" || after == before {
		t.Errorf("the keys are %q and %q", before, after)
	}
	if a := p.call(before, "{}"); a.status != http.StatusUnauthorized {
		t.Errorf("the key of before: %d", a.status)
	}
	if a := p.call(after, "{}"); a.status == http.StatusUnauthorized {
		t.Errorf("the key that replaces it: %d %s", a.status, a.body)
	}
	if a := p.see("/console"); strings.Contains(a.body, after) || !strings.Contains(a.body, "Make another key") {
		t.Errorf("the page afterwards: %d", a.status)
	}
}

func lastLink(t *testing.T, post *mail.Service) []string {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 1)
	if err != nil || len(mails) != 1 {
		t.Fatalf("%d mails, %v", len(mails), err)
	}
	link := linkOfMail.FindStringSubmatch(mails[0].Text)
	if link == nil {
		t.Fatalf("no link in %s", mails[0].Text)
	}
	return link
}

func TestAKeyGetsABudgetAndLosesIt(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("ada@example.com")
	for typed, refusal := range map[string]string{
		"2,50": "Write dollars with a point", "0": "more than $0", "1.0000000001": "at most 9 decimals", "-1": "more than $0",
		"999999999": "at most $100000000",
	} {
		a := p.send("/console/keys", url.Values{"name": {"Bound"}, "mode": {"standard"}, "budget": {typed}, "budget_period": {"week"}})
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, refusal) || !strings.Contains(a.body, `value="`+typed+`"`) {
			t.Errorf("%s: %d %s", typed, a.status, a.body)
		}
	}
	a := p.send("/console/keys", url.Values{"name": {"Bound"}, "mode": {"standard"}, "budget": {" $2.5 "}, "budget_period": {"week"}})
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var id string
	if err := h.db.Get(&id, `select key_id from key_budgets where limit_nanos = 2500000000 and period = 'week'`); err != nil {
		t.Fatal(err)
	}
	if a := p.see("/console/keys"); !strings.Contains(a.body, "$0 of $2.5") && !strings.Contains(a.body, "$0.00 of $2.50") || !strings.Contains(a.body, "this week") {
		t.Errorf("the list:\n%s", a.body)
	}
	path := "/console/keys/" + id
	change := url.Values{"name": {"Bound"}, "mode": {"standard"}, "scopes": {"videos"}, "budget": {"x"}}
	if a := p.see(path); a.status != http.StatusOK || !strings.Contains(a.body, `value="2.5"`) {
		t.Errorf("the form: %d %s", a.status, a.body)
	}
	if a := p.send(path, change); a.status != http.StatusUnprocessableEntity {
		t.Errorf("%d", a.status)
	}
	change.Set("budget", "9")
	if a := h.signedIn("eve@example.com").send(path, change); a.status != http.StatusNotFound {
		t.Errorf("another account: %d", a.status)
	}
	change.Set("budget", "")
	if a := p.send(path, change); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	var left int
	if err := h.db.Get(&left, `select count(*) from key_budgets`); err != nil || left != 0 {
		t.Errorf("%d budgets are left, %v", left, err)
	}
}

func TestAFrozenAccountReadsWhy(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("ada@example.com")
	if _, err := h.db.Exec(`update accounts set frozen_at = now(), frozen_reason = 'A payment is disputed.'`); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/console", "/console/keys", "/console/models"} {
		if a := p.see(path); a.status != http.StatusOK || !strings.Contains(a.body, "This account is frozen") || !strings.Contains(a.body, "A payment is disputed.") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
