package apikey

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/apptest"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// The set-up of these tests makes accounts through app/account, and members of them in the database.

// goodPassword is the password of users who sign up.
const goodPassword = "correct horse battery"

var must, wantError, count, eventually = apptest.Must, apptest.WantError, apptest.Count, apptest.Eventually

// bundle is what most tests of this package need.
type bundle struct {
	*account.Service
	db     *sqlx.DB
	clock  *apptest.Clock
	ids    app.IDs
	ledger *billing.Ledger
	keys   *Service
}

func setup(t *testing.T, change ...func(*account.Options)) bundle {
	t.Helper()
	return setupOn(pgtest.New(t), change...)
}

func setupOn(db *sqlx.DB, change ...func(*account.Options)) bundle {
	c := apptest.NewClock()
	o := account.Options{PasswordMemoryKiB: apptest.PasswordMemoryKiB, Now: c.Now, IDs: apptest.IDs(c.Now), Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	ledger := apptest.NewLedger(db, o.Now)
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
	u, err := b.User(t.Context(), apptest.NewUser(t, b.db, b.clock.Now, email).UserID)
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
	go func() { ended <- r.Run(ctx, postgres.NewListener(dsn)) }()
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
