package journal_test

import (
	"testing"
	"time"

	"umg/billing/journal"
	"umg/billing/journal/journaltest"
)

// reopened is a journal of four segments and 90 records after a restart, with a clock that the test controls.
func reopened(t *testing.T, free, unapplied int64) (l *journal.Log, d *journaltest.Disk, pass func(time.Duration)) {
	t.Helper()
	d = journaltest.New()
	write(t, open(t, d), 90, 1)
	d.Kill()
	d.SetFree(free)
	now := time.Now()
	o := options()
	o.UnappliedBytesMax, o.FreeBytesMin, o.Now = unapplied, 64<<10, func() time.Time { return now }
	l, err := journal.Open(d.Boot(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l, d, func(passed time.Duration) { now = now.Add(passed) }
}

func TestWhatTheBooksHadBeforeTheStartIsNotUnapplied(t *testing.T) {
	t.Parallel()
	l, _, pass := reopened(t, 1<<30, 8<<10)
	refused(t, l, "too much is not applied")
	if err := l.StartAfter(90, 0); err != nil {
		t.Fatal(err)
	}
	admitted(t, l)
	pass(time.Hour)
	tidy(t, l)
	admitted(t, l)
	if s := l.Stats(); s.UnappliedBytes != 0 || s.UnappliedAge != 0 || s.Applied != 90 || s.Segments != 4 {
		t.Errorf("%+v", s)
	}
	write(t, l, 1, 1)
	pass(time.Minute)
	if s := l.Stats(); s.UnappliedBytes != 128 || s.UnappliedAge != time.Minute {
		t.Errorf("after one more record: %+v", s)
	}
}

func TestOnlyWhatTheBooksLackIsUnappliedAfterTheStart(t *testing.T) {
	t.Parallel()
	l, _, pass := reopened(t, 1<<30, 1<<20)
	if err := l.StartAfter(85, 0); err != nil {
		t.Fatal(err)
	}
	pass(11 * time.Minute)
	tidy(t, l)
	refused(t, l, "too old")
	l.Applied(90, 0)
	admitted(t, l)
}

// TestSegmentsMakeRoomAtTheStartOnADiskThatIsShortOfIt checks that a journal frees space as soon as it knows what the database has, and not
// before.
func TestSegmentsMakeRoomAtTheStartOnADiskThatIsShortOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		applied, open journal.LSN
		segments      int64
	}{{90, 0, 1}, {90, 60, 2}, {40, 0, 3}, {27, 0, 4}} {
		l, _, _ := reopened(t, 64<<10-1, 8<<10)
		if s := l.Stats(); s.Segments != 4 {
			t.Fatalf("before the books were asked: %+v", s)
		}
		refused(t, l, "")
		if err := l.StartAfter(c.applied, c.open); err != nil {
			t.Fatal(err)
		}
		if s := l.Stats(); s.Segments != c.segments {
			t.Errorf("applied to %d, open from %d: %+v", c.applied, c.open, s)
		}
		if c.applied == 90 {
			admitted(t, l)
		}
	}
}

// TestWhatRestoredBooksLackIsUnappliedAgain restores the database to an earlier point. It lacks records that this run knew to be applied.
func TestWhatRestoredBooksLackIsUnappliedAgain(t *testing.T) {
	t.Parallel()
	l, d, pass := reopened(t, 1<<30, 8<<10)
	if err := l.StartAfter(90, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.StartAfter(10, 0); err != nil {
		t.Fatal(err)
	}
	refused(t, l, "too much is not applied")
	if s := l.Stats(); s.Applied != 10 || s.UnappliedBytes < 80*128 || s.UnappliedBytes > 90*128+4*small {
		t.Errorf("%+v", s)
	}
	d.SetFree(0)
	pass(8 * 24 * time.Hour)
	tidy(t, l)
	if first := l.First(); first != 1 {
		t.Errorf("records up to %d are gone, and the books have 10", first-1)
	}
	l.Applied(90, 0)
	if s := l.Stats(); s.UnappliedBytes != 0 || s.UnappliedAge != 0 {
		t.Errorf("%+v", s)
	}
	verify(t, l, 90)
}
