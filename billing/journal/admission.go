package journal

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

const (
	stepBytes    = 64 << 10 // The start of the unapplied records is known to this precision, in bytes.
	stepAge      = time.Second
	stalledAfter = 5 * time.Second // A disk that takes this long for an operation stops admission.
)

// admission knows what is not applied yet, and whether and how many claims the log gives. The log's mu guards it, except the
// atomic members, which Claim reads without a mutex.
type admission struct {
	claims, claimsMax atomic.Int64
	refusing          atomic.Int32 // This is why claims are refused. It changes only while the log's mu is held.

	since         time.Time // This is when refusing last changed.
	applied, open LSN
	bytes         int64  // This is the size of all records since the start.
	steps         []step // The first step contains the oldest unapplied record.
	freeBytes     int64  // This is the disk's free space when last read.
}

// step is a record, the number of bytes before it, and the time it was written.
type step struct {
	lsn   LSN
	bytes int64
	at    time.Time
}

// reason is why claims are refused.
type reason int32

const (
	admitting reason = iota
	dead
	congested
	stalled
	behind
	late
	full
	roomless
)

func (r reason) Error() string {
	return "journal: " + [...]string{
		admitting: "it takes claims",
		dead:      "it is dead",
		congested: "the disk does not keep up",
		stalled:   "the disk does not answer",
		behind:    "too much is not applied yet",
		late:      "the oldest record that is not applied yet is too old",
		full:      "the disk is nearly full",
		roomless:  "no room is prepared",
	}[r]
}

// Claim reserves space for what one call will write, which guarantees that an admitted call can be recorded. It fails with
// app.Unavailable while the journal cannot guarantee that. Unclaim ends each claim.
func (l *Log) Claim() error {
	a := &l.admission
	if r := a.reason(); r != admitting {
		return unavailable(r)
	}
	if a.claims.Add(1) > a.claimsMax.Load() {
		a.claims.Add(-1)
		return unavailable(roomless)
	}
	return nil
}

// Unclaim ends a claim. Call it after the last Append of the call, or when there is nothing to append.
func (l *Log) Unclaim() { l.admission.claims.Add(-1) }

func (a *admission) reason() reason { return reason(a.refusing.Load()) }

// refuse records why claims are refused from now on.
func (a *admission) refuse(why reason, now time.Time) {
	if reason(a.refusing.Swap(int32(why))) != why {
		a.since = now
	}
}

// measure counts written records, beginning with lsn.
func (a *admission) measure(lsn LSN, bytes int64, at time.Time) {
	switch n := len(a.steps); {
	case n > 0 && a.applied+1 >= lsn:
		a.steps = append(a.steps[:0], step{lsn, a.bytes, at})
	case n == 0, a.bytes-a.steps[n-1].bytes >= stepBytes, at.Sub(a.steps[n-1].at) >= stepAge:
		a.steps = append(a.steps, step{lsn, a.bytes, at})
	}
	a.bytes += bytes
}

// advance moves the applied position.
func (a *admission) advance(upTo, open LSN) {
	a.applied, a.open = upTo, upTo+1
	if open > 0 {
		a.open = min(open, a.open)
	}
	i := 0
	for i+1 < len(a.steps) && a.steps[i+1].lsn <= a.applied+1 {
		i++
	}
	a.steps = a.steps[i:]
}

// rewind moves the applied position back to that of a restored database, and counts what the database lacks by whole segments.
// The last of them is written up to offset.
func (a *admission) rewind(applied LSN, list []segment, offset int64, now time.Time) {
	bytes, end := a.bytes, offset
	a.steps = nil
	for i, s := range slices.Backward(list) {
		if i < len(list)-1 {
			if list[i+1].first <= applied+1 {
				break
			}
			end = s.size
		}
		bytes -= end - headerBytes
		a.steps = append(a.steps, step{s.first, bytes, now})
	}
	slices.Reverse(a.steps)
}

// Applied records that all records up to upTo were applied elsewhere, and that running calls still need those from open on.
// Open is upTo+1 or zero when no call needs any. Applied removes nothing itself.
func (l *Log) Applied(upTo, open LSN) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.admission.advance(max(l.admission.applied, min(upTo, l.appender.durable)), open)
	l.updateAdmission(l.o.Now())
}

// StartAfter sets what the database has: all records up to applied, of which calls that never ended still need those from open on. Open is
// zero when no call is open. Applied records no longer count as unapplied, whichever process wrote them; what a restored database lacks
// counts again. An empty journal numbers its records from the one after applied, because the database ignores records up to its cursor.
// StartAfter fails when the journal has records and ends before applied: it is an older copy or lost its end.
func (l *Log) StartAfter(applied, open LSN) error {
	if err := l.startAfter(applied, open); err != nil {
		return err
	}
	if err := l.Tidy(); err != nil { // A disk that was full may have free space again.
		l.o.Log.Warn("journal segment preparation failed", "error", err)
	}
	return nil
}

func (l *Log) startAfter(applied, open LSN) error {
	l.flusher.mu.Lock()
	defer l.flusher.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	a, list := &l.appender, l.segments.all()
	if a.last < applied {
		if a.last > 0 || len(list) > 0 {
			return fmt.Errorf("journal: it ends with record %d, and the books applied record %d already: it lost its end, or is an older copy. "+
				"Put the right files back, or move the journal's folder away to begin a new one", a.last, applied)
		}
		a.last, a.written, a.durable = applied, applied, applied
	}
	now := l.o.Now()
	if applied < l.admission.applied {
		l.admission.rewind(applied, list, l.flusher.offset, now)
	}
	l.admission.advance(applied, open)
	l.updateAdmission(now)
	return nil
}

// unapplied is an upper bound of the unapplied bytes, too high by one step at most. The caller holds mu.
func (l *Log) unapplied(now time.Time) (bytes int64, age time.Duration) {
	a, waiting := &l.admission, int64(len(l.appender.buffer))
	if a.applied >= l.appender.written || len(a.steps) == 0 {
		return waiting, 0
	}
	return a.bytes - a.steps[0].bytes + waiting, max(0, now.Sub(a.steps[0].at))
}

// updateAdmission sets whether the log gives claims, and how many. The caller holds mu.
func (l *Log) updateAdmission(now time.Time) {
	bytes, age := l.unapplied(now)
	why := admitting
	switch {
	case l.appender.err != nil:
		why = dead
	case len(l.appender.buffer) > waitingBytesStop:
		why = congested
	case !l.appender.busy.IsZero() && now.Sub(l.appender.busy) > stalledAfter:
		why = stalled
	case bytes > l.o.UnappliedBytesMax:
		why = behind
	case age > l.o.UnappliedAgeMax:
		why = late
	case l.admission.freeBytes < l.o.FreeBytesMin:
		why = full
	}
	l.admission.refuse(why, now)
	// Appended records that are not yet written take space too, and so does the unused end of a segment.
	quarter := l.o.SegmentBytes / 4
	slack := min(waitingBytesStop, quarter) + min(int64(room(l.recordMax)), quarter)
	roomBytes, spareBytes := l.segments.roomBytes.Load(), l.segments.spareBytes.Load()
	if spareBytes == 0 {
		slack += quarter
	}
	l.admission.claimsMax.Store(max(0, (roomBytes+spareBytes-slack)/l.o.ClaimBytes))
}

// Broken returns why the log gives no claims and will give none for long: the journal is dead, the disk is full, slow or
// unresponsive, or the database has been behind for too long. It returns nil while claims are refused only for a moment.
func (l *Log) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.appender.err; err != nil {
		return fmt.Errorf("%w: %w", dead, err)
	}
	now := l.o.Now()
	l.updateAdmission(now)
	why := l.admission.reason()
	lasting := why != admitting && (why != congested || now.Sub(l.admission.since) > stalledAfter)
	switch {
	case lasting:
		return why
	case l.admission.claimsMax.Load() == 0:
		return roomless
	}
	return nil
}
