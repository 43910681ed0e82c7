package testvideo

import (
	"bytes"
	"image"
	"image/color"
)

// blockPixels is the side of a macroblock, the unit in which H.264 codes a picture.
const blockPixels = 16

// plane is one component of a picture, row after row.
type plane struct {
	stride  int
	samples []byte
}

func newPlane(width, height int) plane { return plane{width, make([]byte, width*height)} }

func (p plane) row(x, y, n int) []byte { return p.samples[y*p.stride+x : y*p.stride+x+n] }

func (p plane) fill(r image.Rectangle, v byte) {
	first := p.row(r.Min.X, r.Min.Y, r.Dx())
	for i := range first {
		first[i] = v
	}
	for y := r.Min.Y + 1; y < r.Max.Y; y++ {
		copy(p.row(r.Min.X, y, r.Dx()), first)
	}
}

func (p plane) copyFrom(q plane, r image.Rectangle) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(p.row(r.Min.X, y, r.Dx()), q.row(r.Min.X, y, r.Dx()))
	}
}

func (p plane) mean(r image.Rectangle) byte {
	sum := 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for _, v := range p.row(r.Min.X, y, r.Dx()) {
			sum += int(v)
		}
	}
	return byte(sum / (r.Dx() * r.Dy()))
}

// repeatsAbove says whether each row of the n by n block at x, y is the row above the block.
func (p plane) repeatsAbove(x, y, n int) bool {
	if y == 0 {
		return false
	}
	above := p.row(x, y-1, n)
	for j := range n {
		if !bytes.Equal(p.row(x, y+j, n), above) {
			return false
		}
	}
	return true
}

// repeatsLeft says whether each row of the n by n block at x, y goes on with the sample left of it.
func (p plane) repeatsLeft(x, y, n int) bool {
	if x == 0 {
		return false
	}
	for j := range n {
		row := p.row(x-1, y+j, n+1)
		if !bytes.Equal(row[1:], row[:n]) {
			return false
		}
	}
	return true
}

// picture is a frame in 4:2:0 whose sides are whole macroblocks, and which of them were drawn on since the last frame was coded.
type picture struct {
	columns, rows   int // Columns and rows count macroblocks.
	luma, blue, red plane
	touched         []bool
}

// newPicture has room for width by height pixels. What is beyond them, a player crops.
func newPicture(width, height int) *picture {
	columns, rows := blocks(width), blocks(height)
	w, h := columns*blockPixels, rows*blockPixels
	return &picture{
		columns: columns, rows: rows,
		luma: newPlane(w, h), blue: newPlane(w/2, h/2), red: newPlane(w/2, h/2),
		touched: make([]bool, columns*rows),
	}
}

// blocks is how many macroblocks cover n pixels.
func blocks(n int) int { return (n + blockPixels - 1) / blockPixels }

func (p *picture) bounds() image.Rectangle {
	return image.Rect(0, 0, p.columns*blockPixels, p.rows*blockPixels)
}

// half is the part of the two colour planes that a rectangle of pixels covers.
func half(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.X/2, r.Min.Y/2, (r.Max.X+1)/2, (r.Max.Y+1)/2)
}

// fill paints what of the rectangle lies in the picture.
func (p *picture) fill(r image.Rectangle, c colour) {
	r = r.Intersect(p.bounds())
	if r.Empty() {
		return
	}
	p.luma.fill(r, c.luma)
	p.blue.fill(half(r), c.blue)
	p.red.fill(half(r), c.red)
	p.touch(r)
}

// restore paints the rectangle as it is in another picture of the same size.
func (p *picture) restore(from *picture, r image.Rectangle) {
	r = r.Intersect(p.bounds())
	if r.Empty() {
		return
	}
	p.luma.copyFrom(from.luma, r)
	p.blue.copyFrom(from.blue, half(r))
	p.red.copyFrom(from.red, half(r))
	p.touch(r)
}

func (p *picture) touch(r image.Rectangle) {
	for y := r.Min.Y / blockPixels; y < blocks(r.Max.Y); y++ {
		for x := r.Min.X / blockPixels; x < blocks(r.Max.X); x++ {
			p.touched[y*p.columns+x] = true
		}
	}
}

// mean is the average colour of a rectangle that is not empty.
func (p *picture) mean(r image.Rectangle) color.RGBA {
	red, green, blue := colour{p.luma.mean(r), p.blue.mean(half(r)), p.red.mean(half(r))}.rgb()
	return color.RGBA{R: red, G: green, B: blue, A: 255}
}
