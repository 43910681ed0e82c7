package trial

import (
	"fmt"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

func TestATrialReportCountsWhatWasGivenAndWhoIsAtTheirLimit(t *testing.T) {
	t.Parallel()
	db, clock := pgtest.New(t), apptest.NewClock()
	ledger := apptest.NewLedger(db, clock.Now)
	s := New(db, ledger, Options{
		Policy: Policy{Amount: 5 * app.Dollar, Days: 30, NetworkDayMax: 2, DomainDayMax: 3, DailyMax: 34 * app.Dollar}, Now: clock.Now,
	})
	sign := func(email, ip string) app.Principal {
		u := apptest.NewUser(t, db, clock.Now, email)
		apptest.Fund(t, db, ledger, u.AccountID, billing.Trial, 0)
		apptest.Must(t, postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
			_, err := s.Grant(t.Context(), tx, Person{UserID: u.UserID, AccountID: u.AccountID, Email: email}, ip)
			return err
		}))
		return u
	}
	old := sign("old@elsewhere.example", "198.51.100.1")
	clock.Advance(25 * time.Hour)
	began := clock.Now()
	for i := range 4 { // Each network gets two trials. The limit of the domain refuses the fourth.
		sign(fmt.Sprintf("u%d@school.example", i), fmt.Sprintf("192.0.%d.7", 2+i/2))
		clock.Advance(time.Minute)
	}
	for i, ip := range []string{"192.0.3.9", "198.51.100.2", "198.51.101.2"} { // The first address is in the second network.
		sign(fmt.Sprintf("mailbox%d@gmail.com", i), ip)
	}
	r, err := s.Report(t.Context())
	apptest.Must(t, err)
	if r.Count != 6 || r.Given != 30*app.Dollar || r.Closed != LimitReached || r.FreeAt == nil {
		t.Errorf("%d trials of $%s, closed %q until %v", r.Count, r.Given, r.Closed, r.FreeAt)
	}
	places := map[string]int{}
	for _, p := range r.Places {
		places[p.Name] = p.Count
		if first := began.Add(day); p.Name == "school.example" && !p.FreeAt.Equal(first) {
			t.Errorf("%s has room again at %s, not when the first of its trials is a day old", p.Name, p.FreeAt)
		}
	}
	if len(places) != 3 || places["192.0.2.0/24"] != 2 || places["192.0.3.0/24"] != 2 || places["school.example"] != 3 {
		t.Errorf("at their limit are %v", places)
	}
	db.MustExec(`insert into topups (id, account_id, cents, state, auto, email, idempotency_key, created_at, asked_at, paid_at,
		credited_cents) values ('top_1', $1, 500, 'PAID', false, '', 'k', $2, $2, $2, 500)`, old.AccountID, clock.Now())
	apptest.Must(t, ledger.Grant(t.Context(), db, billing.Grant{AccountID: old.AccountID, Kind: billing.Purchased, Amount: 5 * app.Dollar, Source: "top_1"}))
	r, err = s.Report(t.Context())
	apptest.Must(t, err)
	var count, paid int
	for _, d := range r.Days {
		count, paid = count+d.Count, paid+d.Paid
	}
	if len(r.Days) != reportDays || count != 7 || paid != 1 || r.Days[len(r.Days)-1].Day != clock.Now().UTC().Truncate(day) {
		t.Errorf("%d days with %d trials, of which %d bought credit: %+v", len(r.Days), count, paid, r.Days)
	}
}

func TestTrialsSayWhyNoOneGetsAny(t *testing.T) {
	t.Parallel()
	five := Policy{Amount: 5 * app.Dollar, DailyMax: 10 * app.Dollar}
	verified := five
	verified.RequireVerified = true
	for _, c := range []struct {
		policy Policy
		mails  bool
		given  app.Amount
		want   Closed
	}{
		{Policy{}, true, 0, Off}, {verified, false, 0, WithoutMail}, {verified, true, 0, ""}, {five, false, 5 * app.Dollar, ""},
		{five, false, 5*app.Dollar + 1, LimitReached},
	} {
		if got := c.policy.closed(c.mails, c.given); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
