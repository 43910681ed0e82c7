package billing

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to the list of replicas.
const (
	replicasShownMax = 200
	replicaLostShown = 24 * time.Hour // A lost replica that left nothing behind is listed for this long after its last heartbeat.
)

// Replica is a process that spends leased credit, as the database records it.
type Replica struct {
	ID          string    `db:"id"`
	State       string    `db:"state"` // State is live, lost or ended.
	StartedAt   time.Time `db:"started_at"`
	HeartbeatAt time.Time `db:"heartbeat_at"`

	// These count what ended epochs left: credit that they still hold, and calls whose marks are in the database.
	Left   app.Amount `db:"left_nanos"`
	Leases int64      `db:"leases"`
	Marks  int64      `db:"marks"`
}

// Replicas lists live replicas, those lost in the last day, and those with credit to return or calls to settle, the latest first.
func (l *Ledger) Replicas(ctx context.Context) ([]Replica, error) {
	var list []Replica
	err := l.db.SelectContext(ctx, &list, `
		with held as (
			select l.replica_id, count(*) as leases, sum(l.remaining_nanos)::bigint as left_nanos
			from leases l join replicas r on r.id = l.replica_id and (r.state <> 'live' or l.epoch < r.epoch)
			where l.state = 'open' group by 1
		), marked as (
			select m.replica_id, count(*) as marks
			from call_checkpoints m join replicas r on r.id = m.replica_id and (r.state <> 'live' or m.epoch < r.epoch) group by 1
		)
		select r.id, r.state, r.started_at, r.heartbeat_at, coalesce(h.left_nanos, 0) as left_nanos, coalesce(h.leases, 0) as leases,
			coalesce(m.marks, 0) as marks
		from replicas r left join held h on h.replica_id = r.id left join marked m on m.replica_id = r.id
		where r.state = 'live' or r.state = 'lost' and r.heartbeat_at > $1 or h.leases > 0 or m.marks > 0
		order by r.heartbeat_at desc, r.id limit $2`, l.o.Now().Add(-replicaLostShown).UTC(), replicasShownMax)
	return list, postgres.StoreError("billing: list replicas", err)
}
