package account

import (
	"crypto/rand"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apikey"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

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

// bundle is what most tests of this package need.
type bundle struct {
	*Service
	db     *sqlx.DB
	clock  *clock
	ledger *billing.Ledger
	keys   *apikey.Service
}

func setup(t *testing.T, change ...func(*Options)) bundle {
	t.Helper()
	return setupOn(pgtest.New(t), change...)
}

func setupOn(db *sqlx.DB, change ...func(*Options)) bundle {
	c := &clock{now: time.Now().UTC().Truncate(time.Microsecond)}
	o := Options{Now: c.Now, IDs: app.IDs{Now: c.Now, Random: rand.Reader}, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	ledger := billing.NewLedger(db, billing.Options{Now: o.Now, IDs: o.IDs, Log: o.Log})
	b := bundle{Service: New(db, ledger, o), db: db, clock: c, ledger: ledger}
	b.keys = apikey.New(db, apikey.Options{
		Accounts: b.Service, Ledger: ledger, Now: o.Now, IDs: o.IDs, Random: o.Random, Log: o.Log, Mail: o.Mail, BaseURL: o.BaseURL,
	})
	return b
}

// member makes a user without the cost of a password.
func (b bundle) member(t *testing.T, email string) User {
	t.Helper()
	u := User{ID: b.o.IDs.New("user"), Email: email, AccountID: b.o.IDs.New("acct"), Role: "owner", LimitFactor: 1, CreatedAt: b.clock.Now()}
	if made, err := insertUser(t.Context(), b.db, u, "no password"); err != nil || !made {
		t.Fatalf("make a member: %v, %v", made, err)
	}
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
