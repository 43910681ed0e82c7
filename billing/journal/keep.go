package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	stepBytes       = 64 << 10 // The start of the unapplied records is known to this precision, in bytes.
	stepAge         = time.Second
	stalledAfter    = 5 * time.Second // A disk that takes this long for an operation stops admission.
	removedSegments = 16              // One pass removes at most this many segments.
)

// usage is what admission depends on. The log's mu protects it.
type usage struct {
	applied, open LSN
	bytes         int64  // This is the size of all records since the start.
	steps         []step // The first step contains the oldest unapplied record.
	freeBytes     int64  // This is the disk's free space when last read.
	roomBytes     int64  // The current segment has this many bytes left.
	spareBytes    int64
}

// step is a record, the number of bytes before it, and the time it was written.
type step struct {
	lsn   LSN
	bytes int64
	at    time.Time
}

// measure counts written records, beginning with lsn. The caller holds mu.
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

// Applied records that all records up to upTo were applied elsewhere, and that running calls still need those from open on.
// Open is upTo+1 or zero when no call needs any. Applied removes nothing itself.
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

// resetApplied sets the applied position to the database's cursor, which may be earlier than before. What the database lacks
// is then counted by whole segments. The caller holds io and mu.
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

// unapplied is an upper bound of the unapplied bytes, too high by one step at most. The caller holds mu.
func (l *Log) unapplied(now time.Time) (bytes int64, age time.Duration) {
	u := &l.usage
	if u.applied >= l.written || len(u.steps) == 0 {
		return int64(len(l.buffer)), 0
	}
	return u.bytes - u.steps[0].bytes + int64(len(l.buffer)), max(0, now.Sub(u.steps[0].at))
}

// judge decides whether the log gives claims, and how many. The caller holds mu.
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
	// Appended records that are not yet written take space too, and so does the unused end of a segment.
	quarter := l.o.SegmentBytes / 4
	slack := min(waitingBytesStop, quarter) + min(int64(room(l.recordMax)), quarter)
	if l.usage.spareBytes == 0 {
		slack += quarter
	}
	l.claimsMax.Store(max(0, (l.usage.roomBytes+l.usage.spareBytes-slack)/l.o.ClaimBytes))
}

// refuse records why claims are refused from now on. The caller holds mu.
func (l *Log) refuse(why reason, now time.Time) {
	if reason(l.refusing.Swap(int32(why))) != why {
		l.since = now
	}
}

// Broken returns why the log gives no claims and will give none for long: the journal is dead, the disk is full, slow or
// unresponsive, or the database has been behind for too long. It returns nil while claims are refused only for a moment.
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

// Tidy removes segments that are no longer needed, prepares the next one, reads the disk's free space, and updates whether
// claims are given. Run calls it once a second; a caller without Run must call it as often. After an error claims are refused
// until a later call succeeds.
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

// removeOld removes applied and closed segments, oldest first, when they are older than Keep or the disk is nearly full. The
// caller holds making.
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
			l.o.Log.Warn("journal segment removed early, disk nearly full", "file", s.name(), "free_bytes", freeBytes)
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

// Stats are the journal's counters. All but the values about unapplied records, FreeBytes, Claims and Segments only grow.
type Stats struct {
	First, Last, Durable, Applied LSN
	UnappliedBytes                int64
	UnappliedAge                  time.Duration // This is the age of the oldest unapplied record.
	FreeBytes                     int64         // This is the disk's free space when last read.
	Claims                        int64         // This many claims are given now.
	Segments                      int64
	Records                       int64 // This counts written records, including those found at the start.
	Writes                        int64
	Commits                       int64 // This counts syncs that acknowledged a record.
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
