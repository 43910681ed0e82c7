package billing

import (
	"context"
	"time"

	"umg/app/postgres"
)

// DeleteOldLeases deletes closed leases that no settlement can need any more, and replicas of which nothing is left.
func (l *Ledger) DeleteOldLeases(ctx context.Context) error {
	return postgres.StoreError("billing: delete old leases", deleteLeases(ctx, l.db, l.o.Now().UTC().Add(-leasesKept)))
}

// leasesKept is how long closed leases stay, and ended epochs that left nothing behind. It is longer than journals keep
// applied records, because a late settlement must still find its lease.
const leasesKept = 8 * 24 * time.Hour

// deleteLeases deletes leases that were closed before the given time, and replicas that ended before it, unless the journal
// position of the replica must be kept.
func deleteLeases(ctx context.Context, q postgres.Queryer, before time.Time) error {
	_, err := q.ExecContext(ctx, `
		with gone as (
			delete from leases where state <> 'open' and touched_at < $1
		), unnumbered as (
			delete from journal_cursors c using replicas r where r.id = c.replica_id and c.applied_lsn = 0 and r.state <> 'live'
				and r.heartbeat_at < $1 and not exists (select from leases l where l.replica_id = r.id)
				and not exists (select from call_checkpoints m where m.replica_id = r.id)
		)
		select`, before)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `
		delete from replicas r where r.state <> 'live' and r.heartbeat_at < $1
			and not exists (select from journal_cursors c where c.replica_id = r.id)
			and not exists (select from leases l where l.replica_id = r.id)
			and not exists (select from call_checkpoints m where m.replica_id = r.id)`, before)
	return err
}
