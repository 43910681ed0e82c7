package contentlog

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/audit"
	"umg/app/postgres/pgtest"
)

// bench is the room over a store of its own, with two accounts and a clock that is set by hand.
type bench struct {
	*Service
	t     *testing.T
	db    *sqlx.DB
	clock *apptest.Clock
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, db: pgtest.New(t), clock: apptest.FixedClock(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC))}
	b.Service = New(b.db, Options{
		Audit: audit.New(b.db, b.clock.Now, apptest.IDs(b.clock.Now)), Now: b.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	for _, id := range []string{"acct_a", "acct_b"} {
		_, err := b.db.Exec(`insert into accounts (id, name, created_at) values ($1, $1, now())`, id)
		b.must(err)
	}
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	apptest.Must(b.t, err)
}

func of(account string) app.Principal { return app.Principal{AccountID: account, UserID: "user_1"} }

// say takes a call down and writes it.
func (b *bench) say(account, id, request, answer string) {
	b.t.Helper()
	t := b.Start(Call{AccountID: account, KeyID: "key_1", RequestID: id, Style: "chat", At: b.clock.Now()})
	t.Hear([]byte(request))
	t.Expect("m")
	t.Error([]byte(answer))
	t.End()
	b.flush(b.t.Context())
}

// kept is what a reader of the account sees.
func (b *bench) kept(account, id string) (Record, bool) {
	b.t.Helper()
	k, found, err := b.Of(b.t.Context(), account, id)
	b.must(err)
	return k, found
}

func (b *bench) count(query string, args ...any) (n int) {
	b.t.Helper()
	return apptest.Count(b.t, b.db, query, args...)
}
