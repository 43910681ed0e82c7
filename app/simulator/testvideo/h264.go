package testvideo

// A stream consists of units with these headers.
const (
	unitSequence = 0x67
	unitPictures = 0x68
	unitKey      = 0x65
	unitDelta    = 0x41
)

// profileBaseline with constraintsBoth is Constrained Baseline, which every decoder knows.
const (
	profileBaseline = 66
	constraintsBoth = 0xC0
)

// levels says how many macroblocks a frame of each level may have; 24 of them a second are within each level's rate.
var levels = []struct {
	level, blocksMax int
}{{31, 3600}, {40, 8192}, {50, 22080}}

func levelOf(width, height int) uint32 {
	for _, l := range levels {
		if blocks(width)*blocks(height) <= l.blocksMax {
			return uint32(l.level)
		}
	}
	return uint32(levels[len(levels)-1].level)
}

// sequenceSet is the sequence parameter set: the size, the colours and the rate of the film.
func sequenceSet(width, height int) []byte {
	w := &bitWriter{}
	w.bits(8, profileBaseline)
	w.bits(8, constraintsBoth)
	w.bits(8, levelOf(width, height))
	w.unsigned(0, 4, 2, 1) // Frame numbers have 8 bits, output follows the order of coding, and there is one reference frame.
	w.flag(false)          // Frame numbers have no gaps.
	w.unsigned(uint32(blocks(width)-1), uint32(blocks(height)-1))
	w.flag(true) // The video has frames only, no fields.
	w.flag(true) // This is direct_8x8_inference_flag.
	right, bottom := blocks(width)*blockPixels-width, blocks(height)*blockPixels-height
	w.flag(right+bottom > 0)
	if right+bottom > 0 {
		w.unsigned(0, uint32(right/2), 0, uint32(bottom/2))
	}
	w.flag(true) // VUI parameters follow.
	w.flag(false)
	w.flag(false)
	w.flag(true) // The signal has an unspecified format, a limited range and the colours of BT.709.
	w.bits(3, 5)
	w.flag(false)
	w.flag(true)
	w.bits(24, 0x010101)
	w.flag(false)
	w.flag(true) // A tick is half a frame, and the rate is constant.
	w.bits(32, 1)
	w.bits(32, 2*framesPerSecond)
	w.flag(true)
	w.bits(3, 0)
	w.flag(true) // No frame is reordered, so a player may show each picture at once.
	w.flag(true)
	w.unsigned(0, 0, 12, 12, 0, 1)
	return w.unit(unitSequence)
}

// pictureSet is the picture parameter set: variable-length codes, and a say over the deblocking filter per slice.
func pictureSet() []byte {
	w := &bitWriter{}
	w.unsigned(0, 0)
	w.bits(2, 0)
	w.unsigned(0, 0, 0)
	w.bits(3, 0)
	w.unsigned(0, 0, 0)
	w.bits(3, 0b100)
	return w.unit(unitPictures)
}

// encoder codes the frames of one picture without loss. A macroblock that was not drawn on is skipped, one that goes on
// like its neighbour is predicted, and only the rest costs its 384 samples.
type encoder struct {
	picture *picture
	number  uint32 // Number counts the frames since the last key frame.
	keys    uint32
	raw     []bool // Raw marks the macroblocks of the frame whose samples were sent uncompressed.
	out     bitWriter
}

// encode returns the frame as one unit. The first frame is a key frame.
func (e *encoder) encode(key bool) []byte {
	w, p := &e.out, e.picture
	*w = bitWriter{bytes: w.bytes[:0]}
	e.head(key)
	var skipped uint32
	for i := range p.touched {
		if !key && !p.touched[i] {
			skipped++
			e.raw[i] = false
			continue
		}
		if !key {
			w.unsigned(skipped)
			skipped = 0
		}
		e.block(i, key)
	}
	if skipped > 0 {
		w.unsigned(skipped)
	}
	clear(p.touched)
	e.number++
	if key {
		return w.unit(unitKey)
	}
	return w.unit(unitDelta)
}

// head writes the slice header.
func (e *encoder) head(key bool) {
	w := &e.out
	w.unsigned(0) // The slice begins at the first macroblock.
	if key {
		e.number = 0
		w.unsigned(7, 0) // All slices of the picture are intra.
	} else {
		w.unsigned(5, 0) // All slices of the picture are predicted.
	}
	w.bits(8, e.number)
	if key {
		w.unsigned(e.keys & 1) // Neighbouring key frames differ in this id.
		e.keys++
		w.bits(2, 0)
	} else {
		w.bits(3, 0) // The number and order of references are standard, and no reference is marked.
	}
	w.unsigned(0, 1) // The quantiser stays, and deblocking is off, because it would blur exact samples.
}

// These are the types of macroblocks in an intra slice. In a predicted slice they come after five others.
const (
	blockVertical    = 1
	blockHorizontal  = 2
	blockSamples     = 25
	blocksPredicted  = 5
	chromaHorizontal = 1
	chromaVertical   = 2
)

func (e *encoder) block(i int, key bool) {
	w, p := &e.out, e.picture
	x, y := i%p.columns*blockPixels, i/p.columns*blockPixels
	var first uint32
	if !key {
		first = blocksPredicted
	}
	var luma uint32
	switch {
	case p.luma.repeatsAbove(x, y, blockPixels):
		luma = blockVertical
	case p.luma.repeatsLeft(x, y, blockPixels):
		luma = blockHorizontal
	}
	chroma, predicted := predictChroma(p, x/2, y/2)
	if e.raw[i] = luma == 0 || !predicted; e.raw[i] {
		w.unsigned(first + blockSamples)
		w.align()
		appendBlock(w, p.luma, x, y, blockPixels)
		appendBlock(w, p.blue, x/2, y/2, blockPixels/2)
		appendBlock(w, p.red, x/2, y/2, blockPixels/2)
		return
	}
	w.unsigned(first+luma, chroma, 0) // The last value keeps the quantiser.
	// There is no residue, in the code that the neighbours' counts choose: a raw one counts as 16 and every other one as none.
	if i%p.columns > 0 && e.raw[i-1] || i >= p.columns && e.raw[i-p.columns] {
		w.bits(6, 3)
	} else {
		w.bits(1, 1)
	}
}

// predictChroma takes one direction for both planes, as the format has it.
func predictChroma(p *picture, x, y int) (kind uint32, ok bool) {
	const n = blockPixels / 2
	switch {
	case p.blue.repeatsLeft(x, y, n) && p.red.repeatsLeft(x, y, n):
		return chromaHorizontal, true
	case p.blue.repeatsAbove(x, y, n) && p.red.repeatsAbove(x, y, n):
		return chromaVertical, true
	}
	return 0, false
}

func appendBlock(w *bitWriter, p plane, x, y, n int) {
	for j := range n {
		w.raw(p.row(x, y+j, n))
	}
}
