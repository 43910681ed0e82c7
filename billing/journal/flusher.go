package journal

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"umg/app"
)

// flusher writes batches of records into segments. Its mutex guards current, offset and size, and is held during a whole flush, so batches
// are written one after the other. The log's mutexes are locked in the order flusher.mu, segments.making, Log.mu, segments.mu.
type flusher struct {
	segments *segments
	owner    string
	now      app.Clock

	mu           sync.Mutex
	current      File  // The last segment is open for writing; nil before the first record.
	offset, size int64 // The next record is written at offset; the segment has size bytes.

	// WriteAt fires some time after the first record of a batch was appended, unless the batch was written by then. A goroutine that is
	// woken for each batch would cost more than the write of most.
	writeAt     *time.Timer
	hurry, tidy chan struct{} // Run waits for them: a caller waits or the log is dead, Tidy has work.
	synced      chan struct{} // The reader waits for it: more records are durable.
}

// Commit writes what was appended and makes it durable: one write and one sync for all callers that wait. After an error the log is dead.
func (l *Log) Commit() error { return l.flush(true, 0) }

// Write passes what was appended to the operating system, so it survives a kill of the process, but not a power cut.
func (l *Log) Write() error { return l.flush(false, 0) }

// Wait returns nil when the record and all before it survive a power cut. The caller itself commits when Run does not run, or when the
// context cannot end and no flush runs. An error that is app.Unavailable means that the log is dead and that the record may exist or not.
func (l *Log) Wait(ctx context.Context, lsn LSN) error {
	a := &l.appender
	for {
		l.mu.Lock()
		if lsn <= a.durable {
			l.mu.Unlock()
			return nil
		}
		if err := a.err; err != nil {
			l.mu.Unlock()
			return unavailable(err)
		}
		if lsn > a.last {
			l.mu.Unlock()
			return fmt.Errorf("journal: record %d was never appended", lsn)
		}
		done := a.next
		// A caller that waits without an end commits by itself while no flush runs, which takes less than to wake Run and be woken.
		commits := !a.running || ctx.Done() == nil && a.busy.IsZero()
		switch {
		case lsn <= a.taken:
			done = a.syncing
		case !commits && a.wanted < lsn:
			a.wanted = lsn
			app.Wake(l.flusher.hurry)
		}
		l.mu.Unlock()
		if commits {
			letOthersAppend()
			if err := l.flush(true, lsn); err != nil {
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

// appendYields is how often a commit lets other goroutines run first.
const appendYields = 4

// letOthersAppend makes a commit larger while the machine is busy: calls that are ready to go on append their records before it. It takes
// less than a microsecond while nothing else is ready.
func letOthersAppend() {
	for range appendYields {
		runtime.Gosched()
	}
}

// flush writes what was appended, unless the record wanted is durable already; zero for all records.
func (l *Log) flush(sync bool, wanted LSN) error {
	f := &l.flusher
	f.mu.Lock()
	defer f.mu.Unlock()
	l.mu.Lock()
	if l.appender.err != nil {
		defer l.mu.Unlock()
		return unavailable(l.appender.err)
	}
	if wanted > 0 && wanted <= l.appender.durable { // Another caller has committed it.
		l.mu.Unlock()
		return nil
	}
	b, ok := l.appender.take(sync, l.o.Now())
	f.writeAt.Stop()
	l.mu.Unlock()
	if !ok {
		return nil
	}

	err := f.put(b.bytes, b.first, b.durable)
	if err == nil && sync {
		err = f.current.Sync()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.appender.busy = time.Time{}
	if err != nil {
		l.fail(err)
		return unavailable(err)
	}
	if len(b.bytes) > 0 {
		l.admission.measure(b.first, int64(len(b.bytes)), b.at)
	}
	l.segments.roomBytes.Store(f.size - f.offset)
	l.appender.finish(b)
	if b.sync {
		app.Wake(f.synced)
	}
	l.updateAdmission(b.at)
	return nil
}

// put writes records in as many segments as they need. A record is never split.
func (f *flusher) put(records []byte, lsn, durable LSN) error {
	start, end := 0, 0
	for end < len(records) {
		n := seal(records[end:], durable)
		if f.current == nil || f.offset+int64(end-start+n) > f.size {
			if err := f.writeOut(records[start:end]); err != nil {
				return err
			}
			if err := f.begin(lsn); err != nil {
				return err
			}
			start = end
		}
		end += n
		lsn++
	}
	return f.writeOut(records[start:end])
}

func (f *flusher) writeOut(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if _, err := f.current.WriteAt(b, f.offset); err != nil {
		return err
	}
	f.offset += int64(len(b))
	return nil
}

// begin continues in the next segment. The previous segment is durable before the new header is written, and the header
// before any record. So only the last segment can be torn, and a missing header means a lost one.
func (f *flusher) begin(first LSN) error {
	if f.current != nil {
		if err := f.current.Sync(); err != nil {
			return err
		}
	}
	next, err := f.segments.takeSpare()
	if err != nil {
		return fmt.Errorf("prepare a segment: %w", err)
	}
	s := segment{index: next.index, first: first, size: next.size, made: f.now(), owner: f.owner}
	if _, err := next.file.WriteAt(s.header(), 0); err != nil {
		return err
	}
	if err := next.file.Sync(); err != nil {
		return err
	}
	if f.current != nil {
		f.current.Close()
	}
	f.current, f.offset, f.size = next.file, headerBytes, s.size
	f.segments.add(s)
	app.Wake(f.tidy)
	return nil
}

// Close commits what is left and closes the files. The log is then dead.
func (l *Log) Close() error {
	err := l.Commit()
	l.flusher.mu.Lock()
	defer l.flusher.mu.Unlock()
	l.segments.making.Lock()
	defer l.segments.making.Unlock()
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail(errClosed)
	errs := []error{err, l.follow.close()}
	if current := l.flusher.current; current != nil {
		errs = append(errs, current.Close())
		l.flusher.current = nil
	}
	if s := l.segments.spare; s != nil && s.file != nil {
		errs = append(errs, s.file.Close())
		l.segments.spare = nil
	}
	return errors.Join(errs...)
}

var errClosed = errors.New("journal: it was closed")
