package webhook

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These are the limits of what a backlog reports.
const (
	backlogCountMax   = 100_000 // More deliveries of one kind are reported as this many.
	backlogShownMax   = 10      // Trouble has at most this many deliveries, one of each endpoint.
	backlogSpan       = time.Hour
	backlogFailedSpan = 24 * time.Hour
	backlogLate       = time.Minute // A delivery is reported as late when it is overdue for longer.
)

// Backlog is the state of the deliveries of all accounts, for the operator.
type Backlog struct {
	Pending   int64      `db:"pending"`
	Due       int64      `db:"due"`      // Due deliveries could be sent now.
	Sending   int64      `db:"sending"`  // Sending deliveries have a worker.
	Retrying  int64      `db:"retrying"` // Retrying deliveries failed and wait for their next attempt.
	Held      int64      `db:"held"`     // The endpoint of a held delivery is paused or disabled, or its account is frozen.
	Oldest    *time.Time `db:"oldest"`   // Oldest is the creation time of the first pending delivery.
	DueSince  *time.Time `db:"-"`        // DueSince is the time since which a delivery could be sent, or nil if none can.
	Delivered int64      `db:"-"`        // Delivered counts the last hour.
	Failed    int64      `db:"-"`        // Failed counts deliveries given up in the last 24 hours.
	Trouble   []Stalled  `db:"-"`        // Trouble has the ten deliveries that wait longest to be sent, one of each endpoint.
}

// Stalled is a delivery that is due and that no worker has sent.
type Stalled struct {
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	Endpoint  string    `db:"endpoint_id"`
	Attempts  int       `db:"attempts"`
	DueAt     time.Time `db:"due_at"`
	CreatedAt time.Time `db:"created_at"`
}

// Backlog reads how deliveries stand. It reads only what is pending, and what ended lately.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	if b, err = selectPending(ctx, s.db, now); err != nil {
		return b, postgres.StoreError("webhook: count deliveries", err)
	}
	if b.Delivered, err = countEnded(ctx, s.db, Delivered, now.Add(-backlogSpan)); err != nil {
		return b, postgres.StoreError("webhook: count what was delivered", err)
	}
	if b.Failed, err = countEnded(ctx, s.db, Failed, now.Add(-backlogFailedSpan)); err != nil {
		return b, postgres.StoreError("webhook: count what failed", err)
	}
	waiting, err := selectWaiting(ctx, s.db, now)
	if err != nil {
		return b, postgres.StoreError("webhook: list what is overdue", err)
	}
	for i, d := range waiting {
		if i == 0 {
			b.DueSince = &d.DueAt
		}
		if now.Sub(d.DueAt) >= backlogLate {
			b.Trouble = append(b.Trouble, d)
		}
	}
	return b, nil
}

func selectPending(ctx context.Context, q postgres.Queryer, now time.Time) (b Backlog, err error) {
	err = q.GetContext(ctx, &b, `
		select count(*) as pending, count(*) filter (where held) as held, count(*) filter (where not held and claimed_until > $1) as sending,
			count(*) filter (where not held and due_at <= $1 and not coalesce(claimed_until > $1, false)) as due,
			count(*) filter (where not held and due_at > $1 and tries > 0 and not coalesce(claimed_until > $1, false)) as retrying,
			min(created_at) as oldest
		from (
			select d.due_at, d.claimed_until, d.tries, d.created_at,
				e.status <> 'enabled' or e.deleted_at is not null or coalesce(e.paused_until > $1, false) or a.frozen_at is not null as held
			from (select * from webhook_deliveries where state = 'pending' limit $2) d
				join webhook_endpoints e on e.id = d.endpoint_id join accounts a on a.id = d.account_id) p`, now, backlogCountMax)
	return b, err
}

func countEnded(ctx context.Context, q postgres.Queryer, state State, since time.Time) (n int64, err error) {
	err = q.GetContext(ctx, &n, `
		select count(*) from (
			select from webhook_deliveries where state = $1 and state in ('delivered', 'failed') and updated_at > $2 limit $3) d`,
		state, since, backlogCountMax)
	return n, err
}

// selectWaiting finds endpoints with pending deliveries by skipping through the index, as claimSQL does, and of each the delivery
// that waits longest to be sent.
func selectWaiting(ctx context.Context, q postgres.Queryer, now time.Time) (list []Stalled, err error) {
	err = q.SelectContext(ctx, &list, `
		with recursive waiting (endpoint_id) as (
			(select endpoint_id from webhook_deliveries where state = 'pending' order by endpoint_id, due_at, id limit 1)
			union all
			select (select d.endpoint_id from webhook_deliveries d where d.state = 'pending' and d.endpoint_id > w.endpoint_id
				order by d.endpoint_id, d.due_at, d.id limit 1)
			from waiting w where w.endpoint_id is not null)
		select d.id, d.account_id, d.endpoint_id, d.attempts, d.due_at, d.created_at
		from waiting w join webhook_endpoints e on e.id = w.endpoint_id join accounts a on a.id = e.account_id
			cross join lateral (
				select * from webhook_deliveries p
				where p.endpoint_id = e.id and p.state = 'pending' and p.due_at <= $1 and (p.claimed_until is null or p.claimed_until <= $1)
				order by p.due_at, p.id limit 1) d
		where e.status = 'enabled' and e.deleted_at is null and (e.paused_until is null or e.paused_until <= $1) and a.frozen_at is null
		order by d.due_at, d.id limit $2`, now, backlogShownMax)
	return list, err
}
