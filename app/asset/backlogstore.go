package asset

import (
	"context"
	"time"

	"umg/app/postgres"
)

// leaving is the condition of a row that is to go, and since the moment from which on it waits.
const (
	leaving    = `(deleted_at is not null or pending_at is not null)`
	waitsSince = `coalesce(deleted_at, pending_at, created_at)`
)

func selectUnsettled(ctx context.Context, q postgres.Queryer, now time.Time) (Backlog, error) {
	return postgres.Get[Backlog](ctx, q, `
		select count(*) filter (where `+leaving+`) as removing, count(*) filter (where not `+leaving+`) as following,
			count(*) filter (where claimed_until > $1) as working, min(`+waitsSince+`) as oldest,
			min(due_at) filter (where due_at <= $1 and not coalesce(claimed_until > $1, false)) as due_since
		from (select * from assets where due_at is not null limit $2) a`, now, backlogCountMax)
}

func countSettled(ctx context.Context, q postgres.Queryer, after time.Time) (int64, error) {
	return postgres.Get[int64](ctx, q, `
		select count(*) from (select from assets where due_at is null and updated_at > $1 limit $2) a`, after, backlogCountMax)
}

func selectStalled(ctx context.Context, q postgres.Queryer, now time.Time) ([]Stalled, error) {
	return postgres.Select[Stalled](ctx, q, `
		select id, account_id, provider, state, `+leaving+` as removing, tries, due_at, `+waitsSince+` as since from assets
		where due_at is not null and (`+waitsSince+` < $2 or due_at < $3 and (claimed_until is null or claimed_until <= $1))
		order by 8, id limit $4`, now, now.Add(-backlogSlow), now.Add(-backlogLate), backlogShownMax)
}
