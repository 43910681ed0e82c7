package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/pressly/goose/v3"

	"umg/app"
	"umg/migrations"
)

// migrationLock is the advisory lock that one replica holds while it migrates ("umg"); the others retry every lockEvery, and then find the
// schema migrated. A blocking lock would keep a snapshot open, which can stall the concurrent build of an index.
const (
	migrationLock = 0x756d67
	lockEvery     = 100 * time.Millisecond
)

// A statement of a migration that waits for a lock on a table blocks all later statements on that table. It gives up after the
// lock wait, pauses for as long, and is tried lockTriesMax times.
const (
	lockWaitMaxDefault = 2 * time.Second
	lockTriesMax       = 60
	lockNotAvailable   = "55P03"
	deadlockDetected   = "40P01"
)

// MigrateOptions configure a migration. Zero values mean the defaults.
type MigrateOptions struct {
	LockWaitMax time.Duration // LockWaitMax bounds the wait for one lock of a statement; zero means 2 s.
	Log         *slog.Logger  // Log receives a record for each lock that is not available; nil discards them.
}

// Migrate brings the schema to the newest version and returns how many files it applied. Any number of replicas may
// call it at once. It refuses a schema that a newer gateway made, because this one does not know its rules. It retries a file that does
// not get its locks, and fails after some minutes. Nothing of that file is then applied.
func Migrate(ctx context.Context, db *sqlx.DB, o MigrateOptions) (int, error) {
	return migrate(ctx, db, migrations.FS, o)
}

func migrate(ctx context.Context, db *sqlx.DB, files fs.FS, o MigrateOptions) (applied int, err error) {
	if o.LockWaitMax <= 0 {
		o.LockWaitMax = lockWaitMaxDefault
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	built, err := concurrentFiles(files)
	if err != nil {
		return 0, fmt.Errorf("postgres: read migrations: %w", err)
	}
	locker := &sessionLock{o: o, concurrent: built}
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, files, goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("postgres: read migrations: %w", err)
	}
	for _, source := range provider.ListSources() {
		locker.versions = append(locker.versions, source.Version)
	}
	if err := refuseNewer(ctx, provider); err != nil {
		return 0, err
	}
	for tries := 1; ; {
		_, err := provider.UpByOne(ctx)
		switch {
		case err == nil:
			applied, tries = applied+1, 1
			continue
		case errors.Is(err, goose.ErrNoNextVersion):
			return applied, nil
		case !waitedForLock(err):
			return applied, fmt.Errorf("postgres: migrate: %w", err)
		case tries >= lockTriesMax:
			return applied, fmt.Errorf("postgres: migrate: other sessions held a table for all of %d tries of %s each; "+
				"end their transactions, which pg_stat_activity lists, and start again; nothing of the file was applied: %w",
				lockTriesMax, o.LockWaitMax, err)
		}
		o.Log.WarnContext(ctx, "migration: lock not available, next try follows", append(oldestTransaction(ctx, db),
			"file", failedFile(err), "try", tries, "tries_max", lockTriesMax, "wait_ms", o.LockWaitMax.Milliseconds(), "error", err)...)
		tries++
		if err := app.Sleep(ctx, o.LockWaitMax); err != nil {
			return applied, err
		}
	}
}

// waitedForLock reports whether a migration failed only because others held what it needs.
func waitedForLock(err error) bool {
	from, ok := errors.AsType[*pq.Error](err)
	return ok && (from.Code == lockNotAvailable || from.Code == deadlockDetected)
}

// failedFile names the file that failed.
func failedFile(err error) string {
	if partial, ok := errors.AsType[*goose.PartialError](err); ok && partial.Failed != nil && partial.Failed.Source != nil {
		return partial.Failed.Source.Path
	}
	return ""
}

// oldestTransaction returns log attributes of the session that most likely holds the lock. It never returns the query, which may
// contain personal data.
func oldestTransaction(ctx context.Context, db *sqlx.DB) []any {
	var oldest struct {
		PID     int    `db:"pid"`
		Name    string `db:"application_name"`
		Seconds int64  `db:"seconds"`
	}
	err := db.GetContext(ctx, &oldest, `
		select pid, application_name, extract(epoch from now() - xact_start)::bigint as seconds from pg_stat_activity
		where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() order by xact_start limit 1`)
	if err != nil {
		return nil
	}
	return []any{
		"oldest_transaction_pid", oldest.PID, "oldest_transaction_application", oldest.Name, "oldest_transaction_seconds", oldest.Seconds,
	}
}

// refuseNewer returns an error when the schema has a version that this binary does not know.
func refuseNewer(ctx context.Context, provider *goose.Provider) error {
	schema, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("postgres: read the version of the schema: %w", err)
	}
	sources := provider.ListSources()
	if known := sources[len(sources)-1].Version; schema > known {
		return fmt.Errorf("the database was brought to schema %d by a newer gateway, and this one knows schemas up to %d: "+
			"start the newer gateway, or use a copy of the database from before it; nothing was changed", schema, known)
	}
	return nil
}
