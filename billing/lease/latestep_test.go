package lease

import (
	"log/slog"
	"testing"

	"umg/app"
)

// TestALeaseThatAnOldRunOpenedTooLateIsGivenBack covers a take that passed the epoch check and then waited for a row lock.
// The epoch may end and its leases be closed before the take continues, and the take then opens a lease that no replica knows
// of.
func TestALeaseThatAnOldRunOpenedTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", 100*app.Cent)
	old, err := s.bank.Register(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), `select result from take_lease($1, $2, 'acc_1', 5, 5)`, "one", old.Replica.Epoch); err != nil {
		t.Fatal(err)
	}
	manager, err := New(Options{Bank: s.bank, Registry: s.bank, ReplicaID: "one", Now: s.bank.now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if b := s.balance("acc_1"); b.Held != 5 {
		t.Fatalf("the late step holds %+v", b)
	}
	if err := manager.reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b := s.balance("acc_1"); b.Held != 0 {
		t.Errorf("%+v", b)
	}
	s.books()
}
