package billing_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// BenchmarkHoldAndSettle measures whole calls (one hold, one settlement of part of it) by sixteen callers: on one
// account, where its row is the limit, and on many. The throw-away server does not wait for the disk, the durable one
// does, as in production.
func BenchmarkHoldAndSettle(b *testing.B) {
	for _, durable := range []bool{false, true} {
		for _, accounts := range []int{1, 100} {
			b.Run(fmt.Sprintf("durable=%t/accounts=%d", durable, accounts), func(b *testing.B) {
				h := benchHouse(b, durable)
				ids := make([]string, accounts)
				for i := range ids {
					ids[i] = h.account(1_000_000 * app.Dollar)
				}
				var next atomic.Int64
				b.SetParallelism(8) // times two cores
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						account := ids[next.Add(1)%int64(accounts)]
						hold, err := h.ledger.Hold(b.Context(), billing.HoldRequest{ID: h.ids.New("req"), AccountID: account, Want: 100, Min: 1})
						if err == nil {
							err = h.ledger.Settle(b.Context(), hold, billing.Settlement{Cost: 42, Record: record(hold)})
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

func benchHouse(b *testing.B, durable bool) *house {
	b.Helper()
	local, err := postgres.StartLocal(b.Context(), postgres.LocalOptions{Dir: shortDir(b), Durable: durable})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = local.Stop(context.Background()) })
	db, err := postgres.Open(b.Context(), local.DSN(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := postgres.Migrate(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	return open(b, db)
}

// BenchmarkHoldAndSettleAlone is the time one caller spends on one call's money.
func BenchmarkHoldAndSettleAlone(b *testing.B) {
	h := benchHouse(b, true)
	account := h.account(1_000_000 * app.Dollar)
	b.ReportAllocs()
	for b.Loop() {
		h.settle(h.hold(account, 100), 42)
	}
}
