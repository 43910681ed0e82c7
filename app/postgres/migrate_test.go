package postgres

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/migrations"
)

// said is a log that tests read while it is written, and that tells of each line.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
	came chan struct{}
}

func newSaid() *said { return &said{came: make(chan struct{}, 1000)} }

func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came <- struct{}{}
	return s.text.Write(line)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the log has a text.
func (s *said) await(t *testing.T, want string) {
	t.Helper()
	for timeout := time.After(20 * time.Second); !strings.Contains(s.String(), want); {
		select {
		case <-s.came:
		case <-timeout:
			t.Fatalf("the log never says %q: %s", want, s)
		}
	}
}

func (s *said) options(wait time.Duration) MigrateOptions {
	return MigrateOptions{LockWaitMax: wait, Log: slog.New(slog.NewTextHandler(s, nil))}
}

// someFiles are migrations: a table with rows, and then what a test adds.
func someFiles(more string) fstest.MapFS {
	return fstest.MapFS{
		"0001_things.sql": {Data: []byte("-- +goose Up\ncreate table things (id int, name text);\n" +
			"insert into things select n, 'thing ' || n from generate_series(1, 1000) n;\n")},
		"0002_more.sql": {Data: []byte(more)},
	}
}

const (
	newColumn = "-- +goose Up\nalter table things add column extra int;\n"
	newIndex  = "-- +goose NO TRANSACTION\n-- +goose Up\ncreate index concurrently if not exists things_name on things (name);\n"
)

// firstFile applies the first file alone.
func firstFile(t *testing.T, db *sqlx.DB) {
	t.Helper()
	files := someFiles(newColumn)
	delete(files, "0002_more.sql")
	if n, err := migrate(t.Context(), db, files, MigrateOptions{}); n != 1 || err != nil {
		t.Fatalf("%d files applied: %v", n, err)
	}
}

// holding begins a transaction that runs a statement, and returns how it ends.
func holding(t *testing.T, db *sqlx.DB, statement string) (end func()) {
	t.Helper()
	tx, err := db.BeginTxx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { _ = tx.Rollback() })
	t.Cleanup(end)
	if _, err := tx.Exec(statement); err != nil {
		t.Fatal(err)
	}
	return end
}

// ended is how a migration ended.
type ended struct {
	applied int
	err     error
}

func begin(t *testing.T, db *sqlx.DB, files fs.FS, o MigrateOptions) <-chan ended {
	t.Helper()
	done := make(chan ended, 1)
	go func() {
		n, err := migrate(t.Context(), db, files, o)
		done <- ended{n, err}
	}()
	return done
}

// TestAMigrationThatWaitsForALockDoesNotBlockOthers holds a table in a transaction that stays open, as a report does.
func TestAMigrationThatWaitsForALockDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	firstFile(t, db)
	release := holding(t, db, "select count(*) from things")
	log := newSaid()
	done := begin(t, db, someFiles(newColumn), log.options(100*time.Millisecond))
	for _, try := range []string{"try=1 ", "try=2 ", "try=3 "} {
		log.await(t, try)
		var n int
		if err := db.Get(&n, "select count(*) from things"); err != nil || n != 1000 { // The pool gives up after 2 s.
			t.Fatalf("a reader beside a migration that waits: %d, %v", n, err)
		}
	}
	release()
	if end := <-done; end.applied != 1 || end.err != nil {
		t.Fatalf("with the table free: %+v", end)
	}
	if text := log.String(); !strings.Contains(text, "oldest_transaction_pid=") || !strings.Contains(text, "0002_more.sql") {
		t.Errorf("the log does not name the file and who is in its way: %s", text)
	}
	var limits string
	if err := db.Get(&limits, "select current_setting('lock_timeout') || current_setting('statement_timeout')"); err != nil || limits != "02s" {
		t.Errorf("the pool's time limits are %s after a migration, %v", limits, err)
	}
}

func TestAMigrationThatNeverGetsItsLockEnds(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	firstFile(t, db)
	release := holding(t, db, "select count(*) from things")
	log := newSaid()
	end := <-begin(t, db, someFiles(newColumn), log.options(5*time.Millisecond))
	if end.applied != 0 || end.err == nil || !strings.Contains(end.err.Error(), "pg_stat_activity") {
		t.Fatalf("with a table that is never free: %+v", end)
	}
	if n := strings.Count(log.String(), "lock not available"); n != lockTriesMax-1 {
		t.Errorf("%d further tries were told, want %d", n, lockTriesMax-1)
	}
	release()
	if end := <-begin(t, db, someFiles(newColumn), MigrateOptions{}); end.applied != 1 || end.err != nil {
		t.Fatalf("begun again with the table free: %+v", end)
	}
}

// valid reports whether an index is there and finished.
func valid(t *testing.T, db *sqlx.DB, name string) (exists, finished bool) {
	t.Helper()
	var found []bool
	if err := db.Select(&found, "select indisvalid from pg_index where indexrelid = to_regclass($1)", name); err != nil {
		t.Fatal(err)
	}
	return len(found) == 1, len(found) == 1 && found[0]
}

// awaitBuild waits until an index is being built, and returns the process that builds it.
func awaitBuild(t *testing.T, db *sqlx.DB) (pid int) {
	t.Helper()
	for timeout := time.Now().Add(20 * time.Second); ; {
		var found []int
		if err := db.Select(&found, "select pid from pg_stat_progress_create_index where phase like 'waiting%'"); err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 {
			return found[0]
		}
		if time.Now().After(timeout) {
			t.Fatal("no index is built")
		}
	}
}

// TestAnInterruptedBuildOfAnIndexBeginsAgain ends the session that builds, and starts two replicas afterwards at once.
func TestAnInterruptedBuildOfAnIndexBeginsAgain(t *testing.T) {
	t.Parallel()
	db := openLocal(t, shared(t).DSN())
	firstFile(t, db)
	// The last step of a build waits for this transaction.
	release := holding(t, db, "set transaction isolation level repeatable read; select 1")
	done := begin(t, db, someFiles(newIndex), MigrateOptions{LockWaitMax: 50 * time.Millisecond})
	mustExec(t, db, "insert into things values (-1, 'beside the build')")
	if _, err := db.Exec("select pg_terminate_backend($1)", awaitBuild(t, db)); err != nil {
		t.Fatal(err)
	}
	if end := <-done; end.applied != 0 || end.err == nil {
		t.Fatalf("the killed build ended with %+v", end)
	}
	if exists, finished := valid(t, db, "things_name"); !exists || finished {
		t.Fatalf("a killed build leaves an index that is invalid: exists %t, valid %t", exists, finished)
	}
	log := newSaid()
	first := begin(t, db, someFiles(newIndex), log.options(50*time.Millisecond))
	log.await(t, "index of an interrupted build dropped")
	awaitBuild(t, db)
	second := begin(t, db, someFiles(newIndex), log.options(50*time.Millisecond))
	log.await(t, "another replica migrates")
	if exists, _ := valid(t, db, "things_name"); !exists {
		t.Error("the second replica dropped the index that the first one builds")
	}
	release()
	ends := []ended{<-first, <-second}
	if ends[0].err != nil || ends[1].err != nil || ends[0].applied+ends[1].applied != 1 {
		t.Fatalf("two replicas ended with %+v", ends)
	}
	if _, finished := valid(t, db, "things_name"); !finished || strings.Count(log.String(), "interrupted build dropped") != 1 {
		t.Errorf("the index is not valid, or was dropped more than once: %s", log)
	}
}

// concurrentFrom is the first file that must build indices on tables of earlier files concurrently. Those before it were never
// run on a database with customers' rows.
const concurrentFrom = "0037"

var (
	indexOn  = regexp.MustCompile(`(?i)create\s+(?:unique\s+)?index\s+(concurrently\s+)?(?:if\s+not\s+exists\s+)?\w+\s+on\s+(?:only\s+)?(\w+)`)
	newTable = regexp.MustCompile(`(?i)create\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(\w+)`)
	remark   = regexp.MustCompile(`(?m)--.*$`)
)

// indexFault returns what is wrong with how a file builds indices, or an empty text.
func indexFault(text string) string {
	bare := remark.ReplaceAllString(text, "")
	var made []string
	for _, m := range newTable.FindAllStringSubmatch(bare, -1) {
		made = append(made, m[1])
	}
	for _, m := range indexOn.FindAllStringSubmatch(bare, -1) {
		if m[1] == "" && !slices.Contains(made, m[2]) {
			return "an index on " + m[2] + " is not built concurrently, so writers wait for it"
		}
	}
	if !strings.Contains(strings.ToLower(bare), "concurrently") {
		return ""
	}
	switch {
	case !noTransaction.MatchString(text):
		return "an index cannot be built concurrently without -- +goose NO TRANSACTION"
	case strings.Count(bare, ";") != 1:
		return "a file without a transaction must hold one statement, so that it can be run again"
	case !strings.Contains(strings.ToLower(bare), "if not exists"):
		return "a build that was finished but not noted fails without if not exists"
	}
	return ""
}

func TestNewMigrationsBuildIndicesConcurrently(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if fault := indexFault(string(text)); fault != "" && name >= concurrentFrom {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for text, want := range map[string]string{
		newColumn: "", newIndex: "",
		"-- +goose Up\ncreate table a (b int);\ncreate unique index a_b on a (b);":           "",
		"-- +goose Up\ncreate index things_name on things (name);":                           "not built concurrently",
		"-- +goose Up\ncreate index concurrently if not exists a on b (c);":                  "NO TRANSACTION",
		strings.Replace(newIndex, "if not exists ", "", 1):                                   "if not exists",
		newIndex + "create index concurrently if not exists things_id on things (id);":       "one statement",
		"-- +goose Up\n-- create index x on y would block.\nalter table y add column z int;": "",
	} {
		if fault := indexFault(text); want == "" && fault != "" || !strings.Contains(fault, want) {
			t.Errorf("%q: %q, want %q", text, fault, want)
		}
	}
}
