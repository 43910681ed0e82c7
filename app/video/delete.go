package video

import "context"

// Delete hides a job at once and for good. What still runs is called off by the worker, and its verdict decides what is
// charged; what is stored of an ended one goes now, and should that fail, the worker sees to it.
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
	if _, err := s.purge(ctx, &row); err != nil {
		s.o.Log.Warn("video purge failed, worker will retry", "video_id", id, "error", err)
	}
	return nil
}
