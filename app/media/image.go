package media

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// These errors say why StripMetadata refuses a picture. A file can also be damaged in ways that only its decoder names.
var (
	ErrTruncated    = errors.New("media: the file ends before its picture does")
	ErrAnimated     = errors.New("media: the picture is animated")
	ErrTwoSizes     = errors.New("media: the picture declares two different sizes")
	ErrTrailingData = errors.New("media: other data follows the picture")
	ErrTooManyScans = errors.New("media: the JPEG has more than 100 scans")
)

// ImageFormat is a format of still pictures that video providers accept: JPEG, PNG or WebP.
type ImageFormat struct {
	MediaType string
	Name      string // Name is for people and begins with an article, such as "a JPEG".

	decodeConfig func(io.Reader) (image.Config, error)
	decode       func(io.Reader) (image.Image, error)
	strip        func([]byte, image.Config) ([]byte, error)
}

// DetectImage returns the format of a picture by its first bytes, whatever type its sender declares.
func DetectImage(data []byte) (ImageFormat, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return ImageFormat{"image/jpeg", "a JPEG", jpeg.DecodeConfig, jpeg.Decode, stripJPEG}, true
	case bytes.HasPrefix(data, []byte(pngMagic)):
		return ImageFormat{"image/png", "a PNG", png.DecodeConfig, png.Decode, stripPNG}, true
	case len(data) >= riffHeadBytes && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return ImageFormat{"image/webp", "a WebP", webp.DecodeConfig, webp.Decode, stripWebP}, true
	}
	return ImageFormat{}, false
}

// Config reads the width and height of a picture without decoding its pixels.
func (f ImageFormat) Config(data []byte) (image.Config, error) {
	return f.decodeConfig(bytes.NewReader(data))
}

// Decode decodes a picture. The caller bounds its pixels first, by Config.
func (f ImageFormat) Decode(data []byte) (image.Image, error) { return f.decode(bytes.NewReader(data)) }

// StripMetadata returns a copy of the file without EXIF, XMP and IPTC metadata, which can name a place and an owner.
// It keeps comments and everything that affects the pixels. It fails with one of the errors above unless the file is exactly one
// still picture, so that a file carries no other data to a provider.
func (f ImageFormat) StripMetadata(data []byte, config image.Config) ([]byte, error) {
	return f.strip(data, config)
}
