package testvideo

import (
	"image"
	"strings"

	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// lettering is a size of the one font there is.
type lettering struct{ scale int }

func (l lettering) advance() int { return basicfont.Face7x13.Advance * l.scale }

// lineBlocks is the height of a line. Lines stand on whole macroblocks, so that no macroblock holds ink of two.
func (l lettering) lineBlocks() int { return blocks(basicfont.Face7x13.Height * l.scale) }

// blocksOf is how many macroblocks n characters touch, about.
func (l lettering) blocksOf(n int) int { return blocks(n*l.advance()) * l.lineBlocks() }

// draw writes one line with its box's upper left corner at a point.
func (l lettering) draw(p *picture, at image.Point, text string, c colour) {
	face := basicfont.Face7x13
	slack := l.lineBlocks()*blockPixels - face.Height*l.scale
	at.Y += slack / 2 &^ 1
	for _, r := range text {
		_, mask, from, _, _ := face.Glyph(fixed.Point26_6{}, r)
		for y := range face.Height {
			for x := range face.Width {
				if _, _, _, ink := mask.At(from.X+x, from.Y+y).RGBA(); ink == 0 {
					continue
				}
				dot := image.Rect(0, 0, l.scale, l.scale).Add(at).Add(image.Pt(x*l.scale, y*l.scale))
				p.fill(dot, c)
			}
		}
		at.X += l.advance()
	}
}

// sheet is the room for a text.
type sheet struct {
	widthPixels int
	rows        int // Rows counts macroblocks.
	inkBlocks   int // The letters may touch this many macroblocks, because each costs its samples in every key frame.
	scaleMax    int
}

// set chooses the largest letters in which the text fits the sheet, and breaks it into lines. A text that fits in no size is cut.
func (s sheet) set(text string) (lettering, []string) {
	words := strings.Fields(firstRunes(text, titleRunesMax))
	smallest := max(1, s.scaleMax/2)
	for scale := s.scaleMax; ; scale-- {
		l := lettering{scale}
		lines := wrap(words, s.widthPixels/l.advance())
		room := s.rows / l.lineBlocks()
		if kept := s.fitting(l, lines, room); kept == len(lines) || scale == smallest {
			if kept < len(lines) && kept > 0 {
				lines[kept-1] = cut(lines[kept-1], s.widthPixels/l.advance())
			}
			return l, lines[:kept]
		}
	}
}

// fitting is how many of the lines the sheet has room and ink for.
func (s sheet) fitting(l lettering, lines []string, room int) int {
	ink := 0
	for i, line := range lines {
		ink += l.blocksOf(len([]rune(line)))
		if i >= room || ink > s.inkBlocks {
			return i
		}
	}
	return len(lines)
}

// firstRunes is the beginning of a text of at most n characters.
func firstRunes(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// wrap fills lines of at most width characters with words. A longer word is broken.
func wrap(words []string, width int) []string {
	if width < 1 {
		return nil
	}
	var lines []string
	var line []rune
	for _, word := range words {
		rest := []rune(word)
		if len(line) > 0 && len(line)+1+len(rest) <= width {
			line = append(append(line, ' '), rest...)
			continue
		}
		if len(line) > 0 {
			lines = append(lines, string(line))
		}
		for len(rest) > width {
			lines = append(lines, string(rest[:width]))
			rest = rest[width:]
		}
		line = append(line[:0], rest...)
	}
	if len(line) > 0 {
		lines = append(lines, string(line))
	}
	return lines
}

// cut marks that a line of at most width characters is not the end of its text.
func cut(line string, width int) string {
	const mark = "..."
	kept := []rune(line)
	if width <= len(mark) {
		return string(kept[:min(len(kept), width)])
	}
	return strings.TrimRight(string(kept[:min(len(kept), width-len(mark))]), " ,;:.") + mark
}
