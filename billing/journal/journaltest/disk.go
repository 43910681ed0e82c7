// Package journaltest is a disk in memory that fails like a real one: a power cut keeps any mixture of the unsynced sectors,
// a kill keeps everything written, and the disk can be full, fail to sync or rot. Make one with New; its only randomness is
// the source that the test passes, so a failure can be repeated.
package journaltest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"umg/billing/journal"
)

const (
	sectorBytes = 512 // A disk writes a sector whole or not at all.
	roomBytes   = 1 << 40
)

// ErrGone is the error of every operation of a run after its end.
var ErrGone = errors.New("journaltest: the run of this handle is over")

// A Disk of simulated files is safe for concurrent use. After Crash and Kill the handles of the ended run fail with ErrGone,
// and those of Boot and Open belong to the next run.
type Disk struct {
	mu        sync.Mutex
	files     map[string]*inode
	run       int
	freeBytes int64
	syncFails *rand.Rand // When set, the next sync fails.
	writeFull *rand.Rand // When set, the next write finds no space.
	cutIn     int        // The power fails after this many operations, when cutting is set.
	cutting   *rand.Rand
	syncs     int
	writes    int
}

// inode is a file: what a reader sees, what is durable, and every version of the sectors between the two.
type inode struct {
	cache  []byte
	stable []byte
	dirty  map[int64][][]byte
}

// New makes an empty disk with more space than any test uses.
func New() *Disk {
	return &Disk{files: map[string]*inode{}, freeBytes: roomBytes}
}

// Boot returns the disk as one run of a process sees it.
func (d *Disk) Boot() journal.Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &boot{d, d.run}
}

// Kill ends the run as kill -9 does: the next run sees everything written, synced or not.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// Crash ends the run as a power cut does: each unsynced sector keeps any version since the last sync.
func (d *Disk) Crash(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.names() {
		f := d.files[name]
		f.settle(r)
		f.cache = bytes.Clone(f.stable)
	}
	d.end()
}

// CutAfter cuts the power during the operation after the given number of others: a write, a sync, a creation or a removal is
// half done and fails with ErrGone, as does every later operation. Crash or Kill begins the next run.
func (d *Disk) CutAfter(operations int, r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutIn, d.cutting = operations, r
}

// FailSync makes the next sync fail with EIO. Some of its sectors become durable; the others stay readable until the next
// power cut, because the system believes them clean.
func (d *Disk) FailSync(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncFails = r
}

// FailWrite makes the next write fail with ENOSPC after some of its bytes, as on a disk whose files have no space allocated.
func (d *Disk) FailWrite(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeFull = r
}

// SetFree sets how many bytes the disk has left for new files.
func (d *Disk) SetFree(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.freeBytes = bytes
}

// Flip inverts one byte of a file, as rot does.
func (d *Disk) Flip(name string, offset int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[name]
	f.stable[offset] ^= 0xff
	f.cache[offset] ^= 0xff
}

// Put replaces a file or makes one, durably. A nil content deletes it.
func (d *Disk) Put(name string, content []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if content == nil {
		delete(d.files, name)
		return
	}
	d.files[name] = &inode{cache: bytes.Clone(content), stable: bytes.Clone(content), dirty: map[int64][][]byte{}}
}

// Content returns a copy of a file as a reader sees it, or nil.
func (d *Disk) Content(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return bytes.Clone(f.cache)
	}
	return nil
}

// Names returns the names of the files in order.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names()
}

// Counts returns how many writes and syncs there were.
func (d *Disk) Counts() (writes, syncs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes, d.syncs
}

func (d *Disk) names() []string {
	names := make([]string, 0, len(d.files))
	for name := range d.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (d *Disk) end() {
	d.run++
	d.syncFails, d.writeFull, d.cutting = nil, nil, nil
}

// begin fails when the run has ended, counts an operation that changes the disk, and reports whether the power fails during it.
func (d *Disk) begin(run int) (cut *rand.Rand, err error) {
	if run != d.run {
		return nil, ErrGone
	}
	if d.cutting == nil {
		return nil, nil
	}
	if d.cutIn > 0 {
		d.cutIn--
		return nil, nil
	}
	cut = d.cutting
	d.end()
	return cut, nil
}

// settle decides which version of each unsynced sector becomes durable.
func (f *inode) settle(r *rand.Rand) {
	sectors := make([]int64, 0, len(f.dirty))
	for s := range f.dirty {
		sectors = append(sectors, s)
	}
	slices.Sort(sectors)
	for _, s := range sectors {
		versions := f.dirty[s]
		if keep := r.IntN(len(versions) + 1); keep > 0 {
			copy(f.stable[s*sectorBytes:], versions[keep-1])
		}
	}
	clear(f.dirty)
}

func (f *inode) write(p []byte, offset int64) {
	copy(f.cache[offset:], p)
	for s := offset / sectorBytes; s*sectorBytes < offset+int64(len(p)); s++ {
		from, to := s*sectorBytes, min((s+1)*sectorBytes, int64(len(f.cache)))
		f.dirty[s] = append(f.dirty[s], bytes.Clone(f.cache[from:to]))
	}
}

func (f *inode) sync() {
	for s := range f.dirty {
		from, to := s*sectorBytes, min((s+1)*sectorBytes, int64(len(f.cache)))
		copy(f.stable[from:to], f.cache[from:to])
	}
	clear(f.dirty)
}
