package lease

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// funded is a lease manager whose one lease has more than any benchmark takes.
func funded(tb testing.TB) *Manager {
	tb.Helper()
	manager, err := New(Options{Bank: newBooks(), Registry: newBooks(), ReplicaID: "r", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	b := newLeaseTable(Replica{"r", 1}, time.Hour)
	for _, creditAccountID := range []string{"acc_01jd0000000000000000000000", "key_01jd0000000000000000000000"} {
		l := b.open(creditAccountID, 0)
		l.granted, l.unread = 1_000_000*app.Dollar, false
	}
	manager.table.Store(b)
	return manager
}

func BenchmarkHoldAndRelease(b *testing.B) {
	manager := funded(b)
	ids := make([]string, 1024)
	for i := range ids {
		ids[i] = fmt.Sprintf("req_01jd00000000000000000%05d", i)
	}
	ctx := context.Background()
	for _, budget := range []string{"", "key_01jd0000000000000000000000"} {
		b.Run("budget="+fmt.Sprint(budget != ""), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				r := billing.HoldRequest{ID: ids[i%len(ids)], AccountID: "acc_01jd0000000000000000000000", BudgetID: budget, Want: app.Cent}
				h, err := manager.Hold(ctx, r)
				if err != nil {
					b.Fatal(err)
				}
				var one call
				manager.calls.change(h.ID, func(c *call) { one = *c })
				manager.endSettle(pendingCall{id: h.ID, call: one}, 10, 0)
			}
		})
	}
}
