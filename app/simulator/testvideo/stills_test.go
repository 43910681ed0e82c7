package testvideo

import (
	"bytes"
	"image"
	"image/jpeg"
	"slices"
	"testing"

	"golang.org/x/image/webp"
)

func TestThumbnailIsTheMiddleFrameMadeSmall(t *testing.T) {
	t.Parallel()
	for size, want := range map[string]image.Point{
		"1280x720": {640, 360}, "720x1280": {360, 640}, "1080x1920": {360, 640}, "960x960": {640, 640}, "16x16": {16, 16}, "722x406": {640, 359}, "1920x16": {640, 5},
	} {
		s := sized(t, size)
		data := Thumbnail(s)
		still, err := webp.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", size, err)
		}
		if still.Bounds().Size() != want {
			t.Errorf("%s is reduced to %v, not %v", size, still.Bounds().Size(), want)
		}
		if string(data[:4])+string(data[8:12]) != "RIFFWEBP" || len(data) > 64<<10 {
			t.Errorf("%s: %d bytes that begin with %q", size, len(data), data[:12])
		}
	}
	s := sized(t, "1280x720")
	scene, data := newScene(s), Thumbnail(s)
	if !bytes.Equal(data, Thumbnail(s)) {
		t.Error("the same spec gave two thumbnails")
	}
	still, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	scene.show(s.frames() / 2)
	at := scene.mover.Min.Add(image.Pt(scene.moved*blockPixels+8, 8))
	r, g, b := scene.colours.mover.rgb()
	if !looks(still, at.Div(2), [3]byte{r, g, b}, 0) {
		t.Errorf("the square is not where it is in the middle of the film, at %v", at)
	}
}

func TestSpritesheetShowsTenMomentsInOrder(t *testing.T) {
	t.Parallel()
	s := sized(t, "1280x720")
	s.Seconds = 10
	data := Spritesheet(s)
	if !bytes.Equal(data, Spritesheet(s)) {
		t.Error("the same spec gave two sheets")
	}
	sheet, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := sheet.Bounds().Size(); got != image.Pt(1280, 288) {
		t.Fatalf("the sheet is %v", got)
	}
	scene := newScene(s)
	r, g, b := scene.colours.mover.rgb()
	var filled []int
	for i := range 10 {
		corner, n := image.Pt(i%5*256, i/5*144), 0
		for x := range 256 {
			if looks(sheet, corner.Add(image.Pt(x, (scene.bar.Min.Y+8)/5)), [3]byte{r, g, b}, 40) {
				n++
			}
		}
		filled = append(filled, n)
	}
	if !slices.IsSorted(filled) || filled[0] > 2 || filled[9] < 230 || len(slices.Compact(slices.Clone(filled))) != 10 {
		t.Errorf("the bars of the ten are filled %v", filled)
	}
}

func TestSpritesheetOfEverySizeDecodes(t *testing.T) {
	t.Parallel()
	for _, size := range slices.Concat(sold, odd) {
		s := sized(t, size)
		sheet, err := jpeg.Decode(bytes.NewReader(Spritesheet(s)))
		if err != nil {
			t.Fatalf("%s: %v", size, err)
		}
		tile := reduced(s, tilePixelsMax)
		if got := sheet.Bounds().Size(); got.X != 5*tile.X || got.Y != 2*tile.Y || max(tile.X, tile.Y) > 256 {
			t.Errorf("%s: the sheet is %v of tiles of %v", size, got, tile)
		}
	}
}

// looks says whether a pixel is of a colour, give or take.
func looks(still image.Image, at image.Point, want [3]byte, slack int) bool {
	r, g, b, _ := still.At(at.X, at.Y).RGBA()
	return distance(byte(r>>8), want[0]) <= slack && distance(byte(g>>8), want[1]) <= slack && distance(byte(b>>8), want[2]) <= slack
}

func BenchmarkStills(b *testing.B) {
	s := sized(b, "1280x720")
	b.Run("thumbnail", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Thumbnail(s)
		}
	})
	b.Run("spritesheet", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Spritesheet(s)
		}
	})
}
