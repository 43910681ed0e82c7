package simulator

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	pngs "image/png"
	"net/http"
	"strings"
)

const (
	filesPath = "/files/"
	// fileBytesLarge is more than anybody takes for an image.
	fileBytesLarge = 12 << 20
	// fileRedirect is where no client of an upstream should let itself be led.
	fileRedirect = "http://169.254.169.254/latest/meta-data/"
)

// files are images by address, most of them with something wrong.
var files = map[string]func(w http.ResponseWriter, r *http.Request){
	"dot.png": func(w http.ResponseWriter, _ *http.Request) { sendImage(w, dot(2, 2)) },
	"large.png": func(w http.ResponseWriter, _ *http.Request) {
		sendImage(w, append(dot(2, 2), make([]byte, fileBytesLarge)...))
	},
	"wide.png": func(w http.ResponseWriter, _ *http.Request) { sendImage(w, dot(100_000, 100_000)) },
	"page.png": func(w http.ResponseWriter, _ *http.Request) {
		sendImage(w, []byte("<!doctype html><html><head><title>No image</title></head></html>\n"))
	},
	"inside.png": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, fileRedirect, http.StatusFound) },
}

// sendImage sends what is at least said to be an image.
func sendImage(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "image/png")
	_, _ = w.Write(data)
}

// serveFile answers a request for one of the files, and remembers it.
func (s *Simulator) serveFile(w http.ResponseWriter, r *http.Request) {
	if s.recorder != nil {
		e := s.recorder.begin(r, "")
		defer func() { e.end(r.Context().Err() != nil) }()
	}
	serve, ok := files[strings.TrimPrefix(r.URL.Path, filesPath)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	serve(w, r)
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
