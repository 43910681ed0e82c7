package stripe

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

type topupRow struct {
	ID             string     `db:"id"`
	AccountID      string     `db:"account_id"`
	Cents          int64      `db:"cents"`
	State          State      `db:"state"`
	Auto           bool       `db:"auto"`
	Email          string     `db:"email"`
	IdempotencyKey string     `db:"idempotency_key"`
	CustomerID     string     `db:"customer_id"`
	PaymentMethod  string     `db:"payment_method"`
	SessionID      string     `db:"session_id"` // It is stored as null when empty, because the column is unique.
	IntentID       string     `db:"intent_id"`
	URL            string     `db:"url"`
	Receipt        string     `db:"receipt_url"`
	Failure        string     `db:"failure"`
	CreditedCents  int64      `db:"credited_cents"`
	RefundedCents  int64      `db:"refunded_cents"`
	DisputedCents  int64      `db:"disputed_cents"`
	TakenCents     int64      `db:"taken_cents"`
	Froze          bool       `db:"froze"`
	Version        int64      `db:"version"`
	CreatedAt      time.Time  `db:"created_at"`
	AskedAt        time.Time  `db:"asked_at"`
	PaidAt         *time.Time `db:"paid_at"`
	DueAt          *time.Time `db:"due_at"`
}

const topupColumns = `id, account_id, cents, state, auto, email, idempotency_key, customer_id, payment_method,
	coalesce(session_id, '') as session_id, coalesce(intent_id, '') as intent_id, url, receipt_url, failure,
	credited_cents, refunded_cents, disputed_cents, taken_cents, froze, version, created_at, asked_at, paid_at, due_at`

func topupByID(ctx context.Context, q postgres.Queryer, id string) (t topupRow, err error) {
	err = q.GetContext(ctx, &t, `select `+topupColumns+` from topups where id = $1`, id)
	return t, err
}

func topupOf(ctx context.Context, q postgres.Queryer, accountID, id string) (t topupRow, err error) {
	err = q.GetContext(ctx, &t, `select `+topupColumns+` from topups where account_id = $1 and id = $2`, accountID, id)
	return t, err
}

// insertTopup inserts a top-up, or returns the existing one with the same idempotency key. It inserts none when too many of
// the account's top-ups await payment.
func insertTopup(ctx context.Context, q postgres.Queryer, t topupRow, openMax int) (there topupRow, made bool, err error) {
	done, err := q.ExecContext(ctx, `
		insert into topups (id, account_id, cents, state, auto, email, idempotency_key, customer_id, payment_method, session_id, intent_id,
			created_at, asked_at, due_at)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, nullif($10, ''), nullif($11, ''), $12, $12, $13
		where $14 = 0 or (
			select count(*) from topups where account_id = $2 and state in ('CREATED', 'OPEN') and not auto
		) < $14
		on conflict (account_id, idempotency_key) do nothing`,
		t.ID, t.AccountID, t.Cents, string(t.State), t.Auto, t.Email, t.IdempotencyKey, t.CustomerID, t.PaymentMethod, t.SessionID, t.IntentID,
		t.CreatedAt, t.DueAt, openMax)
	if made, err = postgres.Changed(done, err); err != nil {
		return there, false, err
	}
	err = q.GetContext(ctx, &there, `
		select `+topupColumns+` from topups where account_id = $1 and idempotency_key = $2`, t.AccountID, t.IdempotencyKey)
	return there, made, err
}

// updateTopup stores a decision when the row is unchanged since the decision was made.
func updateTopup(ctx context.Context, q postgres.Queryer, was, next topupRow) (kept bool, err error) {
	done, err := q.ExecContext(ctx, `
		update topups set state = $3, session_id = nullif($4, ''), intent_id = nullif($5, ''), url = $6, receipt_url = $7, failure = $8,
			credited_cents = $9, refunded_cents = $10, disputed_cents = $11, taken_cents = $12, paid_at = $13, due_at = $14,
			asked_at = $15, customer_id = $16, version = version + 1
		where id = $1 and version = $2`,
		was.ID, was.Version, string(next.State), next.SessionID, next.IntentID, next.URL, next.Receipt, next.Failure,
		next.CreditedCents, next.RefundedCents, next.DisputedCents, next.TakenCents, next.PaidAt, next.DueAt, next.AskedAt, next.CustomerID)
	return postgres.Changed(done, err)
}

// accountRow is what this package stores of an account.
type accountRow struct {
	AccountID      string      `db:"account_id"`
	CustomerID     string      `db:"customer_id"`
	CustomerEmail  string      `db:"customer_email"`
	CustomerRound  int         `db:"customer_round"`
	PaymentMethod  string      `db:"payment_method"`
	Purchased      bool        `db:"purchased"`
	AutoEnabled    bool        `db:"auto_enabled"`
	Threshold      app.Amount  `db:"threshold_nanos"`
	AutoCents      int64       `db:"auto_cents"`
	CapCents       int64       `db:"cap_cents"`
	Failures       int         `db:"failures"`
	DisabledReason string      `db:"disabled_reason"`
	LowBalance     *app.Amount `db:"low_balance_nanos"`
	LowSince       *time.Time  `db:"low_since"`
}

const accountColumns = `account_id, coalesce(customer_id, '') as customer_id, customer_email, customer_round, payment_method, purchased,
	auto_enabled, threshold_nanos, auto_cents, cap_cents, failures, disabled_reason, low_balance_nanos, low_since`

func accountByID(ctx context.Context, q postgres.Queryer, accountID string) (a accountRow, err error) {
	err = q.GetContext(ctx, &a, `select `+accountColumns+` from payment_accounts where account_id = $1`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return accountRow{AccountID: accountID}, nil
	}
	return a, err
}

// lockAccount inserts the row of an account if there is none, and locks it for this transaction.
func lockAccount(ctx context.Context, tx *sqlx.Tx, accountID string) (a accountRow, err error) {
	if _, err = tx.ExecContext(ctx, `insert into payment_accounts (account_id) values ($1) on conflict do nothing`, accountID); err != nil {
		return a, err
	}
	err = tx.GetContext(ctx, &a, `select `+accountColumns+` from payment_accounts where account_id = $1 for no key update`, accountID)
	return a, err
}

// dropCustomer removes a customer that Stripe does not know.
func dropCustomer(ctx context.Context, q postgres.Queryer, accountID, customerID string) error {
	_, err := q.ExecContext(ctx, `
		update payment_accounts set customer_id = null, customer_round = customer_round + 1, payment_method = ''
		where account_id = $1 and customer_id = $2`, accountID, customerID)
	return err
}

// setCard stores which card of a customer may be charged.
func setCard(ctx context.Context, q postgres.Queryer, customerID, card string) error {
	_, err := q.ExecContext(ctx, `update payment_accounts set payment_method = $2 where customer_id = $1`, customerID, card)
	return err
}

// mailRecipients returns the members who receive mails about an account's credit.
func mailRecipients(ctx context.Context, q postgres.Queryer, accountID, event string) (emails []string, err error) {
	err = q.SelectContext(ctx, &emails, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and m.role in ('owner', 'billing') and not exists (
			select 1 from notification_preferences c
			where c.user_id = u.id and c.account_id = m.account_id and c.event = $3 and not c.by_mail)
		order by m.created_at, u.id limit $2`, accountID, mailsMax, event)
	return emails, err
}

// frozen returns whether an account is frozen or closed, and whether it exists.
func frozen(ctx context.Context, q postgres.Queryer, accountID string) (is, exists bool, err error) {
	err = q.GetContext(ctx, &is, `select frozen_at is not null from accounts where id = $1`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return is, err == nil, err
}

func markFrozenByDispute(ctx context.Context, q postgres.Queryer, topupID string) error {
	_, err := q.ExecContext(ctx, `update topups set froze = true where id = $1`, topupID)
	return err
}

// frozenForReceivable reports whether an account is frozen for what it owes, and for nothing else.
func frozenForReceivable(ctx context.Context, q postgres.Queryer, accountID string) (is bool, err error) {
	err = q.GetContext(ctx, &is, `select exists (select from receivables where account_id = $1 and froze)`, accountID)
	return is, err
}
