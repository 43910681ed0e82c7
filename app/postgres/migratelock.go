package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/lib/pq"

	"umg/app"
)

// A migration that builds an index on a table with rows says `-- +goose NO TRANSACTION` and holds one statement, `create index
// concurrently if not exists`. An index that an interrupted build left behind is invalid, and is dropped before the build begins again.
var (
	noTransaction   = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION`)
	concurrentIndex = regexp.MustCompile(`(?i)create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?"?(\w+)"?`)
	fileVersion     = regexp.MustCompile(`^\d+`)
)

// concurrentFiles returns the indices that each file without a transaction builds, by the version of the file.
func concurrentFiles(files fs.FS) (map[int64][]string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	built := map[int64][]string{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if !noTransaction.Match(text) {
			continue
		}
		version, err := strconv.ParseInt(fileVersion.FindString(name), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s has no number: %w", name, err)
		}
		built[version] = []string{}
		for _, found := range concurrentIndex.FindAllSubmatch(text, -1) {
			built[version] = append(built[version], string(found[1]))
		}
	}
	return built, nil
}

// sessionLock keeps replicas from migrating at the same time. The connection it locks on is the one that migrates, so the
// time limit of the serving pool is lifted there as well.
type sessionLock struct {
	o          MigrateOptions
	versions   []int64            // These are the numbers of all files, in order.
	concurrent map[int64][]string // These are the indices that files without a transaction build.
}

// SessionLock waits until this connection holds the lock or ctx ends, and prepares it for the next file.
func (l *sessionLock) SessionLock(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "set statement_timeout = 0"); err != nil {
		return err
	}
	for told := false; ; told = true {
		var held bool
		if err := c.QueryRowContext(ctx, "select pg_try_advisory_lock($1)", migrationLock).Scan(&held); err != nil {
			return err
		}
		if held {
			return l.prepare(ctx, c)
		}
		if !told {
			l.o.Log.InfoContext(ctx, "migration: waiting, another replica migrates")
		}
		if err := app.Sleep(ctx, lockEvery); err != nil {
			return err
		}
	}
}

// prepare sets how long statements of the next file wait for a lock. The build of an index waits for older transactions
// without keeping other sessions from the table, so it may wait as long as they take.
func (l *sessionLock) prepare(ctx context.Context, c *sql.Conn) error {
	next, err := l.next(ctx, c)
	if err != nil {
		return err
	}
	wait := l.o.LockWaitMax.Milliseconds()
	indices, concurrent := l.concurrent[next]
	if concurrent {
		wait = 0
	}
	if _, err := c.ExecContext(ctx, "set lock_timeout = "+strconv.FormatInt(wait, 10)); err != nil || !concurrent {
		return err
	}
	return l.dropInvalid(ctx, c, indices)
}

// next returns the version of the first file that was not applied, or zero when all were.
func (l *sessionLock) next(ctx context.Context, c *sql.Conn) (int64, error) {
	var exists bool
	err := c.QueryRowContext(ctx, "select to_regclass('goose_db_version') is not null").Scan(&exists)
	var applied []int64
	if err == nil && exists {
		err = c.QueryRowContext(ctx, "select coalesce(array_agg(version_id), '{}') from goose_db_version where is_applied").
			Scan((*pq.Int64Array)(&applied))
	}
	if err != nil {
		return 0, err
	}
	for _, version := range l.versions {
		if !slices.Contains(applied, version) {
			return version, nil
		}
	}
	return 0, nil
}

// dropInvalid removes what an interrupted build left behind. No build runs now, because it would hold the advisory lock.
func (l *sessionLock) dropInvalid(ctx context.Context, c *sql.Conn, indices []string) error {
	var invalid []string
	err := c.QueryRowContext(ctx, `
		select coalesce(array_agg(c.relname::text), '{}') from pg_index i join pg_class c on c.oid = i.indexrelid
		where not i.indisvalid and c.relnamespace = current_schema()::regnamespace and c.relname = any($1)`,
		pq.StringArray(indices)).Scan((*pq.StringArray)(&invalid))
	if err != nil {
		return err
	}
	for _, name := range invalid {
		l.o.Log.WarnContext(ctx, "migration: index of an interrupted build dropped", "index", name)
		if _, err := c.ExecContext(ctx, "drop index concurrently if exists "+pq.QuoteIdentifier(name)); err != nil {
			return err
		}
	}
	return nil
}

// SessionUnlock releases the lock and restores the time limits of the pool.
func (l *sessionLock) SessionUnlock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "select pg_advisory_unlock_all()")
	if err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "reset statement_timeout; reset lock_timeout")
	return err
}
