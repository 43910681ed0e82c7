package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // This registers the format with image.DecodeConfig.
	_ "image/jpeg" // This registers the format with image.DecodeConfig.
	_ "image/png"  // This registers the format with image.DecodeConfig.
	"io"
	"net/http"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp" // This registers the format with image.DecodeConfig.

	"umg/app"
	"umg/app/egress"
	"umg/app/llm"
)

const (
	imagesMax       = 20
	imageBytesMax   = 10 << 20
	imagesBytesMax  = 20 << 20 // This bounds all images of one call.
	imagePixelsMax  = 40_000_000
	imagesParam     = "image_url"
	imageUnreadable = "invalid_image"
)

// fetchImages fetches the images of a call whose provider does not accept addresses, one after the other and each address once. Their
// number and their bytes are bounded for the whole call. Each must be an image in a format that providers read.
func (g *Gateway) fetchImages(ctx context.Context, list []*llm.Media, memory *memoryReservation) error {
	if g.o.Egress == nil {
		return app.Errorf(app.Invalid, imageUnreadable,
			"Images by address cannot be used with this model; send the image as data.").At(imagesParam)
	}
	left := int64(imagesBytesMax)
	fetched := map[string]*llm.Media{} // Agents send the images of their history with every call.
	for _, m := range list {
		address := m.URL
		if same, ok := fetched[address]; ok {
			n := int64(base64.StdEncoding.DecodedLen(len(same.Data)))
			if left -= n; left < 0 {
				return errImageSize(address)
			}
			if n >= largeRequestBytes && !memory.take(n*imageCopies) {
				return errMemory()
			}
			m.Type, m.Data, m.URL = same.Type, same.Data, ""
			continue
		}
		if len(fetched) == imagesMax {
			return badImage(address, "is number %d, and a call with this model may have %d images by address. Send fewer, or send some as data.",
				imagesMax+1, imagesMax)
		}
		raw, err := g.fetchImage(ctx, address, min(left, imageBytesMax))
		if err != nil {
			return err
		}
		left -= int64(len(raw))
		if len(raw) >= largeRequestBytes && !memory.take(int64(len(raw))*imageCopies) {
			return errMemory()
		}
		config, format, err := image.DecodeConfig(bytes.NewReader(raw))
		if err != nil {
			return badImage(address, "is not a PNG, JPEG, GIF or WebP image that can be read. Send one that opens elsewhere.")
		}
		if config.Width*config.Height > imagePixelsMax {
			return badImage(address, "has %d x %d pixels, and an image may have 40 million. Send a smaller one.", config.Width, config.Height)
		}
		m.Type, m.Data, m.URL = "image/"+format, base64.StdEncoding.EncodeToString(raw), ""
		fetched[address] = m
	}
	return nil
}

func (g *Gateway) fetchImage(ctx context.Context, address string, bytesMax int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, badImage(address, "has no address that can be fetched. Send a URL that begins with https://.")
	}
	resp, err := g.o.Egress.Do(req, bytesMax)
	if err != nil {
		if refused, ok := errors.AsType[*app.Error](err); ok {
			e := *refused
			e.Message = imageAt(address) + " cannot be fetched: " + e.Message
			return nil, e.At(imagesParam)
		}
		return nil, badImage(address, "could not be fetched. Send another address, or the image as data.").Because(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, badImage(address,
			"cannot be had: its server answered %d. Send the address of a PNG, JPEG, GIF or WebP image, or the image as data.", resp.StatusCode)
	}
	raw, err := io.ReadAll(resp.Body)
	switch {
	case errors.Is(err, egress.ErrBodyTooLarge):
		return nil, errImageSize(address)
	case err != nil:
		return nil, badImage(address, "did not come to its end. Send another address, or the image as data.").Because(err)
	}
	return raw, nil
}

func errImageSize(address string) *app.Error {
	return badImage(address, "is larger than 10 MiB, or makes all images of the call larger than 20 MiB. Send a smaller one.")
}

// imageAt names an image by its address without the query, which may hold a secret.
func imageAt(address string) string {
	address, _, _ = strings.Cut(address, "?")
	return "The image at " + strconv.Quote(app.TruncateBytes(address, shownBytesMax))
}

// badImage is the error for the image at an address. The format is the predicate of a sentence whose subject is the image.
func badImage(address, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, imageUnreadable, "%s %s", imageAt(address), fmt.Sprintf(format, args...)).At(imagesParam)
}
