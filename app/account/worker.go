package account

import (
	"context"
	"sync"
	"time"

	"umg/app/postgres"
	"umg/app/seal"
)

// How often the workers look, and how much they do at once.
const (
	usedFlushEvery = 10 * time.Second
	usedFlushMax   = 3 * time.Second
	usedBatchMax   = 1000
	sweepEvery     = 10 * time.Minute
	sweepBatchMax  = 1000
	sweepRoundsMax = 100
)

// Run keeps the ring fresh until ctx ends: it listens for changed keys on a connection of its own and writes down
// when keys were used. It returns ctx's error.
func (r *KeyCache) Run(ctx context.Context, dsn string) error {
	var flushing sync.WaitGroup
	defer flushing.Wait()
	flushing.Go(func() {
		r.flushUse(ctx)
	})
	return postgres.Follow(ctx, dsn, []string{"keys"}, postgres.Handler{Notify: r.heard, Lost: r.lost})
}

// flushUse writes uses in batches until ctx ends, and once more then.
func (r *KeyCache) flushUse(ctx context.Context) {
	tick := time.NewTicker(usedFlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.writeUse(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			r.writeUse(ctx)
		}
	}
}

// writeUse stores what was noted. What the store does not take is lost: it is a hint for people, to the minute.
func (r *KeyCache) writeUse(ctx context.Context) {
	r.usedMu.Lock()
	used := r.used
	r.used = map[seal.Fingerprint]secretUse{}
	networks := r.networks
	r.networks = map[networkUse]time.Time{}
	r.usedMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, usedFlushMax)
	defer cancel()
	secrets, uses := make([]seal.Fingerprint, 0, min(len(used), usedBatchMax)), make([]secretUse, 0, min(len(used), usedBatchMax))
	for f, use := range used {
		secrets, uses = append(secrets, f), append(uses, use)
		if len(secrets) == usedBatchMax {
			if !r.writeBatch(ctx, secrets, uses) {
				return
			}
			secrets, uses = secrets[:0], uses[:0]
		}
	}
	if len(secrets) > 0 && !r.writeBatch(ctx, secrets, uses) {
		return
	}
	r.writeNetworks(ctx, networks)
}

func (r *KeyCache) writeBatch(ctx context.Context, secrets []seal.Fingerprint, uses []secretUse) bool {
	if err := setSecretsUsed(ctx, r.db, secrets, uses); err != nil {
		r.o.Log.Warn("key cache: writing last use failed", "keys", len(secrets), "error", err)
		return false
	}
	return true
}

// Run deletes what has expired, of sessions, throttles, links and places of trials, erases what is left of closed accounts, and
// tells people of the budgets of their keys, until ctx ends. It returns ctx's error.
func (s *Service) Run(ctx context.Context) error {
	sweeps, erasures := time.NewTicker(sweepEvery), time.NewTicker(eraseEvery)
	defer sweeps.Stop()
	defer erasures.Stop()
	var told time.Time
	for due := true; ; {
		if due {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("account worker: deleting expired rows failed", "error", err)
			}
		}
		if err := s.eraseRound(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("account worker: erasing closed accounts failed, retrying", "error", err)
		}
		if now := s.o.Now(); now.Sub(told) >= budgetAlertEvery {
			if err := s.tellBudgets(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("account worker: sending budget alerts failed, retrying", "error", err)
			}
			told = now
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
		places, err := forgetPlaces(ctx, s.db, now, sweepBatchMax)
		if err != nil {
			return err
		}
		if max(sessions, throttles, links, changes, invitations, places) < sweepBatchMax {
			return nil
		}
	}
	return nil
}
