package media

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"
)

const (
	boxesMax       = 2000 // This many boxes are read in one file, each by its head only.
	boxHeadBytes   = 8
	durationMax    = 24 * time.Hour
	headerBytesMax = 32 // At most this much is read of a box that holds a duration.
	largeSizeBytes = 8
)

// ErrFormat means that the file is not an MP4 that holds its duration.
var ErrFormat = errors.New("media: not an MP4 that holds its duration")

// IsMP4 reports whether a file begins as every MP4 does.
func IsMP4(file io.ReaderAt) bool {
	var head [boxHeadBytes]byte
	_, err := file.ReadAt(head[:], 0)
	return err == nil && string(head[4:]) == "ftyp"
}

// box is one box of an MP4: where its contents are.
type box struct {
	name       string
	start, end int64
}

// parser iterates over the boxes of an untrusted file.
type parser struct {
	from  io.ReaderAt
	boxes int // Boxes counts those read so far.
}

// Duration returns the duration of an MP4 by its movie header or, for a fragmented file, by the header of its fragments.
// It reads only the heads of boxes, wherever they are in the file.
func Duration(r io.ReaderAt, sizeBytes int64) (time.Duration, error) {
	p := &parser{from: r}
	top, err := p.find(box{end: sizeBytes}, "moov", "ftyp")
	if err != nil {
		return 0, err
	}
	moov, found := top["moov"]
	if _, is := top["ftyp"]; !is || !found {
		return 0, fmt.Errorf("%w: it lacks ftyp or moov", ErrFormat)
	}
	in, err := p.find(moov, "mvhd", "mvex")
	if err != nil {
		return 0, err
	}
	header, found := in["mvhd"]
	if !found {
		return 0, fmt.Errorf("%w: it has no movie header", ErrFormat)
	}
	scale, units, err := p.movie(header)
	if err != nil {
		return 0, err
	}
	if extends, fragmented := in["mvex"]; fragmented && units == 0 {
		if units, err = p.fragments(extends); err != nil {
			return 0, err
		}
	}
	// The product of units and seconds must fit, and the duration must be one that a video may have.
	if high, low := bits.Mul64(units, uint64(time.Second)); high < uint64(scale) {
		if d, _ := bits.Div64(high, low, uint64(scale)); d > 0 && d <= uint64(durationMax) {
			return time.Duration(d), nil
		}
	}
	return 0, fmt.Errorf("%w: %d units of 1/%d s", ErrFormat, units, scale)
}

// find gives the first boxes of some names in another box. It stops when it has them.
func (p *parser) find(in box, names ...string) (map[string]box, error) {
	found := make(map[string]box, len(names))
	for at := in.start; at < in.end && len(found) < len(names); {
		b, err := p.box(at, in.end)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, before := found[name]; name == b.name && !before {
				found[name] = b
			}
		}
		at = b.end
	}
	return found, nil
}

// box reads the head of a box. Its end is past its start and within limit, so a loop over boxes ends.
func (p *parser) box(at, limit int64) (box, error) {
	if p.boxes++; p.boxes > boxesMax {
		return box{}, fmt.Errorf("%w: it has more than %d boxes", ErrFormat, boxesMax)
	}
	head := make([]byte, boxHeadBytes)
	if err := p.read(head, at, limit); err != nil {
		return box{}, err
	}
	b := box{name: string(head[4:]), start: at + boxHeadBytes}
	switch size := int64(binary.BigEndian.Uint32(head)); size {
	case 0: // The box extends to the end.
		b.end = limit
	case 1: // A large box has its size after its name.
		large := make([]byte, largeSizeBytes)
		if err := p.read(large, b.start, limit); err != nil {
			return box{}, err
		}
		b.start += largeSizeBytes
		if n := binary.BigEndian.Uint64(large); n <= uint64(limit-at) {
			b.end = at + int64(n)
		}
	default:
		b.end = at + size
	}
	if b.end < b.start || b.end > limit {
		return box{}, fmt.Errorf("%w: its box %q at %d does not fit", ErrFormat, b.name, at)
	}
	return b, nil
}

func (p *parser) read(into []byte, at, limit int64) error {
	if limit-at < int64(len(into)) {
		return fmt.Errorf("%w: it ends in a box at %d", ErrFormat, at)
	}
	if n, err := p.from.ReadAt(into, at); n < len(into) {
		if err == nil || errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: it ends at %d", ErrFormat, at+int64(n))
		}
		return fmt.Errorf("media: reading the video: %w", err)
	}
	return nil
}

// full reads the beginning of a box with a version, and says which.
func (p *parser) full(b box) ([]byte, byte, error) {
	contents := make([]byte, min(b.end-b.start, headerBytesMax))
	if err := p.read(contents, b.start, b.end); err != nil {
		return nil, 0, err
	}
	if len(contents) < 4 {
		return nil, 0, fmt.Errorf("%w: its box %q is too short", ErrFormat, b.name)
	}
	return contents[4:], contents[0], nil
}

// movie reads mvhd: two dates, the scale and the length, in four bytes each or, but for the scale, in eight.
func (p *parser) movie(b box) (scale uint32, units uint64, err error) {
	c, version, err := p.full(b)
	switch {
	case err != nil:
		return 0, 0, err
	case version == 0 && len(c) >= 16:
		return binary.BigEndian.Uint32(c[8:]), known(uint64(binary.BigEndian.Uint32(c[12:])), math.MaxUint32), nil
	case version == 1 && len(c) >= 28:
		return binary.BigEndian.Uint32(c[16:]), known(binary.BigEndian.Uint64(c[20:]), math.MaxUint64), nil
	}
	return 0, 0, fmt.Errorf("%w: its movie header is of version %d and too short or unknown", ErrFormat, version)
}

// fragments reads mehd in mvex: the length of all fragments together. It may be absent.
func (p *parser) fragments(extends box) (uint64, error) {
	in, err := p.find(extends, "mehd")
	if err != nil {
		return 0, err
	}
	b, found := in["mehd"]
	if !found {
		return 0, nil
	}
	c, version, err := p.full(b)
	switch {
	case err != nil:
		return 0, err
	case version == 0 && len(c) >= 4:
		return known(uint64(binary.BigEndian.Uint32(c)), math.MaxUint32), nil
	case version == 1 && len(c) >= 8:
		return known(binary.BigEndian.Uint64(c), math.MaxUint64), nil
	}
	return 0, fmt.Errorf("%w: the header of its fragments is too short", ErrFormat)
}

// known reads the units of which all bits are ones as zero, because they mean an unknown value.
func known(units, unknown uint64) uint64 {
	if units == unknown {
		return 0
	}
	return units
}
