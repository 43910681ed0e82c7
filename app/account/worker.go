package account

import (
	"context"
	"time"
)

// How often the workers look, and how much they do at once.
const (
	sweepEvery     = 10 * time.Minute
	sweepBatchMax  = 1000
	sweepRoundsMax = 100
)

// Run deletes what has expired, of sessions, throttles, links and places of trials, and erases what is left of closed
// accounts, until ctx ends. It returns ctx's error.
func (s *Service) Run(ctx context.Context) error {
	sweeps, erasures := time.NewTicker(sweepEvery), time.NewTicker(eraseEvery)
	defer sweeps.Stop()
	defer erasures.Stop()
	for due := true; ; {
		if due {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("account worker: deleting expired rows failed", "error", err)
			}
		}
		if err := s.eraseRound(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("account worker: erasing closed accounts failed, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-sweeps.C:
			due = true
		case <-erasures.C:
			due = false
		}
	}
}

// sweep deletes in small batches, so that no statement holds its locks for long. What is left waits for the next one.
func (s *Service) sweep(ctx context.Context) error {
	now := s.o.Now().UTC()
	for range sweepRoundsMax {
		sessions, err := deleteExpiredSessions(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		throttles, err := deleteOldThrottles(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		links, err := deleteOldLinks(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		changes, err := deleteOldChanges(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		invitations, err := deleteOldInvitations(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		places, err := s.trials.ForgetPlaces(ctx, sweepBatchMax)
		if err != nil {
			return err
		}
		if max(sessions, throttles, links, changes, invitations, places) < sweepBatchMax {
			return nil
		}
	}
	return nil
}
