// Package pgtest gives every test a database of its own with the newest schema. The first test of a binary starts a server on a
// copy of a cluster, which the first of all binaries made. Call New in a test; only tests may import the package.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
)

const (
	folderPrefix = "pg" // The prefix is short, because the path of a socket has at most 107 bytes.
	markName     = "umg-test-server"
	startMax     = 2 * time.Minute
	databaseMax  = time.Minute
	poolMax      = 8
	statementMax = 15 * time.Second // A statement waits for the other tests, which keep all cores busy.
	fullPause    = time.Second
	diskFull     = "53100" // This is the SQLSTATE disk_full.
)

// server is the one server of this test binary. It ends with the binary, which cannot run code at its end, so the next
// binary that starts a server removes its folder.
type server struct {
	local *local.Server
	admin *sqlx.DB
	count int
	mu    sync.Mutex
}

var start = sync.OnceValues(func() (*server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startMax)
	defer cancel()
	removeStale()
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, markName), nil, 0o600); err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	pg, err := startCopy(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &server{local: pg}
	s.admin, err = postgres.Open(ctx, databaseDSN(pg.DSN(), "postgres"), postgres.Options{StatementMax: -1})
	return s, err
})

// startCopy starts a server on a copy of the model. A copy that does not start, as one that another release of Postgres
// made, is no model for the next.
func startCopy(ctx context.Context, dir string) (*local.Server, error) {
	m, err := lockModel(ctx)
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	err = m.copyTo(ctx, dir)
	var pg *local.Server
	if err == nil {
		if pg, err = local.Start(ctx, local.Options{Dir: dir}); err != nil {
			err = errors.Join(err, m.forget())
		}
	}
	return pg, errors.Join(err, m.release())
}

// New returns a pool of a fresh, migrated database, which is dropped when the test ends. Without PostgreSQL on the
// machine the test fails and says what to install.
func New(t testing.TB) *sqlx.DB {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	s.mu.Lock()
	s.count++
	name := fmt.Sprintf("test%d", s.count)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), databaseMax)
	defer cancel()
	if err := create(ctx, s.admin, name); err != nil {
		t.Fatalf("pgtest: create %s: %v", name, err)
	}
	db, err := postgres.Open(ctx, databaseDSN(s.local.DSN(), name), postgres.Options{Connections: poolMax, StatementMax: statementMax})
	if err != nil {
		t.Fatalf("pgtest: open %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), databaseMax)
		defer cancel()
		err := db.Close()
		_, dropErr := s.admin.ExecContext(ctx, "drop database "+name+" with (force)")
		if err := errors.Join(err, dropErr); err != nil {
			t.Errorf("pgtest: drop %s: %v", name, err)
		}
	})
	return db
}

// create copies the template. A disk that many share may be full for a moment, in which what others have left is cleared away.
func create(ctx context.Context, admin *sqlx.DB, name string) error {
	for {
		_, err := admin.ExecContext(ctx, "create database "+name+" template umg strategy file_copy")
		if full, is := errors.AsType[*pq.Error](err); !is || full.Code != diskFull {
			return err
		}
		if app.Sleep(ctx, fullPause) != nil {
			return err
		}
	}
}

// DSN is the address of a database that New made, for pools with other options and for listeners.
func DSN(t testing.TB, db *sqlx.DB) string {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("no database to test with: %v", err)
	}
	var name string
	if err := db.GetContext(t.Context(), &name, "select current_database()"); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return databaseDSN(s.local.DSN(), name)
}

func databaseDSN(dsn, name string) string {
	return strings.Replace(dsn, "dbname=umg", "dbname="+name, 1)
}

// removeStale deletes the folders of servers whose test binary is gone: their lock is free.
func removeStale() {
	marks, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*", markName)) // The pattern is valid.
	for _, mark := range marks {
		dir := filepath.Dir(mark)
		lock, err := os.OpenFile(filepath.Join(dir, "postgres.lock"), os.O_RDWR, 0o600)
		if err != nil {
			continue // The folder belongs to another user, or its server is starting.
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir) // A server that is ending may still write there, so the next start removes it again.
		}
		_ = lock.Close()
	}
}

// CancelFirst makes the database cancel the first statement that does something to a row of a table, such as "update on jobs", under a
// condition about old and new, as it does with one that takes too long. The function that it returns counts such statements, the first
// one included.
func CancelFirst(t testing.TB, db *sqlx.DB, what, when string) (tried func() int64) {
	t.Helper()
	// The sequence counts although the statement fails.
	_, err := db.ExecContext(t.Context(), `
		create sequence statements_tried;
		create function cancel_first() returns trigger language plpgsql as $$
		begin
			if nextval('statements_tried') = 1 then
				raise exception 'too slow' using errcode = 'query_canceled';
			end if;
			return coalesce(new, old);
		end $$;
		create trigger cancel_first before `+what+` for each row when (`+when+`) execute function cancel_first();`)
	if err != nil {
		t.Fatal(err)
	}
	return func() (n int64) {
		t.Helper()
		if err := db.GetContext(t.Context(), &n, `select case when is_called then last_value else 0 end from statements_tried`); err != nil {
			t.Fatal(err)
		}
		return n
	}
}
