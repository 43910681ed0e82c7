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
	waitingBytesMax  = 64 << 20 // appended and not yet written; more is refused
	waitingBytesStop = 4 << 20  // admission stops beyond it: the disk does not keep up
	keptBufferBytes  = 1 << 20  // a larger buffer is not used again
	retryAfter       = 5 * time.Second
)

// Log is an open journal. It is safe for concurrent use. After the first failed write or sync it is dead: nothing is
// acknowledged any more, as nobody knows what the disk has.
type Log struct {
	disk      Disk
	o         Options
	recordMax int

	claims, claimsMax atomic.Int64
	refusing          atomic.Int32 // the reason why claims are refused; changed with mu held

	mu       sync.Mutex
	since    time.Time // when refusing became what it is
	buffer   []byte    // records to be written, without checksums
	free     []byte    // the other buffer, while it is not being written
	last     LSN       // appended
	written  LSN       // survives a kill
	durable  LSN       // survives a power cut
	wanted   LSN       // somebody waits for it
	taken    LSN       // what the sync under way, or the last one, makes durable
	syncing  chan struct{}
	next     chan struct{} // of the sync after that
	busy     time.Time     // since when a write or sync is under way
	err      error
	segments []segment
	usage    usage
	records  int64
	commits  int64
	writes   int64
	running  bool

	io      sync.Mutex // writes go one after the other, and these fields are theirs
	current File
	offset  int64

	making    sync.Mutex // segments are made and removed one after the other; taken after io
	nextIndex uint64
	spare     *spare

	reading sync.Mutex
	follow  follower

	wake, hurry, tidy chan struct{}
}

// spare is a segment that is made and not begun.
type spare struct {
	index uint64
	size  int64
	file  File
}

// Append adds a record to the next write and says its number. It never waits for the disk, and copies data.
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

// Wait returns nil when the record and all before it survive a power cut. While Run does not, the caller itself commits.
// An error that is app.Unavailable says that the log is dead, and that the record may be there or not.
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

// lasts reports whether claims that are refused for the reason since then will be refused for long.
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

// Claim sets room aside for what one call will write, so that a call that was admitted can always be recorded. It refuses
// with app.Unavailable while the journal could not keep that promise for long. Unclaim ends each claim that was given.
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

// Unclaim ends a claim: after the last Append of its call, or when there is nothing to append.
func (l *Log) Unclaim() { l.claims.Add(-1) }

// First is the oldest record that is kept, or the next one when there is none.
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

// Err is nil while the log lives, and then why it is dead.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// StartAfter tells the journal what the books have: all records up to applied, of which those from open on are still needed
// by calls that never ended. Open is zero when no call is open. What is applied counts as unapplied no longer, whichever run
// wrote it; after books that were restored to an earlier point, what they lack counts again. An empty journal numbers its
// records from the one after applied, as the books drop what is not newer than their cursor. StartAfter fails when the
// journal has records and ends before applied: it is an older copy or lost its end.
func (l *Log) StartAfter(applied, open LSN) error {
	if err := l.startAfter(applied, open); err != nil {
		return err
	}
	if err := l.Tidy(); err != nil { // a disk that is short of room has some again
		l.o.Log.Warn("the journal has no room prepared", "error", err)
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

// Close commits what is left and closes the files. The log is dead afterwards.
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
