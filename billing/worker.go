package billing

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to the worker.
const (
	sweepEvery        = 10 * time.Second // A pass also runs when a day begins, because the periods of budgets do.
	deleteLeasesEvery = time.Hour
	sweepHoldsMax     = 500 // One transaction handles at most this many rows.
	sweepGrantsMax    = 100 // One pass runs at most this many transactions.
	sweepBudgetsMax   = 200 // One transaction refills at most this many budgets.
	sweepBatchesMax   = 20  // One pass runs at most this many batches, which leaves time for settlements during a backlog.
)

// Stats are the ledger's counters since the start, for metrics. They only grow, and all but GrantsLapsed should stay at zero.
type Stats struct {
	HoldsExpired  int64 // These holds of jobs were not settled in time.
	SettledLate   int64 // These are settlements of expired holds.
	Overruns      int64 // These jobs cost more than their hold.
	GrantsExpired int64 // These expired grants were taken back, in whole or in part.
}

type counters struct {
	holdsExpired, settledLate, overruns, grantsExpired atomic.Int64
}

// Stats reads the counters.
func (l *Ledger) Stats() Stats {
	c := &l.counters
	return Stats{
		HoldsExpired: c.holdsExpired.Load(), SettledLate: c.settledLate.Load(), Overruns: c.overruns.Load(),
		GrantsExpired: c.grantsExpired.Load(),
	}
}

// Run releases the holds of jobs that were not settled in time, takes back expired grants, refills budgets and deletes old
// leases, until ctx ends. Any number of replicas may run it.
func (l *Ledger) Run(ctx context.Context) error {
	tick, day := time.NewTicker(sweepEvery), time.NewTimer(untilNextDay(l.o.Now()))
	defer tick.Stop()
	defer day.Stop()
	var leasesDeleted time.Time
	for {
		if now := l.o.Now(); now.Sub(leasesDeleted) >= deleteLeasesEvery {
			if err := l.DeleteOldLeases(ctx); err == nil {
				leasesDeleted = now
			} else if ctx.Err() == nil {
				l.o.Log.Warn("old lease deletion failed", "error", err)
			}
		}
		if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
			l.o.Log.Warn("billing sweep failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-day.C:
		}
		day.Reset(untilNextDay(l.o.Now()))
	}
}

// untilNextDay is the time until a day of UTC has begun for certain.
func untilNextDay(now time.Time) time.Duration {
	const day, margin = 24 * time.Hour, 10 * time.Millisecond
	return now.Truncate(day).Add(day + margin).Sub(now)
}

// Sweep makes one pass: it releases expired holds, takes back expired grants, pays receivables from free credit and starts the next
// period of budgets. A backlog takes several passes. A failure of one part does not stop the others: the error names each
// grant and each account that failed. Only an unavailable store ends the pass early.
func (l *Ledger) Sweep(ctx context.Context) error {
	var failed error
	var due bool
	// Nearly every pass finds nothing, and this question costs the database a fifth of what the parts cost.
	err := l.sweeps.GetContext(ctx, &due, `
		select exists (select from holds where state = 'open' and expires_at <= $1)
			or exists (select from grants where not spent and expires_at <= $1)
			or exists (select from receivables where owed_nanos > 0 or froze)
			or exists (select from key_budgets where period_start < date_trunc(nullif(period, 'total'), $1, 'utc'))`, l.o.Now().UTC())
	if err != nil || !due {
		return postgres.StoreError("billing: look for what is due", err)
	}
	for _, part := range []struct {
		verb string
		run  func(context.Context) error
	}{
		{"release holds", l.releaseHolds}, {"expire grants", l.expireGrants}, {"collect receivables", l.collectReceivables},
		{"refill budgets", l.refill},
	} {
		err = part.run(ctx)
		failed = errors.Join(failed, postgres.StoreError("billing: "+part.verb, err))
		if storeUnavailable(ctx, err) {
			return failed
		}
	}
	return failed
}

// storeUnavailable reports whether the store is unavailable, so further requests would fail too.
func storeUnavailable(ctx context.Context, err error) bool {
	return ctx.Err() != nil || err != nil && postgres.Unavailable(err)
}

// sweepEach calls a function for each id and returns the ids that failed, with their errors.
func sweepEach(ctx context.Context, ids []string, do func(id string) error) (failed []string, err error) {
	for _, id := range ids {
		one := do(id)
		if one == nil {
			continue
		}
		failed, err = append(failed, id), errors.Join(err, fmt.Errorf("%s: %w", id, one))
		if storeUnavailable(ctx, one) {
			return failed, err
		}
	}
	return failed, err
}

func (l *Ledger) releaseHolds(ctx context.Context) error {
	for range sweepBatchesMax {
		var released int64
		err := l.db.GetContext(ctx, &released, `select release_expired_holds($1, $2)`, sweepHoldsMax, l.o.Now().UTC())
		if err != nil {
			return err
		}
		if released > 0 {
			l.counters.holdsExpired.Add(released)
			l.o.Log.Warn("job holds expired", "holds", released)
		}
		if released < sweepHoldsMax {
			return nil
		}
	}
	return nil
}

func (l *Ledger) expireGrants(ctx context.Context) error {
	// The recalled credit of these accounts is free at the next sweep.
	_, err := l.db.ExecContext(ctx, `
		select recall_leases(expired.account_id) from (
			select distinct g.account_id from grants g
			where not g.spent and g.expires_at <= $2 and exists (
				select from leases l where l.credit_account_id = g.account_id and l.state = 'open' and l.remaining_nanos > 0)
			limit $1) expired`, sweepGrantsMax, l.o.Now().UTC())
	if err != nil {
		return err
	}
	var grants []string
	// These grants have credit left that no open hold reserves.
	err = l.db.SelectContext(ctx, &grants, `
		select g.id from grants g join credit_accounts a on a.id = g.account_id
		where not g.spent and g.expires_at <= $2 and a.posted_nanos > a.held_nanos and g.id <> all($3)
		order by g.expires_at limit $1`, sweepGrantsMax, l.o.Now().UTC(), pq.Array(l.failed.takeSkipped(&l.failed.grants)))
	if err != nil {
		return err
	}
	failed, err := sweepEach(ctx, grants, func(id string) error {
		var taken app.Amount
		err := l.db.GetContext(ctx, &taken, `select expire_grant($1, $2, $3)`, id, l.o.IDs.New("txn"), l.o.Now().UTC())
		if taken > 0 {
			l.counters.grantsExpired.Add(1)
		}
		return err
	})
	l.failed.keepFailed(&l.failed.grants, failed)
	return err
}

// failures lists what the last pass could not do. The next pass skips these, so that many failures cannot block later items;
// the pass after that retries them.
type failures struct {
	mu               sync.Mutex
	grants, accounts []string
}

func (f *failures) takeSkipped(list *[]string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := append([]string{}, *list...)
	*list = nil
	return taken
}

func (f *failures) keepFailed(list *[]string, failed []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = failed
}
