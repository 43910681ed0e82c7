package traffic

import (
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app/postgres/pgtest"
)

func TestTimesKeepPercentilesWithinSixHundredths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d := time.Duration(rapid.Int64Range(int64(32*time.Microsecond), int64(268*time.Second)).Draw(r, "time"))
		var h histogram
		h.add(d)
		var all Durations
		all.addPairs(h.pairs())
		all.Add(&all)
		got, ok := all.Percentile(95)
		if off := max(got-d, d-got); !ok || all.Count() != 2 || off > d/16+time.Microsecond {
			r.Fatalf("%v became %v, off by %v", d, got, off)
		}
	})
	var h histogram
	for _, d := range []time.Duration{-1, 0, 1, time.Hour} {
		h.add(d)
	}
	var all Durations
	if _, ok := all.Percentile(50); ok {
		t.Error("no call has a percentile")
	}
	all.addPairs(append(h.pairs(), -1, 5, bucketCount, 5, 3, -9, 7))
	if all.Count() != 2 {
		t.Errorf("%d calls, of which two took any time", all.Count())
	}
	low, _ := all.Percentile(50)
	high, _ := all.Percentile(51)
	if low > 40*time.Microsecond || high < 4*time.Minute {
		t.Errorf("%v and %v", low, high)
	}
}

func TestEveryReplicaTellsOfAll(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	at := time.Date(2026, 11, 21, 9, 41, 7, 0, time.UTC)
	var clock, flying atomic.Int64
	clock.Store(at.UnixNano())
	replica := func(name string) *MinuteCounts {
		return NewMinuteCounts(db, MinuteOptions{Now: func() time.Time { return time.Unix(0, clock.Load()) }, Replica: name, InFlight: flying.Load})
	}
	one, two := replica("one"), replica("two")
	one.Count(CallResult{FirstByte: 100 * time.Millisecond, Overhead: time.Millisecond})
	one.Count(CallResult{Failed: true})
	for _, why := range []Refusal{RateLimited, RateLimited, InsufficientCredit, Overloaded} {
		two.Count(CallResult{Refused: why})
	}
	flying.Store(7)
	one.recordInFlight()
	flying.Store(3)
	for range 2 { // A second write does not count twice.
		for _, l := range []*MinuteCounts{one, two} {
			l.recordInFlight()
			if err := l.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := two.Hour(t.Context())
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	a, b := all[0], all[1]
	if a.Replica != "one" || a.Calls != 2 || a.Errors != 1 || a.InFlight != 3 || a.InFlightMax != 7 || a.FirstByte.Count() != 1 ||
		a.Overhead.Count() != 1 || !a.Start.Equal(at.Truncate(time.Minute)) || !a.WrittenAt.Equal(at) {
		t.Errorf("%+v", a)
	}
	if b.Calls != 0 || b.RateLimited != 2 || b.InsufficientCredit != 1 || b.Overloaded != 1 {
		t.Errorf("%+v", b)
	}
	clock.Add(int64(59 * time.Minute))
	one.Count(CallResult{})
	if err := one.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err = two.Hour(t.Context()); err != nil || len(all) != 3 || all[2].Calls != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	clock.Add(int64(3 * time.Hour))
	one.Count(CallResult{}) // The slot still holds a minute of hours ago.
	if err := one.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var kept int
	if err := db.Get(&kept, `select count(*) from traffic_minutes`); err != nil || kept != 1 {
		t.Errorf("%d minutes are kept, %v", kept, err)
	}
}

func TestCountsWaitForTheStore(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	l := NewMinuteCounts(db, MinuteOptions{Now: time.Now, Replica: "one", InFlight: func() int64 { return 0 }})
	l.Count(CallResult{})
	if _, err := db.ExecContext(t.Context(), `alter table traffic_minutes rename to away`); err != nil {
		t.Fatal(err)
	}
	if err := l.flush(t.Context()); err == nil {
		t.Fatal("nothing was said of a store that is away")
	}
	if _, err := db.ExecContext(t.Context(), `alter table away rename to traffic_minutes`); err != nil {
		t.Fatal(err)
	}
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := l.Hour(t.Context()); err != nil || len(all) != 1 || all[0].Calls != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestCountingAllocatesNothing(t *testing.T) {
	l := NewMinuteCounts(pgtest.New(t), MinuteOptions{Now: time.Now, Replica: "one", InFlight: func() int64 { return 0 }})
	c := CallResult{FirstByte: time.Second, Overhead: time.Millisecond}
	if n := testing.AllocsPerRun(100, func() { l.Count(c) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}
