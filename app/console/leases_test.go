package console_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/billing/lease"
)

// openLeaseManager opens a lease manager that keeps its journal in the database.
func openLeaseManager(t testing.TB, db *sqlx.DB, ids app.IDs) *lease.Manager {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	bank := lease.OpenBank(db, time.Now, ids)
	manager, err := lease.New(lease.Options{Bank: bank, Registry: bank, ReplicaID: "test", Now: time.Now, Log: log})
	if err == nil {
		err = manager.Recover(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return manager
}
