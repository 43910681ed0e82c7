package journal

import (
	"sync"
	"sync/atomic"
)

const removedSegments = 16 // One pass of Tidy removes at most this many segments.

// segments are the files of the log. The mutex making guards nextIndex and spare; files are made and removed while it is held, so
// one after the other. The mutex mu guards list; no other mutex is locked while it is held.
type segments struct {
	disk Disk
	size int64 // A new segment has this many bytes.

	making    sync.Mutex
	nextIndex uint64
	spare     *spare

	mu   sync.Mutex
	list []segment // The last one is being written.

	roomBytes  atomic.Int64 // The last segment had this many bytes left after the last write.
	spareBytes atomic.Int64 // The spare has this many bytes for records.
}

// spare is a segment that is made and has no header yet.
type spare struct {
	index uint64
	size  int64
	file  File
}

// all returns the segments, oldest first.
func (s *segments) all() []segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// add appends the segment that was the spare.
func (s *segments) add(added segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, added)
	s.spareBytes.Store(0)
}

// removeFirst deletes the oldest segment. The caller holds making.
func (s *segments) removeFirst() error {
	if err := s.disk.Remove(s.all()[0].name()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = s.list[1:]
	return nil
}

// takeSpare returns the prepared segment, or makes one when records arrived faster than Tidy runs.
func (s *segments) takeSpare() (*spare, error) {
	s.making.Lock()
	defer s.making.Unlock()
	if err := s.prepare(); err != nil {
		return nil, err
	}
	taken := s.spare
	if taken.file == nil {
		f, err := s.disk.Open(nameOf(taken.index))
		if err != nil {
			return nil, err
		}
		taken.file = f
	}
	s.spare = nil
	return taken, nil
}

// prepare makes the spare segment if there is none. The caller holds making.
func (s *segments) prepare() error {
	if s.spare != nil {
		return nil
	}
	f, err := s.disk.Create(nameOf(s.nextIndex), s.size)
	if err != nil {
		return err
	}
	s.spare = &spare{index: s.nextIndex, size: s.size, file: f}
	s.nextIndex++
	return nil
}
