package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
)

const (
	storeStopMax   = 15 * time.Second
	restartEvery   = time.Second
	commandTimeMax = time.Minute
	connectTimeMax = 2 * time.Second
	connectionsMin = 4 // with fewer, workers and requests wait for each other
)

// store is the open database and, when none is configured, the local cluster that this process owns.
type store struct {
	db    *sqlx.DB
	dsn   string
	local *postgres.Local
	flags storeFlags
}

// openStore connects, starting the local cluster where no database is configured.
func openStore(ctx context.Context, flags storeFlags, o postgres.Options) (*store, error) {
	if flags.Connections != 0 && flags.Connections < connectionsMin {
		return nil, fmt.Errorf("--database-connections must be 0 or at least %d, not %d", connectionsMin, flags.Connections)
	}
	s := &store{dsn: flags.DatabaseURL, flags: flags}
	if s.dsn == "" {
		if err := s.startLocal(ctx); err != nil {
			return nil, err
		}
	}
	db, err := postgres.Open(ctx, s.dsn, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database: %w", err), s.close())
	}
	s.db = db
	return s, nil
}

// startLocal starts the cluster and leaves its address in the data folder, for the operator's commands that run
// beside the server.
func (s *store) startLocal(ctx context.Context) error {
	local, err := postgres.StartLocal(ctx, postgres.LocalOptions{Dir: s.flags.Data, Bin: s.flags.PGBin, Durable: true})
	if err != nil {
		return err
	}
	s.local, s.dsn = local, local.DSN()
	return writeFileOnce(addressFile(s.flags.Data), []byte(s.dsn+"\n"))
}

func addressFile(dataDir string) string { return filepath.Join(dataDir, "database.url") }

// keep restarts the local cluster when it ends by itself, until ctx ends: a database that was killed recovers without
// a person, and calls answer 503 meanwhile.
func (s *store) keep(ctx context.Context, log *slog.Logger) error {
	if s.local == nil {
		<-ctx.Done()
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.local.Exited():
			log.Error("the local database ended; starting it again", "error", err)
		}
		_ = s.local.Stop(ctx)
		for s.startLocal(ctx) != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(restartEvery):
			}
		}
	}
}

func (s *store) close() error {
	var err error
	if s.db != nil {
		err = s.db.Close()
	}
	if s.local == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeStopMax)
	defer cancel()
	return errors.Join(err, s.local.Stop(ctx))
}

// commandStore opens the database for an operator's command: the configured one, the one a running server owns on the
// same data folder, or the local cluster, started for as long as the command runs.
func commandStore(ctx context.Context, flags storeFlags) (*store, error) {
	o := postgres.Options{Name: "gateway command", Connections: 4, StatementMax: commandTimeMax}
	if flags.DatabaseURL == "" {
		if address, err := os.ReadFile(addressFile(flags.Data)); err == nil {
			quick, cancel := context.WithTimeout(ctx, connectTimeMax)
			defer cancel()
			dsn := strings.TrimSpace(string(address))
			if db, err := postgres.Open(quick, dsn, o); err == nil {
				return &store{db: db, dsn: dsn, flags: flags}, nil
			}
		}
	}
	return openStore(ctx, flags, o)
}
