package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
)

const (
	waitingBytesMax  = 64 << 20 // At most this much may be appended and not yet written; more is refused.
	waitingBytesStop = 4 << 20  // Admission stops above this size of the buffer, because the disk does not keep up.
	keptBufferBytes  = 1 << 20  // A larger buffer is not reused.
	retryAfter       = 5 * time.Second
)

// Log is an open journal. It is safe for concurrent use. After the first failed write or sync it is dead: it acknowledges
// nothing more, because the content of the disk is unknown.
type Log struct {
	disk      Disk
	o         Options
	recordMax int

	claims, claimsMax atomic.Int64
	refusing          atomic.Int32 // This is why claims are refused. It changes only while mu is held.

	mu       sync.Mutex
	since    time.Time // This is when refusing last changed.
	buffer   []byte    // These records must still be written; they have no checksums yet.
	free     []byte    // This is the other buffer, while it is not being written.
	last     LSN       // Records up to here were appended.
	written  LSN       // Records up to here survive a kill.
	durable  LSN       // Records up to here survive a power cut.
	wanted   LSN       // A caller waits for this record.
	taken    LSN       // The running or last sync makes records up to here durable.
	syncing  chan struct{}
	next     chan struct{} // This belongs to the sync after the running one.
	busy     time.Time     // A write or sync has been running since this time.
	err      error
	segments []segment
	usage    usage
	records  int64
	commits  int64
	writes   int64
	running  bool

	io      sync.Mutex // Writes run one after the other; io protects the fields below.
	current File
	offset  int64

	making    sync.Mutex // Segments are made and removed one after the other. A goroutine locks making after io.
	nextIndex uint64
	spare     *spare

	reading sync.Mutex
	follow  follower

	wake, hurry, tidy chan struct{}
}

// spare is a segment that is made and has no header yet.
type spare struct {
	index uint64
	size  int64
	file  File
}

// Append adds a record to the next write and returns its number. It never waits for the disk, and copies data.
func (l *Log) Append(kind Kind, data []byte) (LSN, error) {
	if len(data) > l.recordMax {
		return 0, fmt.Errorf("journal: a record of %d bytes, and at most %d fit", len(data), l.recordMax)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, unavailable(l.err)
	}
	before := len(l.buffer)
	if before+room(len(data)) > waitingBytesMax {
		return 0, unavailable(errors.New("journal: the disk does not keep up"))
	}
	l.last++
	l.buffer = appendRecord(l.buffer, l.last, kind, data)
	if before == 0 {
		signal(l.wake)
	}
	if before <= waitingBytesStop && len(l.buffer) > waitingBytesStop && reason(l.refusing.Load()) == admitting {
		l.refuse(congested, l.o.Now())
	}
	return l.last, nil
}

// Wait returns nil when the record and all before it survive a power cut. When Run does not run, the caller itself commits.
// An error that is app.Unavailable means that the log is dead and that the record may exist or not.
func (l *Log) Wait(ctx context.Context, lsn LSN) error {
	for {
		l.mu.Lock()
		if lsn <= l.durable {
			l.mu.Unlock()
			return nil
		}
		if err := l.err; err != nil {
			l.mu.Unlock()
			return unavailable(err)
		}
		if lsn > l.last {
			l.mu.Unlock()
			return fmt.Errorf("journal: record %d was never appended", lsn)
		}
		done, running := l.next, l.running
		if lsn <= l.taken {
			done = l.syncing
		} else if l.wanted < lsn {
			l.wanted = lsn
			signal(l.hurry)
		}
		l.mu.Unlock()
		if !running {
			if err := l.Commit(); err != nil {
				return err
			}
			continue
		}
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func unavailable(cause error) error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"The service cannot record new work right now. Nothing was charged; try again in a few seconds.").Because(cause).After(retryAfter)
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

// lasts reports whether claims, refused for the reason since the given time, will be refused for long.
func (r reason) lasts(refused time.Duration) bool {
	switch r {
	case admitting:
		return false
	case congested:
		return refused > stalledAfter
	case dead, stalled, behind, late, full, roomless:
		return true
	}
	return true
}

// Claim reserves space for what one call will write, which guarantees that an admitted call can be recorded. It fails with
// app.Unavailable while the journal cannot guarantee that. Unclaim ends each claim.
func (l *Log) Claim() error {
	if r := reason(l.refusing.Load()); r != admitting {
		return unavailable(r)
	}
	if l.claims.Add(1) > l.claimsMax.Load() {
		l.claims.Add(-1)
		return unavailable(roomless)
	}
	return nil
}

// Unclaim ends a claim. Call it after the last Append of the call, or when there is nothing to append.
func (l *Log) Unclaim() { l.claims.Add(-1) }

// First is the oldest record that the log still has, or the next one when there is none.
func (l *Log) First() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.firstKept()
}

func (l *Log) firstKept() LSN {
	if len(l.segments) > 0 {
		return l.segments[0].first
	}
	return l.written + 1
}

// Last is the newest record that was appended.
func (l *Log) Last() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Durable is the newest record that survives a power cut.
func (l *Log) Durable() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// Err is nil while the log works, and then the reason why it is dead.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// StartAfter sets what the database has: all records up to applied, of which calls that never ended still need those from
// open on. Open is zero when no call is open. Applied records no longer count as unapplied, whichever process wrote them;
// what a restored database lacks counts again. An empty journal numbers its records from the one after applied, because the
// database ignores records up to its cursor. StartAfter fails when the journal has records and ends before applied: it is an
// older copy or lost its end.
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
	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last < applied {
		if l.last > 0 || len(l.segments) > 0 {
			return fmt.Errorf("journal: it ends with record %d, and the books applied record %d already: it lost its end, or is an older copy. "+
				"Put the right files back, or move the journal's folder away to begin a new one", l.last, applied)
		}
		l.last, l.written, l.durable = applied, applied, applied
	}
	l.resetApplied(applied, open)
	return nil
}

// Close commits what is left and closes the files. The log is then dead.
func (l *Log) Close() error {
	err := l.Commit()
	l.io.Lock()
	defer l.io.Unlock()
	l.making.Lock()
	defer l.making.Unlock()
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(errClosed)
	errs := []error{err, l.follow.close()}
	if l.current != nil {
		errs = append(errs, l.current.Close())
		l.current = nil
	}
	if l.spare != nil && l.spare.file != nil {
		errs = append(errs, l.spare.file.Close())
		l.spare = nil
	}
	return errors.Join(errs...)
}

var errClosed = errors.New("journal: it was closed")
