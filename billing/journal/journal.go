// Package journal keeps records on a local disk, in order and durably, until its owner has applied them elsewhere. It stores
// numbered records in segments of fixed size, with one checksum per record and one fsync for many records. Open a journal
// with Open, keep Run running, and use Claim, Append and Wait for each call.
package journal

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"time"

	"umg/app"
)

// LSN is the position of a record. The first is 1, and there are no gaps.
type LSN uint64

// Kind is a byte with which the owner of a journal distinguishes its records.
type Kind byte

// Record is one entry as it was appended. Data is valid until the visit function returns.
type Record struct {
	LSN  LSN
	Kind Kind
	Data []byte
}

// Disk is the storage of segments. The real one is a folder; the test disk loses what was not synced.
type Disk interface {
	// List returns the names of the files in order.
	List() ([]string, error)
	// Create makes a file of that many zero bytes. When it returns, the file, its name and its space survive a power cut.
	Create(name string, size int64) (File, error)
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	// Remove deletes a file, durably.
	Remove(name string) error
	// Free is how many bytes the disk has left.
	Free() (int64, error)
}

// File is one segment.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes everything that was written durable. After an error the content of the file is unknown.
	Sync() error
	// Size is its length in bytes.
	Size() (int64, error)
}

// Options configure a journal. Sizes and times of zero mean the defaults.
type Options struct {
	Owner             string // Owner is written into each segment; a journal of another owner is refused.
	SegmentBytes      int64
	ClaimBytes        int64         // ClaimBytes is the space reserved for what one admitted call still writes.
	UnappliedBytesMax int64         // Admission stops above this size of unapplied records.
	FreeBytesMin      int64         // Admission stops when the disk has less free space.
	UnappliedAgeMax   time.Duration // Admission stops when the oldest unapplied record is older.
	Keep              time.Duration // Applied segments are kept this long, for a database that is restored to an earlier point.
	Now               app.Clock
	Log               *slog.Logger
}

// RecordBytesMax is the most bytes of data that a record holds. Journals of very small segments hold less.
const RecordBytesMax = 64 << 10

// These are the defaults and limits.
const (
	segmentBytesDefault   = 64 << 20
	segmentBytesMin       = 4 << 10
	claimBytesDefault     = 8 << 10 // A settlement and its marks are about 1 KiB each.
	unappliedBytesDefault = 512 << 20
	freeBytesDefault      = 1 << 30
	unappliedAgeDefault   = 10 * time.Minute
	keepDefault           = 7 * 24 * time.Hour
	ownerBytesMax         = 255
)

func (o Options) withDefaults() (Options, error) {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, segmentBytesDefault)
	o.SegmentBytes -= o.SegmentBytes % headerBytes
	o.ClaimBytes = cmp.Or(o.ClaimBytes, min(claimBytesDefault, o.SegmentBytes/64))
	o.UnappliedBytesMax = cmp.Or(o.UnappliedBytesMax, unappliedBytesDefault)
	o.FreeBytesMin = cmp.Or(o.FreeBytesMin, freeBytesDefault)
	o.UnappliedAgeMax = cmp.Or(o.UnappliedAgeMax, unappliedAgeDefault)
	o.Keep = cmp.Or(o.Keep, keepDefault)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Owner == "" || len(o.Owner) > ownerBytesMax {
		return o, fmt.Errorf("journal: the owner %q must have 1 to %d bytes", o.Owner, ownerBytesMax)
	}
	if o.SegmentBytes < segmentBytesMin {
		return o, fmt.Errorf("journal: segments of %d bytes are too small, the least is %d", o.SegmentBytes, segmentBytesMin)
	}
	return o, nil
}
