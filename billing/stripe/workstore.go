package stripe

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// claimEvents returns the time from which to read events, and whether this replica may read them now.
func (s *Service) claimEvents(ctx context.Context, now, until, first time.Time) (from time.Time, mine bool, err error) {
	_, err = s.db.ExecContext(ctx, `insert into payment_sweep (read_until, due_at) values ($1, $2) on conflict do nothing`, first, now)
	if err != nil {
		return from, false, err
	}
	err = s.db.GetContext(ctx, &from, `update payment_sweep set due_at = $2 where due_at <= $1 returning read_until`, now, until)
	if errors.Is(err, sql.ErrNoRows) {
		return from, false, nil
	}
	return from, err == nil, err
}

type refundRow struct {
	ID        string    `db:"id"`
	TopupID   string    `db:"topup_id"`
	Cents     int64     `db:"cents"`
	Operator  string    `db:"operator"`
	Reason    string    `db:"reason"`
	CreatedAt time.Time `db:"created_at"`
}

func selectPendingRefund(ctx context.Context, q postgres.Queryer, topupID string) (r refundRow, err error) {
	err = q.GetContext(ctx, &r, `
		select id, topup_id, cents, operator, reason, created_at from payment_refunds where topup_id = $1 and refund_id is null`, topupID)
	return r, err
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
