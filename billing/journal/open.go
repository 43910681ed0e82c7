package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Open reads a whole journal and prepares it for writing. It truncates the end of the last segment that a crash tore. For any other damage
// or gap it fails with the file's name and the byte's offset, because acknowledged records would be lost. Open starts no goroutine.
func Open(disk Disk, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{
		disk: disk, o: o, recordMax: int(min(RecordBytesMax, o.SegmentBytes-headerBytes-prefixBytes)),
		appender: appender{syncing: make(chan struct{}), next: make(chan struct{})},
		segments: segments{disk: disk, size: o.SegmentBytes, nextIndex: 1},
		flusher: flusher{
			owner: o.Owner, now: o.Now, writeAt: stoppedTimer(), hurry: make(chan struct{}, 1),
			tidy: make(chan struct{}, 1), synced: make(chan struct{}, 1),
		},
	}
	l.flusher.segments = &l.segments
	if err := l.recover(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	l.appender.written, l.appender.durable = l.appender.last, l.appender.last
	l.segments.roomBytes.Store(l.flusher.size - l.flusher.offset)
	if err := l.Tidy(); err != nil { // Admission waits until Tidy succeeds.
		o.Log.Warn("journal segment preparation failed", "error", err)
	}
	return l, nil
}

// found is a file that was found at the start.
type found struct {
	name   string
	index  uint64
	file   File
	size   int64
	header segment
	state  error // This is errZeros, errHeader or nil.
}

func (l *Log) recover() error {
	files, err := l.find()
	if err != nil {
		return err
	}
	begun := len(files)
	for begun > 0 && files[begun-1].state != nil {
		begun--
	}
	if err := l.loadAll(files[:begun]); err != nil {
		return errors.Join(err, closeAll(files))
	}
	if err := l.takeUnused(files[begun:], begun); err != nil {
		return errors.Join(err, closeAll(files))
	}
	if begun > 0 {
		last := files[begun-1]
		l.flusher.current, l.flusher.size = last.file, last.size
		files = files[:begun-1]
	} else {
		files = nil
	}
	return closeAll(files)
}

// loadAll checks every header before it reads any record, so a missing file is reported as missing.
func (l *Log) loadAll(files []found) error {
	for i, f := range files {
		if i > 0 && f.index != files[i-1].index+1 {
			return fmt.Errorf("%s is missing: %s is followed by %s", nameOf(files[i-1].index+1), files[i-1].name, f.name)
		}
		if err := l.check(f); err != nil {
			return err
		}
	}
	for i, f := range files {
		if err := l.load(f, files[i+1:]); err != nil {
			return err
		}
	}
	return nil
}

func closeAll(files []found) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(errs...)
}

// find opens the journal's files and reads their headers.
func (l *Log) find() ([]found, error) {
	names, err := l.disk.List()
	if err != nil {
		return nil, err
	}
	var files []found
	for _, name := range names {
		index, ok := indexOf(name)
		if !ok {
			continue
		}
		f := found{name: name, index: index, state: errZeros}
		if f.file, err = l.disk.Open(name); err != nil {
			return nil, errors.Join(err, closeAll(files))
		}
		files = append(files, f)
		if err := files[len(files)-1].read(); err != nil {
			return nil, errors.Join(err, closeAll(files))
		}
	}
	return files, nil
}

func (f *found) read() (err error) {
	if f.size, err = f.file.Size(); err != nil {
		return err
	}
	b := make([]byte, min(headerBytes, f.size))
	if n, err := f.file.ReadAt(b, 0); n < len(b) {
		return fmt.Errorf("%s cannot be read at byte %d: %w", f.name, n, err)
	}
	if len(b) < headerBytes {
		if !zeros(b) {
			f.state = errHeader
		}
		return nil
	}
	f.header, f.state = parseHeader(b)
	return nil
}

// check refuses a file that is not the segment expected at its position.
func (l *Log) check(f found) error {
	switch {
	case f.state != nil:
		return corrupt(f.name, 0, f.state.Error())
	case f.header.owner != l.o.Owner:
		return fmt.Errorf("%s belongs to %q and not to %q: give each replica a folder of its own", f.name, f.header.owner, l.o.Owner)
	case f.header.index != f.index:
		return corrupt(f.name, 0, "it was renamed from "+f.header.name())
	case f.size != f.header.size:
		return corrupt(f.name, f.size, fmt.Sprintf("the file ends there, and had %d bytes", f.header.size))
	}
	return nil
}

func corrupt(name string, offset int64, what string) error {
	return fmt.Errorf("%s is corrupt at byte %d: %s. Put the file back as it was, or move the journal's folder away and lose "+
		"what was not applied", name, offset, what)
}

// load reads a segment to its end. For all but the last segment, the next one must begin there.
func (l *Log) load(f found, later []found) error {
	l.segments.add(f.header)
	l.segments.nextIndex = f.index + 1
	a := &l.appender
	a.last = f.header.first - 1
	r := newReader(f.file, f.header)
	lag, now := uint32(0), l.o.Now()
	for {
		rec, n, err := r.record()
		if errors.Is(err, errEnd) || errors.Is(err, errBroken) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read at byte %d: %w", f.name, r.offset, err)
		}
		r.skip(rec)
		lag, a.last, a.records = n, rec.LSN, a.records+1
		l.admission.measure(rec.LSN, int64(room(len(rec.Data))), now)
	}
	if len(later) > 0 {
		if first := later[0].header.first; r.next != first {
			return corrupt(f.name, r.offset,
				fmt.Sprintf("record %d is broken or missing, and %s begins with record %d", r.next, later[0].name, first))
		}
		return nil
	}
	l.flusher.offset = r.offset
	return l.repairTail(f, r, lag)
}

// repairTail truncates the torn end of the last segment, and makes the rest durable.
func (l *Log) repairTail(f found, r *reader, lag uint32) error {
	torn, err := torn(r)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if torn > r.offset {
		l.o.Log.Warn("journal tail truncated", "file", f.name, "at_byte", r.offset, "bytes", torn-r.offset)
	}
	blanks := make([]byte, min(windowBytes, torn-r.offset))
	for at := r.offset; at < torn; at += int64(len(blanks)) {
		if _, err := f.file.WriteAt(blanks[:min(int64(len(blanks)), torn-at)], at); err != nil {
			return err
		}
	}
	if err := l.rewrite(f, r.offset, lag); err != nil {
		return err
	}
	return f.file.Sync()
}

// rewrite writes the records again that may not be durable. After a failed sync the system may show bytes that are not on the
// disk, believe that they are, and omit them from the next sync.
func (l *Log) rewrite(f found, end int64, lag uint32) error {
	from, durable, last := newReader(f.file, f.header), LSN(0), l.appender.last
	if last > LSN(lag) {
		durable = last - LSN(lag)
	}
	start := int64(0) // A rewrite from the start includes the header.
	for from.next <= durable && from.next <= last {
		rec, _, err := from.record()
		if err != nil {
			return err
		}
		from.skip(rec)
		start = from.offset
	}
	b := make([]byte, windowBytes)
	for at := start; at < end; at += windowBytes {
		p := b[:min(windowBytes, end-at)]
		if n, err := f.file.ReadAt(p, at); n < len(p) {
			return err
		}
		if _, err := f.file.WriteAt(p, at); err != nil {
			return err
		}
	}
	return nil
}

// torn returns the end of the bytes after the last whole record. It reports rot when a later record among them says that the
// broken one was durable.
func torn(r *reader) (int64, error) {
	end := r.offset
	most := LSN(r.size / prefixBytes)
	for at := r.offset; at < r.size; at += alignBytes {
		p, err := r.peek(at, int(min(alignBytes, r.size-at)))
		if err != nil {
			return 0, err
		}
		if zeros(p) {
			at = r.skipZeros(at)
			continue
		}
		end = at + int64(len(p))
		if r.size-at < prefixBytes {
			continue
		}
		if p, err = r.peek(at, prefixBytes); err != nil {
			return 0, err
		}
		if lsn := LSN(binary.LittleEndian.Uint64(p[8:])); lsn <= r.next || lsn > r.next+most {
			continue
		}
		if rec, lag, err := r.recordAt(at); err == nil && rec.LSN-LSN(lag) >= r.next && LSN(lag) <= rec.LSN {
			return 0, fmt.Errorf("it is corrupt at byte %d: record %d is broken, and record %d at byte %d was written when it was durable",
				r.offset, r.next, rec.LSN, at)
		}
	}
	return end, nil
}

// skipZeros advances over whole blocks of zeros, and stops before the last step of the calling loop.
func (r *reader) skipZeros(at int64) int64 {
	for at+int64(len(blank)) <= r.size {
		p, err := r.peek(at, len(blank))
		if err != nil || !zeros(p) {
			return at
		}
		at += int64(len(blank)) - alignBytes
	}
	return at
}

// takeUnused keeps one whole file of zeros for the next segment and removes the others, which a crash left.
func (l *Log) takeUnused(files []found, begun int) error {
	for i, f := range files {
		if i > 0 && f.index != files[i-1].index+1 || i == 0 && begun > 0 && f.index != l.segments.nextIndex {
			return fmt.Errorf("%s is missing before %s", nameOf(f.index-1), f.name)
		}
		if !errors.Is(f.state, errZeros) && !errors.Is(f.state, errHeader) {
			return corrupt(f.name, 0, f.state.Error())
		}
		if offset, err := firstByte(f); err != nil {
			return err
		} else if offset >= 0 {
			return corrupt(f.name, 0, fmt.Sprintf("its header is gone, and byte %d is not zero", offset))
		}
		l.segments.nextIndex = f.index + 1
	}
	for i := range files {
		f := &files[len(files)-1-i] // Removal begins at the end, so a crash leaves no gap.
		if i == len(files)-1 && f.size == l.o.SegmentBytes && errors.Is(f.state, errZeros) {
			l.segments.spare = &spare{index: f.index, size: f.size}
			continue
		}
		if err := l.disk.Remove(f.name); err != nil {
			return err
		}
		l.segments.nextIndex = f.index
	}
	return nil
}

// firstByte finds the first byte after the header that is not zero. A header alone, even half of one, contains nothing yet,
// because it is durable before any record follows.
func firstByte(f found) (int64, error) {
	b := make([]byte, windowBytes)
	for at := int64(headerBytes); at < f.size; at += windowBytes {
		p := b[:min(windowBytes, f.size-at)]
		if n, err := f.file.ReadAt(p, at); n < len(p) && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := len(p) - len(bytes.TrimLeft(p, "\x00")); i < len(p) {
			return at + int64(i), nil
		}
	}
	return -1, nil
}
