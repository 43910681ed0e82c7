package simulator

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	pngs "image/png"
)

const (
	filesPath = "/files/"
	// fileBytesLarge is more than anybody takes for an image.
	fileBytesLarge = 12 << 20
	// fileRedirect is where no client of an upstream should let itself be led.
	fileRedirect = "http://169.254.169.254/latest/meta-data/"
)

// files are images by address, most of them with something wrong.
var files = map[string]sample{
	"dot.png":   right("image/png", func(*Simulator) []byte { return dot(2, 2) }),
	"large.png": right("image/png", func(*Simulator) []byte { return append(dot(2, 2), make([]byte, fileBytesLarge)...) }),
	"wide.png":  right("image/png", func(*Simulator) []byte { return dot(100_000, 100_000) }),
	"page.png": right("image/png", func(*Simulator) []byte {
		return []byte("<!doctype html><html><head><title>No image</title></head></html>\n")
	}),
	"inside.png": moved(fileRedirect),
}

// dot is a PNG of one red pixel that says it has other measures.
func dot(width, height uint32) []byte {
	pixel := image.NewRGBA(image.Rect(0, 0, 1, 1))
	pixel.Set(0, 0, color.RGBA{R: 0xff, A: 0xff})
	var b bytes.Buffer
	_ = pngs.Encode(&b, pixel) // a buffer takes everything
	const header, measures, sum = 12, 16, 29
	raw := b.Bytes()
	binary.BigEndian.PutUint32(raw[measures:], width)
	binary.BigEndian.PutUint32(raw[measures+4:], height)
	binary.BigEndian.PutUint32(raw[sum:], crc32.ChecksumIEEE(raw[header:sum]))
	return raw
}
