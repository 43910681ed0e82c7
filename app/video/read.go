package video

import (
	"context"
	"errors"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/storage"
)

const (
	idPrefix   = "video"
	idBytesMax = 64

	// pictureWaitMax is how long a caller waits who asks for a picture that is being made.
	pictureWaitMax = 20 * time.Second
	// pictureReadEvery is how often the job is read in that time when no change is heard.
	pictureReadEvery = time.Second
)

// Get is a job of an account. What is foreign, deleted, unknown or no id at all is the same error.
func (s *Service) Get(ctx context.Context, accountID, id string) (Job, error) {
	row, err := visible(ctx, s.db, accountID, id)
	if err != nil {
		return Job{}, err
	}
	return row.job()
}

// Usage is how many videos an account has, and the bytes that are kept of them.
func (s *Service) Usage(ctx context.Context, accountID string) (jobs, bytes int64, err error) {
	err = s.db.QueryRowxContext(ctx, `
		select count(distinct j.id), coalesce(sum((f.value->>'bytes')::bigint), 0)
		from video_jobs j left join lateral jsonb_each(case when j.purged_at is null then j.content else '{}' end) f on true
		where j.account_id = $1 and j.deleted_at is null`, accountID).Scan(&jobs, &bytes)
	return jobs, bytes, postgres.StoreError("video: sum of content", err)
}

// Retention is how long the content of a completed job is kept.
func (s *Service) Retention() time.Duration { return s.o.Retention }

// ready is why the content of a job cannot be used, nil when it can.
func (r *jobRow) ready(now time.Time) error {
	switch {
	case r.State == Failed:
		return app.Errorf(app.Invalid, "video_not_ready", "This video has failed, so there is nothing to use. Create it again.").At(paramSource)
	case r.State != Completed:
		return app.Errorf(app.Invalid, "video_not_ready", "This video is not completed yet; its status is %s. Wait until it is completed.",
			r.State.Status()).At(paramSource)
	case r.PurgedAt != nil, r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return app.Errorf(app.NotFound, "video_expired", "The content of this video is no longer kept. Create the video again.").At(paramSource)
	}
	return nil
}

// Open opens a file of a completed job. The caller closes it.
func (s *Service) Open(ctx context.Context, accountID, id string, v Variant) (storage.Blob, Job, error) {
	row, err := visible(ctx, s.db, accountID, id)
	if err != nil {
		return nil, Job{}, err
	}
	if v != Movie && v != Thumbnail && v != Spritesheet {
		return nil, Job{}, invalid("variant", "variant must be one of video, thumbnail and spritesheet.")
	}
	if err := row.ready(s.o.Now()); err != nil {
		return nil, Job{}, err
	}
	job, err := row.job()
	if err != nil {
		return nil, Job{}, err
	}
	if _, made := job.Content[v]; !made && row.heard().PicturesDue {
		if row, job, err = s.awaitPicture(ctx, row, v); err != nil {
			return nil, Job{}, err
		}
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

// awaitPicture waits for a picture of a completed job that is still being made, for at most pictureWaitMax. It returns the job as it is
// then, with or without the picture.
func (s *Service) awaitPicture(ctx context.Context, row jobRow, v Variant) (jobRow, Job, error) {
	ctx, cancel := context.WithTimeout(ctx, pictureWaitMax)
	defer cancel()
	w, ok := s.work.following.join(row.ID)
	if !ok {
		return row, Job{}, pictureLate(v)
	}
	defer s.work.following.leave(row.ID, w)
	for {
		changed, _ := s.work.following.next(w)
		now, err := visible(ctx, s.db, row.AccountID, row.ID)
		if err == nil {
			err = now.ready(s.o.Now())
		}
		if err != nil {
			return row, Job{}, err
		}
		job, err := now.job()
		if _, made := job.Content[v]; err != nil || made || !now.heard().PicturesDue {
			return now, job, err
		}
		again := time.NewTimer(pictureReadEvery)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-again.C:
		}
		again.Stop()
		if ctx.Err() != nil {
			return row, Job{}, pictureLate(v)
		}
	}
}

func pictureLate(v Variant) *app.Error {
	return app.Errorf(app.NotFound, "variant_unavailable",
		"The %s of this video is still being made. Ask again in a few seconds.", v).At("variant")
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
