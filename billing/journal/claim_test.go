package journal_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/app"
	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// refused expects a claim to be refused for the named reason.
func refused(t *testing.T, l *journal.Log, why string) {
	t.Helper()
	err := l.Claim()
	e := app.AsError(err)
	if err == nil || e.Kind != app.Unavailable || e.RetryAfter <= 0 || !strings.Contains(err.Error(), why) {
		t.Fatalf("claim: %v", err)
	}
}

func admitted(t *testing.T, l *journal.Log) {
	t.Helper()
	if err := l.Claim(); err != nil {
		t.Fatal(err)
	}
	l.Unclaim()
}

func TestClaimsStopWhileTooMuchIsUnapplied(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	o := options()
	o.SegmentBytes, o.UnappliedBytesMax, o.Now = 1<<20, 300<<10, func() time.Time { return now }
	l, err := journal.Open(journaltest.New().Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	admitted(t, l)
	write(t, l, 2500, 100)
	refused(t, l, "too much is not applied")
	l.Applied(l.Durable(), 0)
	admitted(t, l)
	if s := l.Stats(); s.UnappliedBytes != 0 || s.UnappliedAge != 0 || s.Applied != 2500 {
		t.Fatalf("%+v", s)
	}
	write(t, l, 1, 1)
	now = now.Add(9 * time.Minute)
	write(t, l, 1, 1)
	tidy(t, l)
	admitted(t, l)
	now = now.Add(61 * time.Second)
	tidy(t, l)
	refused(t, l, "too old")
	l.Applied(2501, 0)
	admitted(t, l)
	if s := l.Stats(); s.UnappliedAge != 61*time.Second || s.UnappliedBytes != 128 {
		t.Fatalf("%+v", s)
	}
}

func TestClaimsStopBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	d.SetFree(100 << 10)
	o := options()
	o.SegmentBytes, o.FreeBytesMin = 32<<10, 50<<10
	l, err := journal.Open(d.Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	admitted(t, l)
	d.SetFree(49 << 10)
	tidy(t, l)
	refused(t, l, "nearly full")
	d.SetFree(1 << 20)
	tidy(t, l)
	admitted(t, l)
}

// TestEveryCallThatWasAdmittedIsRecordedOnAFullDisk fills the disk (ENOSPC) while as many calls as possible are admitted.
func TestEveryCallThatWasAdmittedIsRecordedOnAFullDisk(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	d.SetFree(0)
	o := options()
	o.SegmentBytes, o.ClaimBytes, o.FreeBytesMin = 1<<20, 1<<10, -1
	l, err := journal.Open(d.Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, l, "no room is prepared")
	d.SetFree(2 << 20)
	tidy(t, l)
	for round := range 3 { // The first round fills one segment in part, the next ones the second.
		calls := 0
		for l.Claim() == nil {
			calls++
		}
		if round == 0 && calls < 400 {
			t.Fatalf("only %d calls are admitted", calls)
		}
		d.SetFree(0)
		for range calls {
			for range 2 {
				if _, err := l.Append('S', make([]byte, 480)); err != nil {
					t.Fatal(err)
				}
			}
			l.Unclaim()
		}
		if err := l.Commit(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		_ = l.Tidy() // The disk has no space for another segment, which only stops admission.
	}
	if s := l.Stats(); s.Dead || s.Claims != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestTheLogIsDeadAfterAFailedSync(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	l := open(t, d)
	write(t, l, 3, 3)
	d.FailSync(rand.New(rand.NewPCG(1, 1)))
	lsn, err := l.Append('S', payload(4))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(context.Background(), lsn); !errors.Is(err, syscall.EIO) || app.KindOf(err) != app.Unavailable {
		t.Fatalf("wait: %v", err)
	}
	if err := l.Wait(context.Background(), 3); err != nil {
		t.Fatalf("what was durable is not any more: %v", err)
	}
	_, syncs := d.Counts()
	if err := l.Commit(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("commit: %v", err)
	}
	if _, again := d.Counts(); again != syncs {
		t.Fatal("a sync that failed was tried again")
	}
	if _, err := l.Append('S', nil); !errors.Is(err, syscall.EIO) {
		t.Fatalf("append: %v", err)
	}
	refused(t, l, "dead")
	if !l.Stats().Dead || !errors.Is(l.Err(), syscall.EIO) || l.Durable() != 3 {
		t.Fatal("the log does not say that it is dead")
	}
	verify(t, l, 3)
}

func TestTheLogIsDeadAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	d := journaltest.New()
	l := open(t, d)
	write(t, l, 3, 3)
	d.FailWrite(rand.New(rand.NewPCG(1, 1)))
	if _, err := l.Append('S', payload(4)); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write: %v", err)
	}
	refused(t, l, "dead")
	d.Kill()
	if again := open(t, d); again.Last() > 4 { // The record may exist or not, because its append was never acknowledged.
		t.Fatalf("the journal ends with %d", again.Last())
	} else {
		verify(t, again, max(3, again.Last()))
	}
}

func TestARecordHasALimit(t *testing.T) {
	t.Parallel()
	o := options()
	o.SegmentBytes = 1 << 20
	l, err := journal.Open(journaltest.New().Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append('S', make([]byte, journal.RecordBytesMax+1)); err == nil {
		t.Fatal("a record beyond the limit is taken")
	}
	for range 40 {
		if _, err := l.Append('S', make([]byte, journal.RecordBytesMax)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	n := journal.LSN(0)
	for r, err := range l.Read(0, 100, 10*journal.RecordBytesMax) {
		if err != nil {
			t.Fatal(err)
		}
		n = r.LSN
	}
	if n != 10 {
		t.Fatalf("read to %d", n)
	}
}

func TestWaitingForWhatWasNeverAppendedFails(t *testing.T) {
	t.Parallel()
	if err := open(t, journaltest.New()).Wait(context.Background(), 1); err == nil {
		t.Fatal("a record that does not exist is durable")
	}
}

func TestAppendedRecordsHaveABound(t *testing.T) {
	t.Parallel()
	o := options()
	o.SegmentBytes = 64 << 20
	l, err := journal.Open(journaltest.New().Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, journal.RecordBytesMax)
	n := 0
	for err == nil && n < 2000 {
		if _, err = l.Append('S', big); err == nil {
			n++
		}
		if n == 100 {
			refused(t, l, "does not keep up")
		}
	}
	if n < 1000 || n > 1024 || app.KindOf(err) != app.Unavailable {
		t.Fatalf("%d records wait in memory: %v", n, err)
	}
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	tidy(t, l)
	admitted(t, l)
}
