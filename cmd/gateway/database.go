package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
)

// migrationLockTimeoutMax keeps a migration from blocking a table for longer than callers wait.
const migrationLockTimeoutMax = 30 * time.Second

const (
	databaseStopMax = 15 * time.Second
	restartEvery    = time.Second
	commandTimeMax  = time.Minute
	connectionsMin  = 4 // With fewer connections, workers and requests wait for each other.
)

// database is the open database and, when none is configured, the local cluster that this process owns.
type database struct {
	db         *sqlx.DB
	dsn        string
	local      *local.Server
	flags      databaseFlags
	log        *slog.Logger
	fileFailed bool   // The failure to write the address file was logged.
	restartErr string // This is the last logged restart failure, so a lasting one is logged once.
}

// openDatabase connects, starting the local cluster where no database is configured.
func openDatabase(ctx context.Context, flags databaseFlags, o postgres.Options, log *slog.Logger) (*database, error) {
	if flags.DatabaseConnections != 0 && flags.DatabaseConnections < connectionsMin {
		return nil, fmt.Errorf("--database-connections must be 0 or at least %d, not %d", connectionsMin, flags.DatabaseConnections)
	}
	if flags.MigrationLockTimeout < 0 || flags.MigrationLockTimeout > migrationLockTimeoutMax {
		return nil, fmt.Errorf("--migration-lock-timeout must be from 0, which is 2s, to %s", migrationLockTimeoutMax)
	}
	s := &database{dsn: flags.DatabaseURL, flags: flags, log: log}
	if s.dsn == "" {
		if err := s.startLocal(ctx); err != nil {
			return nil, err
		}
		s.dsn = s.local.DSN() // A restart keeps the address.
	}
	db, err := postgres.Open(ctx, s.dsn, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database: %w", err), s.close())
	}
	s.db = db
	return s, nil
}

// startLocal starts the cluster and writes its address to the data folder, for people and for operator commands that have
// another temporary folder. The server runs without the file if it cannot be written.
func (s *database) startLocal(ctx context.Context) error {
	pg, err := local.Start(ctx, local.Options{Dir: s.flags.Data, Bin: s.flags.PGBin, Durable: true})
	if err != nil {
		return err
	}
	s.local = pg
	err = writeFileOnce(addressFile(s.flags.Data), []byte(pg.DSN()+"\n"))
	if err != nil && !s.fileFailed {
		s.log.Warn("local database: address file not written", "error", err)
	}
	s.fileFailed = err != nil
	return nil
}

func addressFile(dataDir string) string { return filepath.Join(dataDir, "database.url") }

// keep restarts the local cluster when it ends by itself, until ctx ends: the server recovers from a killed database without
// an operator, and answers 503 until then.
func (s *database) keep(ctx context.Context) error {
	if s.local == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err := <-s.local.Exited():
			s.log.Error("local database: stopped, restarting", "error", err)
			s.restart(ctx)
		}
	}
	return nil
}

// restart retries until the cluster runs or ctx ends.
func (s *database) restart(ctx context.Context) {
	if err := s.local.Stop(ctx); err != nil {
		s.log.Warn("local database: cleanup failed", "error", err)
	}
	for {
		err := s.startLocal(ctx)
		if err == nil {
			s.restartErr = ""
			s.log.Info("local database: restarted")
			return
		}
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != s.restartErr {
			s.restartErr = text
			s.log.Error("local database: restart failed, retrying", "error", err)
		}
		if app.Sleep(ctx, restartEvery) != nil {
			return
		}
	}
}

// closePool closes a pool. Closing a connection to a stopped server fails without data loss, because every write was committed before.
func closePool(db *sqlx.DB, log *slog.Logger) {
	if err := db.Close(); err != nil {
		log.Debug("database: closing connections failed", "error", err)
	}
}

func (s *database) close() error {
	if s.db != nil {
		closePool(s.db, s.log)
	}
	if s.local == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), databaseStopMax)
	defer cancel()
	return s.local.Stop(ctx)
}
