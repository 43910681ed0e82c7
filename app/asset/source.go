package asset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/egress"
	"umg/app/media"
)

const (
	imageBytesMax  = 30 << 20
	pixelsMax      = 40_000_000
	headBytesMax   = 512 << 10 // These bytes are enough to recognise the type of a source.
	inspectMax     = 40 * time.Second
	answerBytesMax = 4 << 10 // So much of an unused answer body is read, so that the connection can be reused.
	mebibyte       = 1 << 20
)

// kinds are the largest size and the formats of each kind of asset.
var kinds = map[Kind]struct {
	bytesMax int64
	formats  string
}{
	Image: {imageBytesMax, "JPEG, PNG, WebP or GIF"},
	Video: {500 * mebibyte, "MP4, QuickTime or WebM"},
	Audio: {100 * mebibyte, "MP3, WAV, M4A, AAC, Ogg or FLAC"},
}

// source is what a look at a URL found.
type source struct {
	media.FileType

	bytes         int64 // Bytes is 0 when the server does not say.
	width, height int
}

// inspect looks at a source: that it is public and there, what it is by its content, and how large. Its name and what its
// server calls it prove nothing.
func (s *Service) inspect(ctx context.Context, kind Kind, address string) (source, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectMax)
	defer cancel()
	if err := s.o.Egress.Check(ctx, address); err != nil {
		return source{}, unfetched(ctx, err)
	}
	size, err := s.askSize(ctx, address)
	if err != nil {
		return source{}, err
	}
	if err := checkSize(kind, size); err != nil {
		return source{}, err
	}
	head, whole, err := s.readHead(ctx, address)
	if err != nil {
		return source{}, err
	}
	if whole > 0 {
		size = whole
	}
	if err := checkSize(kind, size); err != nil {
		return source{}, err
	}
	return identify(kind, head, max(size, 0))
}

// askSize asks for the head alone. Many servers do not answer that, or not for addresses that are signed for reading;
// what counts is the answer to reading itself.
func (s *Service) askSize(ctx context.Context, address string) (int64, error) {
	resp, err := s.fetch(ctx, http.MethodHead, address, "", answerBytesMax)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, nil
	}
	return resp.ContentLength, nil
}

// readHead reads the first bytes of a source and learns how large it is, 0 when its server does not say.
func (s *Service) readHead(ctx context.Context, address string) (head []byte, size int64, err error) {
	resp, err := s.fetch(ctx, http.MethodGet, address, fmt.Sprintf("bytes=0-%d", headBytesMax-1), headBytesMax)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode/100 == 3:
		return nil, 0, app.InvalidRequest("url",
			"The server of url redirects, and redirects are not followed. Give the address that it leads to.")
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return nil, 0, app.InvalidRequest("url", "The file at url is empty.")
	case resp.StatusCode == http.StatusPartialContent:
		size = wholeOf(resp.Header.Get("Content-Range"))
	case resp.StatusCode == http.StatusOK:
		size = max(resp.ContentLength, 0)
	default:
		return nil, 0, app.InvalidRequest("url",
			"The server of url answered with status %d instead of the file. The file must be public.", resp.StatusCode)
	}
	head, err = io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, egress.ErrBodyTooLarge) {
		return nil, 0, unfetched(ctx, err)
	}
	if len(head) == 0 {
		return nil, 0, app.InvalidRequest("url", "The file at url is empty.")
	}
	return head, size, nil
}

// wholeOf is the size of the whole file in a Content-Range, 0 where that does not say.
func wholeOf(contentRange string) int64 {
	_, whole, found := strings.Cut(contentRange, "/")
	n, err := strconv.ParseInt(strings.TrimSpace(whole), 10, 64)
	if !found || err != nil || n < 0 {
		return 0
	}
	return n
}

func (s *Service) fetch(ctx context.Context, method, address, span string, bytesMax int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, app.InvalidRequest("url", "url must be an absolute address, as in https://example.com/picture.png.").Because(err)
	}
	if span != "" {
		req.Header.Set("Range", span)
	}
	resp, err := s.o.Egress.Do(req, bytesMax)
	if err != nil {
		return nil, unfetched(ctx, err)
	}
	return resp, nil
}

// unfetched says why a source cannot be read, in the words of who tried.
func unfetched(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return app.InvalidRequest("url", "The server of url did not answer in time.").Because(err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	known, ok := errors.AsType[*app.Error](err)
	switch {
	case !ok:
		return app.InvalidRequest("url", "The file at url could not be read to its end.").Because(err)
	case known.Kind == app.Unavailable:
		return known.At("url")
	case known.Kind == app.Invalid:
		return app.InvalidRequest("url", "url cannot be used: %s", known.Message).Because(err)
	}
	return app.InvalidRequest("url", "The file at url could not be read: %s", known.Message).Because(err)
}

func checkSize(kind Kind, size int64) error {
	if most := kinds[kind].bytesMax; size > most {
		return app.InvalidRequest("url", "The file at url has %d bytes; as asset_type %s it may have at most %d MiB.", size, kind, most/mebibyte)
	}
	return nil
}

// identify proves the kind of a source by its first bytes.
func identify(kind Kind, head []byte, size int64) (source, error) {
	found := source{FileType: media.Sniff(head), bytes: size}
	if Kind(found.Kind) != kind {
		return source{}, app.InvalidRequest("url", "asset_type is %s, but the file at url is %s by its content. As %s it may be %s.",
			kind, found.Name, kind, kinds[kind].formats)
	}
	if found.DecodeConfig == nil {
		return found, nil
	}
	config, err := found.DecodeConfig(bytes.NewReader(head))
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return source{}, app.InvalidRequest("url",
			"The file at url begins like %s, but it is damaged, or its size does not stand in its first 512 KiB.", found.Name).Because(err)
	}
	if int64(config.Width)*int64(config.Height) > pixelsMax {
		return source{}, app.InvalidRequest("url", "The picture at url has %d x %d pixels; pictures may have at most 40 million.",
			config.Width, config.Height)
	}
	found.width, found.height = config.Width, config.Height
	return found, nil
}

// kindWords lists the kinds for error messages.
func kindWords() string {
	return strings.Join([]string{string(Image), string(Video), string(Audio)}, ", ")
}
