package journaltest

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"syscall"

	"umg/billing/journal"
)

// boot is the disk as one run sees it.
type boot struct {
	d   *Disk
	run int
}

func (b *boot) List() ([]string, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.run != b.d.run {
		return nil, ErrGone
	}
	return b.d.names(), nil
}

func (b *boot) Create(name string, size int64) (journal.File, error) {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.begin(b.run)
	if err != nil {
		return nil, err
	}
	if d.files[name] != nil {
		return nil, fs.ErrExist
	}
	if cut != nil {
		d.halfCreate(cut, name, size)
		return nil, ErrGone
	}
	if size > d.freeBytes {
		return nil, syscall.ENOSPC
	}
	d.freeBytes -= size
	d.files[name] = &inode{cache: make([]byte, size), stable: make([]byte, size), dirty: map[int64][][]byte{}}
	return &file{b, d.files[name]}, nil
}

// halfCreate leaves what a power cut during a creation leaves: no file, an empty, a short or a whole one.
func (d *Disk) halfCreate(r *rand.Rand, name string, size int64) {
	left := [...]int64{-1, 0, r.Int64N(size), size}[r.IntN(4)]
	if left < 0 {
		return
	}
	d.freeBytes -= left
	d.files[name] = &inode{cache: make([]byte, left), stable: make([]byte, left), dirty: map[int64][][]byte{}}
}

func (b *boot) Open(name string) (journal.File, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.run != b.d.run {
		return nil, ErrGone
	}
	f := b.d.files[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return &file{b, f}, nil
}

func (b *boot) Remove(name string) error {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.begin(b.run)
	if err != nil {
		return err
	}
	if cut != nil && cut.IntN(2) == 0 {
		return ErrGone
	}
	if f := d.files[name]; f != nil {
		d.freeBytes += int64(len(f.stable))
		delete(d.files, name)
	}
	if cut != nil {
		return ErrGone
	}
	return nil
}

func (b *boot) Free() (int64, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.run != b.d.run {
		return 0, ErrGone
	}
	return b.d.freeBytes, nil
}

// file is a handle that belongs to one run.
type file struct {
	b *boot
	f *inode
}

func (h *file) ReadAt(p []byte, offset int64) (int, error) {
	h.b.d.mu.Lock()
	defer h.b.d.mu.Unlock()
	if h.b.run != h.b.d.run {
		return 0, ErrGone
	}
	if offset >= int64(len(h.f.cache)) {
		return 0, io.EOF
	}
	n := copy(p, h.f.cache[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes no byte beyond the end, because a segment never grows.
func (h *file) WriteAt(p []byte, offset int64) (int, error) {
	d := h.b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.begin(h.b.run)
	if err != nil {
		return 0, err
	}
	if offset+int64(len(p)) > int64(len(h.f.cache)) {
		return 0, syscall.ENOSPC
	}
	d.writes++
	failed := error(nil)
	switch {
	case cut != nil:
		p, failed = p[:cut.IntN(len(p)+1)], ErrGone
	case d.writeFull != nil:
		p, failed = p[:d.writeFull.IntN(len(p)+1)], syscall.ENOSPC
		d.writeFull = nil
	}
	if len(p) > 0 {
		h.f.write(p, offset)
	}
	return len(p), failed
}

func (h *file) Sync() error {
	d := h.b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.begin(h.b.run)
	if err != nil {
		return err
	}
	if cut != nil { // Crash decides which of the sectors are durable.
		return ErrGone
	}
	if r := d.syncFails; r != nil {
		d.syncFails = nil
		h.f.settle(r)
		return syscall.EIO
	}
	d.syncs++
	h.f.sync()
	return nil
}

func (h *file) Size() (int64, error) {
	h.b.d.mu.Lock()
	defer h.b.d.mu.Unlock()
	if h.b.run != h.b.d.run {
		return 0, ErrGone
	}
	return int64(len(h.f.cache)), nil
}

func (h *file) Close() error { return nil }
