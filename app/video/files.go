package video

import (
	"context"
	"fmt"
	"io"
)

func (s *Service) put(ctx context.Context, r *jobRow, v Variant, mediaType string, size int64, from io.Reader) (File, error) {
	info, err := s.o.Store.Put(ctx, key(r.AccountID, r.ID, v), mediaType, size, from)
	if err != nil {
		return File{}, fmt.Errorf("video: store the %s: %w", v, err)
	}
	return File{Type: mediaType, Bytes: size, ETag: info.ETag}, nil
}

// deleteFiles deletes the film and the pictures of a job, those too that its row does not name, and reports whether none is left.
func (s *Service) deleteFiles(ctx context.Context, r *jobRow) bool {
	for _, v := range Variants() {
		if err := s.o.Store.Delete(ctx, key(r.AccountID, r.ID, v)); err != nil {
			if ctx.Err() == nil {
				s.o.Log.Warn("removing video content failed", "video_id", r.ID, "variant", v, "error", err)
			}
			return false
		}
	}
	return true
}
