package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
)

func narrow(t *testing.T, dsn string, connections int) *sqlx.DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, Options{Connections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestQueryRowGivesItsConnectionBackWhateverComes(t *testing.T) {
	t.Parallel()
	db := narrow(t, shared(t).DSN(), 1)
	for range 3 {
		var n int
		var text *string
		if err := QueryRow(t.Context(), db, `select $1::int + 1, null::text`, []any{41}, &n, &text); err != nil || n != 42 || text != nil {
			t.Fatal(n, text, err)
		}
		if err := QueryRow(t.Context(), db, `select 1 where $1::int = 0`, []any{41}, &n); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		if err := QueryRow(t.Context(), db, `select 1 / $1::int`, []any{0}, &n); err == nil || Unavailable(err) {
			t.Errorf("a refusal of the store: %v", err)
		}
		if err := QueryRow(t.Context(), db, `select $1::text`, []any{"no number"}, &n); err == nil || Unavailable(err) {
			t.Errorf("a column that does not fit: %v", err)
		}
	}
	if s := db.Stats(); s.InUse != 0 || s.MaxIdleClosed+s.MaxIdleTimeClosed != 0 {
		t.Errorf("%+v", s)
	}
}

func TestQueryRowWaitsForAConnectionAsLongAsItsContextAndForTheAnswerAsLongAsTheStore(t *testing.T) {
	t.Parallel()
	dsn := shared(t).DSN()
	db := narrow(t, dsn, 1)
	quick, err := Open(t.Context(), dsn, Options{StatementMax: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Close() }()
	var n int
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := QueryRow(ctx, db, `select $1::int from pg_sleep(0.2)`, []any{7}, &n); err != nil || n != 7 {
		t.Errorf("a statement that outlives its caller: %d, %v", n, err)
	}
	held, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	short, cancelShort := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelShort()
	if err := QueryRow(short, db, `select $1::int`, []any{7}, &n); !Unavailable(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no connection is free: %v", err)
	}
	if err := QueryRow(t.Context(), quick, `select $1::int from pg_sleep(10)`, []any{7}, &n); !Unavailable(err) {
		t.Errorf("a statement beyond the store's limit: %v", err)
	}
}

func TestQueryRowGetsPastConnectionsThatTheStoreHasClosed(t *testing.T) {
	t.Parallel()
	l := shared(t)
	db := openLocal(t, l.DSN())
	conns := make([]*sql.Conn, connectionsMax)
	for i := range conns {
		var err error
		if conns[i], err = db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	if s := db.Stats(); s.Idle != connectionsMax {
		t.Fatalf("%+v", s)
	}
	admin := narrow(t, l.DSN(), 1)
	_, err := admin.ExecContext(t.Context(),
		`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := QueryRow(t.Context(), db, `select $1::int`, []any{7}, &n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
}
