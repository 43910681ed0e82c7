package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const trialNanos = 5_000_000_000 // Every new account gets this trial credit.

// actionName finds the idempotency name in the page that asks for confirmation.
var actionName = regexp.MustCompile(`name="once" value="(adj_[0-9a-z]{26})"`)

// accountOf is the account of the person with that address.
func (k *operatorFixture) accountOf(email string) (id string) {
	k.t.Helper()
	err := k.db.GetContext(k.t.Context(), &id, `
		select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1`, email)
	if err != nil {
		k.t.Fatal(err)
	}
	return id
}

func actionBody(amount, reason, step, once string) url.Values {
	return url.Values{"amount": {amount}, "reason": {reason}, "step": {step}, "once": {once}, "current_password": {password}}
}

// number reads one figure from the store.
func (k *operatorFixture) number(query string, args ...any) (n int64) {
	k.t.Helper()
	if err := k.db.GetContext(k.t.Context(), &n, query, args...); err != nil {
		k.t.Fatal(err)
	}
	return n
}

func (k *operatorFixture) posted(id string) int64 {
	k.t.Helper()
	return k.number(`select posted_nanos from credit_accounts where id = $1`, id)
}

func TestOperatorsMoveCreditOnceAndAfterTheirPassword(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	k.signedIn("noor@example.com")
	id := k.accountOf("noor@example.com")
	at := "/console/operator/accounts/" + id
	shows(t, p.see("/console/operator/accounts?q=NOOR%40"), http.StatusOK, id, "noor@example.com", "1 account")
	shows(t, p.see(at), http.StatusOK, "Add credit", "Take credit back", "noor@example.com", "Trial only", "Trial credit")
	shows(t, p.see(at+"/add"), http.StatusOK, "It does not expire.", "audit log")
	shows(t, p.send(at+"/add", actionBody("a lot", "", "ask", "")), http.StatusUnprocessableEntity, "Enter an amount in dollars", "Give a reason", `value="a lot"`)
	shows(t, p.send(at+"/take", actionBody("5.000000001", "Too much", "ask", "")), http.StatusUnprocessableEntity, "is free now")

	asked := p.send(at+"/add", actionBody("$2.5", "<b>An outage</b>", "ask", ""))
	shows(t, asked, http.StatusOK, "Add $2.50 to", "becomes", "$7.50", "&lt;b&gt;An outage&lt;/b&gt;", "Your current password")
	once := actionName.FindStringSubmatch(asked.body)
	if once == nil {
		t.Fatal("the question does not name itself")
	}
	form := actionBody("$2.5", "<b>An outage</b>", "do", once[1])
	form.Set("current_password", "a wrong one, sadly")
	shows(t, p.send(at+"/add", form), http.StatusUnprocessableEntity, "That is not your password.", once[1])
	form.Set("current_password", password)
	form.Set("once", "adj_anything")
	shows(t, p.send(at+"/add", form), http.StatusOK, "Your current password") // The page asks for the password again.
	if n := k.posted(id); n != trialNanos {
		t.Fatalf("%d before it was confirmed", n)
	}
	form.Set("once", once[1])
	for _, said := range []string{"Added $2.50 to", "That was done already."} {
		if a := p.send(at+"/add", form); a.status != http.StatusSeeOther || a.header.Get("Location") != at {
			t.Fatalf("%d %s", a.status, a.header.Get("Location"))
		}
		shows(t, p.see(at), http.StatusOK, said, "by <bdi>ann@example.com</bdi>", "&lt;b&gt;An outage&lt;/b&gt;", "added credit")
	}
	if n := k.posted(id); n != trialNanos+2_500_000_000 {
		t.Errorf("the balance is %d", n)
	}

	asked = p.send(at+"/take", actionBody("7.5", "Too much", "ask", ""))
	shows(t, asked, http.StatusOK, "Take $7.50 back from", "becomes")
	form = actionBody("7.5", "Too much", "do", actionName.FindStringSubmatch(asked.body)[1])
	for range 2 { // The second attempt is a repetition and succeeds, although no credit is left.
		if a := p.send(at+"/take", form); a.status != http.StatusSeeOther {
			t.Errorf("%d", a.status)
		}
	}
	if n := k.posted(id); n != 0 {
		t.Errorf("the balance is %d", n)
	}
}

func TestAnOperatorIsToldThatAnAccountIsTheirOwn(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	id := k.accountOf("ann@example.com")
	at := "/console/operator/accounts/" + id
	for _, a := range []reply{p.see(at + "/add"), p.send(at+"/add", actionBody("1", "For me", "ask", ""))} {
		shows(t, a, http.StatusOK, "You are a member of this account")
	}
	p.send(at+"/add", actionBody("1", "For me", "do", "adj_01kb4a7k2f8s4j6h1d9a3g5b7t"))
	if n := k.number(`select count(*) from audit_entries where account_id = $1 and actor = 'operator' and changes::text like '%is a member%'`, id); n != 1 {
		t.Errorf("the audit log does not say so: %d", n)
	}
	k.signedIn("noor@example.com")
	if a := p.see("/console/operator/accounts/" + k.accountOf("noor@example.com") + "/add"); strings.Contains(a.body, "You are a member") {
		t.Error("another's account is taken for their own")
	}
}

func TestOperatorsFreezeAndUnfreezeAnAccount(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	noor := k.signedIn("noor@example.com")
	id := k.accountOf("noor@example.com")
	at := "/console/operator/accounts/" + id
	shows(t, p.send(at+"/freeze", actionBody("", " ", "ask", "")), http.StatusUnprocessableEntity, "Give a reason")
	const once = "adj_01kb4a7k2f8s4j6h1d9a3g5b7"
	for i, c := range []struct{ kind, reason, said string }{
		{"freeze", "A stolen <i>card</i>", "Froze "}, {"freeze", "Again", "is frozen already"},
		{"unfreeze", "A mistake", "Unfroze "}, {"unfreeze", "Again", "is not frozen"},
	} {
		if a := p.send(at+"/"+c.kind, actionBody("", c.reason, "do", once+string(rune('a'+i)))); a.status != http.StatusSeeOther {
			t.Fatalf("%s: %d", c.kind, a.status)
		}
		page := p.see(at)
		shows(t, page, http.StatusOK, c.said)
		if frozen := strings.Contains(page.body, "This account is frozen"); frozen != (c.kind == "freeze") {
			t.Errorf("%s: the page says that it is frozen: %v", c.kind, frozen)
		}
		if c.kind == "freeze" {
			shows(t, noor.see("/console/billing"), http.StatusOK, "A stolen &lt;i&gt;card&lt;/i&gt;")
			shows(t, p.see("/console/operator/accounts?state=frozen"), http.StatusOK, id, "A stolen &lt;i&gt;card&lt;/i&gt;")
		}
	}
	for _, path := range []string{at + "/melt", "/console/operator/accounts/acct_none", "/console/operator/accounts/acct_none/add"} {
		shows(t, p.see(path), http.StatusNotFound)
		shows(t, p.send(at+"/melt", actionBody("1", "x", "do", once+"z")), http.StatusNotFound)
	}
}

// TestTheOperatorsPageOfAnAccountShowsNoSecrets checks that what an account keeps to itself is hidden from operators, too.
func TestTheOperatorsPageOfAnAccountShowsNoSecrets(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	noor := k.signedIn("noor@example.com")
	made := noor.send("/console/keys", url.Values{"name": {"production"}, "mode": {"standard"}})
	secret := secretPattern.FindString(made.body)
	if secret == "" {
		t.Fatalf("no key was made: %d", made.status)
	}
	page := p.see("/console/operator/accounts/" + k.accountOf("noor@example.com"))
	shows(t, page, http.StatusOK, "created the key")
	if strings.Contains(page.body, secret) || strings.Contains(page.body, secret[len(secret)-4:]) || strings.Contains(page.body, `href="/console/keys/`) {
		t.Error("the page shows a key of the account, or leads to one")
	}
}
