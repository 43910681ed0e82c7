package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/storage"
)

const databaseCheckMax = 2 * time.Second

// storeLayer is what all replicas share: the database with its clock, the store of files, and the key that encrypts secrets.
type storeLayer struct {
	database *database
	listener *postgres.Listener
	clock    *postgres.Clock
	ids      app.IDs
	key      [secretKeyBytes]byte
	blobs    storage.Store
}

// openStores opens the database, migrates it, and opens the store of files.
func (g *gatewayServer) openStores(ctx context.Context) (err error) {
	s := &g.stores
	options := postgres.Options{Name: "gateway", Connections: g.cfg.DatabaseConnections}
	if s.database, err = openDatabase(ctx, g.cfg.databaseFlags, options, g.log); err != nil {
		return err
	}
	s.listener = postgres.NewListener(s.database.dsn)
	if err = migrate(ctx, s.database); err != nil {
		return err
	}
	if s.clock, err = postgres.NewClock(ctx, s.database.db, time.Now, g.log); err != nil {
		return err
	}
	s.ids = app.IDs{Now: s.clock.Now, Random: rand.Reader}
	if s.key, err = acceptedKey(ctx, s.database.db, g.cfg.SecretKey, g.cfg.Data); err != nil {
		return err
	}
	address := g.cfg.Storage
	if address == "" {
		address = filepath.Join(g.cfg.Data, "blobs")
	}
	keys, err := bucketKeys()
	if err != nil {
		return err
	}
	if s.blobs, err = storage.Open(ctx, address, keys, time.Now); err != nil {
		return fmt.Errorf("--storage: %w", err)
	}
	return nil
}

func (s *storeLayer) workers() []worker { return []worker{s.database.keep, s.clock.Run} }

// ping returns an error when the database does not answer.
func (s *storeLayer) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, databaseCheckMax)
	defer cancel()
	return s.database.db.PingContext(ctx)
}

func (s *storeLayer) close() (err error) {
	if s.blobs != nil {
		_ = s.blobs.Close() // All writes have ended, so a failure to close loses nothing.
	}
	if s.database != nil {
		err = errors.Join(err, s.database.close())
	}
	return err
}
