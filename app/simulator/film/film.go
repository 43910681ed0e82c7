// Package film draws videos in memory and writes them as MP4 files that every player plays, with their stills. It knows
// H.264, MP4 and a few shapes. It does not know HTTP or why anybody wants the film.
package film

// Spec says what to draw. The same spec gives the same bytes.
type Spec struct {
	Width, Height int // at most 1920 each; not nec. multiples of 16
	Seconds       int // at most 60
	Title         string
	Seed          uint64 // chooses the colours
	Generation    int    // how many times it was remixed; each one shows
}

// MP4 is the film as a file.
func MP4(s Spec) []byte { return nil }

// Thumbnail is one frame as image/webp.
func Thumbnail(s Spec) []byte { return nil }

// Spritesheet is ten frames in a grid of five by two, as image/jpeg.
func Spritesheet(s Spec) []byte { return nil }
