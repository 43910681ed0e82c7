package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"umg/app/postgres"
)

type migrateCommand struct {
	databaseFlags
}

// Run migrates the database to this version.
func (c *migrateCommand) Run(ctx context.Context, log *slog.Logger) error {
	return withDatabase(ctx, c.databaseFlags, log, func(s *database) error { return migrate(ctx, s) })
}

// migrate migrates the schema to this version, on a connection without the short statement timeout that serves requests.
func migrate(ctx context.Context, s *database) error {
	db, err := postgres.Open(ctx, s.dsn, postgres.Options{Name: "gateway migrate", Connections: 2, StatementMax: -1})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	_, err = postgres.Migrate(ctx, db, postgres.MigrateOptions{
		LockWaitMax: s.flags.MigrationLockTimeout, Log: s.log,
	})
	return errors.Join(err, db.Close())
}
