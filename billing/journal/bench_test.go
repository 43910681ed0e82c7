package journal_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"umg/billing/journal"
)

func benchLog(b *testing.B) *journal.Log {
	b.Helper()
	d, err := journal.Folder(filepath.Join(b.TempDir(), "journal"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := journal.Open(d, journal.Options{Owner: "bench", FreeBytesMin: 1})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := l.Close(); err != nil {
			b.Error(err)
		}
		d.Close()
	})
	return l
}

var benchData = make([]byte, 300)

// BenchmarkAppend measures what a mark costs its call.
func BenchmarkAppend(b *testing.B) {
	l := benchLog(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := l.Append('P', benchData); err != nil {
			b.Fatal(err)
		}
		if n++; n%10_000 == 0 {
			b.StopTimer()
			if err := l.Commit(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkClaim measures what admission costs each call.
func BenchmarkClaim(b *testing.B) {
	l := benchLog(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Claim(); err != nil {
			b.Fatal(err)
		}
		l.Unclaim()
	}
}

// BenchmarkCommit measures how long a settlement waits, with a number of concurrent ones.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			l := benchLog(b)
			b.SetParallelism((callers + 1) / 2)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					lsn, err := l.Append('S', benchData)
					if err == nil {
						err = l.Wait(context.Background(), lsn)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			s := l.Stats()
			b.ReportMetric(float64(s.Records)/float64(s.Commits), "records/sync")
		})
	}
}

// BenchmarkReplay measures what a record costs at the start and for the follower.
func BenchmarkReplay(b *testing.B) {
	l := benchLog(b)
	const records = 100_000
	for range records {
		if _, err := l.Append('S', benchData); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Commit(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		after := journal.LSN(0)
		for after < records {
			for r, err := range l.Read(after, 1000, 1<<20) {
				if err != nil {
					b.Fatal(err)
				}
				after = r.LSN
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
}
