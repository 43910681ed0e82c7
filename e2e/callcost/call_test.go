package callcost

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCall is a call with everything on, over real connections. It reports the processor time of the whole process, which has the
// client and the upstream in it.
func BenchmarkCall(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KB", 1 << 10}, {"10KB", 10 << 10}, {"100KB", 100 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			measure(b, start(b, answerOf(1<<10)).connect(b, question("test/plain", size.bytes)))
		})
	}
}

// BenchmarkTranslatedCall is a call whose provider speaks another style.
func BenchmarkTranslatedCall(b *testing.B) {
	measure(b, start(b, messagesAnswerOf(1<<10)).connect(b, question("test/translated", 1<<10)))
}

// measure makes calls.
func measure(b *testing.B, c *client) {
	b.Helper()
	for range 50 {
		c.mustAnswer(b)
	}
	b.ReportAllocs()
	before := processTime(b)
	for b.Loop() {
		if err := c.call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processTime is the processor time that the process has used.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A call of 1 KiB makes 22 allocations of 1,360 bytes in the whole process. The limits leave little room. Seven of the
// allocations are for the context of the attempt and the watch over it, one is for a sync of the journal, and most others are for texts of
// heads, headers and the answer.
const (
	allocationsMax = 23
	bytesMax       = 2000
)

// TestACallAllocatesNoMoreThanIsWrittenHere makes calls one after the other. It takes the best of a few rounds, because a garbage
// collection empties the pools that a call takes its memory from.
func TestACallAllocatesNoMoreThanIsWrittenHere(t *testing.T) {
	c := start(t, answerOf(1<<10)).connect(t, question("test/plain", 1<<10))
	for range 50 {
		c.mustAnswer(t)
	}
	const rounds, calls = 5, 400
	allocations, size := uint64(1<<62), uint64(1<<62)
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			if err := c.call(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		allocations = min(allocations, (after.Mallocs-before.Mallocs)/calls)
		size = min(size, (after.TotalAlloc-before.TotalAlloc)/calls)
	}
	t.Logf("a call takes %d allocations and %d bytes", allocations, size)
	if allocations > allocationsMax || size > bytesMax {
		t.Errorf("a call takes %d allocations and %d bytes, and may take %d and %d", allocations, size, allocationsMax, bytesMax)
	}
}
