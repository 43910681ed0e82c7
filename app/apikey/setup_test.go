package apikey

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// The set-up of these tests makes accounts through app/account, and members of them in the database.

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// goodPassword is the password of users who sign up.
const goodPassword = "correct horse battery"

// bundle is what most tests of this package need.
type bundle struct {
	*account.Service
	db     *sqlx.DB
	clock  *clock
	ids    app.IDs
	ledger *billing.Ledger
	keys   *Service
}

func setup(t *testing.T, change ...func(*account.Options)) bundle {
	t.Helper()
	return setupOn(pgtest.New(t), change...)
}

func setupOn(db *sqlx.DB, change ...func(*account.Options)) bundle {
	c := &clock{now: time.Now().UTC().Truncate(time.Microsecond)}
	o := account.Options{Now: c.Now, IDs: app.IDs{Now: c.Now, Random: rand.Reader}, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	ledger := billing.NewLedger(db, billing.Options{Now: o.Now, IDs: o.IDs, Log: o.Log})
	b := bundle{Service: account.New(db, ledger, o), db: db, clock: c, ids: o.IDs, ledger: ledger}
	b.keys = New(db, Options{
		Accounts: b.Service, Ledger: ledger, Now: o.Now, IDs: o.IDs, Random: o.Random, Log: o.Log, Mail: o.Mail, BaseURL: o.BaseURL,
	})
	return b
}

// proving is a service with mail, and a user whose address is verified and who has credit.
func proving(t *testing.T, email string) (bundle, *mail.Service, account.User) {
	t.Helper()
	db := pgtest.New(t)
	var post *mail.Service
	b := setupOn(db, func(o *account.Options) {
		var err error
		post, err = mail.New(db, mail.Options{Key: [32]byte{7}, Now: o.Now, IDs: o.IDs, Log: o.Log})
		must(t, err)
		o.Mail, o.BaseURL, o.SignUpsMax, o.Key = post, "https://gateway.example", 10_000, [32]byte{7}
	})
	u, err := b.SignUp(t.Context(), account.SignUp{Email: email, Password: goodPassword, IP: "192.0.2.1"})
	must(t, err)
	return b, post, b.proven(t, u)
}

// member makes a user with an account, without the cost of a password.
func (b bundle) member(t *testing.T, email string) account.User {
	t.Helper()
	u, now := account.User{ID: b.ids.New("user"), Email: email, AccountID: b.ids.New("acct"), Role: app.RoleOwner}, b.clock.Now()
	b.db.MustExec(`insert into users (id, email, password_hash, created_at) values ($1, $2, 'no password', $3)`, u.ID, email, now)
	b.db.MustExec(`insert into accounts (id, name, created_at) values ($1, $3, $2)`, u.AccountID, now, strings.SplitN(email, "@", 2)[0]+"'s account")
	b.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'owner', $3)`, u.AccountID, u.ID, now)
	u, err := b.User(t.Context(), u.ID)
	must(t, err)
	return u
}

// proven verifies the address of a user.
func (b bundle) proven(t *testing.T, u account.User) account.User {
	t.Helper()
	b.db.MustExec(`update users set verified_at = $2 where id = $1`, u.ID, b.clock.Now())
	u.Verified = true
	return u
}

// audited counts the entries of an action in the audit log of an account.
func (b bundle) audited(t *testing.T, action, accountID string) int {
	t.Helper()
	return count(t, b.db, `select count(*) from audit_entries where action = $1 and account_id = $2`, action, accountID)
}

func (b bundle) key(t *testing.T, p app.Principal, spec Spec) (Key, string) {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	k, secret, err := b.keys.Create(t.Context(), p, spec)
	must(t, err)
	return k, secret
}

func (b bundle) ring(t *testing.T) *Cache {
	t.Helper()
	return NewCache(b.db, CacheOptions{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler)})
}

// run keeps a ring fresh until the test ends, and returns when it hears.
func run(t *testing.T, r *Cache, dsn string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, dsn) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	eventually(t, 20*time.Second, "the ring hears", func() bool {
		r.mu.RLock()
		defer r.mu.RUnlock()
		return r.hearing
	})
}

// eventually asks until the answer is yes, at most for limit.
func eventually(t *testing.T, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	deadline := time.After(limit)
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !yes() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", limit, what)
		case <-again.C:
		}
	}
}

// wantError checks the error that a caller gets.
func wantError(t *testing.T, err error, kind app.Kind, code string) *app.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	e := app.AsError(err)
	if e.Kind != kind || e.Code != code {
		t.Fatalf("error %v of kind %d, want %s of kind %d", e, e.Kind, code, kind)
	}
	return e
}

func count(t *testing.T, db *sqlx.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.Get(&n, query, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mailed is the latest mail of a kind to an address.
func mailed(t *testing.T, post *mail.Service, kind, to string) mail.Mail {
	t.Helper()
	mails, err := post.Outbox(t.Context(), 200)
	must(t, err)
	for _, m := range mails {
		if m.Kind == kind && m.To == to {
			return m
		}
	}
	t.Fatalf("no mail %s to %s", kind, to)
	return mail.Mail{}
}
