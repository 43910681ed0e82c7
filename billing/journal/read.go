package journal

import (
	"errors"
	"fmt"
)

// follower is the position where the last Read stopped, where the next one usually continues.
type follower struct {
	segment segment
	file    File
	reader  *reader
	// The last Read began with the record begun at this offset. While the database is away, the owner reads from there again.
	begun       LSN
	begunOffset int64
}

func (f *follower) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	*f = follower{}
	return err
}

// Synced has a value when records have become durable since the last one was received. It is for the one reader of the log.
func (l *Log) Synced() <-chan struct{} { return l.flusher.synced }

// Read calls visit for the durable records after the given one, in order, up to a number of records or bytes. It returns the
// last record that visit accepted without an error. It fails when a requested record was removed.
func (l *Log) Read(after LSN, recordsMax, bytesMax int, visit func(Record) error) (LSN, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.mu.Lock()
	durable, first := l.appender.durable, l.firstKept()
	l.mu.Unlock()
	if after >= durable {
		return after, nil
	}
	if after+1 < first {
		return after, fmt.Errorf("journal: record %d is wanted, and the oldest that is kept is %d", after+1, first)
	}
	if l.follow.reader != nil {
		l.follow.reader.forget()
	}
	bytes := 0
	for n := 0; n < recordsMax && bytes < bytesMax && after < durable; n++ {
		rec, err := l.read(after + 1)
		if err != nil {
			return after, err
		}
		if n == 0 {
			l.follow.begun, l.follow.begunOffset = rec.LSN, l.follow.reader.offset
		}
		if err := visit(rec); err != nil {
			return after, err
		}
		l.follow.reader.skip(rec)
		after = rec.LSN
		bytes += len(rec.Data)
	}
	return after, nil
}

// read reads one durable record, which must exist.
func (l *Log) read(lsn LSN) (Record, error) {
	switch r := l.follow.reader; {
	case r != nil && r.next == lsn:
	case r != nil && l.follow.begun == lsn:
		r.offset, r.next = l.follow.begunOffset, lsn
	default:
		if err := l.seek(lsn); err != nil {
			return Record{}, err
		}
	}
	rec, _, err := l.follow.reader.record()
	if errors.Is(err, errEnd) { // The next segment begins with the record.
		if err = l.seek(lsn); err == nil {
			rec, _, err = l.follow.reader.record()
		}
	}
	if err != nil {
		f := &l.follow
		err = fmt.Errorf("journal: %s: record %d cannot be read at byte %d: %w", f.segment.name(), lsn, f.reader.offset, err)
	}
	return rec, err
}

// seek moves to a durable record from the beginning of its segment.
func (l *Log) seek(lsn LSN) error {
	list := l.segments.all()
	s := list[0]
	for _, later := range list[1:] {
		if later.first <= lsn {
			s = later
		}
	}
	if err := l.follow.close(); err != nil {
		return err
	}
	file, err := l.disk.Open(s.name())
	if err != nil {
		return err
	}
	r := newReader(file, s)
	l.follow = follower{segment: s, file: file, reader: r}
	for r.next < lsn {
		rec, _, err := r.record()
		if err != nil {
			return fmt.Errorf("journal: %s: record %d cannot be read at byte %d: %w", s.name(), r.next, r.offset, err)
		}
		r.skip(rec)
	}
	return nil
}
