package account

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

func TestATrialReportCountsWhatWasGivenAndWhoIsAtTheirLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.o.Trial = TrialPolicy{Amount: 5 * app.Dollar, Days: 30, NetworkDayMax: 2, DomainDayMax: 3, DailyMax: 34 * app.Dollar}
	sign := func(email, ip string) User {
		u, err := b.SignUp(t.Context(), SignUp{Email: email, Password: goodPassword, IP: ip})
		must(t, err)
		return u
	}
	old := sign("old@elsewhere.example", "198.51.100.1")
	b.clock.advance(25 * time.Hour)
	began := b.clock.Now()
	for i := range 4 { // two from one network, and three of one domain; the domain's limit refuses the fourth
		sign(fmt.Sprintf("u%d@school.example", i), fmt.Sprintf("192.0.%d.7", 2+i/2))
		b.clock.advance(time.Minute)
	}
	for i, ip := range []string{"192.0.3.9", "198.51.100.2", "198.51.101.2"} { // the first address is in the second network
		sign(fmt.Sprintf("mailbox%d@gmail.com", i), ip)
	}
	r, err := b.Trials(t.Context())
	must(t, err)
	if r.Count != 6 || r.Given != 30*app.Dollar || r.Closed != TrialsGiven || r.FreeAt == nil {
		t.Errorf("%d trials of $%s, closed %q until %v", r.Count, r.Given, r.Closed, r.FreeAt)
	}
	places := map[string]int{}
	for _, p := range r.Places {
		places[p.Name] = p.Count
		if first := began.Add(trialDay); p.Name == "school.example" && !p.FreeAt.Equal(first) {
			t.Errorf("%s has room again at %s, not when the first of its trials is a day old", p.Name, p.FreeAt)
		}
	}
	if len(places) != 3 || places["192.0.2.0/24"] != 2 || places["192.0.3.0/24"] != 2 || places["school.example"] != 3 {
		t.Errorf("at their limit are %v", places)
	}
	if _, err = b.db.Exec(`insert into topups (id, account_id, cents, state, auto, email, idempotency_key, created_at, asked_at, paid_at,
		credited_cents) values ('top_1', $1, 500, 'PAID', false, '', 'k', $2, $2, $2, 500)`, old.AccountID, b.clock.Now()); err != nil {
		t.Fatal(err)
	}
	must(t, b.ledger.Grant(t.Context(), b.db, billing.Grant{AccountID: old.AccountID, Kind: billing.Purchased, Amount: 5 * app.Dollar, Source: "top_1"}))
	r, err = b.Trials(t.Context())
	must(t, err)
	var count, paid int
	for _, d := range r.Days {
		count, paid = count+d.Count, paid+d.Paid
	}
	if len(r.Days) != trialReportDays || count != 7 || paid != 1 || r.Days[len(r.Days)-1].Day != b.clock.Now().UTC().Truncate(trialDay) {
		t.Errorf("%d days with %d trials, of which %d bought credit: %+v", len(r.Days), count, paid, r.Days)
	}
}

func TestTrialsSayWhyNobodyGetsAny(t *testing.T) {
	t.Parallel()
	five := TrialPolicy{Amount: 5 * app.Dollar, DailyMax: 10 * app.Dollar}
	verified := five
	verified.RequireVerified = true
	for _, c := range []struct {
		policy TrialPolicy
		mails  bool
		given  app.Amount
		want   TrialClosed
	}{
		{TrialPolicy{}, true, 0, TrialsOff}, {verified, false, 0, TrialsUnmailed}, {verified, true, 0, ""}, {five, false, 5 * app.Dollar, ""},
		{five, false, 5*app.Dollar + 1, TrialsGiven},
	} {
		if got := c.policy.closed(c.mails, c.given); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

func TestACodeThatWasMadeUpCanBeUsedAndWhoEndsACodeIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, err := b.NewPromoCode()
	must(t, err)
	_, err = b.CreatePromo(t.Context(), Promo{Code: code, Amount: app.Dollar, Times: 1, CreatedBy: "op", ExpiresAt: b.clock.Now().Add(time.Hour)})
	must(t, err)
	for _, by := range []string{"grace@example.com", "late@example.com"} {
		must(t, b.EndPromo(t.Context(), code, by))
	}
	p, err := b.FindPromo(t.Context(), code)
	if err != nil || p.Code != code || len(code) != promoMadeLength || p.EndedBy != "grace@example.com" || !p.ExpiresAt.Equal(b.clock.Now()) {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = b.FindPromo(t.Context(), "NOSUCHCODE")
	wantError(t, err, app.NotFound, "promo_not_found")
}

func TestErasuresTellWhatIsOverdue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := b.clock.Now().UTC()
	for i, due := range []time.Duration{-time.Hour, -time.Minute, time.Hour} {
		u := b.member(t, fmt.Sprintf("u%d@example.com", i))
		if _, err := b.db.Exec(`update accounts set closed_at = $2, erase_due_at = $3 where id = $1`, u.AccountID, now.Add(-2*time.Hour), now.Add(due)); err != nil {
			t.Fatal(err)
		}
	}
	b.member(t, "open@example.com")
	e, err := b.Erasures(t.Context())
	if err != nil || e.Waiting != 3 || e.DueSince == nil || now.Sub(*e.DueSince) != time.Hour || len(e.Trouble) != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}
