// Package apptest sets up what tests of many packages need: clocks that a test moves, ids, users with accounts, and a lease manager.
// Open a database with pgtest.New, and pass it to the functions here.
package apptest

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"go.uber.org/goleak"

	"umg/app"
	"umg/billing"
	"umg/billing/lease"
)

// eventuallyEvery is how often Eventually looks again.
const eventuallyEvery = 2 * time.Millisecond

// PasswordMemoryKiB is the memory of a password hash in tests, which make thousands of hashes.
const PasswordMemoryKiB = 64

// IDs returns a source of ids that begin with the time of a clock.
func IDs(now app.Clock) app.IDs { return app.IDs{Now: now, Random: rand.Reader} }

// NewLedger returns a ledger that logs nothing.
func NewLedger(db *sqlx.DB, now app.Clock) *billing.Ledger {
	return billing.NewLedger(db, billing.Options{Now: now, IDs: IDs(now), Log: slog.New(slog.DiscardHandler)})
}

// NewAccount makes an account, without a member and without a credit account.
func NewAccount(t testing.TB, db *sqlx.DB, now app.Clock) (accountID string) {
	t.Helper()
	accountID = IDs(now).New("acct")
	exec(t, db, `insert into accounts (id, created_at) values ($1, $2)`, accountID, now())
	return accountID
}

// NewUser makes a user who owns an account, without the cost of a password and without a credit account.
func NewUser(t testing.TB, db *sqlx.DB, now app.Clock, email string) app.Principal {
	t.Helper()
	p := app.Principal{AccountID: IDs(now).New("acct"), UserID: IDs(now).New("user"), Rights: app.RoleOwner.Rights()}
	name, _, _ := strings.Cut(email, "@")
	exec(t, db, `insert into users (id, email, password_hash, created_at) values ($1, $2, 'no password', $3)`, p.UserID, email, now())
	exec(t, db, `insert into accounts (id, name, created_at) values ($1, $2, $3)`, p.AccountID, name+"'s account", now())
	exec(t, db, `insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'owner', $3)`, p.AccountID, p.UserID, now())
	return p
}

// Fund opens the credit account of an account and grants it credit of a kind; an amount of zero grants none.
func Fund(t testing.TB, db *sqlx.DB, ledger *billing.Ledger, accountID string, kind billing.GrantKind, amount app.Amount) {
	t.Helper()
	Must(t, ledger.OpenAccount(t.Context(), db, accountID))
	if amount > 0 {
		Must(t, ledger.Grant(t.Context(), db, billing.Grant{AccountID: accountID, Kind: kind, Amount: amount, Source: "test:" + accountID}))
	}
}

// RunLeaseManager runs a lease manager that keeps its journal in the database, until the test ends. A change may set more options.
func RunLeaseManager(t testing.TB, db *sqlx.DB, replicaID string, change ...func(*lease.Options)) *lease.Manager {
	t.Helper()
	bank := lease.OpenBank(db, time.Now, IDs(time.Now))
	o := lease.Options{Bank: bank, Registry: bank, ReplicaID: replicaID, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	manager, err := lease.New(o)
	Must(t, err)
	Must(t, manager.Recover(t.Context()))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	// goroutine: the test owns it, and it ends with the test.
	go func() { ended <- manager.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return manager
}

// VerifyNoLeaks runs the tests of a package and fails when one of them leaves a goroutine behind. The cluster of pgtest and the
// pools on it live as long as the test binary.
func VerifyNoLeaks(m goleak.TestingM) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("umg/app/postgres/local.startChild.func1"),
		goleak.IgnoreAnyFunction("umg/app/postgres/local.(*child).watch.func1"),
		goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"), goleak.IgnoreTopFunction("database/sql.(*DB).connectionCleaner"))
}

// Must ends the test when there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError ends the test unless a caller gets an error of a kind and code. It returns the error.
func WantError(t testing.TB, err error, kind app.Kind, code string) *app.Error {
	t.Helper()
	e, ok := errors.AsType[*app.Error](err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Fatalf("error %v, want %s of kind %d", err, code, kind)
	}
	return e
}

// Count returns the number that a query selects.
func Count(t testing.TB, db *sqlx.DB, query string, args ...any) (n int) {
	t.Helper()
	Must(t, db.GetContext(t.Context(), &n, query, args...))
	return n
}

// Eventually waits until a condition holds, and ends the test when it does not hold within the limit.
func Eventually(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(eventuallyEvery)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

func exec(t testing.TB, db *sqlx.DB, query string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query, args...)
	Must(t, err)
}
