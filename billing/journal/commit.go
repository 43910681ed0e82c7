package journal

import (
	"fmt"
	"time"
)

// Commit writes what was appended and makes it durable: one write and one sync for all callers that wait. After an error the
// log is dead.
func (l *Log) Commit() error { return l.flush(true) }

// Write passes what was appended to the operating system, so it survives a kill of the process, but not a power cut.
func (l *Log) Write() error { return l.flush(false) }

func (l *Log) flush(sync bool) error {
	l.io.Lock()
	defer l.io.Unlock()
	l.mu.Lock()
	if l.err != nil {
		defer l.mu.Unlock()
		return unavailable(l.err)
	}
	batch, first, last, durable := l.buffer, l.written+1, l.last, l.durable
	if len(batch) == 0 && (!sync || durable == last) {
		l.mu.Unlock()
		return nil
	}
	l.buffer, l.free = l.free[:0], nil
	if sync {
		l.taken = last
		l.syncing, l.next = l.next, make(chan struct{})
	}
	now := l.o.Now()
	l.busy = now
	l.mu.Unlock()

	err := l.put(batch, first, durable)
	if err == nil && sync {
		err = l.current.Sync()
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = time.Time{}
	if err != nil {
		l.fail(err)
		return unavailable(err)
	}
	if cap(batch) <= keptBufferBytes {
		l.free = batch
	}
	if len(batch) > 0 {
		l.writes++
		l.records += int64(last - first + 1)
		l.measure(first, int64(len(batch)), now)
	}
	l.written = last
	l.usage.roomBytes = l.segments[len(l.segments)-1].size - l.offset
	if sync {
		l.commits++
		l.durable = last
		close(l.syncing)
	}
	l.judge(now)
	return nil
}

// fail ends the log: every waiter gets the error, and the log acknowledges nothing more. The caller holds mu.
func (l *Log) fail(err error) {
	if l.err != nil {
		return
	}
	l.err = err
	l.refuse(dead, l.o.Now())
	if l.taken > l.durable {
		close(l.syncing)
	}
	close(l.next)
}

// put writes records in as many segments as they need. A record is never split.
func (l *Log) put(batch []byte, lsn, durable LSN) error {
	start, end := 0, 0
	for end < len(batch) {
		n := seal(batch[end:], durable)
		if l.current == nil || l.offset+int64(end-start+n) > l.sizeOfCurrent() {
			if err := l.writeOut(batch[start:end]); err != nil {
				return err
			}
			if err := l.begin(lsn); err != nil {
				return err
			}
			start = end
		}
		end += n
		lsn++
	}
	return l.writeOut(batch[start:end])
}

func (l *Log) sizeOfCurrent() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[len(l.segments)-1].size
}

func (l *Log) writeOut(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if _, err := l.current.WriteAt(b, l.offset); err != nil {
		return err
	}
	l.offset += int64(len(b))
	return nil
}

// begin continues in the next segment. The previous segment is durable before the new header is written, and the header
// before any record. So only the last segment can be torn, and a missing header means a lost one.
func (l *Log) begin(first LSN) error {
	if l.current != nil {
		if err := l.current.Sync(); err != nil {
			return err
		}
	}
	next, err := l.takeSpare()
	if err != nil {
		return fmt.Errorf("prepare a segment: %w", err)
	}
	s := segment{index: next.index, first: first, size: next.size, made: l.o.Now(), owner: l.o.Owner}
	if _, err := next.file.WriteAt(s.header(), 0); err != nil {
		return err
	}
	if err := next.file.Sync(); err != nil {
		return err
	}
	if l.current != nil {
		l.current.Close()
	}
	l.current, l.offset = next.file, headerBytes
	l.mu.Lock()
	l.segments = append(l.segments, s)
	l.usage.spareBytes = 0
	l.mu.Unlock()
	signal(l.tidy)
	return nil
}

// takeSpare returns the prepared segment, or makes one when records arrived faster than Tidy runs.
func (l *Log) takeSpare() (*spare, error) {
	l.making.Lock()
	defer l.making.Unlock()
	if err := l.prepare(); err != nil {
		return nil, err
	}
	s := l.spare
	if s.file == nil {
		f, err := l.disk.Open(nameOf(s.index))
		if err != nil {
			return nil, err
		}
		s.file = f
	}
	l.spare = nil
	return s, nil
}

// prepare makes the spare segment if there is none. The caller holds making.
func (l *Log) prepare() error {
	if l.spare != nil {
		return nil
	}
	f, err := l.disk.Create(nameOf(l.nextIndex), l.o.SegmentBytes)
	if err != nil {
		return err
	}
	l.spare = &spare{index: l.nextIndex, size: l.o.SegmentBytes, file: f}
	l.nextIndex++
	return nil
}
