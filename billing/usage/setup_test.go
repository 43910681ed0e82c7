package usage_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/usage"
)

// fixture is a ledger and its reports over their own test database.
type fixture struct {
	testing.TB

	ctx     context.Context
	db      *sqlx.DB
	ids     app.IDs
	ledger  *billing.Ledger
	reports *usage.Reports
}

func setup(t testing.TB) *fixture {
	t.Helper()
	db, ids, log := pgtest.New(t), app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	return &fixture{
		TB: t, ctx: t.Context(), db: db, ids: ids, ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}),
		reports: usage.NewReports(db, usage.Options{Now: time.Now, Log: log}),
	}
}

// account opens an account with credit.
func (h *fixture) account(credit app.Amount) string {
	h.Helper()
	id := h.ids.New("acc")
	if err := h.ledger.OpenAccount(h.ctx, h.db, id); err != nil {
		h.Fatal(err)
	}
	if credit > 0 {
		h.grant(billing.Grant{AccountID: id, Kind: billing.Purchased, Amount: credit})
	}
	return id
}

func (h *fixture) grant(g billing.Grant) {
	h.Helper()
	if g.Source == "" {
		g.Source = h.ids.New("src")
	}
	if err := h.ledger.Grant(h.ctx, h.db, g); err != nil {
		h.Fatal(err)
	}
}

// hold reserves credit for a job.
func (h *fixture) hold(account string, want app.Amount) billing.Hold {
	h.Helper()
	hold, err := h.ledger.HoldFor(h.ctx, h.db, billing.HoldRequest{ID: h.ids.New("req"), AccountID: account, Want: want}, time.Hour)
	if err != nil {
		h.Fatal(err)
	}
	return hold
}

func record(hold billing.Hold) billing.UsageRecord {
	return billing.UsageRecord{RequestID: hold.ID, KeyID: "key_1", Model: "aurora-small", Outcome: "succeeded"}
}

// use records a request that began at a given time, through a job's hold.
func (h *fixture) use(account string, at time.Time, cost app.Amount, change func(*billing.UsageRecord)) string {
	h.Helper()
	hold := h.hold(account, 1000)
	r := record(hold)
	r.StartedAt, r.Reason, r.Style, r.Usage = at, "completed", "chat", meter.Counts{1, 2, 3, 4, 5, 6, 7, 8, 9}
	if change != nil {
		change(&r)
	}
	if err := h.ledger.SettleIn(h.ctx, h.db, hold, billing.Settlement{Cost: cost, Record: r}); err != nil {
		h.Fatal(err)
	}
	return hold.ID
}

// checkInvariants fails the test when an invariant of the ledger does not hold.
func (h *fixture) checkInvariants() {
	h.Helper()
	checks, err := billing.Books(h.ctx, h.db)
	if err != nil {
		h.Fatal(err)
	}
	for _, c := range checks {
		if !c.Holds {
			h.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// exec changes the database directly.
func (h *fixture) exec(query string, args ...any) {
	h.Helper()
	if _, err := h.db.ExecContext(h.ctx, query, args...); err != nil {
		h.Fatal(err)
	}
}
