package account

import (
	"crypto/rand"
	"log/slog"
	"testing"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

var must, wantError, count, eventually = apptest.Must, apptest.WantError, apptest.Count, apptest.Eventually

// bundle is what most tests of this package need.
type bundle struct {
	*Service
	db     *sqlx.DB
	clock  *apptest.Clock
	ledger *billing.Ledger
	keys   *apikey.Service
}

func setup(t *testing.T, change ...func(*Options)) bundle {
	t.Helper()
	return setupOn(pgtest.New(t), change...)
}

func setupOn(db *sqlx.DB, change ...func(*Options)) bundle {
	c := apptest.NewClock()
	o := Options{PasswordMemoryKiB: apptest.PasswordMemoryKiB, Now: c.Now, IDs: apptest.IDs(c.Now), Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	ledger := apptest.NewLedger(db, o.Now)
	b := bundle{Service: New(db, ledger, o), db: db, clock: c, ledger: ledger}
	b.keys = apikey.New(db, apikey.Options{
		Accounts: b.Service, Ledger: ledger, Now: o.Now, IDs: o.IDs, Random: o.Random, Log: o.Log, Mail: o.Mail, BaseURL: o.BaseURL,
	})
	return b
}

// member makes a user without the cost of a password.
func (b bundle) member(t *testing.T, email string) User {
	t.Helper()
	u, err := b.User(t.Context(), apptest.NewUser(t, b.db, b.clock.Now, email).UserID)
	must(t, err)
	return u
}

// proven verifies the address of a user who has made nothing before.
func (b bundle) proven(t *testing.T, u User) User {
	t.Helper()
	_, err := setVerified(t.Context(), b.db, u.ID, b.clock.Now())
	must(t, err)
	u.Verified = true
	return u
}

func (b bundle) key(t *testing.T, p app.Principal, spec apikey.Spec) (apikey.Key, string) {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	k, secret, err := b.keys.Create(t.Context(), p, spec)
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

func (b bundle) ring(t *testing.T) *apikey.Cache {
	t.Helper()
	return apikey.NewCache(b.db, apikey.CacheOptions{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler)})
}
