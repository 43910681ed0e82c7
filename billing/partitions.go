package billing

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits apply to the monthly partitions of usage records.
const (
	recordsKept     = 400 * 24 * time.Hour // The operator may choose another time.
	monthsAhead     = 2                    // This many partitions are made before they are needed.
	upkeepEvery     = time.Hour
	sweepBudgetsMax = 200 // One transaction refills at most this many budgets.
)

// Upkeep makes the partitions of the coming months and drops months of usage records that are older than RecordsKept. Their
// sums and the ledger's entries stay.
func (l *Ledger) Upkeep(ctx context.Context) error {
	now := l.o.Now().UTC()
	if err := makeMonths(ctx, l.db, now, now.AddDate(0, monthsAhead, 1-now.Day())); err != nil {
		return postgres.StoreError("billing: make partitions", err)
	}
	dropped, err := dropMonths(ctx, l.db, now.Add(-l.o.RecordsKept))
	if dropped > 0 {
		l.o.Log.Info("usage records dropped", "months", dropped, "before", now.Add(-l.o.RecordsKept).Format(time.DateOnly))
	}
	if err != nil {
		return postgres.StoreError("billing: drop partitions", err)
	}
	return postgres.StoreError("billing: drop old leases", dropLeases(ctx, l.db, now.Add(-leasesKept)))
}

// leasesKept is how long closed leases stay, and ended epochs that left nothing behind. It is longer than journals keep
// applied records, because a late settlement must still find its lease.
const leasesKept = 8 * 24 * time.Hour

// dropLeases deletes leases that were closed before the given time, and replicas that ended before it, unless the journal
// position of the replica must be kept.
func dropLeases(ctx context.Context, q postgres.Queryer, before time.Time) error {
	_, err := q.ExecContext(ctx, `
		with gone as (
			delete from leases where state <> 'open' and touched_at < $1
		), unnumbered as (
			delete from journal_cursors c using replicas r where r.id = c.replica_id and c.applied_lsn = 0 and r.state <> 'live'
				and r.heartbeat_at < $1 and not exists (select from leases l where l.replica_id = r.id)
				and not exists (select from call_marks m where m.replica_id = r.id)
		)
		select`, before)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `
		delete from replicas r where r.state <> 'live' and r.heartbeat_at < $1
			and not exists (select from journal_cursors c where c.replica_id = r.id)
			and not exists (select from leases l where l.replica_id = r.id)
			and not exists (select from call_marks m where m.replica_id = r.id)`, before)
	return err
}

// refill refills the budgets whose next period has begun.
func (l *Ledger) refill(ctx context.Context) error {
	for range sweepBatchesMax {
		refilled, err := refillBudgets(ctx, l.db, sweepBudgetsMax, l.o.Now().UTC())
		if err != nil || refilled < sweepBudgetsMax {
			return err
		}
	}
	return nil
}

func makeMonths(ctx context.Context, q postgres.Queryer, from, to time.Time) error {
	_, err := q.ExecContext(ctx, `select make_usage_months($1::date, $2::date)`, from.Format(time.DateOnly), to.Format(time.DateOnly))
	return err
}

func dropMonths(ctx context.Context, q postgres.Queryer, before time.Time) (dropped int, err error) {
	err = q.GetContext(ctx, &dropped, `select drop_usage_months($1::date)`, before.Format(time.DateOnly))
	return dropped, err
}
