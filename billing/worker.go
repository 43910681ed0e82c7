package billing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"umg/app/postgres"
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
// are paid from what is free, budgets begin their next period. A backlog is worked off over several passes. No part waits
// for another: the error names each grant and each account that failed, and the pass does the rest. Only a store that is
// away ends the pass early.
func (l *Ledger) Sweep(ctx context.Context) error {
	var failed error
	for _, part := range []struct {
		verb string
		run  func(context.Context) error
	}{
		{"release holds", l.release}, {"expire grants", l.lapse}, {"collect debts", l.collect}, {"refill budgets", l.refill},
	} {
		err := part.run(ctx)
		failed = errors.Join(failed, wrap(part.verb, err))
		if away(ctx, err) {
			return failed
		}
	}
	return failed
}

// away reports whether there is no sense in asking the store for more.
func away(ctx context.Context, err error) bool {
	return ctx.Err() != nil || err != nil && postgres.Unavailable(err)
}

// sweepEach does one thing for each id and returns the ids that failed, with their errors.
func sweepEach(ctx context.Context, ids []string, do func(id string) error) (failed []string, err error) {
	for _, id := range ids {
		one := do(id)
		if one == nil {
			continue
		}
		failed, err = append(failed, id), errors.Join(err, fmt.Errorf("%s: %w", id, one))
		if away(ctx, one) {
			return failed, err
		}
	}
	return failed, err
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
	grants, err := selectExpiredGrants(ctx, l.db, sweepGrantsMax, l.o.Now().UTC(), l.failed.take(&l.failed.grants))
	if err != nil {
		return err
	}
	failed, err := sweepEach(ctx, grants, func(id string) error {
		taken, err := expireGrant(ctx, l.db, id, l.o.IDs.New("txn"), l.o.Now().UTC())
		if taken > 0 {
			l.counters.lapsed.Add(1)
		}
		return err
	})
	l.failed.keep(&l.failed.grants, failed)
	return err
}

// failures are what the last pass could not do. The next one leaves it out, so that many failures do not keep what comes
// after them from its turn; the pass after that tries them again.
type failures struct {
	mu               sync.Mutex
	grants, accounts []string
}

func (f *failures) take(list *[]string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := append([]string{}, *list...)
	*list = nil
	return taken
}

func (f *failures) keep(list *[]string, failed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = failed
}
