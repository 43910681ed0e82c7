package testvideo

import (
	"bytes"
	"image"
	"image/jpeg"

	"github.com/HugoSmits86/nativewebp"
)

// These constants are the shapes of stills.
const (
	thumbnailPixelsMax = 640 // The longer side has at most this many pixels.
	sheetColumns       = 5
	sheetRows          = 2
	tilePixelsMax      = 256 // The longer side has at most this many pixels.
	sheetQuality       = 85
)

// Thumbnail is the frame in the middle as image/webp, made small.
func Thumbnail(s Spec) []byte {
	s = s.within()
	scene := newScene(s)
	scene.show(s.frames() / 2)
	still := image.NewRGBA(image.Rectangle{Max: reduced(s, thumbnailPixelsMax)})
	scale(still, still.Bounds(), scene.picture, s)
	var out bytes.Buffer
	if err := nativewebp.Encode(&out, still, nil); err != nil {
		panic(err) // Encode refuses only an empty picture, and writing to a buffer does not fail.
	}
	return out.Bytes()
}

// Spritesheet is ten frames in a grid of five by two, as image/jpeg.
func Spritesheet(s Spec) []byte {
	s = s.within()
	scene := newScene(s)
	tile := reduced(s, tilePixelsMax)
	sheet := image.NewRGBA(image.Rect(0, 0, sheetColumns*tile.X, sheetRows*tile.Y))
	for i := range sheetColumns * sheetRows {
		scene.show((s.frames() - 1) * i / (sheetColumns*sheetRows - 1))
		corner := image.Pt(i%sheetColumns*tile.X, i/sheetColumns*tile.Y)
		scale(sheet, image.Rectangle{corner, corner.Add(tile)}, scene.picture, s)
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, sheet, &jpeg.Options{Quality: sheetQuality}); err != nil {
		panic(err) // Encode refuses only more than 65,535 pixels a side, and writing to a buffer does not fail.
	}
	return out.Bytes()
}

// reduced is the film's size with its longer side brought down to a limit.
func reduced(s Spec, limit int) image.Point {
	longer := max(s.Width, s.Height, limit)
	return image.Pt(max(1, s.Width*limit/longer), max(1, s.Height*limit/longer))
}

// scale draws the visible part of a picture into a rectangle that is not larger. Each pixel is the mean of those it stands for.
func scale(to *image.RGBA, r image.Rectangle, p *picture, s Spec) {
	for y := range r.Dy() {
		top, bottom := y*s.Height/r.Dy(), (y+1)*s.Height/r.Dy()
		for x := range r.Dx() {
			left, right := x*s.Width/r.Dx(), (x+1)*s.Width/r.Dx()
			to.SetRGBA(r.Min.X+x, r.Min.Y+y, p.mean(image.Rect(left, top, right, bottom)))
		}
	}
}
