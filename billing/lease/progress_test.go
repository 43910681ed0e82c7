package lease

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/journal"
)

const journalPrefix = 24 // The journal adds this many bytes to a record.

// records reads the journal of a replica.
func (r *replica) records() (all []journal.Record) {
	r.t.Helper()
	if err := r.log.Commit(); err != nil {
		r.t.Fatal(err)
	}
	for one, err := range r.log.Read(0, 1000, 1<<20) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, journal.Record{LSN: one.LSN, Kind: one.Kind, Data: []byte(string(one.Data))})
	}
	return all
}

// stream makes a call whose stream has made so many marks, with one extension of its hold.
func (r *replica) stream(id string, marks int64) billing.Hold {
	r.t.Helper()
	h, err := r.manager.Hold(r.t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: 2_000})
	if err != nil {
		r.t.Fatal(err)
	}
	for n := range marks {
		if n == marks/2 {
			if err := r.manager.Extend(r.t.Context(), &h, 1_000_000); err != nil {
				r.t.Fatal(err)
			}
		}
		s := streamMark(32*n, time.Now())
		if n == 0 {
			s.Record.Reason, s.Delivered, s.Cost = string(billing.ReasonCrashedUnanswered), false, 0
		}
		if n == marks-2 {
			s.Record.FinishReason = "stop"
		}
		s.Record.StartedAt = time.Unix(1_800_000_000, 0)
		r.manager.Progress(h, s)
	}
	return h
}

// TestAMarkOfALongStreamIsSmall has the first marks of a call whole, and all others within 64 bytes of the journal, unless
// something else than a number has changed.
func TestAMarkOfALongStreamIsSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.books.books.replicas["r"] = &replicaRow{applied: 1 << 40} // The positions of an old journal are long.
		r.start()
		t.Cleanup(func() { r.stop() })
		before := r.log.Last()
		r.stream("req_long", 100)
		if err := r.log.Commit(); err != nil {
			t.Fatal(err)
		}
		whole, small := 0, 0
		for one, err := range r.log.Read(before, 1000, 1<<20) {
			switch {
			case err != nil:
				t.Fatal(err)
			case one.Kind == kindMark:
				whole++
			case one.Kind == kindChange && journalPrefix+len(one.Data) <= 64:
				small++
			default:
				t.Errorf("record %d of kind %q has %d bytes", one.LSN, one.Kind, journalPrefix+len(one.Data))
			}
		}
		if whole > 4 || whole+small != 100 {
			t.Errorf("%d whole marks and %d small ones of 100", whole, small)
		}
	})
}

// TestACutStreamIsChargedByItsLastMark kills a process with many streams. Each pays for the last mark that reached the
// journal, with the hold that was extended in between.
func TestACutStreamIsChargedByItsLastMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.start()
		t.Cleanup(func() { r.stop() })
		const streams = 12
		for n := range streams {
			r.stream(fmt.Sprint("req_", n), int64(n))
		}
		done := r.stream("req_done", 9)
		if err := r.manager.Settle(t.Context(), done, settlementOf("req_done", 7)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		r.disk.Kill()
		r.stop()
		r.start()
		if err := r.manager.Booked(t.Context()); err != nil {
			t.Fatal(err)
		}
		if one := r.books.books.records["req_done"]; one.cost != 7 || one.times != 1 {
			t.Errorf("the settled call was charged %+v", one)
		}
		for n := range streams {
			one, charged := r.books.books.records[fmt.Sprint("req_", n)]
			want := streamMark(32*int64(n-1), time.Now()).Cost
			if n <= 1 {
				want = 0
			}
			reserved := app.Amount(1_002_000)
			if n == 0 {
				reserved = 0
			}
			if charged != (n > 0) || one.cost != want || one.reserved != reserved {
				t.Errorf("stream %d: %+v, want a cost of %d", n, one, want)
			}
		}
	})
}

// TestTheCallsOfARunningProcessKeepTheirMarks fences a replica whose streams go on: the new epoch leaves them alone, and a crash
// after it charges them by their last marks.
func TestTheCallsOfARunningProcessKeepTheirMarks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.start()
		t.Cleanup(func() { r.stop() })
		h := r.stream("req_1", 8)
		if err := r.manager.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(r.books.books.records); n != 0 {
			t.Fatalf("%d running calls were settled", n)
		}
		s := streamMark(320, time.Unix(1_800_000_000, 0))
		r.manager.Progress(h, s)
		if last := r.records(); last[len(last)-1].Kind != kindChange {
			t.Fatal("the mark was not written as a change")
		}
		r.disk.Kill()
		r.stop()
		r.start()
		if err := r.manager.Booked(t.Context()); err != nil {
			t.Fatal(err)
		}
		if one := r.books.books.records["req_1"]; one.cost != s.Cost {
			t.Errorf("charged %+v, want %d", one, s.Cost)
		}
	})
}

// TestTheMarksOfEarlierReleasesAreRead has a journal whose marks are all whole.
func TestTheMarksOfEarlierReleasesAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplica(t)
		r.start()
		t.Cleanup(func() { r.stop() })
		h := r.stream("req_other", 0)
		h.ID = "req_old"
		for n := range int64(5) {
			if _, err := r.log.Append(kindMark, streamMark(n, time.Now()).Encode(h, "r", time.Now())); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond)
		r.disk.Kill()
		r.stop()
		r.start()
		if err := r.manager.Booked(t.Context()); err != nil {
			t.Fatal(err)
		}
		if one := r.books.books.records["req_old"]; one.cost != 1_004 {
			t.Errorf("charged %+v", one)
		}
	})
}

func TestARecordThatCannotBeReadStopsTheStart(t *testing.T) {
	t.Parallel()
	h := billing.Hold{ID: "req_1", AccountID: "acc_1", Amount: 5_000, Epoch: 1}
	whole := streamMark(1, time.Unix(1_800_000_000, 0)).Encode(h, "r", time.Now())
	for want, records := range map[string][]journal.Record{
		"record 1 of the journal: its kind \"Z\" is of a later release":        {{Kind: 'Z', Data: whole}},
		"record 1 of the journal: it refers to no mark":                        {{Kind: kindChange}},
		"the last mark of call req_1 after record 1 of the journal":            {{Kind: kindMark, Data: whole}, {Kind: kindChange, Data: []byte{1, 99, 1}}},
		"record 1 of the journal: billing: a settlement cannot be read: jsont": {{Kind: kindMark, Data: []byte("{")}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReplica(t)
			r.open() // A running manager could recover at the same time.
			defer func() { _ = r.log.Close() }()
			for _, one := range records {
				if _, err := r.log.Append(one.Kind, one.Data); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.log.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := r.manager.Recover(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestASmallMarkAllocatesNothing(t *testing.T) {
	manager, _ := journaled(t)
	h, mark := hold(t, manager, "req_1"), streamMark(1, time.Now())
	next := func() {
		mark.Record.Usage[meter.OutputTokens]++
		manager.Progress(h, mark)
	}
	next()
	next()
	if n := testing.AllocsPerRun(200, next); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
