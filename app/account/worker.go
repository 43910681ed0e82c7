package account

import (
	"context"
	"time"

	"umg/app/postgres"
	"umg/app/workqueue"
)

const (
	sweepEvery     = 10 * time.Minute
	sweepBatchMax  = 1000
	sweepRoundsMax = 100
)

// Run deletes what has expired, of sessions, throttles, links and places of trials, and erases what is left of closed
// accounts, until ctx ends. It returns ctx's error.
func (s *Service) Run(ctx context.Context) error {
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "delete expired rows", Every: sweepEvery, Work: workqueue.Repeat(s.sweep)},
		workqueue.Task{Name: "erase closed accounts", Every: eraseEvery, Work: workqueue.Repeat(s.eraseRound)})
	return ctx.Err()
}

// sweep deletes in small batches. What is left waits for the next one.
func (s *Service) sweep(ctx context.Context) error {
	now := s.o.Now().UTC()
	forgetPlaces := func(ctx context.Context, _ postgres.Queryer, _ time.Time, limit int) (int64, error) {
		return s.trials.ForgetPlaces(ctx, limit)
	}
	for _, remove := range []func(context.Context, postgres.Queryer, time.Time, int) (int64, error){
		deleteExpiredSessions, deleteOldThrottles, deleteOldLinks, deleteOldChanges, deleteOldInvitations, forgetPlaces,
	} {
		batch := func() (int64, error) { return remove(ctx, s.db, now, sweepBatchMax) }
		if _, err := workqueue.InBatches(sweepRoundsMax, sweepBatchMax, batch); err != nil {
			return err
		}
	}
	return nil
}
