package video

import (
	"io"
	"math/bits"
	"time"

	"umg/app"
)

// lengthTolerance is how much shorter than asked for a film may be at the full price: codecs work in whole frames.
const lengthTolerance = 500 * time.Millisecond

// isMovie reports whether a file begins as every MP4 does.
func isMovie(file io.ReaderAt) bool {
	var head [8]byte
	_, err := file.ReadAt(head[:], 0)
	return err == nil && string(head[4:]) == "ftyp"
}

// share is the part of an amount that some seconds are of all seconds, rounded up as every price is.
func share(whole app.Amount, seconds, of int) app.Amount {
	if seconds >= of || whole <= 0 {
		return whole
	}
	hi, lo := bits.Mul64(uint64(whole), uint64(max(seconds, 0)))
	part, rest := bits.Div64(hi, lo, uint64(of))
	if rest > 0 {
		part++
	}
	return app.Amount(part)
}
