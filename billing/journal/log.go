package journal

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"umg/app"
)

const retryAfter = 5 * time.Second

// Log is an open journal. It is safe for concurrent use. After the first failed write or sync it is dead: it acknowledges
// nothing more, because the content of the disk is unknown.
type Log struct {
	disk      Disk
	o         Options
	recordMax int

	segments segments // It has its own mutexes.
	flusher  flusher  // It has its own mutex.

	mu        sync.Mutex // It guards appender and admission, and is never held during an operation of the disk.
	appender  appender
	admission admission

	reading sync.Mutex // It guards follow.
	follow  follower
}

// Append adds a record to the next write and returns its number. It never waits for the disk, and copies data.
func (l *Log) Append(kind Kind, data []byte) (LSN, error) {
	if len(data) > l.recordMax {
		return 0, fmt.Errorf("journal: a record of %d bytes, and at most %d fit", len(data), l.recordMax)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.appender.buffer)
	lsn, err := l.appender.append(kind, data)
	if err != nil {
		return 0, err
	}
	if before == 0 {
		l.flusher.writeAt.Reset(writeWithin)
	}
	if before <= waitingBytesStop && len(l.appender.buffer) > waitingBytesStop && l.admission.reason() == admitting {
		l.admission.refuse(congested, l.o.Now())
	}
	return lsn, nil
}

func unavailable(cause error) error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"The service cannot record new work right now. Nothing was charged; try again in a few seconds.").Because(cause).After(retryAfter)
}

// fail ends the log: every waiter gets the error, and the log acknowledges nothing more. The caller holds mu.
func (l *Log) fail(err error) {
	if l.appender.err == nil {
		l.admission.refuse(dead, l.o.Now())
		l.appender.fail(err)
		app.Wake(l.flusher.hurry) // Run ends.
	}
}

// Last is the newest record that was appended.
func (l *Log) Last() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appender.last
}

// Durable is the newest record that survives a power cut.
func (l *Log) Durable() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appender.durable
}

// Err is nil while the log works, and then the reason why it is dead.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appender.err
}

// Tidy removes segments that are no longer needed, prepares the next one, reads the disk's free space, and updates whether
// claims are given. Run calls it once a second; a caller without Run must call it as often. After an error claims are refused
// until a later call succeeds.
func (l *Log) Tidy() error {
	l.segments.making.Lock()
	defer l.segments.making.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	free, err := l.disk.Free()
	if err != nil {
		free = 0
	}
	errs := []error{err, l.removeOld(free)}
	errs = append(errs, l.segments.prepare())
	if after, err := l.disk.Free(); err == nil {
		free = after
	}
	spareBytes := int64(0)
	if s := l.segments.spare; s != nil {
		spareBytes = s.size - headerBytes
	}
	l.segments.spareBytes.Store(spareBytes)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.admission.freeBytes = free
	l.updateAdmission(l.o.Now())
	return errors.Join(errs...)
}

// removeOld removes applied and closed segments, oldest first, when they are older than Keep or the disk is nearly full. The
// caller holds making.
func (l *Log) removeOld(freeBytes int64) error {
	for range removedSegments {
		l.mu.Lock()
		list, needed := l.segments.all(), min(l.admission.open, l.admission.applied+1)
		l.mu.Unlock()
		if len(list) < 2 || list[1].first > needed {
			return nil
		}
		oldest, ended := list[0], list[1].made
		short := freeBytes < l.o.FreeBytesMin+2*l.o.SegmentBytes
		if !short && l.o.Now().Sub(ended) <= l.o.Keep {
			return nil
		}
		if short {
			l.o.Log.Warn("journal segment removed early, disk nearly full", "file", oldest.name(), "free_bytes", freeBytes)
		}
		if err := l.segments.removeFirst(); err != nil {
			return err
		}
		freeBytes += oldest.size
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
	a := &l.appender
	bytes, age := l.unapplied(l.o.Now())
	return Stats{
		First: l.firstKept(), Last: a.last, Durable: a.durable, Applied: l.admission.applied,
		UnappliedBytes: bytes, UnappliedAge: age,
		FreeBytes: l.admission.freeBytes, Claims: l.admission.claims.Load(), Segments: int64(len(l.segments.all())),
		Records: a.records, Writes: a.writes, Commits: a.commits, Dead: a.err != nil,
	}
}
