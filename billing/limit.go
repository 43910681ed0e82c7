package billing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// SpendLimit is how much an account may spend in a period, in addition to the limits of its credit and its keys' budgets. The
// zero value is no limit.
type SpendLimit struct {
	Limit    app.Amount
	Period   Period
	Spent    app.Amount // Spent is what the account spent in this period.
	Held     app.Amount // Running calls and jobs hold this; their cost counts when they end.
	ResetsAt time.Time
}

// Set reports whether there is a limit.
func (s SpendLimit) Set() bool { return s.Limit > 0 }

// Left is what is neither spent nor held, and never below zero.
func (s SpendLimit) Left() app.Amount { return max(s.Limit-s.Spent-s.Held, 0) }

// LimitOf converts the columns of a limit, which are nil for none. The columns do not include what was spent.
func LimitOf(limit *int64, period *string, start *time.Time) SpendLimit {
	if limit == nil || period == nil || start == nil {
		return SpendLimit{}
	}
	p := Period(*period)
	return SpendLimit{Limit: app.Amount(*limit), Period: p, ResetsAt: *p.Next(*start)}
}

// SetSpendLimit sets or changes an account's limit. What the account spent in this period counts, also for a new limit.
// Replicas return their unused leases at once.
func (l *Ledger) SetSpendLimit(ctx context.Context, q postgres.Queryer, accountID string, limit app.Amount, period Period) error {
	now := l.o.Now()
	if limit <= 0 || limit > grantNanosMax || period.Next(now) == nil {
		return fmt.Errorf("billing: spend limit of account %s: $%s each %q", accountID, limit, period)
	}
	var done bool
	err := q.GetContext(ctx, &done, `select set_spend_limit($1, $2, $3, $4)`, accountID, int64(limit), string(period), period.begin(now))
	if err == nil && !done {
		return fmt.Errorf("billing: spend limit: account %s has no credit account", accountID)
	}
	return postgres.StoreError("billing: set spend limit", err)
}

// CloseSpendLimit removes an account's limit. It changes nothing for an account without one.
func (l *Ledger) CloseSpendLimit(ctx context.Context, q postgres.Queryer, accountID string) error {
	_, err := q.ExecContext(ctx, `delete from spend_limits where account_id = $1`, accountID)
	return postgres.StoreError("billing: close spend limit", err)
}

// SpendLimit returns the account's limit, or the zero value.
func (l *Ledger) SpendLimit(ctx context.Context, q postgres.Queryer, accountID string) (SpendLimit, error) {
	var row spendLimitRow
	// Idle leases do not count as held, because their credit returns when no call needs it.
	err := q.GetContext(ctx, &row, `
		select s.limit_nanos, s.period, s.period_start, s.spent_nanos, a.held_nanos - leased_nanos(a.id) as held_nanos
		from spend_limits s join credit_accounts a on a.id = s.account_id where s.account_id = $1`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return SpendLimit{}, nil
	}
	if err != nil {
		return SpendLimit{}, postgres.StoreError("billing: spend limit", err)
	}
	s := SpendLimit{Limit: row.Limit, Period: row.Period, Spent: row.Spent, Held: row.Held}
	start := row.Period.begin(l.o.Now())
	if start.After(row.Start) { // The account has spent nothing in the new period yet.
		s.Spent = 0
	} else {
		start = row.Start
	}
	s.ResetsAt = *row.Period.Next(start)
	return s, nil
}

// AccountSpendLimit is SpendLimit without a transaction of the caller.
func (l *Ledger) AccountSpendLimit(ctx context.Context, accountID string) (SpendLimit, error) {
	return l.SpendLimit(ctx, l.db, accountID)
}

type spendLimitRow struct {
	Limit  app.Amount `db:"limit_nanos"`
	Period Period     `db:"period"`
	Start  time.Time  `db:"period_start"`
	Spent  app.Amount `db:"spent_nanos"`
	Held   app.Amount `db:"held_nanos"`
}

// periodNames are the periods as they appear in sentences.
var periodNames = map[Period]string{EachDay: "a day", EachWeek: "a week", EachMonth: "a month"}

// OverLimit is Unfunded for an account whose own spend limit is used up, whatever credit it has.
func OverLimit(needed app.Amount, b Balance, s SpendLimit) *app.Error {
	e := app.Errorf(app.Unfunded, "spend_limit_exceeded",
		"This call needs $%s; $%s is left of this account's spend limit of $%s %s%s. The limit resets on %s. Raise it on the "+
			"billing page of the console (/console/billing), or wait until then.",
		needed, b.Available(), s.Limit, periodNames[s.Period], reserved(b), s.ResetsAt.UTC().Format(timeLayout)).Final()
	e.Doc = "/console/billing"
	return e
}
