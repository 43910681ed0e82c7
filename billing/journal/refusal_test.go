package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// lines is a writer that keeps the log's output.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// about returns the levels of the lines that name a reason, in order.
func (l *lines) about(reason string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var levels []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, fmt.Sprintf("reason=%q", "journal: "+reason)) {
			_, rest, _ := strings.Cut(line, "level=")
			level, _, _ := strings.Cut(rest, " ")
			levels = append(levels, level)
		}
	}
	return strings.Join(levels, " ")
}

// TestALastingRefusalIsLoggedOnceWhenItBeginsAndOnceWhenItEnds checks that the log alone shows, once each, when and why admission stops and
// resumes.
func TestALastingRefusalIsLoggedOnceWhenItBeginsAndOnceWhenItEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		begin  func(*journal.Log, *journaltest.Disk)
		end    func(*journal.Log, *journaltest.Disk)
	}{
		{"the disk is nearly full", func(_ *journal.Log, d *journaltest.Disk) { d.SetFree(1 << 10) },
			func(_ *journal.Log, d *journaltest.Disk) { d.SetFree(1 << 30) }},
		{"too much is not applied yet", func(l *journal.Log, _ *journaltest.Disk) { write(t, l, 1000, 10) },
			func(l *journal.Log, _ *journaltest.Disk) { l.Applied(l.Durable(), 0) }},
		{"the oldest record that is not applied yet is too old", func(l *journal.Log, _ *journaltest.Disk) {
			write(t, l, 1, 1)
			time.Sleep(10 * time.Minute)
		}, func(l *journal.Log, _ *journaltest.Disk) { l.Applied(l.Durable(), 0) }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, said := journaltest.New(), &lines{}
				d.SetFree(1 << 30)
				o := options()
				o.SegmentBytes, o.UnappliedBytesMax, o.FreeBytesMin = 1<<20, 100<<10, 16<<10
				o.Log = slog.New(slog.NewTextHandler(said, nil))
				l, err := journal.Open(d.Boot(), o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- l.Run(ctx) }()
				for range 2 {
					c.begin(l, d)
					time.Sleep(time.Minute)
					refused(t, l, c.reason)
					c.end(l, d)
					time.Sleep(time.Minute)
					admitted(t, l)
				}
				stop()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if got := said.about(c.reason); got != "ERROR INFO ERROR INFO" {
					t.Errorf("lines: %q in\n%s", got, said.text.String())
				}
			})
		})
	}
}
