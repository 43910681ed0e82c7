package asset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/image/webp"
)

// content is what the first bytes of a file are.
type content struct {
	kind      Kind   // empty for what no asset may be
	mediaType string // one of the media types of the kinds
	name      string // for people, with its article
	measure   func(io.Reader) (image.Config, error)
}

// magic are the beginnings of files that need no closer look.
var magic = []struct {
	prefix string
	content
}{
	{"\xff\xd8\xff", content{Image, "image/jpeg", "a JPEG picture", jpeg.DecodeConfig}},
	{"\x89PNG\r\n\x1a\n", content{Image, "image/png", "a PNG picture", png.DecodeConfig}},
	{"GIF87a", content{Image, "image/gif", "a GIF picture", gif.DecodeConfig}},
	{"GIF89a", content{Image, "image/gif", "a GIF picture", gif.DecodeConfig}},
	{"fLaC", content{kind: Audio, mediaType: "audio/flac", name: "a FLAC sound"}},
	{"ID3", content{kind: Audio, mediaType: "audio/mpeg", name: "an MP3 sound"}},
}

// sniff says by its first bytes what a file is, whatever its name and its server say.
func sniff(head []byte) content {
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.content
		}
	}
	for _, look := range []func([]byte) (content, bool){riff, boxes, matroska, ogg, frames} {
		if c, ok := look(head); ok {
			return c
		}
	}
	name, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil || name == "application/octet-stream" {
		return content{name: "of no kind that is known here"}
	}
	return content{name: name}
}

// riff are the containers of WebP and WAVE.
func riff(head []byte) (content, bool) {
	if len(head) < 12 || string(head[:4]) != "RIFF" {
		return content{}, false
	}
	switch string(head[8:12]) {
	case "WEBP":
		return content{Image, "image/webp", "a WebP picture", webp.DecodeConfig}, true
	case "WAVE":
		return content{kind: Audio, mediaType: "audio/wav", name: "a WAV sound"}, true
	}
	return content{}, false
}

// The brands of the ISO container: what its makers say is inside.
var (
	filmBrands = []string{
		"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7", "iso8", "iso9", "mp41", "mp42", "mp71", "avc1", "hvc1", "M4V ", "M4VH",
		"M4VP", "MSNV", "dash", "f4v ", "3gp4", "3gp5", "3gp6",
	}
	soundBrands   = []string{"M4A ", "M4B ", "M4P "}
	pictureBrands = []string{"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1", "avif", "avis"}
	oldFilmBoxes  = []string{"moov", "mdat", "wide", "free", "skip", "pnot"} // how QuickTime films began before brands
)

// boxes is the ISO container of MP4, QuickTime and M4A.
func boxes(head []byte) (content, bool) {
	if len(head) < 8 {
		return content{}, false
	}
	size, box := binary.BigEndian.Uint32(head), string(head[4:8])
	quickTime := content{kind: Video, mediaType: "video/quicktime", name: "a QuickTime film"}
	if box != "ftyp" {
		return quickTime, slices.Contains(oldFilmBoxes, box) && (size == 1 || size >= 8)
	}
	if size < 16 || len(head) < 12 {
		return content{}, false
	}
	brands := []string{string(head[8:12])}
	for at := 16; at+4 <= min(int(size), len(head), 256); at += 4 {
		brands = append(brands, string(head[at:at+4]))
	}
	for _, brand := range brands { // the first is what it is, the others what it can also be read as
		switch {
		case brand == "qt  ":
			return quickTime, true
		case slices.Contains(soundBrands, brand):
			return content{kind: Audio, mediaType: "audio/mp4", name: "an M4A sound"}, true
		case slices.Contains(pictureBrands, brand):
			return content{name: "a HEIF or AVIF picture"}, true
		case slices.Contains(filmBrands, brand):
			return content{kind: Video, mediaType: "video/mp4", name: "an MP4 film"}, true
		}
	}
	return content{name: "an ISO media file of an unknown brand"}, true
}

// matroska is the container of WebM, which names itself in its first element.
func matroska(head []byte) (content, bool) {
	const startBytesMax = 64
	if !bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")) {
		return content{}, false
	}
	if bytes.Contains(head[:min(len(head), startBytesMax)], []byte("\x42\x82\x84webm")) {
		return content{kind: Video, mediaType: "video/webm", name: "a WebM film"}, true
	}
	return content{name: "a Matroska film"}, true
}

// ogg is a container whose first page begins with the name of its codec.
func ogg(head []byte) (content, bool) {
	const pageBytesMax = 128
	if !bytes.HasPrefix(head, []byte("OggS")) {
		return content{}, false
	}
	first := head[:min(len(head), pageBytesMax)]
	for _, codec := range []string{"\x01vorbis", "OpusHead", "\x7fFLAC", "Speex   "} {
		if bytes.Contains(first, []byte(codec)) {
			return content{kind: Audio, mediaType: "audio/ogg", name: "an Ogg sound"}, true
		}
	}
	return content{name: "an Ogg film"}, true
}

// frames are sounds without a container: MP3 and AAC, which begin with a frame.
func frames(head []byte) (content, bool) {
	if len(head) < 4 || head[0] != 0xff {
		return content{}, false
	}
	switch {
	case head[1]&0xf6 == 0xf0 && head[2]>>2&0xf < 13: // layer 0 is AAC in ADTS frames; its rate is one of 13
		return content{kind: Audio, mediaType: "audio/aac", name: "an AAC sound"}, true
	case head[1]&0xe6 == 0xe2 && head[1]&0x18 != 0x08 && head[2]&0xf0 != 0xf0 && head[2]&0xf0 != 0 && head[2]&0x0c != 0x0c:
		return content{kind: Audio, mediaType: "audio/mpeg", name: "an MP3 sound"}, true
	}
	return content{}, false
}

// kindWords are the kinds as messages list them.
func kindWords() string {
	return strings.Join([]string{string(Image), string(Video), string(Audio)}, ", ")
}
