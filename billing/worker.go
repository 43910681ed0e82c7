package billing

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of the worker.
const (
	sweepEvery      = 5 * time.Second
	sweepHoldsMax   = 500 // rows of one transaction
	sweepGrantsMax  = 100 // transactions of one pass
	sweepBatchesMax = 20  // of one pass, so that a backlog leaves room for settlements
)

// Stats are the ledger's counters since the start, for metrics. They only grow, and all but GrantsLapsed should stay at
// zero.
type Stats struct {
	HoldsExpired int64 // holds of jobs that nobody settled in time
	SettledLate  int64 // settlements of such holds
	Overruns     int64 // jobs that cost more than their hold
	GrantsLapsed int64 // expired grants taken back, in whole or in part
}

type counters struct {
	expired, late, overruns, lapsed atomic.Int64
}

// Stats reads the counters.
func (l *Ledger) Stats() Stats {
	c := &l.counters
	return Stats{
		HoldsExpired: c.expired.Load(), SettledLate: c.late.Load(), Overruns: c.overruns.Load(), GrantsLapsed: c.lapsed.Load(),
	}
}

// Run releases the holds of jobs that nobody settled, takes back expired grants, refills budgets and keeps the partitions
// of usage records, and watches how models do, until ctx ends. Any number of replicas may run it.
func (l *Ledger) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var kept, watched time.Time
	for {
		if now := l.o.Now(); now.Sub(kept) >= upkeepEvery {
			if err := l.Upkeep(ctx); err == nil {
				kept = now
			} else if ctx.Err() == nil {
				l.o.Log.Warn("the partitions of usage records wait for the store", "error", err)
			}
		}
		if end := l.o.Now().Add(-watchLag).Truncate(time.Minute); end.After(watched) {
			if err := l.Watch(ctx); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("how models do waits for the store", "error", err)
			}
			watched = end // what failed is tried again in a minute: holds and budgets do not wait for it
		}
		if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("holds, expired credit and budgets wait for the store", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Sweep makes one pass over what is over: holds give their credit back, expired grants lose what is left of them, debts
// are paid from what is free, budgets begin their next period. A backlog is worked off over several passes.
func (l *Ledger) Sweep(ctx context.Context) error {
	if err := l.release(ctx); err != nil {
		return wrap("release holds", err)
	}
	if err := l.lapse(ctx); err != nil {
		return wrap("expire grants", err)
	}
	if err := l.collect(ctx); err != nil {
		return wrap("collect debts", err)
	}
	return wrap("refill budgets", l.refill(ctx))
}

func (l *Ledger) release(ctx context.Context) error {
	for range sweepBatchesMax {
		released, err := releaseExpiredHolds(ctx, l.db, sweepHoldsMax, l.o.Now().UTC())
		if err != nil {
			return err
		}
		if released > 0 {
			l.counters.expired.Add(released)
			l.o.Log.Warn("holds expired before they were settled", "holds", released)
		}
		if released < sweepHoldsMax {
			return nil
		}
	}
	return nil
}

func (l *Ledger) lapse(ctx context.Context) error {
	if err := recallExpiredGrants(ctx, l.db, sweepGrantsMax, l.o.Now().UTC()); err != nil {
		return err
	}
	grants, err := selectExpiredGrants(ctx, l.db, sweepGrantsMax, l.o.Now().UTC())
	if err != nil {
		return err
	}
	for _, id := range grants {
		taken, err := expireGrant(ctx, l.db, id, l.o.IDs.New("txn"), l.o.Now().UTC())
		if err != nil {
			return err
		}
		if taken > 0 {
			l.counters.lapsed.Add(1)
		}
	}
	return nil
}
