package video

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"umg/app"
	"umg/app/egress"
	"umg/app/media"
	"umg/app/provider/videoapi"
)

const (
	uploadBytesMax   = 20 << 20
	downloadBytesMax = 10 << 20
	imagePixelsMax   = 40_000_000
)

// firstFrame gets the picture that a call brings or names, and checks it. It is nil when there is none.
func (s *Service) firstFrame(ctx context.Context, c *Call, p *plan) (*videoapi.Image, error) {
	address := p.params.imageURL
	switch {
	case c.Upload != nil && address != "":
		return nil, badImage("input_reference is there twice, as a file and as an address; send one picture.")
	case c.Upload != nil:
		if len(c.Upload.Data) > uploadBytesMax {
			return nil, badImage("input_reference is larger than 20 MiB.")
		}
		return checkImage(c.Upload.Data, c.Upload.Type, p.width, p.height)
	case address == "":
		return nil, nil //nolint:nilnil // no picture is no error
	}
	data, declared, err := s.imageAt(ctx, address)
	if err != nil {
		return nil, err
	}
	return checkImage(data, declared, p.width, p.height)
}

// imageAt reads a data: URL or fetches a web address.
func (s *Service) imageAt(ctx context.Context, address string) (data []byte, declared string, err error) {
	if len(address) >= 5 && strings.EqualFold(address[:5], "data:") {
		head, body, ok := strings.Cut(address[5:], ",")
		declared, encoded := strings.CutSuffix(head, ";base64")
		if !ok || !encoded {
			return nil, "", badImage("input_reference.image_url must be a data: URL in base64, such as data:image/png;base64,….")
		}
		if base64.StdEncoding.DecodedLen(len(body)) > uploadBytesMax {
			return nil, "", badImage("input_reference is larger than 20 MiB.")
		}
		if data, err = base64.StdEncoding.DecodeString(body); err != nil {
			return nil, "", badImage("input_reference.image_url holds a data: URL whose base64 is broken.").Because(err)
		}
		return data, declared, nil
	}
	return s.fetchImage(ctx, address)
}

// fetchImage gets a picture from an address that a client gave.
func (s *Service) fetchImage(ctx context.Context, address string) (data []byte, declared string, err error) {
	if s.o.Egress == nil {
		return nil, "", badImage("Pictures by address are not fetched here; send the picture as a file or as a data: URL.")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", badImage("input_reference.image_url is not a web address.")
	}
	req.Header.Set("Accept", "image/png, image/jpeg, image/webp")
	resp, err := s.o.Egress.Do(req, downloadBytesMax)
	if err != nil {
		message := "input_reference.image_url could not be fetched."
		if known, ok := errors.AsType[*app.Error](err); ok {
			message = "input_reference.image_url could not be fetched: " + known.Message
		}
		return nil, "", badImage(message).Because(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, "", badImage(fmt.Sprintf(
			"input_reference.image_url answered with status %d instead of a picture; redirects are not followed.", resp.StatusCode))
	}
	data, err = io.ReadAll(resp.Body)
	switch {
	case errors.Is(err, egress.ErrBodyTooLarge):
		return nil, "", badImage("The picture at input_reference.image_url is larger than 10 MiB.")
	case err != nil:
		return nil, "", badImage("The picture at input_reference.image_url could not be read to its end.").Because(err)
	}
	return data, resp.Header.Get("Content-Type"), nil
}

// checkImage makes sure that a file is what a first frame must be, by its content alone: one whole picture of a kind that providers read,
// of exactly the video's size, with nothing behind it. What it declares to be may be missing, but must not contradict.
func checkImage(data []byte, declared string, width, height int) (*videoapi.Image, error) {
	kind, ok := media.DetectImage(data)
	if !ok {
		return nil, badImage("input_reference must be a JPEG, PNG or WebP picture; by its content it is none of them.")
	}
	if said := declaredType(declared); said != "" && said != kind.MediaType {
		return nil, badImage(fmt.Sprintf("input_reference is declared as %s, but by its content it is %s.",
			app.Truncate(said, shownRunesMax), kind.Name))
	}
	config, err := kind.Config(data)
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return nil, brokenImage(kind, err)
	}
	if int64(config.Width)*int64(config.Height) > imagePixelsMax {
		return nil, badImage("input_reference has more than 40 million pixels.")
	}
	if config.Width != width || config.Height != height {
		return nil, badImage(fmt.Sprintf(
			"input_reference is %dx%d pixels; it must be exactly %dx%d, the size of the video. Scale or crop it, or ask for another size.",
			config.Width, config.Height, width, height))
	}
	stripped, err := kind.StripMetadata(data, config)
	if err != nil {
		return nil, unusableImage(kind, err)
	}
	whole, err := kind.Decode(stripped)
	if err != nil {
		return nil, brokenImage(kind, err)
	}
	if at := whole.Bounds(); at.Dx() != width || at.Dy() != height {
		return nil, unusableImage(kind, media.ErrTwoSizes)
	}
	return &videoapi.Image{Type: kind.MediaType, Data: stripped}, nil
}

// declaredType is the media type that came with a file, empty when it says nothing of the content.
func declaredType(declared string) string {
	declared = strings.TrimSpace(declared)
	said, _, err := mime.ParseMediaType(declared)
	if err != nil && declared != "" {
		said = strings.ToLower(declared)
	}
	switch said {
	case "application/octet-stream", "binary/octet-stream", "application/binary":
		return ""
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "image/x-png":
		return "image/png"
	}
	return said
}

// unusableImage returns the error for a picture that media cannot strip of its metadata.
func unusableImage(kind media.ImageFormat, err error) *app.Error {
	switch {
	case errors.Is(err, media.ErrAnimated):
		return badImage("input_reference is animated; the first frame of a video must be a still picture.")
	case errors.Is(err, media.ErrTwoSizes):
		return badImage("input_reference says two different sizes of itself; save it again.")
	case errors.Is(err, media.ErrTrailingData):
		return badImage("input_reference has other data behind its picture; save the picture again without it.")
	case errors.Is(err, media.ErrTooManyScans):
		return badImage("input_reference is a JPEG of more than 100 scans; save it again.")
	}
	return brokenImage(kind, err)
}

func brokenImage(kind media.ImageFormat, err error) *app.Error {
	return badImage("input_reference begins like " + kind.Name + " picture, but it is cut or damaged.").Because(err)
}

func badImage(message string) *app.Error {
	return invalid(paramImage, "%s", message)
}
