package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func confirmation(values url.Values) url.Values {
	form := url.Values{"current_password": {password}}
	maps.Copy(form, values)
	return form
}

// audited counts the entries of an action in an account's audit log.
func (k *operatorFixture) audited(accountID, action string) int64 {
	k.t.Helper()
	return k.number(`select count(*) from audit_entries where account_id = $1 and action = $2 and actor = 'operator'`, accountID, action)
}

func TestOperatorsSetTheLimitsOfAnAccount(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	noor := k.signedIn("noor@example.com")
	id := k.accountOf("noor@example.com")
	at := "/console/operator/accounts/" + id
	shows(t, p.see(at), http.StatusOK, "Set limits")
	shows(t, p.see(at+"/limits"), http.StatusOK, "Every replica multiplies", "Multiplier now", `value="1"`, "Your current password")
	for field, values := range map[string]url.Values{
		"factor":   {"factor": {"4.5"}},
		"password": {"factor": {"4"}, "current_password": {"a wrong one, sadly"}},
	} {
		shows(t, p.send(at+"/limits", confirmation(values)), http.StatusUnprocessableEntity, `id="confirm-`+field+`-error"`)
	}
	shows(t, p.send(at+"/limits", confirmation(url.Values{"factor": {"0"}})), http.StatusUnprocessableEntity, `id="confirm-factor-error"`)
	for range 2 { // The second one changes nothing.
		if a := p.send(at+"/limits", confirmation(url.Values{"factor": {"4"}})); a.status != http.StatusSeeOther {
			t.Fatalf("%d", a.status)
		}
	}
	shows(t, p.see(at), http.StatusOK, "are now 4× the usual", "4× the usual")
	if n := k.audited(id, "account.settings_changed"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	for _, path := range []string{at + "/limits", at + "/people/" + k.userOf("noor@example.com") + "/operator", at + "/refund"} {
		if a := noor.see(path); a.status != http.StatusNotFound {
			t.Errorf("%s is there for others: %d", path, a.status)
		}
		if a := noor.send(path, confirmation(url.Values{"factor": {"9"}})); a.status != http.StatusNotFound {
			t.Errorf("%s takes forms of others: %d", path, a.status)
		}
	}
}

// userOf is the user with that address.
func (k *operatorFixture) userOf(email string) (id string) {
	k.t.Helper()
	if err := k.db.GetContext(k.t.Context(), &id, `select id from users where email = $1`, email); err != nil {
		k.t.Fatal(err)
	}
	return id
}

func TestOperatorsHelpPeopleWhoCannotSignIn(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	k.signedIn("noor@example.com")
	id, user := k.accountOf("noor@example.com"), k.userOf("noor@example.com")
	at := "/console/operator/accounts/" + id
	person := at + "/people/" + user
	shows(t, p.see(at), http.StatusOK, "Reset link", "Make operator")
	shows(t, p.see(person+"/reset-link"), http.StatusOK, "chooses a new password", "noor@example.com")
	shows(t, p.send(person+"/reset-link", nil), http.StatusUnprocessableEntity, "confirm-password-error")
	made := p.send(person+"/reset-link", confirmation(nil))
	shows(t, made, http.StatusOK, "http://gateway.test/console/", "It works once", "data-secret")
	if n := k.audited(id, "user.reset_link_made"); n != 1 {
		t.Errorf("%d entries about the link", n)
	}
	shows(t, p.send(person+"/disable-mfa", confirmation(nil)), http.StatusConflict, "Sign-in codes are not on.")
	k.run(`insert into totp_secrets (user_id, seed, enabled_at, created_at) values ($1, 'x', now(), now())`, user)
	shows(t, p.see(at), http.StatusOK, "Disable codes")
	if a := p.send(person+"/disable-mfa", confirmation(nil)); a.status != http.StatusSeeOther {
		t.Errorf("%d %s", a.status, a.body)
	}
	if n := k.audited(id, "user.totp_disabled"); n != 1 {
		t.Errorf("%d entries about the codes", n)
	}
	for range 2 {
		if a := p.send(person+"/operator", confirmation(nil)); a.status != http.StatusSeeOther {
			t.Errorf("%d", a.status)
		}
	}
	if n := k.audited(id, "user.made_operator"); n != 1 {
		t.Errorf("%d entries about the operator", n)
	}
	stranger := at + "/people/" + k.userOf("ann@example.com")
	for _, kind := range []string{"/reset-link", "/disable-mfa", "/operator"} { // Ann is no member of the account.
		shows(t, p.see(stranger+kind), http.StatusNotFound)
		shows(t, p.send(stranger+kind, confirmation(nil)), http.StatusNotFound)
	}
}

var refundName = regexp.MustCompile(`name="once" value="(rfd_[0-9a-z]{26})"`)

func TestOperatorsRefundATopUpOnce(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	k := &operatorFixture{fixture: h.fixture}
	p, buyer := k.operator("ann@example.com"), h.signedIn("noor@example.com")
	topup, session := h.order(buyer, "25")
	h.paid(buyer, topup, session)
	id := k.accountOf("noor@example.com")
	at := "/console/operator/accounts/" + id
	top := topup[strings.LastIndex(topup, "/")+1:]
	shows(t, p.see(at), http.StatusOK, "Top-ups", "Refund", top, "$25.00")
	path := at + "/refund?topup=" + top
	asked := p.see(path)
	shows(t, asked, http.StatusOK, "returns the money to the card", "At most $25.00 is left.")
	once := refundName.FindStringSubmatch(asked.body)
	if once == nil {
		t.Fatal("the form does not name itself")
	}
	form := url.Values{"topup": {top}, "once": {once[1]}, "amount": {"2.505"}, "reason": {" "}}
	shows(t, p.send(at+"/refund", confirmation(form)), http.StatusUnprocessableEntity, "confirm-amount-error", "confirm-reason-error", `value="2.505"`)
	form["amount"], form["reason"] = []string{"25.01"}, []string{"<b>Bought</b> twice"}
	shows(t, p.send(at+"/refund", confirmation(form)), http.StatusUnprocessableEntity, "At most $25", "&lt;b&gt;Bought", once[1])
	form["amount"] = []string{"$10"}
	for range 2 { // The second one is the same refund.
		if a := p.send(at+"/refund", confirmation(form)); a.status != http.StatusSeeOther {
			t.Fatalf("%d %v", a.status, alerts(a.body))
		}
		shows(t, p.see(at), http.StatusOK, "$10.00 of this top-up went back", "Partly refunded")
	}
	if n := k.number(`select refunded_cents from topups where id = $1`, top); n != 1000 {
		t.Errorf("%d cents were refunded", n)
	}
	if n := k.audited(id, "billing.refunded"); n != 1 {
		t.Errorf("%d entries in the audit log", n)
	}
	own := "/console/operator/accounts/" + k.accountOf("ann@example.com")
	shows(t, p.see(own+"/refund?topup="+top), http.StatusNotFound) // Another account's top-up does not exist for it.
	shows(t, p.send(own+"/refund", confirmation(form)), http.StatusNotFound)
}

func TestOperatorsInspectAndRetryJobs(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	noor := k.signedIn("noor@example.com")
	id := k.accountOf("noor@example.com")
	k.run(`insert into mails (id, kind, recipient, subject, body_text, state, attempts, due_at, last_error, created_at) values
		('mail_late', 'reset_password', 'noor@example.com', 'Set <i>it</i>', 'a secret link', 'queued', 3, now() + interval '2 hours',
			'550 <noor@example.com> is <b>away</b>', now() - interval '1 hour'),
		('mail_new', 'verify_email', 'lee@example.com', 'Hello', 'another link', 'queued', 0, now(), '', now())`)
	k.run(`insert into mails (id, kind, recipient, subject, body_text, state, attempts, last_error, created_at, ended_at) values
		('mail_over', 'verify_email', 'kim@example.com', 'Hello', '-', 'failed', 9, 'refused', now() - interval '2 hours', now()),
		('mail_old', 'verify_email', 'kim@example.com', 'Hello', '-', 'failed', 9, 'refused', now() - interval '4 days', now() - interval '3 days')`)
	const queue = "/console/operator/queues/mails"
	list := p.see(queue)
	shows(t, list, http.StatusOK, "mail_late", "mail_new", "mail_over", "Given up", "550 &lt;…&gt; is &lt;b&gt;away&lt;/b&gt;", "3 jobs")
	for _, secret := range []string{"noor@example.com", "a secret link", "mail_old"} {
		if strings.Contains(list.body, secret) {
			t.Errorf("the list shows %q", secret)
		}
	}
	failing := p.see(queue + "?state=failing&q=RESET")
	shows(t, failing, http.StatusOK, "mail_late", "1 job")
	shows(t, p.see(queue+"?q=nothing"), http.StatusOK, "No job matches")
	shows(t, p.see("/console/operator/queues"), http.StatusOK, queue, "/console/operator/queues/erasure", "Failing")
	job := queue + "/jobs/mail_late"
	asked := p.see(job)
	shows(t, asked, http.StatusOK, "Retry now", "reset_password", "Failing", "Last error")
	once := actionName.FindStringSubmatch(asked.body)
	if once == nil {
		t.Fatal("the form does not name itself")
	}
	form := url.Values{"once": {once[1]}}
	if a := noor.send(job+"/retry", form); a.status != http.StatusNotFound {
		t.Errorf("retried by a user: %d", a.status)
	}
	for _, said := range []string{"The job is due now.", "That was retried already."} {
		if a := p.send(job+"/retry", form); a.status != http.StatusSeeOther || a.header.Get("Location") != job {
			t.Fatalf("%d %s", a.status, a.header.Get("Location"))
		}
		shows(t, p.see(job), http.StatusOK, said, "Retried by <bdi>ann@example.com</bdi>")
	}
	if n := k.number(`select count(*) from mails where id = 'mail_late' and due_at <= now()`); n != 1 {
		t.Error("the mail is not due")
	}
	shows(t, p.see(queue+"/jobs/mail_none"), http.StatusNotFound)
	shows(t, p.see("/console/operator/queues/settlement"), http.StatusNotFound)
	over := p.see(queue + "/jobs/mail_over")
	p.send(queue+"/jobs/mail_over/retry", url.Values{"once": {actionName.FindStringSubmatch(over.body)[1]}})
	shows(t, p.see(queue+"/jobs/mail_over"), http.StatusOK, "cannot be retried")

	k.run(`update accounts set closed_at = now() - interval '2 hours', erase_due_at = now() + interval '20 minutes' where id = $1`, id)
	erasure := "/console/operator/queues/erasure"
	shows(t, p.see(erasure+"?q="+id), http.StatusOK, id, "erase account")
	once = actionName.FindStringSubmatch(p.see(erasure + "/jobs/" + id).body)
	p.send(erasure+"/jobs/"+id+"/retry", url.Values{"once": {once[1]}})
	if n := k.number(`select count(*) from accounts where id = $1 and erase_due_at <= now()`, id); n != 1 {
		t.Error("the account is not due")
	}
	if n := k.audited(id, "job.retried"); n != 1 {
		t.Errorf("%d entries about the retry", n)
	}
}
