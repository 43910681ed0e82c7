package callcost

import (
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
			c := start(b, answerOf(1<<10)).connect(b, question(size.bytes))
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
		})
	}
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
