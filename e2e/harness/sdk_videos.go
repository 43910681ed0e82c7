package harness

// SameShape reports whether a still has the shape of its film, up to a pixel or two that rounding costs.
func SameShape(width, height, filmWidth, filmHeight int) bool {
	off := width*filmHeight - height*filmWidth
	return width >= 100 && height >= 100 && max(off, -off) <= 2*max(filmWidth, filmHeight)
}
