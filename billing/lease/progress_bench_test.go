package lease

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/journal"
)

// journaled is a lease manager that has begun its epoch, with a journal in a folder. Both run until the test ends.
func journaled(tb testing.TB) (*Manager, *journal.Log) {
	tb.Helper()
	folder, err := journal.Folder(filepath.Join(tb.TempDir(), "journal"))
	if err != nil {
		tb.Fatal(err)
	}
	log, err := journal.Open(folder, journal.Options{Owner: "one", FreeBytesMin: 1})
	if err != nil {
		tb.Fatal(err)
	}
	books := newSharedBooks()
	books.books.open("acc_1", false, false)
	books.books.grant("acc_1", 1_000_000_000_000, 0)
	manager, err := New(Options{
		Bank: books, Registry: books, Journal: log, ReplicaID: "one", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = manager.Recover(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	var settling, writing sync.WaitGroup
	settle, stopSettling := context.WithCancel(context.Background())
	write, stopWriting := context.WithCancel(context.Background())
	settling.Go(func() { _ = manager.Run(settle) })
	writing.Go(func() { _ = log.Run(write) })
	tb.Cleanup(func() {
		stopSettling()
		settling.Wait()
		stopWriting()
		writing.Wait()
		_, _ = log.Close(), folder.Close()
	})
	return manager, log
}

// streamRecord is the usage record of a stream that has delivered so many tokens.
func streamRecord(tokens int64, began time.Time) billing.UsageRecord {
	r := billing.UsageRecord{
		AccountID: "acc_1", KeyID: "key_01jd0000000000000000000000", Model: "meridian/atlas-large", Provider: "meridian",
		UpstreamModel: "atlas-large-2", Style: "chat", RateCardID: "rate_01jd0000000000000000000000", Outcome: "cut", Reason: "crashed",
		Streamed: true, Estimated: true, Attempts: 1, StartedAt: began, FirstByte: 300 * time.Millisecond,
		Duration: 300*time.Millisecond + time.Duration(tokens)*20*time.Millisecond,
		Trail: billing.RequestTiming{
			Door: time.Millisecond, Body: time.Millisecond, Checked: time.Millisecond, Admitted: time.Millisecond, Funded: time.Millisecond,
			Attempts: []billing.Attempt{{Provider: "meridian", Status: 200, Start: time.Millisecond, First: 300 * time.Millisecond}},
		},
	}
	r.Usage[meter.InputTokens], r.Usage[meter.OutputTokens] = 1234, tokens
	return r
}

func streamMark(tokens int64, began time.Time) billing.Settlement {
	return billing.Settlement{Cost: app.Amount(1_000 + tokens), Delivered: true, Record: streamRecord(tokens, began)}
}

func hold(tb testing.TB, manager *Manager, id string) billing.Hold {
	tb.Helper()
	h, err := manager.Hold(tb.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: 1_000_000})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// BenchmarkProgress measures what a checkpoint costs its stream, without the write of the journal that many streams share.
func BenchmarkProgress(b *testing.B) {
	manager, log := journaled(b)
	h, began := hold(b, manager, "req_01jd0000000000000000000000"), time.Now()
	mark := streamMark(32, began)
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		n++
		mark.Cost, mark.Record.Usage[meter.OutputTokens] = app.Amount(1_000+32*n), 32*n
		mark.Record.Duration += 640 * time.Millisecond
		manager.Progress(h, mark)
		if n%10_000 == 0 {
			b.StopTimer()
			if err := log.Wait(b.Context(), log.Last()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkCall measures what a call that is answered at once costs here: its hold, its first checkpoint and its settlement, with
// the sync of the journal.
func BenchmarkCall(b *testing.B) {
	manager, _ := journaled(b)
	ids := make([]string, 1024)
	for i := range ids {
		ids[i] = fmt.Sprintf("req_01jd00000000000000000%05d", i)
	}
	mark, n := streamMark(32, time.Now()), 0
	ctx := context.Background()
	used := processorTime(b)
	b.ReportAllocs()
	for b.Loop() {
		n++
		h, err := manager.Hold(ctx, billing.HoldRequest{ID: ids[n%len(ids)], AccountID: "acc_1", Want: 1})
		if err != nil {
			b.Fatal(err)
		}
		manager.Progress(h, mark)
		if err := manager.Settle(ctx, h, mark); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkSlowStreams measures the processor time of 50 streams that only make checkpoints, two in a second each.
func BenchmarkSlowStreams(b *testing.B) {
	const streams, seconds, marks = 50, 5, 10
	for b.Loop() {
		manager, log := journaled(b)
		holds := make([]billing.Hold, streams)
		for i := range holds {
			holds[i] = hold(b, manager, fmt.Sprint("req_", i))
		}
		began, before, wrote := time.Now(), processorTime(b), log.Stats()
		for n := range int64(marks * streams) {
			time.Sleep(time.Until(began.Add(time.Duration(n) * seconds * time.Second / marks / streams)))
			manager.Progress(holds[n%streams], streamMark(32*(n/streams+1), began))
		}
		used, after := processorTime(b)-before, log.Stats()
		b.ReportMetric(float64(used.Microseconds())/1000/time.Since(began).Seconds(), "cpu-ms/s")
		b.ReportMetric(float64(after.Writes-wrote.Writes)/seconds, "writes/s")
		b.ReportMetric(float64(after.Commits-wrote.Commits)/seconds, "syncs/s")
		b.ReportMetric(0, "ns/op")
	}
}

func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
