package media

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

	"golang.org/x/image/webp"
)

// Kind says whether a file is a picture, a video or a sound.
type Kind string

// These are the kinds of files that Sniff knows.
const (
	KindImage Kind = "image"
	KindVideo Kind = "video"
	KindAudio Kind = "audio"
)

// FileType is the type of a file, as its first bytes show it.
type FileType struct {
	Kind      Kind   // Kind is empty for a file that is no picture, video or sound of a supported format.
	MediaType string // MediaType is set together with Kind.
	Name      string // Name is for people and begins with an article, such as "a PNG picture".
	// DecodeConfig reads the width and height of a picture. It is nil for other kinds.
	DecodeConfig func(io.Reader) (image.Config, error)
}

// signatures are the first bytes of the formats that one prefix identifies.
var signatures = []struct {
	prefix string
	FileType
}{
	{"\xff\xd8\xff", FileType{KindImage, "image/jpeg", "a JPEG picture", jpeg.DecodeConfig}},
	{"\x89PNG\r\n\x1a\n", FileType{KindImage, "image/png", "a PNG picture", png.DecodeConfig}},
	{"GIF87a", FileType{KindImage, "image/gif", "a GIF picture", gif.DecodeConfig}},
	{"GIF89a", FileType{KindImage, "image/gif", "a GIF picture", gif.DecodeConfig}},
	{"fLaC", FileType{Kind: KindAudio, MediaType: "audio/flac", Name: "a FLAC sound"}},
	{"ID3", FileType{Kind: KindAudio, MediaType: "audio/mpeg", Name: "an MP3 sound"}},
}

// Sniff returns the type of a file by its first bytes. The name of the file and the type that its server declares do not count.
func Sniff(head []byte) FileType {
	for _, m := range signatures {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.FileType
		}
	}
	for _, look := range []func([]byte) (FileType, bool){sniffRIFF, sniffISO, sniffMatroska, sniffOgg, sniffFrames} {
		if c, ok := look(head); ok {
			return c
		}
	}
	name, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil || name == "application/octet-stream" {
		return FileType{Name: "of no kind that is known here"}
	}
	return FileType{Name: name}
}

// sniffRIFF recognizes WebP and WAVE, which share the RIFF container.
func sniffRIFF(head []byte) (FileType, bool) {
	if len(head) < 12 || string(head[:4]) != "RIFF" {
		return FileType{}, false
	}
	switch string(head[8:12]) {
	case "WEBP":
		return FileType{KindImage, "image/webp", "a WebP picture", webp.DecodeConfig}, true
	case "WAVE":
		return FileType{Kind: KindAudio, MediaType: "audio/wav", Name: "a WAV sound"}, true
	}
	return FileType{}, false
}

// These are the brands of the ISO container, which say what it contains.
var (
	filmBrands = []string{
		"isom", "iso2", "iso3", "iso4", "iso5", "iso6", "iso7", "iso8", "iso9", "mp41", "mp42", "mp71", "avc1", "hvc1", "M4V ", "M4VH",
		"M4VP", "MSNV", "dash", "f4v ", "3gp4", "3gp5", "3gp6",
	}
	soundBrands   = []string{"M4A ", "M4B ", "M4P "}
	pictureBrands = []string{"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1", "avif", "avis"}
	oldFilmBoxes  = []string{"moov", "mdat", "wide", "free", "skip", "pnot"} // QuickTime files without a brand begin with these.
)

// sniffISO recognizes MP4, QuickTime and M4A, which share the ISO container.
func sniffISO(head []byte) (FileType, bool) {
	if len(head) < 8 {
		return FileType{}, false
	}
	size, box := binary.BigEndian.Uint32(head), string(head[4:8])
	quickTime := FileType{Kind: KindVideo, MediaType: "video/quicktime", Name: "a QuickTime film"}
	if box != "ftyp" {
		return quickTime, slices.Contains(oldFilmBoxes, box) && (size == 1 || size >= 8)
	}
	if size < 16 || len(head) < 12 {
		return FileType{}, false
	}
	brands := []string{string(head[8:12])}
	for at := 16; at+4 <= min(int(size), len(head), 256); at += 4 {
		brands = append(brands, string(head[at:at+4]))
	}
	for _, brand := range brands { // The first brand is the main one; the others are compatible brands.
		switch {
		case brand == "qt  ":
			return quickTime, true
		case slices.Contains(soundBrands, brand):
			return FileType{Kind: KindAudio, MediaType: "audio/mp4", Name: "an M4A sound"}, true
		case slices.Contains(pictureBrands, brand):
			return FileType{Name: "a HEIF or AVIF picture"}, true
		case slices.Contains(filmBrands, brand):
			return FileType{Kind: KindVideo, MediaType: "video/mp4", Name: "an MP4 film"}, true
		}
	}
	return FileType{Name: "an ISO media file of an unknown brand"}, true
}

// sniffMatroska recognizes WebM, which names itself in the first element of a Matroska container.
func sniffMatroska(head []byte) (FileType, bool) {
	const startBytesMax = 64
	if !bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")) {
		return FileType{}, false
	}
	if bytes.Contains(head[:min(len(head), startBytesMax)], []byte("\x42\x82\x84webm")) {
		return FileType{Kind: KindVideo, MediaType: "video/webm", Name: "a WebM film"}, true
	}
	return FileType{Name: "a Matroska film"}, true
}

// sniffOgg recognizes sounds in an Ogg container by the codec that its first page names.
func sniffOgg(head []byte) (FileType, bool) {
	const pageBytesMax = 128
	if !bytes.HasPrefix(head, []byte("OggS")) {
		return FileType{}, false
	}
	first := head[:min(len(head), pageBytesMax)]
	for _, codec := range []string{"\x01vorbis", "OpusHead", "\x7fFLAC", "Speex   "} {
		if bytes.Contains(first, []byte(codec)) {
			return FileType{Kind: KindAudio, MediaType: "audio/ogg", Name: "an Ogg sound"}, true
		}
	}
	return FileType{Name: "an Ogg film"}, true
}

// sniffFrames recognizes MP3 and AAC without a container: such a file begins with a frame.
func sniffFrames(head []byte) (FileType, bool) {
	if len(head) < 4 || head[0] != 0xff {
		return FileType{}, false
	}
	switch {
	case head[1]&0xf6 == 0xf0 && head[2]>>2&0xf < 13: // This is AAC in ADTS frames: layer 0, and one of 13 sampling rates.
		return FileType{Kind: KindAudio, MediaType: "audio/aac", Name: "an AAC sound"}, true
	case head[1]&0xe6 == 0xe2 && head[1]&0x18 != 0x08 && head[2]&0xf0 != 0xf0 && head[2]&0xf0 != 0 && head[2]&0x0c != 0x0c:
		return FileType{Kind: KindAudio, MediaType: "audio/mpeg", Name: "an MP3 sound"}, true
	}
	return FileType{}, false
}
