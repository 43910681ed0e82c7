package billing

import (
	"context"
	"time"

	"umg/app/postgres"
)

// leasesKept is how long closed leases stay, and ended epochs that left nothing behind. It is longer than journals keep
// applied records, because a late settlement must still find its lease.
const leasesKept = 8 * 24 * time.Hour

// DeleteOldLeases deletes closed leases that no settlement can need any more, and replicas of which nothing is left, unless the
// journal position of the replica must be kept.
func (l *Ledger) DeleteOldLeases(ctx context.Context) error {
	before := l.o.Now().UTC().Add(-leasesKept)
	for _, statement := range []string{`
			with gone as (
				delete from leases where state <> 'open' and touched_at < $1
			), unnumbered as (
				delete from journal_cursors c using replicas r where r.id = c.replica_id and c.applied_lsn = 0 and r.state <> 'live'
					and r.heartbeat_at < $1 and not exists (select from leases l where l.replica_id = r.id)
					and not exists (select from call_checkpoints m where m.replica_id = r.id)
			)
			select`,
		`delete from replicas r where r.state <> 'live' and r.heartbeat_at < $1
			and not exists (select from journal_cursors c where c.replica_id = r.id)
			and not exists (select from leases l where l.replica_id = r.id)
			and not exists (select from call_checkpoints m where m.replica_id = r.id)`,
	} {
		if _, err := l.db.ExecContext(ctx, statement, before); err != nil {
			return postgres.StoreError("billing: delete old leases", err)
		}
	}
	return nil
}
