package operator_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/operator"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// office is an operator service over a store with accounts.
type office struct {
	*operator.Service
	t      *testing.T
	db     *sqlx.DB
	ledger *billing.Ledger
	ids    app.IDs
}

func open(t *testing.T) *office {
	t.Helper()
	made := time.Now()
	later := func() time.Time { // Accounts are listed by ids, which begin with their millisecond.
		made = made.Add(time.Millisecond)
		return made
	}
	db, ids := pgtest.New(t), app.IDs{Now: later, Random: rand.Reader}
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)})
	return &office{Service: operator.New(db, operator.Options{Ledger: ledger, Now: time.Now, IDs: ids}), t: t, db: db, ledger: ledger, ids: ids}
}

func (o *office) exec(query string, args ...any) {
	o.t.Helper()
	if _, err := o.db.ExecContext(o.t.Context(), query, args...); err != nil {
		o.t.Fatal(err)
	}
}

// account makes an account with an owner of that address, and credit that was bought.
func (o *office) account(name, email string, bought app.Amount) (id, owner string) {
	o.t.Helper()
	p := apptest.NewUser(o.t, o.db, o.ids.Now, email)
	o.exec(`update accounts set name = $2 where id = $1`, p.AccountID, name)
	apptest.Fund(o.t, o.db, o.ledger, p.AccountID, billing.Purchased, bought)
	return p.AccountID, p.UserID
}

func (o *office) does(d operator.Adjustment, want bool) {
	o.t.Helper()
	d.Operator = "ops@example.com"
	if done, err := o.Do(o.t.Context(), d); err != nil || done != want {
		o.t.Errorf("%s: %v, %v; want %v", d.Kind, done, err, want)
	}
}

func (o *office) balance(id string, want app.Amount) {
	o.t.Helper()
	if b, err := o.ledger.Balance(o.t.Context(), id); err != nil || b.Posted != want {
		o.t.Errorf("the balance is %s (%v), want %s", b.Posted, err, want)
	}
}

// told are the entries of an account's audit log, the latest first, each in a line.
func (o *office) told(id string) (lines []string) {
	o.t.Helper()
	entries, err := o.History(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		line := string(e.Actor) + " " + string(e.Action)
		for _, c := range e.Changes {
			line += " " + c.Field + "=" + c.To
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAnAdjustmentThatIsSentAgainIsMadeOnce(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, _ := o.account("Harbour", "noor@example.com", 10*app.Dollar)
	add := operator.Adjustment{Kind: operator.Add, AccountID: id, Amount: 25 * app.Dollar, Reason: " An outage ", Once: o.Once()}
	var done atomic.Int64
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			d := add
			d.Operator = "ops@example.com"
			yes, err := o.Do(context.WithoutCancel(t.Context()), d)
			if err != nil {
				t.Error(err)
			}
			if yes {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("it was done %d times", done.Load())
	}
	o.balance(id, 35*app.Dollar)
	take := operator.Adjustment{Kind: operator.Take, AccountID: id, Amount: 5 * app.Dollar, Reason: "Too much", Once: o.Once()}
	o.does(take, true)
	o.does(take, false)
	o.balance(id, 30*app.Dollar)
	want := "operator billing.credit_taken amount=$5 reason=Too much|operator billing.credit_granted amount=$25 reason=An outage"
	if got := strings.Join(o.told(id), "|"); got != want {
		t.Errorf("the audit log says %s", got)
	}
	entries, err := o.Entries(t.Context(), id)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, amount := range []app.Amount{-5 * app.Dollar, 25 * app.Dollar} {
		if e := entries[i]; e.Amount != amount || e.Operator != "ops@example.com" || e.Reason == "" {
			t.Errorf("the ledger says %+v", e)
		}
	}
}

func TestTakingMoreThanIsFreeChangesNothing(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, _ := o.account("Harbour", "noor@example.com", 10*app.Dollar)
	take := operator.Adjustment{Kind: operator.Take, AccountID: id, Amount: 11 * app.Dollar, Reason: "x", Operator: "ops", Once: o.Once()}
	done, err := o.Do(t.Context(), take)
	if done || app.KindOf(err) != app.Unfunded || app.AsError(err).Param != "amount" {
		t.Errorf("%v, %v", done, err)
	}
	if told := o.told(id); len(told) != 0 {
		t.Errorf("the audit log has an entry about an adjustment that was not made: %v", told)
	}
	take.Amount = 10 * app.Dollar
	o.does(take, true) // The failed attempt did not use up the form.
	o.balance(id, 0)
}

func TestAnAccountIsFrozenUntilAnOperatorUnfreezesIt(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, owner := o.account("Harbour", "noor@example.com", app.Dollar)
	freeze := operator.Adjustment{Kind: operator.Freeze, AccountID: id, Reason: "A stolen card", UserID: owner, Once: o.Once()}
	o.does(freeze, true)
	o.does(operator.Adjustment{Kind: operator.Freeze, AccountID: id, Reason: "Another reason", Once: o.Once()}, false)
	one, err := o.Account(t.Context(), id, owner)
	if err != nil || one.FrozenAt == nil || one.FrozenReason != "A stolen card" || one.FrozenBy != "ops@example.com" || !one.Own {
		t.Errorf("%+v, %v", one, err)
	}
	o.does(operator.Adjustment{Kind: operator.Unfreeze, AccountID: id, Once: o.Once()}, true)
	o.does(operator.Adjustment{Kind: operator.Unfreeze, AccountID: id, Once: o.Once()}, false)
	o.does(freeze, false) // An old page is sent again.
	if one, err = o.Account(t.Context(), id, ""); err != nil || one.FrozenAt != nil || one.Own {
		t.Errorf("%+v, %v", one, err)
	}
	want := "operator account.unfrozen|operator account.frozen reason=A stolen card note=The operator is a member of this account."
	if got := strings.Join(o.told(id), "|"); got != want {
		t.Errorf("the audit log says %s", got)
	}
}

// TestADebtorCanBeFrozenForGood freezes a debtor also as an operator, so a payment does not unfreeze the account.
func TestADebtorCanBeFrozenForGood(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, _ := o.account("Harbour", "noor@example.com", 0)
	o.exec(`insert into receivables (account_id, owed_nanos, froze) values ($1, 5, true)`, id)
	o.exec(`update accounts set frozen_at = now(), frozen_reason = 'It owes' where id = $1`, id)
	o.does(operator.Adjustment{Kind: operator.Freeze, AccountID: id, Reason: "For good", Once: o.Once()}, true)
	if one, err := o.Account(t.Context(), id, ""); err != nil || one.Indebted || one.FrozenReason != "For good" || one.Owed != 5 {
		t.Errorf("%+v, %v", one, err)
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	o := open(t)
	id, _ := o.account("Harbour", "noor@example.com", app.Dollar)
	closed, _ := o.account("Gone", "gone@example.com", app.Dollar)
	o.exec(`update accounts set closed_at = now() where id = $1`, closed)
	for name, c := range map[string]struct {
		adjustment operator.Adjustment
		kind       app.Kind
		param      string
		says       string
	}{
		"nothing":         {operator.Adjustment{Kind: operator.Add, Reason: "x"}, app.Invalid, "amount", "more than 0 dollars"},
		"less":            {operator.Adjustment{Kind: operator.Take, Amount: -1, Reason: "x"}, app.Invalid, "amount", "more than 0 dollars"},
		"too much":        {operator.Adjustment{Kind: operator.Add, Amount: operator.AmountMax + 1, Reason: "x"}, app.Invalid, "amount", "at most $"},
		"no reason":       {operator.Adjustment{Kind: operator.Add, Amount: 1, Reason: " \n"}, app.Invalid, "reason", "Give a reason"},
		"a long reason":   {operator.Adjustment{Kind: operator.Freeze, Reason: strings.Repeat("é", 501)}, app.Invalid, "reason", "text of at most 500"},
		"no text":         {operator.Adjustment{Kind: operator.Freeze, Reason: "a\x00b"}, app.Invalid, "reason", "text of at most 500"},
		"broken text":     {operator.Adjustment{Kind: operator.Freeze, Reason: "a\xffb"}, app.Invalid, "reason", "text of at most 500"},
		"an unknown kind": {operator.Adjustment{Kind: "melt", Reason: "x"}, app.NotFound, "", "no such action"},
		"no account":      {operator.Adjustment{Kind: operator.Freeze, AccountID: "acct_none", Reason: "x"}, app.NotFound, "", ""},
		"a closed one":    {operator.Adjustment{Kind: operator.Add, AccountID: closed, Amount: 1, Reason: "x"}, app.Conflict, "", ""},
	} {
		c.adjustment.Operator, c.adjustment.Once = "ops", o.Once()
		if c.adjustment.AccountID == "" {
			c.adjustment.AccountID = id
		}
		done, err := o.Do(t.Context(), c.adjustment)
		if done || app.KindOf(err) != c.kind || app.AsError(err).Param != c.param || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
	o.balance(id, app.Dollar)
}
