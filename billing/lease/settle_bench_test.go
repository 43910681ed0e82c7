package lease_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/lease"
)

const (
	settleSeconds = 10                    // Each case runs for this many seconds.
	settleLooks   = 1000                  // The benchmark reads the journal's position at most this often per second.
	settleCallers = 16                    // This many callers warm up the leases.
	kernelTick    = 10 * time.Millisecond // The kernel counts processor time in these units.
)

// BenchmarkSettle measures what a call adds at its end: settlements at a fixed rate, whether or not earlier ones have ended.
// The journal is on this disk, the database server syncs to the same disk, and the applier runs between them. A case takes
// ten seconds however often it is repeated.
func BenchmarkSettle(b *testing.B) {
	for _, rate := range []int{1000, 5000} {
		for _, accounts := range []int{1, 100, 10_000} {
			b.Run(fmt.Sprintf("rate=%d/accounts=%d", rate, accounts), func(b *testing.B) {
				for range b.N {
					c := newCounter(b, accounts)
					c.warm(b)
					c.run(b, rate)
				}
			})
		}
	}
}

// counter is a lease manager with the same parts behind it as in production.
type counter struct {
	*vault

	manager  *lease.Manager
	log      *journal.Log
	accounts []string
	server   int // This is the id of the process that owns the database processes.

	mu            sync.Mutex
	holds, writes []time.Duration
	failed        int
}

func newCounter(b *testing.B, accounts int) *counter {
	b.Helper()
	v, server := pooledVault(b)
	c := &counter{vault: v, server: server}
	for range accounts {
		c.accounts = append(c.accounts, v.ids.New("acc"))
	}
	v.exec(`insert into credit_accounts (id, kind, posted_nanos) select id, 'customer', 1000000000000000 from unnest($1::text[]) id`,
		"{"+strings.Join(c.accounts, ",")+"}")
	v.exec(`insert into grants (id, account_id, kind, priority, amount_nanos, remaining_nanos, source, created_at)
		select 'grt_' || id, id, 'purchased', 30, 1000000000000000, 1000000000000000, id, now() from unnest($1::text[]) id`,
		"{"+strings.Join(c.accounts, ",")+"}")
	folder, err := journal.Folder(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	if c.log, err = journal.Open(folder, journal.Options{Owner: "bench", FreeBytesMin: 1}); err != nil {
		b.Fatal(err)
	}
	c.manager, err = lease.New(lease.Options{
		Bank: v.bank, Registry: v.bank, Journal: c.log, ReplicaID: "bench", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = c.manager.Recover(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	write, stopWriting := context.WithCancel(context.Background())
	var duties, writing sync.WaitGroup
	duties.Go(func() { _ = c.manager.Run(ctx) })
	writing.Go(func() { _ = c.log.Run(write) })
	b.Cleanup(func() {
		stop()
		duties.Wait()
		stopWriting()
		writing.Wait()
		_, _ = c.log.Close(), folder.Close()
	})
	return c
}

// warm makes the first call of each account, which creates its lease.
func (c *counter) warm(b *testing.B) {
	b.Helper()
	var callers sync.WaitGroup
	for from := range settleCallers {
		callers.Go(func() {
			for n := from; n < len(c.accounts); n += settleCallers {
				c.call(b, c.accounts[n])
			}
		})
	}
	callers.Wait()
	c.holds, c.writes, c.failed = nil, nil, 0
}

// run makes calls at a rate and reports their results.
func (c *counter) run(b *testing.B, rate int) {
	b.Helper()
	var calls sync.WaitGroup
	start, ours, servers := time.Now(), ownTime(b), c.serverTime()
	lagMost, before := int64(0), c.manager.Stats()
	for n := range rate * settleSeconds {
		due := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		if n%(rate/settleLooks+1) == 0 {
			s := c.log.Stats()
			lagMost = max(lagMost, int64(s.Last-s.Applied))
		}
		calls.Go(func() { c.call(b, c.accounts[n*7919%len(c.accounts)]) })
	}
	calls.Wait()
	sent := time.Since(start)
	s := c.log.Stats()
	for c.log.Stats().Applied < s.Last && time.Since(start) < 3*settleSeconds*time.Second {
		time.Sleep(time.Millisecond)
	}
	done := time.Since(start)
	after, all := c.manager.Stats(), float64(rate*settleSeconds)
	b.ReportMetric(all/sent.Seconds(), "reached/s")
	b.ReportMetric(milliseconds(c.writes, 50), "settle-p50-ms")
	b.ReportMetric(milliseconds(c.writes, 99), "settle-p99-ms")
	b.ReportMetric(milliseconds(c.holds, 50), "hold-p50-ms")
	b.ReportMetric(milliseconds(c.holds, 99), "hold-p99-ms")
	b.ReportMetric(float64(lagMost), "lag-records-max")
	b.ReportMetric(float64((done - sent).Milliseconds()), "lag-at-end-ms")
	b.ReportMetric(float64(after.Takes-before.Takes)/settleSeconds, "takes/s")
	b.ReportMetric(float64((ownTime(b)-ours).Microseconds())/all, "cpu-µs")
	b.ReportMetric(float64((c.serverTime()-servers).Microseconds())/all, "postgres-µs")
	b.ReportMetric(float64(c.failed), "refused")
	b.ReportMetric(0, "ns/op")
}

// call holds, marks and settles as the gateway does for a call that is answered at once.
func (c *counter) call(b *testing.B, account string) {
	began := time.Now()
	record := billing.UsageRecord{
		AccountID: account, KeyID: "key_01jd0000000000000000000000", Model: "meridian/atlas-large", Provider: "meridian",
		UpstreamModel: "atlas-large-2", Style: "chat", RateCardID: "rate_01jd0000000000000000000000", FinishReason: "stop",
		Outcome: "failed", Reason: "crashed_unanswered", Attempts: 1, StartedAt: began,
	}
	h, err := c.manager.Hold(b.Context(), billing.HoldRequest{ID: c.ids.New("req"), AccountID: account, Want: app.Cent})
	held := time.Now()
	if err == nil {
		c.manager.Progress(h, billing.Settlement{Record: record})
		record.Outcome, record.Reason = "succeeded", "completed"
		record.Usage[meter.InputTokens], record.Usage[meter.OutputTokens] = 1234, 321
		err = c.manager.Settle(b.Context(), h, billing.Settlement{Cost: 123_456, Delivered: true, Record: record})
	}
	settled := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds, c.writes = append(c.holds, held.Sub(began)), append(c.writes, settled.Sub(held))
	if err != nil {
		c.failed++
	}
}

func milliseconds(all []time.Duration, percent int) float64 {
	slices.Sort(all)
	return float64(all[(len(all)-1)*percent/100].Microseconds()) / 1000
}

// ownTime is the processor time of this process, including the callers.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverTime is the processor time of the database processes that run now.
func (c *counter) serverTime() (sum time.Duration) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // The process has ended.
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[1] != strconv.Itoa(c.server) {
			continue
		}
		for _, field := range fields[11:13] {
			ticks, _ := strconv.ParseInt(field, 10, 64)
			sum += time.Duration(ticks) * kernelTick
		}
	}
	return sum
}

// pooledVault is durableVault for many concurrent callers. It also returns the process that owns the database processes.
func pooledVault(b *testing.B) (v *vault, server int) {
	b.Helper()
	dir, err := os.MkdirTemp("", "umg")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg, err := local.Start(b.Context(), local.Options{Dir: dir, Durable: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = pg.Stop(context.Background()) })
	db, err := postgres.Open(b.Context(), pg.DSN(), postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := postgres.Migrate(b.Context(), db, postgres.MigrateOptions{}); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	if server, err = strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0]); err != nil {
		b.Fatal(err)
	}
	return vaultOver(b, db), server
}
