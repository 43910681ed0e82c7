// Package journaltest is a disk in memory that loses what a real one may lose: a power cut keeps any mixture of the
// sectors that were not synced, a kill keeps all that was written, and a disk can be full, fail to sync or rot. Its only
// randomness is what it is given, so that a failure can be repeated. It does not know what a journal writes.
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
	sectorBytes = 512 // what a disk writes whole or not at all
	roomBytes   = 1 << 40
)

// ErrGone is what every operation of a run fails with after its end.
var ErrGone = errors.New("journaltest: the run of this handle is over")

// A Disk of simulated files. It is safe for concurrent use. After Crash and Kill the handles of the run that ended fail
// with ErrGone, and those of Boot and Open are the next run's.
type Disk struct {
	mu        sync.Mutex
	files     map[string]*inode
	run       int
	freeBytes int64
	syncFails *rand.Rand // of the next sync
	writeFull *rand.Rand // the next write finds no room
	cutIn     int        // operations until the power goes, when cutting is set
	cutting   *rand.Rand
	syncs     int
	writes    int
}

// inode is a file: what a reader sees, what the platter has, and every version of the sectors between the two.
type inode struct {
	cache  []byte
	stable []byte
	dirty  map[int64][][]byte
}

// New makes an empty disk with more room than any test fills.
func New() *Disk {
	return &Disk{files: map[string]*inode{}, freeBytes: roomBytes}
}

// Boot gives the disk as one run of a process sees it.
func (d *Disk) Boot() journal.Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &boot{d, d.run}
}

// Kill ends the run as kill -9 does: what was written is seen by the next, synced or not.
func (d *Disk) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// Crash ends the run as a power cut does: of each sector that was not synced, any version since the last sync is left.
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

// CutAfter makes the power go in the midst of the operation that follows so many others: a write, a sync, a creation or
// a removal is half done and fails with ErrGone, as does all after it. Crash or Kill begins the next run.
func (d *Disk) CutAfter(operations int, r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutIn, d.cutting = operations, r
}

// FailSync makes the next sync fail with EIO. Of its sectors some reach the platter; the others are only seen until the
// next power cut, as the system believes them clean.
func (d *Disk) FailSync(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncFails = r
}

// FailWrite makes the next write fail with ENOSPC after some of its bytes, as on a disk whose files have no room of their
// own.
func (d *Disk) FailWrite(r *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writeFull = r
}

// SetFree says how many bytes the disk has left for files to be created.
func (d *Disk) SetFree(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.freeBytes = bytes
}

// Flip inverts a byte of a file, as rot does.
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

// Content is a copy of a file as a reader sees it, or nil.
func (d *Disk) Content(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return bytes.Clone(f.cache)
	}
	return nil
}

// Names lists the files in the order of their names.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names()
}

// Counts says how many writes and syncs there were.
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

// begin checks that the run goes on, counts an operation that changes the disk, and says whether the power goes in it.
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

// settle decides which version of each unsynced sector the platter has.
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
