package stripe

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

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
	return postgres.Changed(q.ExecContext(ctx, `update payment_refunds set refund_id = $2 where id = $1 and refund_id is null`, id, refundID))
}

// balance is what an account has apart from the holds of its running jobs: leased credit that is not spent still counts.
const balance = `(c.posted_nanos - c.held_nanos + coalesce((
	select sum(l.remaining_nanos) from leases l where l.credit_account_id = c.id and l.state = 'open'), 0)::bigint)`

func balanceOf(ctx context.Context, q postgres.Queryer, accountID string) (amount app.Amount, err error) {
	err = q.GetContext(ctx, &amount, `select `+balance+` from credit_accounts c where c.id = $1 and c.kind = 'customer'`, accountID)
	return amount, err
}

func saveAuto(ctx context.Context, q postgres.Queryer, a accountRow, due *time.Time) error {
	_, err := q.ExecContext(ctx, `
		update payment_accounts set auto_enabled = $2, threshold_nanos = $3, auto_cents = $4, cap_cents = $5, failures = $6,
			disabled_reason = $7, auto_due_at = $8
		where account_id = $1`,
		a.AccountID, a.AutoEnabled, int64(a.Threshold), a.AutoCents, a.CapCents, a.Failures, a.DisabledReason, due)
	return err
}

func saveLow(ctx context.Context, q postgres.Queryer, accountID string, since *time.Time) error {
	_, err := q.ExecContext(ctx, `update payment_accounts set low_since = $2 where account_id = $1`, accountID, since)
	return err
}
