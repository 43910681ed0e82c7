package testvideo

import (
	"encoding/binary"
	"slices"
)

// ticksPerFrame times the frame rate is the track's time scale.
const ticksPerFrame = 512

// track is the film as coded frames, and what a file says about them.
type track struct {
	width, height     int
	sequence, picture []byte   // Sequence and picture are the two parameter sets.
	samples           [][]byte // Each sample is the one unit of a frame.
	keys              []int    // Keys are the indexes of key frames.
}

// file is the track as an MP4 file: its kind, its index, its samples in one chunk.
func (t track) file() []byte {
	kind := box("ftyp", []byte("isom"), words(0x200), []byte("isomiso2avc1mp41"))
	const headBytes = 8
	// The index holds the place of the samples, which depends on the index's length but not on what the index says.
	place := len(kind) + len(t.index(0)) + headBytes
	var total int
	for _, s := range t.samples {
		total += 4 + len(s)
	}
	out := slices.Grow([]byte(nil), place+total)
	out = append(out, kind...)
	out = append(out, t.index(uint32(place))...)
	out = binary.BigEndian.AppendUint32(out, uint32(headBytes+total))
	out = append(out, "mdat"...)
	for _, s := range t.samples {
		out = binary.BigEndian.AppendUint32(out, uint32(len(s)))
		out = append(out, s...)
	}
	return out
}

// index is the box moov, for samples that begin at place in the file.
func (t track) index(place uint32) []byte {
	duration := uint32(len(t.samples) * 1000 / framesPerSecond)
	movie := box("mvhd", words(0, 0, 0, 1000, duration, 0x10000), halves(0x100), make([]byte, 10), upright(), make([]byte, 24), words(2))
	head := box("tkhd", words(7, 0, 0, 1, 0, duration), make([]byte, 16), upright(),
		words(uint32(t.width)<<16, uint32(t.height)<<16))
	const undetermined = 0x55C4 // The value is the packed language code "und".
	media := box("mdia",
		box("mdhd", words(0, 0, 0, framesPerSecond*ticksPerFrame, uint32(len(t.samples)*ticksPerFrame)), halves(undetermined, 0)),
		box("hdlr", words(0, 0), []byte("vide"), make([]byte, 12), []byte("VideoHandler\x00")),
		box("minf",
			box("vmhd", words(1), make([]byte, 8)),
			box("dinf", box("dref", words(0, 1), box("url ", words(1)))),
			t.table(place)))
	return box("moov", movie, box("trak", head, media))
}

// table is the box stbl: how the samples are coded, how long each is shown, which stand alone, and where they are.
func (t track) table(place uint32) []byte {
	count := uint32(len(t.samples))
	keys := words(0, uint32(len(t.keys)))
	for _, k := range t.keys {
		keys = append(keys, words(uint32(k+1))...)
	}
	sizes := words(0, 0, count)
	for _, s := range t.samples {
		sizes = append(sizes, words(uint32(4+len(s)))...)
	}
	return box("stbl",
		box("stsd", words(0, 1), t.coding()),
		box("stts", words(0, 1, count, ticksPerFrame)),
		box("stss", keys),
		box("stsc", words(0, 1, 1, count, 1)),
		box("stsz", sizes),
		box("stco", words(0, 1, place)))
}

// coding is the box avc1, which carries the parameter sets and the colour space.
func (t track) coding() []byte {
	config := box("avcC",
		// The byte 0xFF announces lengths of 4 bytes, and 0xE1 announces one sequence set.
		[]byte{1, t.sequence[1], t.sequence[2], t.sequence[3], 0xFF, 0xE1},
		halves(uint16(len(t.sequence))), t.sequence,
		[]byte{1}, halves(uint16(len(t.picture))), t.picture)
	const dotsPerInch = 72 << 16
	return box("avc1", make([]byte, 6), halves(1), make([]byte, 16), halves(uint16(t.width), uint16(t.height)),
		words(dotsPerInch, dotsPerInch, 0), halves(1), make([]byte, 32), halves(24, 0xFFFF), config,
		box("colr", []byte("nclx"), halves(1, 1, 1), []byte{0}))
}

// upright is the transformation that turns and scales nothing.
func upright() []byte { return words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000) }

// box is a length, a name and the parts in order.
func box(name string, parts ...[]byte) []byte {
	n := 4 + len(name)
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 0, n)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = append(b, name...)
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func words(values ...uint32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func halves(values ...uint16) []byte {
	b := make([]byte, 0, 2*len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}
