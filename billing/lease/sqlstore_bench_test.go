package lease_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/billing/journal"
	"umg/billing/lease"
)

// BenchmarkApply measures settlements applied in batches over one connection, on a server that syncs to disk as in
// production. One case has one account, where each batch is one entry; the other has a thousand accounts.
func BenchmarkApply(b *testing.B) {
	for _, accounts := range []int{1, 1000} {
		for _, size := range []int{100, 1000} {
			b.Run(fmt.Sprintf("accounts=%d/batch=%d", accounts, size), func(b *testing.B) {
				v := durableVault(b)
				r := v.register("one")
				ids := make([]string, accounts)
				for i := range ids {
					ids[i] = v.account(1_000_000 * app.Dollar)
					v.take(r, ids[i], 1, 100_000*app.Dollar)
				}
				batches, at := make([]lease.Batch, b.N), journal.LSN(0)
				for i := range batches {
					batches[i] = lease.Batch{From: at, To: at + journal.LSN(size), Open: at}
					for k := range size {
						batches[i].Records = append(batches[i].Records, v.settlement(r, ids[(i*size+k)%accounts], 1000, 700))
					}
					at = batches[i].To
				}
				before := serverTime(b, v)
				b.ResetTimer()
				for _, batch := range batches {
					if applied, err := v.bank.Apply(b.Context(), r, batch); err != nil || applied != batch.To {
						b.Fatalf("applied to %d, %v", applied, err)
					}
				}
				b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "settlements/s")
				b.ReportMetric(float64(b.N*size)/(serverTime(b, v)-before).Seconds(), "settlements/s-of-server")
			})
		}
	}
}

// serverTime is the processor time of the server process that serves this connection. Other load on the machine does not
// change it.
func serverTime(b *testing.B, v *vault) time.Duration {
	b.Helper()
	var pid int
	if err := v.db.GetContext(b.Context(), &pid, `select pg_backend_pid()`); err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	var ticks int64
	for _, field := range fields[12:14] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// BenchmarkTakeAndReturn measures what an exact account costs: two round trips to the database for each call.
func BenchmarkTakeAndReturn(b *testing.B) {
	v := durableVault(b)
	r, account := v.register("one"), v.account(1_000_000*app.Dollar)
	for i := range b.N {
		v.take(r, account, 10, 10)
		if _, err := v.bank.Return(b.Context(), r, account, app.Amount(i+1)*10); err != nil {
			b.Fatal(err)
		}
	}
}

// durableVault is a vault on its own server, which does not lose committed transactions.
func durableVault(b *testing.B) *vault {
	b.Helper()
	dir, err := os.MkdirTemp("", "umg") // The name is short because the path of a socket may have at most 107 bytes.
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg, err := local.Start(b.Context(), local.Options{Dir: dir, Durable: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pg.Stop(context.Background()) })
	db, err := postgres.Open(b.Context(), pg.DSN(), postgres.Options{Connections: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := postgres.Migrate(b.Context(), db, postgres.MigrateOptions{}); err != nil {
		b.Fatal(err)
	}
	return vaultOver(b, db)
}
