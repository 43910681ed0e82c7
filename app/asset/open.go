package asset

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"umg/app"
	"umg/app/media"
)

const startBytesMax = 512 // These bytes are enough to recognise a picture.

// Open fetches the source of a picture, to be looked at. What came to be there since the picture was checked is checked again. The caller
// closes the body, which ends with egress.ErrBodyTooLarge beyond 30 MiB; size is -1 when the server does not say.
func (s *Service) Open(ctx context.Context, p app.Principal, id string) (body io.ReadCloser, mediaType string, size int64, err error) {
	row, err := s.row(ctx, p.AccountID, id)
	if err != nil {
		return nil, "", 0, err
	}
	if row.Kind != Image {
		return nil, "", 0, notShown("Only pictures can be looked at here.")
	}
	leave, err := s.previews.enter(ctx, p.AccountID)
	if err != nil {
		return nil, "", 0, err
	}
	shown, err := s.open(ctx, row.URL)
	if err != nil {
		leave()
		if refused, ok := errors.AsType[*app.Error](err); ok && refused.Kind == app.Invalid {
			err = notShown("The source of this picture is no longer there, or is none.").Because(err)
		}
		return nil, "", 0, err
	}
	shown.leave = sync.OnceFunc(leave)
	return shown, shown.mediaType, shown.size, nil
}

func (s *Service) open(ctx context.Context, address string) (*picture, error) {
	resp, err := s.fetch(ctx, http.MethodGet, address, "", imageBytesMax)
	if err != nil {
		return nil, err
	}
	shown := &picture{body: resp.Body, size: resp.ContentLength}
	if resp.StatusCode != http.StatusOK || resp.ContentLength > imageBytesMax {
		err = app.InvalidRequest("url", "The server of url answered with status %d and %d bytes.", resp.StatusCode, resp.ContentLength)
		return nil, errors.Join(err, resp.Body.Close())
	}
	head := make([]byte, startBytesMax)
	n, err := io.ReadFull(resp.Body, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(unfetched(ctx, err), resp.Body.Close())
	}
	found := media.Sniff(head[:n])
	if found.Kind != media.KindImage {
		return nil, errors.Join(app.InvalidRequest("url", "The file at url is %s.", found.Name), resp.Body.Close())
	}
	shown.mediaType = found.MediaType
	shown.Reader = io.MultiReader(bytes.NewReader(head[:n]), resp.Body)
	return shown, nil
}

// picture is a source that is being sent to a reader. It keeps its turn of the gate until it is closed.
type picture struct {
	io.Reader

	body      io.Closer
	mediaType string
	size      int64
	leave     func()
}

// Close ends the picture.
func (p *picture) Close() error {
	defer p.leave()
	return p.body.Close()
}

func notShown(message string) *app.Error {
	return app.Errorf(app.NotFound, "asset_not_shown", "%s", message).At("asset_id")
}
