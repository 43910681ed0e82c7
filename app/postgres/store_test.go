package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"go.uber.org/goleak"

	"umg/app/postgres/local"
	"umg/migrations"
)

// shared is one throw-away server for the tests that do not stop it.
func shared(t *testing.T) *local.Server {
	t.Helper()
	return startLocal(t, shortDir(t))
}

func startLocal(t *testing.T, dir string) *local.Server {
	t.Helper()
	s, err := local.Start(t.Context(), local.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopLocal(t, s) })
	return s
}

func stopLocal(t *testing.T, s *local.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// shortDir is a data folder whose socket path fits, and that the server's user may reach.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func openLocal(t *testing.T, dsn string) *sqlx.DB {
	t.Helper()
	db, err := Open(t.Context(), dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sqlx.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func rows(t *testing.T, db *sqlx.DB) (n int) {
	t.Helper()
	if err := db.Get(&n, "select count(*) from kept"); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestUnavailableTellsAStoreThatIsAwayFromOneThatSaysNo(t *testing.T) {
	t.Parallel()
	l := shared(t)
	db := openLocal(t, l.DSN())
	quick, err := Open(t.Context(), l.DSN(), Options{StatementMax: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = quick.Close() }()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	exec := func(ctx context.Context, db *sqlx.DB, query string) error {
		_, err := db.ExecContext(ctx, query)
		return err
	}
	expect := func(what string, err error, want bool) {
		t.Helper()
		if err == nil || Unavailable(fmt.Errorf("wrapped: %w", err)) != want {
			t.Errorf("%s: Unavailable(%v) != %v", what, err, want)
		}
	}
	expect("division by zero", exec(t.Context(), db, "select 1/0"), false)
	expect("unknown table", exec(t.Context(), db, "select * from nothing"), false)
	expect("caller left", exec(ended, db, "select 1"), false)
	expect("caller's deadline", exec(late, db, "select pg_sleep(10)"), true)
	expect("statement timeout", exec(t.Context(), quick, "select pg_sleep(10)"), true)
	expect("session ended by an administrator", exec(t.Context(), db, "select pg_terminate_backend(pg_backend_pid())"), true)
	expect("foreign", errors.New("other"), false)
	if Unavailable(nil) {
		t.Error("nil is unavailable")
	}

	tx, err := db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	stopLocal(t, l)
	_, err = tx.Exec("select 1")
	expect("in a transaction, server stopped", err, true)
	_ = tx.Rollback()
	expect("pool, server stopped", exec(t.Context(), db, "select 1"), true)
	_, err = Open(t.Context(), l.DSN(), Options{})
	expect("open, server stopped", err, true)

	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().(*net.TCPAddr)
	_ = closed.Close()
	_, err = Open(t.Context(), fmt.Sprintf("postgres://u:p@127.0.0.1:%d/d?sslmode=disable", address.Port), Options{})
	expect("no listener", err, true)
}

func TestOpenRefusesAnAddressItCannotRead(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=a port=x", "postgres://%zz", "sslmode=sometimes"} {
		if _, err := Open(t.Context(), dsn, Options{}); err == nil || Unavailable(err) {
			t.Errorf("Open(%q) = %v", dsn, err)
		}
	}
}

func TestInTxCommitsOrLeavesNoTrace(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	mustExec(t, db, "create table kept (id int primary key)")
	insert := func(tx *sqlx.Tx) error {
		_, err := tx.Exec("insert into kept select count(*) from kept")
		return err
	}
	if err := InTx(t.Context(), db, insert); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := InTx(t.Context(), db, func(tx *sqlx.Tx) error { return errors.Join(insert(tx), refused) }); !errors.Is(err, refused) {
		t.Fatalf("the cause was lost: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		_ = InTx(t.Context(), db, func(tx *sqlx.Tx) error {
			_ = insert(tx)
			panic("on purpose")
		})
	}()
	if n := rows(t, db); n != 1 {
		t.Fatalf("%d rows, want only the committed one", n)
	}
	if busy := db.Stats().InUse; busy != 0 {
		t.Fatalf("%d connections were never given back", busy)
	}
}

func TestMigrateAppliesEachFileOnceForManyReplicas(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	if older, err := pending(t.Context(), db); err != nil || !older {
		t.Fatalf("an empty database has nothing pending: %v", err)
	}
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		total int
	)
	for range 4 {
		wg.Go(func() {
			n, err := Migrate(t.Context(), db, MigrateOptions{})
			mu.Lock()
			defer mu.Unlock()
			total += n
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if total != len(files) {
		t.Fatalf("%d files applied, want %d", total, len(files))
	}
	if older, err := pending(t.Context(), db); err != nil || older {
		t.Fatalf("still pending after a migration: %v", err)
	}
	var limit string
	if err := db.Get(&limit, "show statement_timeout"); err != nil || limit != "2s" {
		t.Fatalf("the pool's time limit is %s after a migration, %v", limit, err)
	}
}

// TestMigrateRefusesANewerSchema gives the database a version that no file of this binary has.
func TestMigrateRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	if _, err := Migrate(t.Context(), db, MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "insert into goose_db_version (version_id, is_applied) values (9998, true)")
	applied, err := Migrate(t.Context(), db, MigrateOptions{})
	if err == nil || applied != 0 || !strings.Contains(err.Error(), "9998") || !strings.Contains(err.Error(), "newer gateway") {
		t.Fatalf("a newer schema was taken: %d files, %v", applied, err)
	}
}

// heard collects what a listener says, one line each.
type heard chan string

func (h heard) listen(ctx context.Context, dsn string, channels ...string) {
	for n, lost := range NewListener(dsn).Listen(ctx, channels...) {
		if lost != nil {
			h <- "lost"
		} else {
			h <- n.Channel + ":" + n.Payload
		}
	}
	close(h)
}

// await reads messages until it has seen want.
func (h heard) await(t *testing.T, want ...string) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for len(want) > 0 {
		select {
		case line := <-h:
			want = slices.DeleteFunc(want, func(w string) bool { return w == line })
		case <-timeout:
			t.Fatalf("never heard %v", want)
		}
	}
}

func TestListenRefreshesAfterEveryConnect(t *testing.T) {
	t.Parallel()
	l := shared(t)
	db := openLocal(t, l.DSN())
	ctx, cancel := context.WithCancel(t.Context())
	h := make(heard, 16)
	go h.listen(ctx, l.DSN()+" application_name=listener", "keys", "catalog")

	h.await(t, "keys:", "catalog:")
	mustExec(t, db, "select pg_notify('keys', 'abc')")
	h.await(t, "keys:abc")
	mustExec(t, db, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener'")
	h.await(t, "lost")
	h.await(t, "keys:", "catalog:")
	mustExec(t, db, "select pg_notify('catalog', 'xyz')")
	h.await(t, "catalog:xyz")
	cancel()
	for range h { // The listener ends.
	}
}

func TestListenSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	l := startLocal(t, dir)
	h := make(heard, 64)
	ctx, cancel := context.WithCancel(t.Context())
	go h.listen(ctx, l.DSN(), "keys")
	h.await(t, "keys:")
	stopLocal(t, l)
	h.await(t, "lost")
	again := startLocal(t, dir)
	h.await(t, "keys:")
	mustExec(t, openLocal(t, again.DSN()), "select pg_notify('keys', 'abc')")
	h.await(t, "keys:abc")
	cancel()
	for range h { // The listener ends.
	}
}

func TestListenLeavesNothingRunning(t *testing.T) { //nolint:paralleltest // counts the goroutines of the process
	listener := NewListener(shared(t).DSN())
	known := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	for range listener.Listen(ctx, "keys") {
		count++
		cancel()
	}
	if count != 1 {
		t.Errorf("%d notifications were heard", count)
	}
	for range listener.Listen(t.Context(), "keys") {
		break
	}
	goleak.VerifyNone(t, known)
}

func TestAddressesGetABoundForTheDial(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"host=a":                          "host=a connect_timeout=5",
		"host=a connect_timeout=1":        "host=a connect_timeout=1",
		"postgres://h/d":                  "postgres://h/d?connect_timeout=5",
		"postgresql://h/d?sslmode=verify": "postgresql://h/d?sslmode=verify&connect_timeout=5",
	} {
		if got := withConnectTimeout(in, connectMax); got != want {
			t.Errorf("withConnectTimeout(%q) = %q", in, strings.TrimSpace(got))
		}
	}
}

// pending reports whether the schema is older than this binary. It takes no lock.
func pending(ctx context.Context, db *sqlx.DB) (bool, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	if err != nil {
		return false, fmt.Errorf("postgres: read migrations: %w", err)
	}
	is, err := provider.HasPending(ctx)
	if err != nil {
		return false, fmt.Errorf("postgres: compare schema: %w", err)
	}
	return is, nil
}
