package lease

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/journal"
)

// slowRecords delays the database by the given time for each record of a call.
func (s *shop) slowRecords(each time.Duration) {
	s.Helper()
	s.db.MustExec(fmt.Sprintf(`
		create function slow_record() returns trigger language plpgsql as $$
		begin
			perform pg_sleep(%f);
			return new;
		end $$`, each.Seconds()))
	s.db.MustExec(`create trigger slow_record before insert on usage_records for each row execute function slow_record()`)
}

// slowApplier gives the bank an applier with the given statement timeout.
func (s *shop) slowApplier(limit time.Duration) {
	s.Helper()
	db, err := postgres.Open(s.Context(), pgtest.DSN(s, s.db), postgres.Options{Connections: 1, StatementMax: limit})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = db.Close() })
	s.bank.SetApplier(db)
}

// hindered is a bank that is unavailable for batches until the test lets them pass.
type hindered struct {
	Store

	through chan struct{}
}

func (h *hindered) Apply(ctx context.Context, r Replica, b Batch) (journal.LSN, error) {
	select {
	case <-h.through:
		return h.Store.Apply(ctx, r, b)
	default:
		return 0, errAway("The books are away.")
	}
}

// TestABatchThatIsTooSlowIsHalvedUntilTheBooksTakeIt expects smaller batches after a timeout, because the same batch would
// time out again.
func TestABatchThatIsTooSlowIsHalvedUntilTheBooksTakeIt(t *testing.T) {
	t.Parallel()
	const calls, each, limit = 120, 5 * time.Millisecond, 200 * time.Millisecond
	s := openShop(t)
	s.account("acc_1", 100*app.Dollar)
	s.slowRecords(each)
	s.slowApplier(limit)
	h := &hindered{Store: s.bank, through: make(chan struct{})}
	manager, end := s.openOver("one", true, h)
	for i := range calls {
		id := fmt.Sprint("req_", i)
		hold, err := manager.Hold(t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: app.Cent / 100})
		if err != nil {
			t.Fatal(err)
		}
		if err := manager.Settle(t.Context(), hold, settlementOf(id, app.Cent/100)); err != nil {
			t.Fatal(err)
		}
	}
	close(h.through)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := manager.Booked(ctx); err != nil {
		t.Fatalf("%v: %d of %d records are not in the books", err, manager.Stats().Unapplied, calls)
	}
	end()
	if b := s.balance("acc_1"); b.Posted != 100*app.Dollar-calls*(app.Cent/100) || b.Held != 0 {
		t.Errorf("%+v", b)
	}
	s.books()
}

// TestAReplicaBeginsThoughTheBooksAreSlow expects a replica with such a batch in its journal to start.
func TestAReplicaBeginsThoughTheBooksAreSlow(t *testing.T) {
	t.Parallel()
	const calls, each, limit = 100, 5 * time.Millisecond, 200 * time.Millisecond
	s := openShop(t)
	s.account("acc_1", 100*app.Dollar)
	s.slowRecords(each)
	s.slowApplier(limit)
	folder, err := journal.Folder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log, err := journal.Open(folder, journal.Options{Owner: "one", SegmentBytes: 1 << 20, FreeBytesMin: 1, ClaimBytes: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	for i := range calls {
		id := fmt.Sprint("req_", i)
		record := settlementOf(id, 1)
		record.Record.AccountID = "acc_1"
		data := record.Encode(billing.Hold{ID: id, AccountID: "acc_1", Amount: 1, Epoch: 1}, "one", time.Now())
		if _, err := log.Append(kindSettlement, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Commit(); err != nil {
		t.Fatal(err)
	}
	manager, err := New(Options{Bank: s.bank, Registry: s.bank, Journal: log, ReplicaID: "one", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	// A busy machine may not even cancel the batch in time, which is an outage of the database. It is tried again as after any other.
	for tries := 1; ; tries++ {
		err := manager.Recover(t.Context())
		if err == nil {
			break
		}
		if !transient(err) || tries == 5 {
			t.Fatal(err)
		}
	}
	if at := manager.appliedTo(); at != calls {
		t.Errorf("applied to %d of %d", at, calls)
	}
	s.books()
}

func TestTheSizeOfBatchesFollowsHowLongTheyTake(t *testing.T) {
	t.Parallel()
	var s batchSize
	for range 20 {
		s.took(0, ErrSlow)
	}
	if s.max() != 1 || s.took(0, ErrSlow) {
		t.Errorf("the least batch has %d records", s.max())
	}
	s.took(quickBatch, nil)
	if s.max() != 1 {
		t.Errorf("a batch that is neither quick nor slow: %d", s.max())
	}
	for range 20 {
		s.took(quickBatch-1, nil)
	}
	if s.max() != batchRecordsMax {
		t.Errorf("after quick batches: %d", s.max())
	}
	if s.took(slowBatch+1, nil) || s.max() != batchRecordsMax/2 {
		t.Errorf("after a slow batch that the books took: %d", s.max())
	}
	if s.took(time.Hour, errAway("")) || s.max() != batchRecordsMax/2 {
		t.Errorf("books that are away: %d", s.max())
	}
}
