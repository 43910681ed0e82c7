package video

import (
	"context"
	"time"

	"umg/app"
)

const (
	idPrefix   = "video"
	idBytesMax = 64
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
	return sumContent(ctx, s.db, accountID)
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
