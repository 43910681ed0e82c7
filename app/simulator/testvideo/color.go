package testvideo

// colour is a point of BT.709 in the limited range that video uses: luma from 16 to 235, the others around 128.
type colour struct{ luma, blue, red byte }

// fromRGB computes in integers, because floating point rounds differently from one processor to the next and the same
// spec must give the same bytes everywhere.
func fromRGB(r, g, b int) colour {
	return colour{
		luma: byte(16 + (47*r+157*g+16*b+128)>>8),
		blue: byte(128 + (-26*r-87*g+113*b+128)>>8),
		red:  byte(128 + (112*r-102*g-10*b+128)>>8),
	}
}

// rgb is what a player shows. The standard library's YCbCr is not used: it takes all 256 values of the full range.
func (c colour) rgb() (r, g, b byte) {
	y, u, v := 298*(int(c.luma)-16), int(c.blue)-128, int(c.red)-128
	return octet(y + 459*v), octet(y - 55*u - 136*v), octet(y + 541*u)
}

// octet rounds a value in 1/256 and keeps it in a byte.
func octet(v int) byte { return byte(min(max((v+128)>>8, 0), 255)) }

// fromHue makes a colour of a hue in degrees, and saturation and brightness up to 255.
func fromHue(hue, saturation, brightness int) colour {
	hue = (hue%360 + 360) % 360
	chroma := brightness * saturation / 255
	floor := brightness - chroma
	slope := hue%120 - 60
	if slope < 0 {
		slope = -slope
	}
	high, middle := brightness, floor+chroma*(60-slope)/60
	switch hue / 60 {
	case 0:
		return fromRGB(high, middle, floor)
	case 1:
		return fromRGB(middle, high, floor)
	case 2:
		return fromRGB(floor, high, middle)
	case 3:
		return fromRGB(floor, middle, high)
	case 4:
		return fromRGB(middle, floor, high)
	default:
		return fromRGB(high, floor, middle)
	}
}

// blend is the colour at step of steps on the way from c to d.
func (c colour) blend(d colour, step, steps int) colour {
	steps = max(steps, 1)
	mix := func(a, b byte) byte { return byte((int(a)*(steps-step) + int(b)*step) / steps) }
	return colour{mix(c.luma, d.luma), mix(c.blue, d.blue), mix(c.red, d.red)}
}

// palette is the few colours of one film.
type palette struct {
	zenith, horizon colour // Zenith and horizon are the ends of the gradient of the sky.
	ground, rail    colour
	disc, mover     colour
	ink             colour
}

// hueOfGeneration is how far, in degrees, each remix turns the colours: far enough to see at a glance, and five in a row all differ.
const hueOfGeneration = 72

func newPalette(seed uint64, generation int) palette {
	hue := int(scatter(seed)%360) + generation*hueOfGeneration
	return palette{
		zenith:  fromHue(hue, 150, 80),
		horizon: fromHue(hue+24, 120, 190),
		ground:  fromHue(hue-12, 140, 44),
		rail:    fromHue(hue-12, 110, 78),
		disc:    fromHue(hue+40, 70, 235),
		mover:   fromHue(hue+165, 125, 235),
		ink:     fromRGB(240, 240, 240),
	}
}

// scatter makes neighbouring seeds look unrelated.
func scatter(seed uint64) uint64 {
	seed += 0x9e3779b97f4a7c15
	seed = (seed ^ seed>>30) * 0xbf58476d1ce4e5b9
	seed = (seed ^ seed>>27) * 0x94d049bb133111eb
	return seed ^ seed>>31
}
