package lease_test

import (
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
	"umg/billing/journal"
	"umg/billing/lease"
)

// vault is a bank and a ledger over one test database.
type vault struct {
	testing.TB

	db     *sqlx.DB
	bank   *lease.SQLStore
	ledger *billing.Ledger
	ids    app.IDs
}

func openVault(t testing.TB) *vault {
	t.Helper()
	return vaultOver(t, pgtest.New(t))
}

func vaultOver(t testing.TB, db *sqlx.DB) *vault {
	t.Helper()
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	return &vault{
		TB: t, db: db, ids: ids, bank: lease.OpenBank(db, time.Now, ids),
		ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)}),
	}
}

func (v *vault) account(credit app.Amount) string {
	v.Helper()
	id := v.ids.New("acc")
	if err := v.ledger.OpenAccount(v.Context(), v.db, id); err != nil {
		v.Fatal(err)
	}
	if credit > 0 {
		v.grant(id, billing.Purchased, credit)
	}
	return id
}

func (v *vault) grant(account string, kind billing.GrantKind, amount app.Amount) {
	v.Helper()
	g := billing.Grant{AccountID: account, Kind: kind, Amount: amount, Source: v.ids.New("src")}
	if err := v.ledger.Grant(v.Context(), v.db, g); err != nil {
		v.Fatal(err)
	}
}

func (v *vault) register(id string) lease.Replica {
	v.Helper()
	start, err := v.bank.Register(v.Context(), id)
	if err != nil {
		v.Fatal(err)
	}
	return start.Replica
}

func (v *vault) take(r lease.Replica, creditAccountID string, need, want app.Amount) lease.LeaseState {
	v.Helper()
	row, err := v.bank.Take(v.Context(), r, lease.TakeRequest{CreditAccountID: creditAccountID, Need: need, Want: want})
	if err != nil {
		v.Fatal(err)
	}
	return row
}

// settlement is the encoded settlement of a request with its own id.
func (v *vault) settlement(r lease.Replica, account string, held, cost app.Amount) []byte {
	return v.settlementOf(v.ids.New("req"), r, account, "", held, cost)
}

func (v *vault) settlementOf(id string, r lease.Replica, account, budget string, held, cost app.Amount) []byte {
	h := billing.Hold{ID: id, AccountID: account, BudgetID: budget, Amount: held, Epoch: r.Epoch}
	return billing.Settlement{Cost: cost, Delivered: true, Record: billing.UsageRecord{
		KeyID: "key_1", Model: "aurora-small", Style: "chat", Outcome: "succeeded", Reason: "completed", StartedAt: time.Now(),
	}}.Encode(h, r.ID, time.Now())
}

// apply applies records without a journal.
func (v *vault) apply(r lease.Replica, records ...[]byte) {
	v.Helper()
	if _, err := v.bank.Apply(v.Context(), r, lease.Batch{Records: records}); err != nil {
		v.Fatal(err)
	}
}

func (v *vault) balance(creditAccountID string, posted, held app.Amount) {
	v.Helper()
	var b billing.Balance
	if err := v.db.GetContext(v.Context(), &b, `select posted_nanos, held_nanos from credit_accounts where id = $1`, creditAccountID); err != nil {
		v.Fatal(err)
	}
	if b.Posted != posted || b.Held != held {
		v.Errorf("posted %d, held %d; want %d, %d", b.Posted, b.Held, posted, held)
	}
}

func (v *vault) exec(query string, args ...any) {
	v.Helper()
	if _, err := v.db.ExecContext(v.Context(), query, args...); err != nil {
		v.Fatal(err)
	}
}

// internal is the balance of one of the gateway's own ledger accounts.
func (v *vault) internal(account string) (sum app.Amount) {
	v.Helper()
	if err := v.db.GetContext(v.Context(), &sum, `
		select coalesce(sum(amount_nanos), 0)::bigint from ledger_entries where account_id = $1`, account); err != nil {
		v.Fatal(err)
	}
	return sum
}

func (v *vault) books() {
	v.Helper()
	if err := v.unbalanced(); err != nil {
		v.Error(err)
	}
}

func (v *vault) unbalanced() error {
	checks, err := billing.Books(v.Context(), v.db)
	for _, c := range checks {
		if !c.Holds {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Detail))
		}
	}
	return err
}

func TestALeaseIsTakenSpentAndGivenBack(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(app.Dollar)
	r := v.register("one")
	row := v.take(r, account, 1000, 20*app.Cent)
	if row.Granted != 20*app.Cent || row.Free != 80*app.Cent || row.ReturnImmediately || row.CreditAccountID != account {
		t.Fatalf("granted %+v", row)
	}
	row = v.take(r, account, 1000, app.Dollar)
	if row.Granted != 60*app.Cent || row.Free != 40*app.Cent {
		t.Errorf("a second grant is half of what is free: %+v", row)
	}
	records := [][]byte{v.settlement(r, account, 1000, 700), v.settlement(r, account, 1000, 1500), v.settlement(r, account, 1000, 0)}
	for range 2 {
		v.apply(r, records...)
		v.balance(account, app.Dollar-1700, 60*app.Cent-1700)
	}
	for range 2 {
		row, err := v.bank.Return(t.Context(), r, account, 50*app.Cent)
		if err != nil || row.Returned != 50*app.Cent || row.Spent != 1700 || row.Granted != 60*app.Cent {
			t.Fatalf("returned %+v, %v", row, err)
		}
		v.balance(account, app.Dollar-1700, 10*app.Cent-1700)
	}
	v.books()
	if loss, revenue := v.internal("internal:platform_loss"), v.internal("internal:usage_revenue"); loss != -500 || revenue != 2200 {
		t.Errorf("loss %d, revenue %d", loss, revenue)
	}
	if err := v.bank.End(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	v.balance(account, app.Dollar-1700, 0)
	v.books()
	if _, err := v.bank.Take(t.Context(), r, lease.TakeRequest{CreditAccountID: account, Need: 1}); !errors.Is(err, lease.ErrFenced) {
		t.Errorf("a run that has ended takes: %v", err)
	}
}

func TestABatchMovesTheCursorOnce(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account := v.account(app.Dollar)
	r := v.register("one")
	v.take(r, account, 1000, 20*app.Cent)
	first := lease.Batch{From: 0, To: 5, Open: 3, Records: [][]byte{v.settlement(r, account, 10, 7)}}
	for range 2 {
		if applied, err := v.bank.Apply(t.Context(), r, first); err != nil || applied != 5 {
			t.Fatalf("applied to %d, %v", applied, err)
		}
	}
	gap := lease.Batch{From: 6, To: 9, Records: [][]byte{v.settlement(r, account, 10, 7)}}
	if applied, err := v.bank.Apply(t.Context(), r, gap); err != nil || applied != 5 {
		t.Errorf("a batch after a gap is applied to %d, %v", applied, err)
	}
	v.balance(account, app.Dollar-7, 20*app.Cent-7)
	start, err := v.bank.Register(t.Context(), "one")
	if err != nil || start.Applied != journal.LSN(5) || start.Open != 3 || start.Replica.Epoch != r.Epoch+1 {
		t.Errorf("the next run starts with %+v, %v", start, err)
	}
	if _, err := v.bank.Apply(t.Context(), r, lease.Batch{From: 5, To: 6}); !errors.Is(err, lease.ErrFenced) {
		t.Errorf("a run that was replaced moves the cursor: %v", err)
	}
	next := lease.Batch{From: 5, To: 6, Records: [][]byte{v.settlement(r, account, 10, 7)}}
	if applied, err := v.bank.Apply(t.Context(), start.Replica, next); err != nil || applied != 6 {
		t.Errorf("recovery: applied to %d, %v", applied, err)
	}
	if err := v.bank.Retire(t.Context(), start.Replica); err != nil {
		t.Fatal(err)
	}
	v.balance(account, app.Dollar-14, 0)
	if v.bank.Counts().Late != 0 {
		t.Error("settlements of a run before count as late")
	}
	v.books()
}
