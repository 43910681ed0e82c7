// Package journal keeps records on a local disk, in order and durably, until somebody has applied them elsewhere:
// numbered records in segments of fixed size, one checksum a record, many records to one fsync, and a start that finds
// the last whole record. It knows bytes and positions. It does not know what a record means, nor any database.
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

// Kind is what the owner of a journal tells its records apart by.
type Kind byte

// Record is one entry as it was appended. Data is valid until the visit that got it returns.
type Record struct {
	LSN  LSN
	Kind Kind
	Data []byte
}

// Disk is where segments lie. The real one is a folder; another loses what was not synced, to prove what is promised.
type Disk interface {
	// List names the files, in the order of their names.
	List() ([]string, error)
	// Create makes a file of that many zero bytes. When it returns, the file, its name and its room survive a power cut.
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
	// Sync makes everything that was written durable. After an error nothing more may be believed of the file.
	Sync() error
	// Size is its length in bytes.
	Size() (int64, error)
}

// Options of a journal. Sizes and times of zero take the defaults.
type Options struct {
	Owner             string // written into each segment; a journal of another owner is refused
	SegmentBytes      int64
	ClaimBytes        int64         // room set aside for what one admitted call still writes
	UnappliedBytesMax int64         // admission stops beyond it
	FreeBytesMin      int64         // of the disk; admission stops below it
	UnappliedAgeMax   time.Duration // of the oldest record that is not applied; admission stops beyond it
	Keep              time.Duration // how long applied segments stay, for a database that is restored to an earlier point
	Now               app.Clock
	Log               *slog.Logger
}

// RecordBytesMax is the most bytes of data that a record holds. Journals of very small segments hold less.
const RecordBytesMax = 64 << 10

// Defaults and limits.
const (
	segmentBytesDefault   = 64 << 20
	segmentBytesMin       = 4 << 10
	claimBytesDefault     = 8 << 10 // a settlement and its marks are about 1 KiB each
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
