package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	_ "image/gif"  // the formats whose size can be read
	_ "image/jpeg" // before the pixels are
	_ "image/png"
	"io"
	"net/http"

	_ "golang.org/x/image/webp" // and the one that the standard library lacks

	"umg/app"
	"umg/app/egress"
	"umg/app/llm"
)

const (
	imagesMax       = 20
	imageBytesMax   = 10 << 20
	imagesBytesMax  = 20 << 20 // of one call
	imagePixelsMax  = 40_000_000
	imagesParam     = "image_url"
	imageUnreadable = "invalid_image"
)

// fetchImages gets the images of a call whose provider takes none by address, one after the other and each address once:
// their number and bytes are bounded for the whole call, and what comes must be an image of a kind that providers read.
func (g *Gateway) fetchImages(ctx context.Context, list []*llm.Media, memory *loan) error {
	if g.o.Egress == nil {
		return badImage("Images by address cannot be used with this model; send the image as data.")
	}
	left := int64(imagesBytesMax)
	fetched := map[string]*llm.Media{} // agents send the images of their history with every call
	for _, m := range list {
		address := m.URL
		if same, ok := fetched[address]; ok {
			n := int64(base64.StdEncoding.DecodedLen(len(same.Data)))
			if left -= n; left < 0 {
				return errImageSize()
			}
			if n >= largeRequestBytes && !memory.take(n*imageCopies) {
				return errMemory()
			}
			m.Type, m.Data, m.URL = same.Type, same.Data, ""
			continue
		}
		if len(fetched) == imagesMax {
			return badImage("A call with this model may have at most 20 images by address.")
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
			return badImage("An image address did not give a PNG, JPEG, GIF or WebP image.")
		}
		if config.Width*config.Height > imagePixelsMax {
			return badImage("An image has more than 40 million pixels.")
		}
		m.Type, m.Data, m.URL = "image/"+format, base64.StdEncoding.EncodeToString(raw), ""
		fetched[address] = m
	}
	return nil
}

func (g *Gateway) fetchImage(ctx context.Context, address string, bytesMax int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, badImage("An image address is not a URL.")
	}
	resp, err := g.o.Egress.Do(req, bytesMax)
	if err != nil {
		if refused, ok := errors.AsType[*app.Error](err); ok {
			e := *refused
			return nil, e.At(imagesParam)
		}
		return nil, badImage("An image could not be fetched from its address.").Because(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, badImage("An image address did not answer with an image.")
	}
	raw, err := io.ReadAll(resp.Body)
	switch {
	case errors.Is(err, egress.ErrBodyTooLarge):
		return nil, errImageSize()
	case err != nil:
		return nil, badImage("An image could not be fetched from its address.").Because(err)
	}
	return raw, nil
}

func errImageSize() *app.Error {
	return badImage("An image is larger than 10 MiB, or all of them than 20 MiB.")
}

func badImage(message string) *app.Error {
	return app.Errorf(app.Invalid, imageUnreadable, "%s", message).At(imagesParam)
}
