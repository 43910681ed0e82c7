package console

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/console/page"
	"umg/app/egress"
	videopages "umg/views/videos"
)

const (
	// previewPolicy makes the image inert when a browser opens its address as a page.
	previewPolicy = "default-src 'none'; sandbox"
	// previewCache lets browsers keep a preview for ten minutes, so that its source is not asked again.
	previewCache = "private, max-age=600"
)

// previewTypes are the types that the preview serves. Browsers run no scripts in pictures of these types.
var previewTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}

// assetPreview fetches the source of an image, so that the browser contacts only this server. Its type is what its bytes prove.
func (c *Console) assetPreview(p *page.Page) error {
	body, mediaType, size, err := c.o.Assets.Open(p.Request().Context(), p.Principal(), p.Param("id"))
	if err != nil {
		return noPreview(p, err)
	}
	defer func() { _ = body.Close() }()
	if !slices.Contains(previewTypes, mediaType) || size > videopages.AssetPreviewMax {
		return p.NoContent(http.StatusNotFound)
	}
	var picture io.Reader = body
	if size < 0 {
		// A picture of unknown size is read first: cut in its middle, it would look like a whole one.
		data, err := io.ReadAll(io.LimitReader(body, videopages.AssetPreviewMax+1))
		if err != nil || len(data) > videopages.AssetPreviewMax {
			return noPreview(p, errors.Join(err, egress.ErrBodyTooLarge))
		}
		picture, size = bytes.NewReader(data), int64(len(data))
	}
	h := p.Response().Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", previewPolicy)
	h.Set("Cache-Control", previewCache)
	p.Response().WriteHeader(http.StatusOK)
	if p.Request().Method == http.MethodHead {
		return nil
	}
	// A source that ends early breaks the connection, because Content-Length is already sent.
	_, err = io.CopyN(p.Response(), picture, size)
	return err
}

// noPreview answers for a source that gives no image. The answer has no body, because no one reads it. Server errors are returned.
func noPreview(p *page.Page, err error) error {
	switch app.KindOf(err) {
	case app.Unavailable, app.Canceled:
		return err
	case app.NotFound:
		return p.NoContent(http.StatusNotFound)
	case app.Internal:
		if !errors.Is(err, egress.ErrBodyTooLarge) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return p.NoContent(http.StatusBadGateway)
}
