package stripe

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

func eventHandled(ctx context.Context, q postgres.Queryer, eventID string) (known bool, err error) {
	err = q.GetContext(ctx, &known, `select exists (select from payment_events where id = $1)`, eventID)
	return known, err
}

func seenOf(ctx context.Context, q postgres.Queryer, ids []string) (map[string]bool, error) {
	var known []string
	if err := q.SelectContext(ctx, &known, `select id from payment_events where id = any($1)`, pq.StringArray(ids)); err != nil {
		return nil, err
	}
	set := make(map[string]bool, len(known))
	for _, id := range known {
		set[id] = true
	}
	return set, nil
}

func insertEvent(ctx context.Context, q postgres.Queryer, id, kind, topupID string, at time.Time) error {
	_, err := q.ExecContext(ctx, `
		insert into payment_events (id, type, topup_id, received_at) values ($1, $2, (select t.id from topups t where t.id = $3), $4)
		on conflict do nothing`, id, kind, topupID, at)
	return err
}

func deleteEvents(ctx context.Context, q postgres.Queryer, before time.Time, limit int) error {
	_, err := q.ExecContext(ctx, `
		delete from payment_events where id in (select id from payment_events where received_at < $1 limit $2)`, before, limit)
	return err
}

// customerOf returns the customer of an account that a card belongs to, or belonged to.
func customerOf(ctx context.Context, q postgres.Queryer, customerID, card string) (id string, err error) {
	err = q.GetContext(ctx, &id, `
		select customer_id from payment_accounts
		where customer_id is not null and (customer_id = $1 or $1 = '' and $2 <> '' and payment_method = $2) limit 1`, customerID, card)
	return id, err
}

// claimEvents returns the time from which to read events, and whether this replica may read them now.
func claimEvents(ctx context.Context, q postgres.Queryer, now, until, first time.Time) (from time.Time, mine bool, err error) {
	_, err = q.ExecContext(ctx, `insert into payment_sweep (read_until, due_at) values ($1, $2) on conflict do nothing`, first, now)
	if err != nil {
		return from, false, err
	}
	err = q.GetContext(ctx, &from, `update payment_sweep set due_at = $2 where due_at <= $1 returning read_until`, now, until)
	if errors.Is(err, sql.ErrNoRows) {
		return from, false, nil
	}
	return from, err == nil, err
}

func releaseEvents(ctx context.Context, q postgres.Queryer, readUntil, due time.Time) error {
	_, err := q.ExecContext(ctx, `update payment_sweep set read_until = $1, due_at = $2`, readUntil, due)
	return err
}

type refundRow struct {
	ID        string    `db:"id"`
	TopupID   string    `db:"topup_id"`
	Cents     int64     `db:"cents"`
	Operator  string    `db:"operator"`
	Reason    string    `db:"reason"`
	CreatedAt time.Time `db:"created_at"`
}

const refundColumns = `id, topup_id, cents, operator, reason, created_at`

// openRefund returns the refund of a top-up whose outcome is unknown. It ignores one that is too old, because the payment at
// Stripe then shows the outcome.
func openRefund(ctx context.Context, q postgres.Queryer, topupID string, after time.Time) (r refundRow, err error) {
	_, err = q.ExecContext(ctx, `delete from payment_refunds where topup_id = $1 and refund_id is null and created_at <= $2`, topupID, after)
	if err != nil {
		return r, err
	}
	err = q.GetContext(ctx, &r, `select `+refundColumns+` from payment_refunds where topup_id = $1 and refund_id is null`, topupID)
	return r, err
}

// insertRefund records a refund, or returns the one that another operator recorded first.
func insertRefund(ctx context.Context, q postgres.Queryer, r refundRow) (there refundRow, err error) {
	_, err = q.ExecContext(ctx, `
		insert into payment_refunds (id, topup_id, cents, operator, reason, created_at) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
		r.ID, r.TopupID, r.Cents, r.Operator, r.Reason, r.CreatedAt)
	if err != nil {
		return there, err
	}
	err = q.GetContext(ctx, &there, `select `+refundColumns+` from payment_refunds where topup_id = $1 and refund_id is null`, r.TopupID)
	return there, err
}

// storeRefundID stores the outcome of a refund, and reports whether it was unknown before.
func storeRefundID(ctx context.Context, q postgres.Queryer, id, refundID string) (bool, error) {
	return changedOne(q.ExecContext(ctx, `update payment_refunds set refund_id = $2 where id = $1 and refund_id is null`, id, refundID))
}

func deleteRefund(ctx context.Context, q postgres.Queryer, id string) error {
	_, err := q.ExecContext(ctx, `delete from payment_refunds where id = $1 and refund_id is null`, id)
	return err
}

// balance is what an account has apart from the holds of its running jobs: leased credit that is not spent still counts.
const balance = `(c.posted_nanos - c.held_nanos + coalesce((
	select sum(l.remaining_nanos) from leases l where l.credit_account_id = c.id and l.state = 'open'), 0)::bigint)`

func balanceOf(ctx context.Context, q postgres.Queryer, accountID string) (amount app.Amount, err error) {
	err = q.GetContext(ctx, &amount, `select `+balance+` from credit_accounts c where c.id = $1 and c.kind = 'customer'`, accountID)
	return amount, err
}

// lowForAuto selects the accounts whose card is to be charged.
func lowForAuto(ctx context.Context, q postgres.Queryer, now time.Time, limit int) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select p.account_id from payment_accounts p
			join credit_accounts c on c.id = p.account_id join accounts a on a.id = p.account_id
		where p.auto_enabled and p.payment_method <> '' and p.customer_id is not null and a.frozen_at is null and a.closed_at is null
			and (p.auto_due_at is null or p.auto_due_at <= $1) and `+balance+` < p.threshold_nanos
			and not exists (select from topups t where t.account_id = p.account_id and t.auto and t.state in ('CREATED', 'OPEN'))
		order by p.auto_due_at nulls first, p.account_id limit $2`, now, limit)
	return ids, err
}

// autoSpent returns the cents that were or may have been charged to an account's card since a time.
func autoSpent(ctx context.Context, q postgres.Queryer, accountID string, since time.Time) (cents int64, err error) {
	err = q.GetContext(ctx, &cents, `
		select coalesce(sum(cents), 0) from topups
		where account_id = $1 and auto and created_at >= $2 and state not in ('FAILED', 'EXPIRED')`, accountID, since)
	return cents, err
}

func saveAuto(ctx context.Context, q postgres.Queryer, a accountRow, due *time.Time) error {
	_, err := q.ExecContext(ctx, `
		update payment_accounts set auto_enabled = $2, threshold_nanos = $3, auto_cents = $4, cap_cents = $5, failures = $6,
			disabled_reason = $7, auto_due_at = $8
		where account_id = $1`,
		a.AccountID, a.AutoEnabled, int64(a.Threshold), a.AutoCents, a.CapCents, a.Failures, a.DisabledReason, due)
	return err
}

// lowChanged selects the accounts whose balance crossed their notification limit, downwards or upwards.
func lowChanged(ctx context.Context, q postgres.Queryer, standard app.Amount, limit int) (ids []string, err error) {
	err = q.SelectContext(ctx, &ids, `
		select p.account_id from payment_accounts p join credit_accounts c on c.id = p.account_id
		where (p.low_since is not null) <>
			(`+balance+` < coalesce(p.low_balance_nanos, case when p.purchased then $1::bigint else 0 end))
		limit $2`, int64(standard), limit)
	return ids, err
}

func saveLow(ctx context.Context, q postgres.Queryer, accountID string, since *time.Time) error {
	_, err := q.ExecContext(ctx, `update payment_accounts set low_since = $2 where account_id = $1`, accountID, since)
	return err
}

func saveLowBalance(ctx context.Context, tx *sqlx.Tx, accountID string, amount app.Amount) error {
	_, err := tx.ExecContext(ctx, `
		update payment_accounts set low_balance_nanos = $2, low_since = null where account_id = $1`, accountID, int64(amount))
	return err
}

// disputedSince returns the time of the oldest payment with an open dispute; nil when there is none.
func disputedSince(ctx context.Context, q postgres.Queryer, accountID string) (at *time.Time, err error) {
	err = q.GetContext(ctx, &at, `select min(paid_at) from topups where account_id = $1 and state in ('DISPUTED', 'LOST')`, accountID)
	return at, err
}
