package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// codeMade is the code that the form proposes.
var codeMade = regexp.MustCompile(`name="code"[^>]* value="([A-Z2-7]{12})"`)

func (k *operatorFixture) run(query string, args ...any) {
	k.t.Helper()
	if _, err := k.db.ExecContext(k.t.Context(), query, args...); err != nil {
		k.t.Fatalf("%v: %s", err, query)
	}
}

func codeForm(code, amount, times, until, days, reason string) url.Values {
	return url.Values{"code": {code}, "amount": {amount}, "times": {times}, "until": {until}, "days": {days}, "reason": {reason},
		"current_password": {password}}
}

func TestOperatorsMakeACodeOnceAndEndIt(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	const codes = "/console/operator/trials/codes"
	shows(t, p.see("/console/operator/trials"), http.StatusOK, "No code gives credit now", "--trial-credit", "$5.00", "Everyone who signs up, at once")
	shown := p.see(codes + "/new")
	proposed := codeMade.FindStringSubmatch(shown.body)
	if proposed == nil {
		t.Fatalf("the form proposes no code: %s", shown.body)
	}
	until := time.Now().UTC().AddDate(0, 1, 0).Format(time.DateOnly)
	shows(t, p.send(codes, codeForm("short", "ten", "many", "soon", "1.5", "<i>kept</i>")), http.StatusUnprocessableEntity,
		`value="short"`, "Enter dollars", "Enter a whole number, such", "Enter a whole number of days", "Enter a day", "&lt;i&gt;kept&lt;/i&gt;")
	for field, c := range map[string]url.Values{
		"code": codeForm("short", "1", "1", until, "0", ""), "code-amount": codeForm(proposed[1], "-1", "1", until, "0", ""),
		"code-times": codeForm(proposed[1], "1", "0", until, "0", ""), "code-days": codeForm(proposed[1], "1", "1", until, "9999", ""),
		"code-until":  codeForm(proposed[1], "1", "1", "2020-01-01", "0", ""),
		"code-reason": codeForm(proposed[1], "1", "1", until, "0", strings.Repeat("é", 201)),
	} {
		shows(t, p.send(codes, c), http.StatusUnprocessableEntity, `id="`+field+`-error"`)
	}
	if n := k.number(`select count(*) from promo_codes`); n != 0 {
		t.Fatalf("%d codes were made of forms that were refused", n)
	}

	form := codeForm(proposed[1], "$10", "500", until, "90", "<b>Spring</b>")
	form.Set("current_password", "a wrong one, sadly")
	shows(t, p.send(codes, form), http.StatusUnprocessableEntity, "That is not your password.", `id="code-password-error"`)
	form.Set("current_password", password)
	form.Set("created_by", "eve@example.com")
	form.Set("redeemed", "499")
	a := p.send(codes, form)
	if want := "/console/operator/trials?made=" + proposed[1] + "#codes"; a.status != http.StatusSeeOther || a.header.Get("Location") != want {
		t.Fatalf("%d %s", a.status, a.header.Get("Location"))
	}
	shows(t, p.see("/console/operator/trials?made="+proposed[1]), http.StatusOK, "The code is made", "Gives $10.00 to up to 500 accounts",
		"0 of 500", "&lt;b&gt;Spring&lt;/b&gt;", "Credit lasts 90 days", "Made the code")
	if n := k.number(`select count(*) from promo_codes where created_by = 'ann@example.com' and redeemed = 0 and reason = '<b>Spring</b>'
		and expires_at = $1::date + 1`, until); n != 1 {
		t.Error("the code is not what the form said")
	}
	shows(t, p.send(codes, form), http.StatusUnprocessableEntity, "There is a code "+proposed[1]+" already")

	end := codes + "/" + proposed[1] + "/end"
	shows(t, p.see(end), http.StatusOK, "End "+proposed[1]+" now?", "redeemed 0 of")
	shows(t, p.see(codes+"/NOSUCHCODE/end"), http.StatusNotFound)
	shows(t, p.send(codes+"/NOSUCHCODE/end", nil), http.StatusNotFound)
	shows(t, p.send(end, nil), http.StatusUnprocessableEntity, "confirm-password-error")
	for range 2 { // The second one ends nothing more.
		if a := p.send(end, url.Values{"current_password": {password}}); a.status != http.StatusSeeOther {
			t.Fatalf("%d", a.status)
		}
	}
	shows(t, p.see("/console/operator/trials"), http.StatusOK, "No code gives credit now", "has ended", "Ended")
	if n := k.number(`select count(*) from promo_codes where ended_by = 'ann@example.com' and expires_at <= now()`); n != 1 {
		t.Error("the code has not ended, or without the name of who ended it")
	}
}

func TestOperatorsSeeWhatIsLateAndWhatIsStuck(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	k.signedIn("leaver@example.com")
	shows(t, p.see("/console/operator/queues"), http.StatusOK, "All queues healthy.", "mails are kept and not sent", "Nothing is overdue",
		"Late when an account&#39;s round is overdue for 10\u00a0min, stuck for 1\u00a0h.")
	leaver := k.accountOf("leaver@example.com")
	k.run(`update accounts set closed_at = now() - interval '2 hours', erase_due_at = now() - interval '20 minutes' where id = $1`, leaver)
	k.run(`insert into replicas (id, epoch, heartbeat_at) values ('box-9', 1, now() - interval '30 seconds')`)
	late := p.see("/console/operator/queues")
	shows(t, late, http.StatusOK, "Late: Settlement, Erasing.", "overdue for 20 min", "/console/operator/accounts/"+leaver, "Silent")
	if strings.Contains(late.body, "leaver@example.com") {
		t.Error("the page names people")
	}
	k.run(`update replicas set state = 'lost', heartbeat_at = now() - interval '20 minutes' where id = 'box-9'`)
	k.run(`insert into leases (replica_id, epoch, credit_account_id, granted_nanos) values ('box-9', 1, $1, 1500000000)`, leaver)
	k.run(`update accounts set erase_due_at = now() - interval '2 hours' where id = $1`, leaver)
	shows(t, p.see("/console/operator/queues"), http.StatusOK, "Stuck: Settlement, Erasing.", "left $1.50 in 1 lease and", "Lost")
	k.run(`update leases set state = 'reclaimed', returned_nanos = granted_nanos`)
	k.own.Refused = 3
	shows(t, p.see("/console/operator/queues"), http.StatusOK, "Stuck: Settlement, Erasing.", "The books refused 3 settlements")
}

func TestTheQueuesAreKeptUpToDateWhileTheyAreLookedAt(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	if a := p.see("/console/operator/queues/live"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/operator/queues" {
		t.Errorf("without events: %d %s", a.status, a.header.Get("Location"))
	}
	web := httptest.NewServer(k.web)
	t.Cleanup(web.Close)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, lines := p.follow(ctx, web.URL, "/console/operator/queues/live", "")
	if status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	if _, read, found := until(t, lines, "All queues healthy."); !found || strings.Contains(read, "<html") {
		t.Errorf("the stream says %s", read)
	}
}
