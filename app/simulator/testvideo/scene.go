package testvideo

import (
	"fmt"
	"image"
)

// scene is the film as a picture that can show each of its moments. Everything that moves or is filled stands on whole
// macroblocks, which makes it nearly free to code.
type scene struct {
	picture *picture
	plate   *picture // Plate has everything that does not move and restores what the square covered.
	colours palette
	frames  int

	bar       image.Rectangle // All rectangles of a scene are in pixels.
	mover     image.Rectangle // Mover is where the moving square starts.
	path      int             // Path is how many macroblocks the square moves before it turns.
	moved     int             // Moved is how many macroblocks the square is from its start.
	barFilled int             // BarFilled counts macroblocks.
	shown     bool
}

// framesPerStep is how long the moving square rests on each place.
const framesPerStep = 2

// rectOfBlocks is a rectangle given in macroblocks.
func rectOfBlocks(x, y, width, height int) image.Rectangle {
	return image.Rect(x*blockPixels, y*blockPixels, (x+width)*blockPixels, (y+height)*blockPixels)
}

func newScene(s Spec) *scene {
	c := &scene{picture: newPicture(s.Width, s.Height), colours: newPalette(s.Seed, s.Generation), frames: s.frames()}
	columns, rows := s.Width/blockPixels, s.Height/blockPixels // Only whole macroblocks count, because a player crops the last one.
	margin := min(columns, rows) / 12
	ground := max(1, rows*5/9)

	c.sky(ground * blockPixels)
	c.disc(s, ground*blockPixels)
	c.picture.fill(image.Rect(0, ground*blockPixels, c.picture.bounds().Max.X, c.picture.bounds().Max.Y), c.colours.ground)
	c.title(s, image.Rectangle{image.Pt(margin, ground+margin), image.Pt(columns-margin, rows-2*margin-1)})
	c.badge(s, margin, columns)

	side := max(1, min(columns, rows)/9)
	c.mover = rectOfBlocks(margin, max(0, ground-side), side, side)
	c.path = columns - 2*margin - side
	if rows > 1 {
		c.bar = rectOfBlocks(margin, rows-margin-1, columns-2*margin, 1)
		c.picture.fill(c.bar, c.colours.rail)
	}
	c.plate = newPicture(s.Width, s.Height)
	c.plate.restore(c.picture, c.picture.bounds())
	return c
}

// sky is a gradient from top to bottom. Along a row nothing changes, so each macroblock goes on like the one to its left.
func (c *scene) sky(bottom int) {
	right := c.picture.bounds().Max.X
	for y := 0; y < bottom; y += 2 {
		c.picture.fill(image.Rect(0, y, right, y+2), c.colours.zenith.blend(c.colours.horizon, y, bottom))
	}
}

// disc hangs in the sky where the seed says, the same for all remixes of a film.
func (c *scene) disc(s Spec, bottom int) {
	radius := min(s.Width, bottom) / 4
	centre := image.Pt(s.Width/4+int(scatter(s.Seed+1)%uint64(s.Width/2)), bottom*9/20)
	for y := -radius &^ 1; y < radius; y += 2 {
		reach := root(radius*radius-y*y) &^ 1
		c.picture.fill(image.Rect(centre.X-reach, centre.Y+y, centre.X+reach, centre.Y+y+2), c.colours.disc)
	}
}

// root is the integer part of the square root of a number, zero for a negative one.
func root(n int) int {
	r := 0
	for (r+1)*(r+1) <= n {
		r++
	}
	return r
}

// title writes the text on the ground, inside a rectangle in macroblocks, which may be empty in a small film. It is drawn
// once, because letters are expensive to code.
func (c *scene) title(s Spec, room image.Rectangle) {
	const inkShare = 10 // At most one macroblock in inkShare holds letters.
	letters, lines := sheet{
		widthPixels: room.Dx() * blockPixels,
		rows:        room.Dy(),
		inkBlocks:   max(c.picture.columns*c.picture.rows/inkShare, 8),
		scaleMax:    max(1, min(s.Width, s.Height)/180),
	}.set(s.Title)
	at := room.Min.Mul(blockPixels)
	for _, line := range lines {
		letters.draw(c.picture, at, line, c.colours.ink)
		at.Y += letters.lineBlocks() * blockPixels
	}
}

// badge says how many times the film was remixed, where there is room for it. The colours say it anyway.
func (c *scene) badge(s Spec, margin, columns int) {
	if s.Generation == 0 {
		return
	}
	text := fmt.Sprintf("Remix %d", s.Generation)
	letters := lettering{max(1, min(s.Width, s.Height)/240)}
	width := blocks(len(text)*letters.advance() + blockPixels)
	if width > columns-2*margin {
		return
	}
	plate := rectOfBlocks(margin, margin, width, letters.lineBlocks())
	c.picture.fill(plate, c.colours.ground)
	letters.draw(c.picture, plate.Min.Add(image.Pt(blockPixels/2, 0)), text, c.colours.ink)
}

// show draws the moment of a frame. Moments may be shown in any order.
func (c *scene) show(frame int) {
	moved := c.place(frame / framesPerStep)
	if !c.shown || moved != c.moved {
		c.picture.restore(c.plate, c.mover.Add(image.Pt(c.moved*blockPixels, 0)))
		c.picture.fill(c.mover.Add(image.Pt(moved*blockPixels, 0)), c.colours.mover)
	}
	filled := 0
	if c.frames > 1 {
		filled = c.bar.Dx() / blockPixels * frame / (c.frames - 1)
	}
	if filled != c.barFilled {
		from, to := min(filled, c.barFilled), max(filled, c.barFilled)
		changed := c.bar
		changed.Min.X, changed.Max.X = c.bar.Min.X+from*blockPixels, c.bar.Min.X+to*blockPixels
		if filled > c.barFilled {
			c.picture.fill(changed, c.colours.mover)
		} else {
			c.picture.restore(c.plate, changed)
		}
	}
	c.moved, c.barFilled, c.shown = moved, filled, true
}

// place is how far the square is after some steps: it goes to and fro.
func (c *scene) place(step int) int {
	if c.path <= 0 {
		return 0
	}
	step %= 2 * c.path
	return min(step, 2*c.path-step)
}
