// Package testvideo draws videos in memory and writes them as MP4 files that every player plays, with their
// thumbnails and spritesheets. MP4, Thumbnail and Spritesheet draw what a Spec describes.
package testvideo

// Spec says what to draw. The same spec gives the same bytes. Values outside the limits are clamped, because the caller
// has validated the request already.
type Spec struct {
	Width, Height int // Width and Height are even, from 16 to 1920, and need not be multiples of 16.
	Seconds       int // Seconds is at most 60.
	Title         string
	Seed          uint64 // Seed determines the colours.
	Generation    int    // Generation counts the remixes so far, and the film shows it.
}

// These limits apply to a film. Together they bound the memory that drawing one takes.
const (
	sidePixelsMin   = 16
	sidePixelsMax   = 1920
	secondsMax      = 60
	titleRunesMax   = 400
	generationsMax  = 999
	framesPerSecond = 24
	secondsPerKey   = 2 // A player can seek to every key frame.
)

// within is the spec inside the limits.
func (s Spec) within() Spec {
	s.Width = min(max(s.Width, sidePixelsMin), sidePixelsMax) &^ 1
	s.Height = min(max(s.Height, sidePixelsMin), sidePixelsMax) &^ 1
	s.Seconds = min(max(s.Seconds, 1), secondsMax)
	s.Generation = min(max(s.Generation, 0), generationsMax)
	return s
}

func (s Spec) frames() int { return s.Seconds * framesPerSecond }

// MP4 is the film as a file. Its index comes first, so that it plays while it is still arriving.
func MP4(s Spec) []byte {
	s = s.within()
	scene := newScene(s)
	coder := &encoder{picture: scene.picture, raw: make([]bool, scene.picture.columns*scene.picture.rows)}
	t := track{
		width: s.Width, height: s.Height,
		sequence: sequenceSet(s.Width, s.Height),
		picture:  pictureSet(),
		samples:  make([][]byte, 0, s.frames()),
	}
	for i := range s.frames() {
		scene.show(i)
		key := i%(framesPerSecond*secondsPerKey) == 0
		if key {
			t.keys = append(t.keys, i)
		}
		t.samples = append(t.samples, coder.encode(key))
	}
	return t.file()
}
