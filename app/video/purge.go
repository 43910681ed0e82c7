package video

import (
	"context"
	"slices"

	"umg/app/provider/videoapi"
)

// afterEnd does what an ended job may still need: it deletes the content of a job that was deleted or has expired, and asks once more
// for a render that may have succeeded after its job had failed.
func (s *Service) afterEnd(ctx context.Context, r *jobRow) (*postponed, error) {
	now := s.now()
	switch {
	case r.PurgedAt != nil:
		return nil, setPurged(ctx, s.db, r.ID, *r.PurgedAt)
	case r.DeletedAt != nil, r.ExpiresAt != nil && !r.ExpiresAt.After(now), r.ErrorCode == codeContent:
		return s.purge(ctx, r)
	case r.State == Completed && r.heard().PicturesDue:
		return s.makePictures(ctx, r)
	case r.UpstreamID != nil && slices.Contains(lateCodes, r.ErrorCode):
		s.checkLateResult(ctx, r)
	}
	return nil, setRest(ctx, s.db, r.ID)
}

// purge deletes the content of a job, and then notes that it is gone, so that an interrupted purge is repeated.
func (s *Service) purge(ctx context.Context, r *jobRow) (*postponed, error) {
	if !s.deleteFiles(ctx, r) {
		return &postponed{r, s.backOff(r.Tries, nil), r.Tries + 1}, nil
	}
	return nil, setPurged(ctx, s.db, r.ID, s.now())
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

// checkLateResult asks once for the result of a job that has failed without one. A success changes nothing and is never charged, but
// it is counted, because the provider charges the platform for it.
func (s *Service) checkLateResult(ctx context.Context, r *jobRow) {
	route, f := s.route(r)
	if f != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	task, f := s.o.Upstreams.Status(ctx, route, *r.UpstreamID)
	if f != nil || task.State != videoapi.Succeeded {
		return
	}
	s.work.late.Add(1)
	s.o.Log.Warn("video completed after its job failed, not charged", "video_id", r.ID, "account_id", r.AccountID,
		"provider", r.Provider, "error_code", r.ErrorCode, "unpaid_nanos", int64(r.Hold))
}

// Delete hides a job at once and for good. The worker cancels a job that still runs, and the provider's result decides what is
// charged. The content of an ended job is deleted now, or by the worker if that fails. When a worker makes pictures of it at this
// moment, a worker deletes the content once more after that, because the pictures may have been stored in between.
func (s *Service) Delete(ctx context.Context, accountID, id string) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	row, found, err := hide(ctx, s.db, accountID, id, s.now())
	if err != nil {
		return err
	}
	if !found {
		return noVideo()
	}
	if !row.State.Ended() {
		return nil
	}
	if row.ClaimedUntil != nil && row.ClaimedUntil.After(s.now()) {
		s.deleteFiles(ctx, &row)
		return nil
	}
	if _, err := s.purge(ctx, &row); err != nil {
		s.o.Log.Warn("video purge failed, worker will retry", "video_id", id, "error", err)
	}
	return nil
}
