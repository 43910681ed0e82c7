package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
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

// First is the oldest record that the log still has, or the next one when there is none.
func (l *Log) First() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.firstKept()
}

// firstKept is First for a caller that holds mu.
func (l *Log) firstKept() LSN {
	if list := l.segments.all(); len(list) > 0 {
		return list[0].first
	}
	return l.appender.written + 1
}

// Read returns the durable records after the given one, in order, up to a number of records or bytes. The data of a record is valid until
// the next one. An error comes without a record and is the last pair: a requested record was removed or cannot be read.
func (l *Log) Read(after LSN, recordsMax, bytesMax int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l.reading.Lock()
		defer l.reading.Unlock()
		l.mu.Lock()
		durable, first := l.appender.durable, l.firstKept()
		l.mu.Unlock()
		if after >= durable {
			return
		}
		if after+1 < first {
			yield(Record{}, fmt.Errorf("journal: record %d is wanted, and the oldest that is kept is %d", after+1, first))
			return
		}
		if l.follow.reader != nil {
			l.follow.reader.forget()
		}
		bytes := 0
		for n := 0; n < recordsMax && bytes < bytesMax && after < durable; n++ {
			rec, err := l.read(after + 1)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if n == 0 {
				l.follow.begun, l.follow.begunOffset = rec.LSN, l.follow.reader.offset
			}
			l.follow.reader.skip(rec)
			if !yield(rec, nil) {
				return
			}
			after = rec.LSN
			bytes += len(rec.Data)
		}
	}
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

// reader reads the records of one segment in order.
type reader struct {
	file   io.ReaderAt
	size   int64
	offset int64 // This is the offset of the next record.
	next   LSN   // This is the number of the next record.

	buf    []byte // These bytes were read from the file.
	at     int64  // The buffer begins at this offset of the file.
	window int    // The next read has this many bytes.
}

func newReader(f io.ReaderAt, s segment) *reader {
	return &reader{file: f, size: s.size, offset: headerBytes, next: s.first}
}

// forget discards the buffer, because more may have been written since it was read.
func (r *reader) forget() { r.buf, r.window = r.buf[:0], windowAtFirst }

// peek returns the n bytes at the offset, and reads them in windows that grow.
func (r *reader) peek(offset int64, n int) ([]byte, error) {
	if i := offset - r.at; i >= 0 && i+int64(n) <= int64(len(r.buf)) {
		return r.buf[i : i+int64(n)], nil
	}
	want := int(min(int64(max(n, r.window)), r.size-offset))
	r.window = min(max(2*r.window, windowAtFirst), windowBytes)
	if want < n {
		return nil, errEnd
	}
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	r.buf, r.at = r.buf[:want], offset
	if got, err := r.file.ReadAt(r.buf, offset); got < want {
		r.buf = r.buf[:0]
		return nil, err
	}
	return r.buf[:n], nil
}

// record reads the next record and its lag, without moving past it. Zeros and the end of the segment are errEnd; anything
// else that is not the record with the next number is errBroken.
func (r *reader) record() (rec Record, lag uint32, err error) {
	rec, lag, err = r.recordAt(r.offset)
	if err == nil && rec.LSN != r.next {
		return Record{}, 0, errBroken
	}
	return rec, lag, err
}

func (r *reader) recordAt(offset int64) (Record, uint32, error) {
	p, err := r.peek(offset, prefixBytes)
	if err != nil {
		return Record{}, 0, err
	}
	dataBytes := binary.LittleEndian.Uint32(p)
	if dataBytes == 0 && zeros(p) {
		return Record{}, 0, errEnd
	}
	if dataBytes > RecordBytesMax {
		return Record{}, 0, errBroken
	}
	p, err = r.peek(offset, room(int(dataBytes)))
	if err != nil {
		if errors.Is(err, errEnd) {
			err = errBroken
		}
		return Record{}, 0, err
	}
	if binary.LittleEndian.Uint32(p[4:]) != checksum(p) {
		return Record{}, 0, errBroken
	}
	end := prefixBytes + int(dataBytes)
	rec := Record{LSN: LSN(binary.LittleEndian.Uint64(p[8:])), Kind: Kind(p[20]), Data: p[prefixBytes:end:end]}
	return rec, binary.LittleEndian.Uint32(p[16:]), nil
}

// skip moves past the record that was just read.
func (r *reader) skip(rec Record) {
	r.offset += int64(room(len(rec.Data)))
	r.next = rec.LSN + 1
}
