package video

import (
	"context"
	"errors"
	"fmt"

	"umg/app"
	"umg/app/storage"
)

// Open opens a file of a completed job. The caller closes it.
func (s *Service) Open(ctx context.Context, accountID, id string, v Variant) (storage.Blob, Job, error) {
	row, err := visible(ctx, s.db, accountID, id)
	if err != nil {
		return nil, Job{}, err
	}
	if v != Movie && v != Thumbnail && v != Spritesheet {
		return nil, Job{}, app.Errorf(app.Invalid, codeInvalid, "variant must be one of video, thumbnail and spritesheet.").At("variant")
	}
	if err := row.ready(s.o.Now()); err != nil {
		return nil, Job{}, err
	}
	job, err := row.job()
	if err != nil {
		return nil, Job{}, err
	}
	if _, made := job.Content[v]; !made {
		return nil, Job{}, app.Errorf(app.NotFound, "variant_unavailable", "This video has no %s.", v).At("variant")
	}
	blob, err := s.o.Store.Open(ctx, key(row.AccountID, row.ID, v))
	if err == nil {
		return blob, job, nil
	}
	return nil, Job{}, s.lost(ctx, &row, v, err)
}

// lost is why a file that was there cannot be opened: its job may have been deleted or purged in the meantime.
func (s *Service) lost(ctx context.Context, row *jobRow, v Variant, cause error) error {
	if !errors.Is(cause, storage.ErrNotFound) {
		return app.ErrStore(fmt.Errorf("video: open %s of %s: %w", v, row.ID, cause))
	}
	now, err := visible(ctx, s.db, row.AccountID, row.ID)
	if err != nil {
		return err
	}
	if err := now.ready(s.o.Now()); err != nil {
		return err
	}
	return fmt.Errorf("video: %s of %s is not in storage: %w", v, row.ID, cause)
}
