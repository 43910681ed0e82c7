package lease

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// TestAReplicaWhoseJournalTakesNoCallsIsNotReady expects a replica that refuses every call to be not ready, because other
// replicas can take its calls.
func TestAReplicaWhoseJournalTakesNoCallsIsNotReady(t *testing.T) {
	t.Parallel()
	b := newBooks()
	b.open("acc_1", false, false)
	b.grant("acc_1", 1000, 0)
	disk := journaltest.New()
	disk.SetFree(10 << 20)
	log, err := journal.Open(disk.Boot(), journal.Options{Owner: "r", SegmentBytes: 64 << 10, ClaimBytes: 1024, FreeBytesMin: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	manager, err := New(Options{Bank: b, Registry: b, Journal: log, ReplicaID: "r", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		free  int64
		wrong string
	}{{10 << 20, ""}, {1 << 10, "nearly full"}, {10 << 20, ""}} {
		disk.SetFree(c.free)
		if err := log.Tidy(); err != nil {
			t.Fatal(err)
		}
		ready := manager.Ready()
		_, held := manager.Hold(t.Context(), billing.HoldRequest{ID: "req_" + c.wrong, AccountID: "acc_1", Want: 1})
		if c.wrong == "" {
			if ready != nil {
				t.Errorf("with room: %v", ready)
			}
			continue
		}
		if ready == nil || !strings.Contains(ready.Error(), c.wrong) || app.KindOf(held) != app.Unavailable {
			t.Errorf("without room: ready %v, held %v", ready, held)
		}
	}
	if claims := log.Stats().Claims; claims != 1 {
		t.Errorf("%d claims", claims)
	}
}
