package mail

import (
	"context"
	"time"

	"umg/app/postgres"
)

func selectQueued(ctx context.Context, q postgres.Queryer, now time.Time) (Backlog, error) {
	return postgres.Get[Backlog](ctx, q, `
		select count(*) filter (where claimed_until > $1) as sending,
			count(*) filter (where due_at <= $1 and not coalesce(claimed_until > $1, false)) as due,
			count(*) filter (where due_at > $1 and not coalesce(claimed_until > $1, false)) as retrying,
			min(created_at) as oldest
		from (select due_at, claimed_until, created_at from mails where state = 'queued' limit $2) m`, now, backlogCountMax)
}

func countEnded(ctx context.Context, q postgres.Queryer, state State, since time.Time) (int64, error) {
	return postgres.Get[int64](ctx, q, `
		select count(*) from (select from mails where ended_at > $2 and state = $1 limit $3) m`, state, since, backlogCountMax)
}

func selectStalled(ctx context.Context, q postgres.Queryer, before time.Time) ([]Stalled, error) {
	return postgres.Select[Stalled](ctx, q, `
		select id, kind, attempts, due_at, created_at from mails where state = 'queued' and created_at < $1 order by created_at, id limit $2`,
		before, backlogShownMax)
}
