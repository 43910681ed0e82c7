package journal

import (
	"errors"
	"time"
)

const (
	waitingBytesMax  = 64 << 20 // At most this much may be appended and not yet written; more is refused.
	waitingBytesStop = 4 << 20  // Admission stops above this size of the buffer, because the disk does not keep up.
	keptBufferBytes  = 1 << 20  // A larger buffer is not reused.
)

// appender holds the records that were appended and not yet written, and knows how far the others are written. The log's mu guards it.
type appender struct {
	buffer  []byte // These records must still be written; they have no checksums yet.
	free    []byte // This is the other buffer, while it is not being written.
	last    LSN    // Records up to here were appended.
	written LSN    // Records up to here survive a kill.
	durable LSN    // Records up to here survive a power cut.
	wanted  LSN    // A caller waits for this record.
	taken   LSN    // The running or last sync makes records up to here durable.
	syncing chan struct{}
	next    chan struct{} // This belongs to the sync after the running one.
	busy    time.Time     // A write or sync has been running since this time; zero when none runs.
	err     error         // The log is dead for this reason.
	running bool          // Run commits for waiting callers.

	records, writes, commits int64
}

// batch is what one flush writes.
type batch struct {
	bytes       []byte
	first, last LSN
	durable     LSN       // Records up to here were durable when the batch was taken.
	at          time.Time // The batch was taken at this time.
	sync        bool      // The flush ends with a sync.
}

// append adds a record to the next batch and returns its number.
func (a *appender) append(kind Kind, data []byte) (LSN, error) {
	if a.err != nil {
		return 0, unavailable(a.err)
	}
	if len(a.buffer)+room(len(data)) > waitingBytesMax {
		return 0, unavailable(errors.New("journal: the disk does not keep up"))
	}
	a.last++
	a.buffer = appendRecord(a.buffer, a.last, kind, data)
	return a.last, nil
}

// take starts a flush and returns its batch. It returns false when there is nothing to write or sync.
func (a *appender) take(sync bool, now time.Time) (batch, bool) {
	b := batch{bytes: a.buffer, first: a.written + 1, last: a.last, durable: a.durable, at: now, sync: sync}
	if len(b.bytes) == 0 && (!sync || b.durable == b.last) {
		return batch{}, false
	}
	a.buffer, a.free, a.busy = a.free[:0], nil, now
	if sync {
		a.taken = b.last
		a.syncing, a.next = a.next, make(chan struct{})
	}
	return b, true
}

// finish records that a batch was written, and wakes the callers that wait for its sync.
func (a *appender) finish(b batch) {
	if cap(b.bytes) <= keptBufferBytes {
		a.free = b.bytes
	}
	if len(b.bytes) > 0 {
		a.writes++
		a.records += int64(b.last - b.first + 1)
	}
	a.written = b.last
	if b.sync {
		a.commits++
		a.durable = b.last
		close(a.syncing)
	}
}

// fail makes the appender refuse records, and wakes every waiting caller.
func (a *appender) fail(err error) {
	a.err = err
	if a.taken > a.durable {
		close(a.syncing)
	}
	close(a.next)
}
