package testvideo

import (
	"image"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// at is the colour of a pixel.
func (p *picture) at(x, y int) colour {
	return colour{p.luma.row(x, y, 1)[0], p.blue.row(x/2, y/2, 1)[0], p.red.row(x/2, y/2, 1)[0]}
}

func TestMomentIsTheSameFromWhereverOneComes(t *testing.T) {
	t.Parallel()
	s := sized(t, "320x176")
	s.Seconds = 4
	wandering := newScene(s)
	for _, frame := range []int{95, 0, 47, 48, 3, 94, 2, 0} {
		wandering.show(frame)
		fresh := newScene(s)
		fresh.show(frame)
		if !slices.Equal(wandering.picture.luma.samples, fresh.picture.luma.samples) ||
			!slices.Equal(wandering.picture.red.samples, fresh.picture.red.samples) {
			t.Errorf("frame %d depends on what was shown before", frame)
		}
	}
}

func TestSquareMovesToAndFroAndTheBarFills(t *testing.T) {
	t.Parallel()
	s := sized(t, "320x176")
	s.Seconds = 4
	scene := newScene(s)
	var places []int
	for frame := range s.frames() {
		scene.show(frame)
		if n := len(places); n == 0 || places[n-1] != scene.moved {
			places = append(places, scene.moved)
		}
		corner := scene.mover.Min.Add(image.Pt(scene.moved*blockPixels, 0))
		if scene.picture.at(corner.X, corner.Y) != scene.colours.mover {
			t.Fatalf("frame %d: the square is not at %v", frame, corner)
		}
	}
	if n := len(places); n < 20 || slices.Max(places) != scene.path || places[n-1] == places[n-2] {
		t.Errorf("the square went %v on a path of %d", places, scene.path)
	}
	end := scene.bar.Max.Sub(image.Pt(1, 1))
	if scene.picture.at(end.X, end.Y) != scene.colours.mover {
		t.Error("the bar is not full in the last frame")
	}
	scene.show(s.frames() - 3)
	if scene.picture.at(end.X, end.Y) != scene.colours.rail {
		t.Error("the bar is full before the last frame")
	}
}

func TestRemixTurnsTheColoursAndKeepsTheShapes(t *testing.T) {
	t.Parallel()
	s := sized(t, "640x368")
	seen := map[colour]int{}
	for s.Generation = range 5 {
		scene := newScene(s)
		if again, ok := seen[scene.colours.zenith]; ok {
			t.Errorf("generation %d has the colours of %d", s.Generation, again)
		}
		seen[scene.colours.zenith] = s.Generation
		ink := 0 // Ink counts pixels of the badge at the upper left.
		for y := range 80 {
			for x := range 160 {
				if scene.picture.at(x, y).luma == scene.colours.ink.luma {
					ink++
				}
			}
		}
		if (ink > 0) != (s.Generation > 0) {
			t.Errorf("generation %d has %d dots of ink in its badge", s.Generation, ink)
		}
	}
	first, remix := newScene(Spec{Width: 640, Height: 368, Seed: 3}), newScene(Spec{Width: 640, Height: 368, Seed: 3, Generation: 2})
	for x := range 640 {
		const y = 92 // The row crosses the disc.
		if (first.picture.at(x, y) == first.colours.disc) != (remix.picture.at(x, y) == remix.colours.disc) {
			t.Fatalf("the disc of a remix differs at %d", x)
		}
	}
}

func TestWrappingKeepsWordsAndWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-z]{1,30}`)).Draw(t, "words")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		lines := wrap(words, width)
		for _, line := range lines {
			if len(line) > width || line == "" || strings.TrimSpace(line) != line {
				t.Fatalf("the line %q in a width of %d", line, width)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.Join(words, "") {
			t.Fatalf("%q became %q", words, lines)
		}
	})
}

func TestTitleIsLargeWhenShortAndCutWhenLong(t *testing.T) {
	t.Parallel()
	room := sheet{widthPixels: 1184, rows: 13, inkBlocks: 360, scaleMax: 4}
	cases := []struct {
		text  string
		scale int
		last  string
	}{
		{"A boat", 4, "A boat"},
		{"", 4, ""},
		{" \n\t ", 4, ""},
		{"A\nboat\u0000", 4, "A boat\u0000"},
		{strings.Repeat("boat ", 30), 2, "boat"},
		{strings.Repeat("boat, ", 6000), 2, "boa..."},
	}
	for _, c := range cases {
		letters, lines := room.set(c.text)
		last := ""
		if len(lines) > 0 {
			last = lines[len(lines)-1]
		}
		if letters.scale != c.scale || !strings.HasSuffix(last, c.last) || strings.HasSuffix(last, "...") != strings.HasSuffix(c.last, "...") {
			t.Errorf("%.20q is set in %d as %q", c.text, letters.scale, lines)
		}
	}
	if _, lines := (sheet{widthPixels: -16, rows: -1, inkBlocks: 8, scaleMax: 1}).set("A boat"); len(lines) > 0 {
		t.Errorf("no room holds %q", lines)
	}
}

func TestColoursComeBack(t *testing.T) {
	t.Parallel()
	for hue := range 360 {
		for _, full := range []int{0, 90, 255} {
			c := fromHue(hue, full, 200)
			r, g, b := c.rgb()
			if high := max(r, g, b); high < 197 || high > 203 {
				t.Fatalf("hue %d of saturation %d has the brightness %d", hue, full, high)
			}
			if back := fromRGB(int(r), int(g), int(b)); distance(back.luma, c.luma) > 1 || distance(back.blue, c.blue) > 1 || distance(back.red, c.red) > 1 {
				t.Fatalf("hue %d of saturation %d: %v became %v", hue, full, c, back)
			}
		}
	}
	if fromRGB(0, 0, 0) != (colour{16, 128, 128}) || fromRGB(255, 255, 255) != (colour{235, 128, 128}) {
		t.Errorf("black is %v and white is %v", fromRGB(0, 0, 0), fromRGB(255, 255, 255))
	}
}

func distance(a, b byte) int { return max(int(a)-int(b), int(b)-int(a)) }
