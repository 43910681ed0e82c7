package lease

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// countedDisk counts the bytes that are read of its files.
type countedDisk struct {
	journal.Disk

	bytes atomic.Int64
}

func (d *countedDisk) Open(name string) (journal.File, error) {
	f, err := d.Disk.Open(name)
	return &countedFile{f, &d.bytes}, err
}

type countedFile struct {
	journal.File

	bytes *atomic.Int64
}

func (f *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(p, offset)
	f.bytes.Add(int64(n))
	return n, err
}

// TestAnotherReadFromTheSamePlaceDoesNotSearchIt reads the same records again and again, as the applier does while the database is
// away: the journal must not read its segment from the beginning each time.
func TestAnotherReadFromTheSamePlaceDoesNotSearchIt(t *testing.T) {
	t.Parallel()
	const records, recordBytes, reads = 2_000, 500, 50
	disk := &countedDisk{Disk: journaltest.New().Boot()}
	log, err := journal.Open(disk, journal.Options{Owner: "one", SegmentBytes: 2 << 20, FreeBytesMin: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	for range records {
		if _, err := log.Append(kindMark, make([]byte, recordBytes)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, from := range []journal.LSN{records - 10, records / 2, records - 10, records - 10} {
		for range reads {
			var seen []journal.LSN
			for r, err := range log.Read(from, 5, 1<<20) {
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, r.LSN)
			}
			if len(seen) != 5 || seen[0] != from+1 || seen[4] != from+5 {
				t.Fatal(seen)
			}
		}
	}
	// Each change of the place searches once, and each read takes one buffer.
	if got, most := disk.bytes.Load(), int64(3*records*(recordBytes+100)+4*reads*(32<<10)); got > most {
		t.Errorf("%d bytes were read, and at most %d were expected", got, most)
	}
}

// TestTheApplierReadsARecordOnce has streams that only make marks: each pass of the applier reads what is new, and no pass
// begins again at the last settlement.
func TestTheApplierReadsARecordOnce(t *testing.T) {
	t.Parallel()
	const passes, marks, markBytes = 40, 50, 200
	disk := &countedDisk{Disk: journaltest.New().Boot()}
	log, err := journal.Open(disk, journal.Options{Owner: "one", SegmentBytes: 4 << 20, FreeBytesMin: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	books := newBooks()
	manager, err := New(Options{Bank: books, Registry: books, Journal: log, ReplicaID: "one", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	manager.applier.moved = manager.mono() // The cursor of the ledger has just moved.
	one := Replica{"one", 1}
	for range passes {
		for range marks {
			if _, err := log.Append(kindMark, make([]byte, markBytes)); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Commit(); err != nil {
			t.Fatal(err)
		}
		if more, err := manager.apply(t.Context(), one); more || err != nil {
			t.Fatal(more, err)
		}
	}
	// Reads are ahead by a buffer, so a pass may read the last bytes once more.
	written := int64(passes * marks * markBytes)
	if got := disk.bytes.Load(); got > 4*written {
		t.Errorf("%d bytes were read of %d that were written", got, written)
	}
	if at := manager.appliedTo(); at != 0 {
		t.Errorf("the cursor moved to %d within a second", at)
	}
	// A settlement is applied with the marks before it.
	data := settlementOf("req_1", 1).Encode(billing.Hold{ID: "req_1", AccountID: "acc_1", Amount: app.Cent, Epoch: 1}, "one", time.Now())
	last, err := log.Append(kindSettlement, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Commit(); err != nil {
		t.Fatal(err)
	}
	entries, to, _, err := manager.collect(0)
	if err != nil || to != last || len(entries) != 1 || entries[0].at != last {
		t.Errorf("%d settlements up to %d of %d: %v", len(entries), to, last, err)
	}
	// A cursor elsewhere, as after a restored database, does not skip records.
	if entries, _, _, err = manager.collect(3); err != nil || len(entries) != 1 {
		t.Errorf("after a move of the cursor %d settlements were found: %v", len(entries), err)
	}
}
