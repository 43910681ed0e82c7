package harness

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// PNG is a picture of two colours; with a face when the simulator is to see one.
func PNG(t *testing.T, width, height int, face bool) string {
	t.Helper()
	colors := color.Palette{color.RGBA{30, 90, 160, 255}, color.RGBA{240, 220, 90, 255}}
	// The simulator looks for these bytes, which are a palette.
	if face {
		colors = color.Palette{color.RGBA{'f', 'a', 'c', 255}, color.RGBA{'e', 0, 0, 255}}
	}
	m := image.NewPaletted(image.Rect(0, 0, width, height), colors)
	for i := range m.Pix {
		m.Pix[i] = uint8(i / 40 % 2)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil || face != strings.Contains(b.String(), "face") {
		t.Fatal(err)
	}
	return b.String()
}

// JPEG is a grey picture.
func JPEG(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// GIF is a grey picture.
func GIF(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// WebP is a picture of one colour: a lossless stream whose five codes have one word each, so that no pixel takes a bit.
func WebP(width, height int) string {
	var bits, n uint64
	var data []byte
	put := func(v, width uint64) {
		bits |= v << n
		for n += width; n >= 8; n -= 8 {
			data = append(data, byte(bits))
			bits >>= 8
		}
	}
	put(0x2f, 8)
	put(uint64(width-1), 14)
	put(uint64(height-1), 14)
	// The header has no alpha and version 0.
	put(0, 4)
	// There is no transform, no colour cache and one group of codes.
	put(0, 3)
	for _, word := range []uint64{120, 60, 200, 255} {
		// These bits are a simple code of one word, which has eight bits.
		put(1, 1)
		put(0, 1)
		put(1, 1)
		put(word, 8)
	}
	// Distances have a simple code of one word in one bit, which is 0.
	put(1, 4)
	put(0, 8)
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	head := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))
	head = binary.LittleEndian.AppendUint32(append(head, "WEBPVP8L"...), uint32(len(data)))
	return string(head) + string(data)
}

// DataURL is data as a URL of its own.
func DataURL(mediaType, data string) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString([]byte(data))
}

// MP4Info are what an MP4 says of itself.
type MP4Info struct {
	Width, Height int
	Seconds       float64
}

// ReadMP4 reads the boxes of an MP4 that say its measures and its length.
func ReadMP4(t *testing.T, data string) MP4Info {
	t.Helper()
	track, movie := strings.Index(data, "tkhd"), strings.Index(data, "mvhd")
	if len(data) < 12 || data[4:8] != "ftyp" || track < 0 || movie < 0 || len(data) < track+100 || len(data) < movie+36 {
		t.Fatalf("%d bytes are no MP4: %.40q", len(data), data)
	}
	at := func(from, offset int) int { return int(binary.BigEndian.Uint32([]byte(data[from+offset:]))) }
	if data[track+4] != 0 || data[movie+4] != 0 {
		t.Fatal("the boxes are of a version that this test does not read")
	}
	return MP4Info{at(track, 80) >> 16, at(track, 84) >> 16, float64(at(movie, 20)) / float64(at(movie, 16))}
}

// SameShape reports whether a still has the shape of its film, up to a pixel or two that rounding costs.
func SameShape(width, height, filmWidth, filmHeight int) bool {
	off := width*filmHeight - height*filmWidth
	return width >= 100 && height >= 100 && max(off, -off) <= 2*max(filmWidth, filmHeight)
}
