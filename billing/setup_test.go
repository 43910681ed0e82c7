package billing_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/usage"
)

// fixture is a ledger over its own test database.
type fixture struct {
	testing.TB

	ctx     context.Context
	db      *sqlx.DB
	ledger  *billing.Ledger
	reports *usage.Reports
	ids     app.IDs
	logged  chan slog.Record // The ledger's log records arrive here.
}

func setup(t testing.TB) *fixture {
	t.Helper()
	return open(t, pgtest.New(t))
}

func open(t testing.TB, db *sqlx.DB) *fixture {
	t.Helper()
	logged := make(chan slog.Record, 10_000)
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	log := slog.New(recorder{logged})
	return &fixture{
		TB: t, ctx: t.Context(), db: db, ids: ids, logged: logged, ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}),
		reports: usage.NewReports(db, usage.Options{Now: time.Now, Log: log}),
	}
}

// recorder hands log records to a test.
type recorder struct{ to chan slog.Record }

func (recorder) Enabled(context.Context, slog.Level) bool          { return true }
func (r recorder) Handle(_ context.Context, rec slog.Record) error { r.to <- rec; return nil }
func (r recorder) WithAttrs([]slog.Attr) slog.Handler              { return r }
func (r recorder) WithGroup(string) slog.Handler                   { return r }

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

func (h *fixture) hold(account string, want app.Amount) billing.Hold {
	h.Helper()
	hold, err := h.holdJob(account, h.ids.New("req"), want)
	if err != nil {
		h.Fatal(err)
	}
	return hold
}

func (h *fixture) settle(hold billing.Hold, cost app.Amount) {
	h.Helper()
	if err := h.settleJob(hold, cost); err != nil {
		h.Fatal(err)
	}
}

func record(hold billing.Hold) billing.UsageRecord {
	return billing.UsageRecord{RequestID: hold.ID, KeyID: "key_1", Model: "aurora-small", Outcome: "succeeded"}
}

// balance compares the account's balance with the expected one.
func (h *fixture) balance(account string, posted, held app.Amount) {
	h.Helper()
	b, err := h.ledger.Balance(h.ctx, account)
	if err != nil {
		h.Fatal(err)
	}
	if b.Posted != posted || b.Held != held {
		h.Errorf("balance: posted %d, held %d; want %d, %d", b.Posted, b.Held, posted, held)
	}
}

// entries are the account's latest ledger entries, newest first.
func (h *fixture) entries(account string) ([]billing.Entry, error) {
	page, err := h.ledger.EntryList(h.ctx, billing.EntryQuery{AccountID: account, Limit: 10})
	return page.Entries, err
}

// books fails the test when an invariant of the ledger does not hold.
func (h *fixture) books() {
	h.Helper()
	if err := unbalanced(h.ctx, h.db); err != nil {
		h.Error(err)
	}
}

func unbalanced(ctx context.Context, db *sqlx.DB) error {
	checks, err := billing.Books(ctx, db)
	for _, c := range checks {
		if !c.Holds {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Detail))
		}
	}
	return err
}

// exec changes the database directly, without the ledger.
func (h *fixture) exec(query string, args ...any) {
	h.Helper()
	if _, err := h.db.ExecContext(h.ctx, query, args...); err != nil {
		h.Fatal(err)
	}
}

func (h *fixture) expire(hold billing.Hold) {
	h.Helper()
	h.exec(`update holds set expires_at = now() - interval '1 second' where id = $1`, hold.ID)
}

func (h *fixture) sweep() {
	h.Helper()
	if err := h.ledger.Sweep(h.ctx); err != nil {
		h.Fatal(err)
	}
}

// internal is the balance of one of the gateway's own ledger accounts.
func (h *fixture) internal(account string) app.Amount {
	h.Helper()
	var sum app.Amount
	err := h.db.GetContext(h.ctx, &sum, `
		select coalesce(sum(amount_nanos), 0)::bigint from ledger_entries where account_id = $1`, account)
	if err != nil {
		h.Fatal(err)
	}
	return sum
}

func isUnfunded(err error) bool { return err != nil && app.KindOf(err) == app.Unfunded }
