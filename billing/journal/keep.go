package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	stepBytes       = 64 << 10 // how finely is known where unapplied records begin
	stepAge         = time.Second
	stalledAfter    = 5 * time.Second // a disk that takes so long takes no new calls
	removedSegments = 16              // of one pass
)

// usage is what admission depends on. The log's mu guards it.
type usage struct {
	applied, open LSN
	bytes         int64  // of all records since the start
	steps         []step // the first one has the oldest record that is not applied
	freeBytes     int64  // of the disk, when last asked
	roomBytes     int64  // left in the current segment
	spareBytes    int64
}

// step is a record, how many bytes came before it, and when it was written.
type step struct {
	lsn   LSN
	bytes int64
	at    time.Time
}

// measure counts records that were written, beginning with lsn. The caller holds mu.
func (l *Log) measure(lsn LSN, bytes int64, at time.Time) {
	u := &l.usage
	switch n := len(u.steps); {
	case n > 0 && u.applied+1 >= lsn:
		u.steps = append(u.steps[:0], step{lsn, u.bytes, at})
	case n == 0, u.bytes-u.steps[n-1].bytes >= stepBytes, at.Sub(u.steps[n-1].at) >= stepAge:
		u.steps = append(u.steps, step{lsn, u.bytes, at})
	}
	u.bytes += bytes
}

// Applied says that all records up to upTo were applied elsewhere, and that of these only those from open on are still
// needed, by calls that go on. Open is upTo+1, or zero, when no call is open. It removes nothing itself.
func (l *Log) Applied(upTo, open LSN) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advanceApplied(max(l.usage.applied, min(upTo, l.durable)), open)
}

// advanceApplied moves the applied position forward. The caller holds mu.
func (l *Log) advanceApplied(upTo, open LSN) {
	u := &l.usage
	u.applied, u.open = upTo, upTo+1
	if open > 0 {
		u.open = min(open, u.open)
	}
	i := 0
	for i+1 < len(u.steps) && u.steps[i+1].lsn <= u.applied+1 {
		i++
	}
	u.steps = u.steps[i:]
	l.judge(l.o.Now())
}

// resetApplied moves the applied position to where the books have it, which may be an earlier one than before. What they
// lack is then counted by whole segments. The caller holds io and mu.
func (l *Log) resetApplied(applied, open LSN) {
	u := &l.usage
	if applied < u.applied {
		now, bytes := l.o.Now(), u.bytes
		var steps []step
		for i := len(l.segments) - 1; i >= 0 && (i == len(l.segments)-1 || l.segments[i+1].first > applied+1); i-- {
			end := l.segments[i].size
			if i == len(l.segments)-1 {
				end = l.offset
			}
			bytes -= end - headerBytes
			steps = append(steps, step{l.segments[i].first, bytes, now})
		}
		slices.Reverse(steps)
		u.steps = steps
	}
	l.advanceApplied(applied, open)
}

// unapplied is an upper bound of what is not applied, too high by one step at most. The caller holds mu.
func (l *Log) unapplied(now time.Time) (bytes int64, age time.Duration) {
	u := &l.usage
	if u.applied >= l.written || len(u.steps) == 0 {
		return int64(len(l.buffer)), 0
	}
	return u.bytes - u.steps[0].bytes + int64(len(l.buffer)), max(0, now.Sub(u.steps[0].at))
}

// judge decides whether claims are given, and how many. The caller holds mu.
func (l *Log) judge(now time.Time) {
	bytes, age := l.unapplied(now)
	why := admitting
	switch {
	case l.err != nil:
		why = dead
	case len(l.buffer) > waitingBytesStop:
		why = congested
	case !l.busy.IsZero() && now.Sub(l.busy) > stalledAfter:
		why = stalled
	case bytes > l.o.UnappliedBytesMax:
		why = behind
	case age > l.o.UnappliedAgeMax:
		why = late
	case l.usage.freeBytes < l.o.FreeBytesMin:
		why = full
	}
	l.refuse(why, now)
	// What is appended and not yet written takes room too, and so does a record that does not fit at a segment's end.
	quarter := l.o.SegmentBytes / 4
	slack := min(waitingBytesStop, quarter) + min(int64(room(l.recordMax)), quarter)
	if l.usage.spareBytes == 0 {
		slack += quarter
	}
	l.claimsMax.Store(max(0, (l.usage.roomBytes+l.usage.spareBytes-slack)/l.o.ClaimBytes))
}

// refuse notes why claims are refused from now on. The caller holds mu.
func (l *Log) refuse(why reason, now time.Time) {
	if reason(l.refusing.Swap(int32(why))) != why {
		l.since = now
	}
}

// Broken says why no claims are given here and will not be given for long: the journal is dead, the disk does not answer, does
// not keep up or is full, or the books have been behind for too long. It is nil while claims are refused for a moment only.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return fmt.Errorf("%w: %w", dead, l.err)
	}
	now := l.o.Now()
	l.judge(now)
	switch why := reason(l.refusing.Load()); {
	case why.lasts(now.Sub(l.since)):
		return why
	case l.claimsMax.Load() == 0:
		return roomless
	}
	return nil
}

// Tidy removes segments that nobody needs any more, prepares the next one, asks how much the disk has left, and decides
// anew whether claims are given. Run calls it once a second; who has no Run calls it as often. Its error is for the
// operator: it is tried again, and claims are refused meanwhile.
func (l *Log) Tidy() error {
	l.making.Lock()
	defer l.making.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	free, err := l.disk.Free()
	if err != nil {
		free = 0
	}
	errs := []error{err, l.removeOld(free)}
	errs = append(errs, l.prepare())
	if after, err := l.disk.Free(); err == nil {
		free = after
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.usage.freeBytes, l.usage.spareBytes = free, 0
	if l.spare != nil {
		l.usage.spareBytes = l.spare.size - headerBytes
	}
	l.judge(l.o.Now())
	return errors.Join(errs...)
}

// removeOld removes segments that are applied and closed, oldest first, when they are older than Keep or the disk runs
// short of room. The caller holds making.
func (l *Log) removeOld(freeBytes int64) error {
	for range removedSegments {
		l.mu.Lock()
		if len(l.segments) < 2 || l.segments[1].first > l.usage.open || l.segments[1].first > l.usage.applied+1 {
			l.mu.Unlock()
			return nil
		}
		s, ended := l.segments[0], l.segments[1].made
		l.mu.Unlock()
		short := freeBytes < l.o.FreeBytesMin+2*l.o.SegmentBytes
		if !short && l.o.Now().Sub(ended) <= l.o.Keep {
			return nil
		}
		if short {
			l.o.Log.Warn("an applied segment of the journal is removed early, as the disk is nearly full", "file", s.name(), "free_bytes", freeBytes)
		}
		if err := l.disk.Remove(s.name()); err != nil {
			return err
		}
		freeBytes += s.size
		l.mu.Lock()
		l.segments = l.segments[1:]
		l.mu.Unlock()
	}
	return nil
}

// Stats are what the journal counts. All but the sums of the unapplied, FreeBytes, Claims and Segments only grow.
type Stats struct {
	First, Last, Durable, Applied LSN
	UnappliedBytes                int64
	UnappliedAge                  time.Duration // of the oldest record that is not applied
	FreeBytes                     int64         // of the disk, when last asked
	Claims                        int64         // given now
	Segments                      int64
	Records                       int64 // written, with those found at the start
	Writes                        int64
	Commits                       int64 // syncs that acknowledged something
	Dead                          bool
}

// Stats reads the counters.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	bytes, age := l.unapplied(l.o.Now())
	return Stats{
		First: l.firstKept(), Last: l.last, Durable: l.durable, Applied: l.usage.applied,
		UnappliedBytes: bytes, UnappliedAge: age,
		FreeBytes: l.usage.freeBytes, Claims: l.claims.Load(), Segments: int64(len(l.segments)),
		Records: l.records, Writes: l.writes, Commits: l.commits, Dead: l.err != nil,
	}
}
