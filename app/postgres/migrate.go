package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"umg/migrations"
)

// migrationLock is the advisory lock that one replica holds while it migrates ("umg"); the others try again every
// lockEvery and then find nothing left to do. A blocking lock would keep a snapshot open, which can stall an index
// that is built concurrently.
const (
	migrationLock = 0x756d67
	lockEvery     = 100 * time.Millisecond
)

// Migrate brings the schema to the newest version and returns how many files it applied. Any number of replicas may
// call it at once. A schema that a newer gateway made is refused: this one would not keep its rules.
func Migrate(ctx context.Context, db *sqlx.DB) (int, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS, goose.WithSessionLocker(tryLock{}))
	if err != nil {
		return 0, fmt.Errorf("postgres: read migrations: %w", err)
	}
	if err := refuseNewer(ctx, provider); err != nil {
		return 0, err
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return len(applied), fmt.Errorf("postgres: migrate: %w", err)
	}
	return len(applied), nil
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

// Pending reports whether the schema is older than this binary. It takes no lock.
func Pending(ctx context.Context, db *sqlx.DB) (bool, error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	if err != nil {
		return false, fmt.Errorf("postgres: read migrations: %w", err)
	}
	pending, err := provider.HasPending(ctx)
	if err != nil {
		return false, fmt.Errorf("postgres: compare schema: %w", err)
	}
	return pending, nil
}

// tryLock keeps replicas from migrating at the same time. The connection it locks on is the one that migrates, so the
// time limit of the serving pool is lifted there as well.
type tryLock struct{}

// SessionLock waits until this connection holds the lock or ctx ends.
func (tryLock) SessionLock(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "set statement_timeout = 0"); err != nil {
		return err
	}
	for {
		var held bool
		if err := c.QueryRowContext(ctx, "select pg_try_advisory_lock($1)", migrationLock).Scan(&held); err != nil || held {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

// SessionUnlock gives the lock back, and the pool its time limit.
func (tryLock) SessionUnlock(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "select pg_advisory_unlock_all()")
	if err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "reset statement_timeout")
	return err
}
