package billing

import (
	"context"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Period is how often a budget is refilled.
type Period string

// These are the periods of a budget. They begin at midnight UTC: of any day, of a Monday, or of the first of a month.
const (
	InTotal   Period = "total"
	EachDay   Period = "day"
	EachWeek  Period = "week"
	EachMonth Period = "month"
)

const daysOfWeek = 7

// begin returns the start of the period that contains a time. The total period has no other start than that time.
func (p Period) begin(now time.Time) time.Time {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch p {
	case EachDay:
		return day
	case EachWeek:
		return day.AddDate(0, 0, -(int(day.Weekday()+daysOfWeek-time.Monday) % daysOfWeek))
	case EachMonth:
		return day.AddDate(0, 0, 1-day.Day())
	default:
		return now
	}
}

// Next returns the start of the period after the one that contains a time, or nil for the total period.
func (p Period) Next(now time.Time) *time.Time {
	start := p.begin(now)
	switch p {
	case EachDay:
		start = start.AddDate(0, 0, 1)
	case EachWeek:
		start = start.AddDate(0, 0, daysOfWeek)
	case EachMonth:
		start = start.AddDate(0, 1, 0)
	default:
		return nil
	}
	return &start
}

// Budget is how much one API key may spend in a period, and what is left of that. Held is the part of the rest that running
// calls have reserved.
type Budget struct {
	KeyID     string
	AccountID string
	Limit     app.Amount
	Period    Period
	Spent     app.Amount // Spent is what the key spent in this period.
	Left      app.Amount // Left is never below zero, even when a lowered limit is already exceeded.
	Held      app.Amount
	ResetsAt  *time.Time // ResetsAt is nil for a total budget.
}

// OpenBudget gives a key a budget, or changes the budget it has as SetBudget does.
func (l *Ledger) OpenBudget(ctx context.Context, q postgres.Queryer, b Budget) error {
	return l.SetBudget(ctx, q, b)
}

// SetBudget changes the limit and period of a key's budget. What the key spent in this period stays spent.
func (l *Ledger) SetBudget(ctx context.Context, q postgres.Queryer, b Budget) error {
	switch {
	case b.KeyID == "" || b.AccountID == "" || b.Limit <= 0 || b.Limit > grantNanosMax:
		return fmt.Errorf("billing: budget of key %q of account %q: $%s", b.KeyID, b.AccountID, b.Limit)
	case b.Period != InTotal && b.Period.Next(l.o.Now()) == nil:
		return fmt.Errorf("billing: budget of key %q: %q is not a period", b.KeyID, b.Period)
	}
	var done bool
	err := q.GetContext(ctx, &done, `select set_budget($1, $2, $3, $4, $5)`,
		b.KeyID, b.AccountID, int64(b.Limit), string(b.Period), b.Period.begin(l.o.Now()))
	if err == nil && !done {
		return fmt.Errorf("billing: budget of key %q: it is not a key of account %s", b.KeyID, b.AccountID)
	}
	if err == nil { // Replicas may lease more of the budget than the new limit allows.
		_, err = q.ExecContext(ctx, `select recall_leases($1)`, b.KeyID)
	}
	return postgres.StoreError("billing: set budget", err)
}

// CloseBudget removes a key's budget, so only the account's credit limits the key. It changes nothing for a key without one.
func (l *Ledger) CloseBudget(ctx context.Context, q postgres.Queryer, accountID, keyID string) error {
	_, err := q.ExecContext(ctx, `select close_budget($1, $2)`, keyID, accountID)
	return postgres.StoreError("billing: close budget", err)
}

// Budgets returns the budgets of an account's keys, by key id.
func (l *Ledger) Budgets(ctx context.Context, accountID string) (map[string]Budget, error) {
	var rows []budgetRow
	err := l.db.SelectContext(ctx, &rows, `
		select k.key_id, k.limit_nanos, k.period, k.spent_nanos, k.period_start, a.posted_nanos, a.held_nanos
		from key_budgets k join credit_accounts a on a.id = k.key_id where k.account_id = $1`, accountID)
	if err != nil {
		return nil, postgres.StoreError("billing: budgets", err)
	}
	budgets := make(map[string]Budget, len(rows))
	for _, r := range rows {
		budgets[r.KeyID] = Budget{
			KeyID: r.KeyID, AccountID: accountID, Limit: r.Limit, Period: r.Period, Spent: r.Spent, Left: r.Posted, Held: r.Held,
			ResetsAt: r.Period.Next(r.Start),
		}
	}
	return budgets, nil
}

// Reached returns the highest of the given shares, in hundredths, that the spending of this period has passed, or zero for none.
func (b Budget) Reached(shares []int) (reached int) {
	const whole = 100
	for _, share := range shares {
		n := app.Amount(share)
		part := b.Limit/whole*n + (b.Limit%whole*n+whole-1)/whole // The share is rounded up, in steps that cannot overflow.
		if b.Limit > 0 && b.Spent >= part {
			reached = max(reached, share)
		}
	}
	return reached
}

type budgetRow struct {
	Balance

	KeyID  string     `db:"key_id"`
	Limit  app.Amount `db:"limit_nanos"`
	Period Period     `db:"period"`
	Spent  app.Amount `db:"spent_nanos"`
	Start  time.Time  `db:"period_start"`
}

// refill refills the budgets whose next period has begun.
func (l *Ledger) refill(ctx context.Context) error {
	for range sweepBatchesMax {
		var refilled int
		err := l.db.GetContext(ctx, &refilled, `select refill_budgets($1, $2)`, sweepBudgetsMax, l.o.Now().UTC())
		if err != nil || refilled < sweepBudgetsMax {
			return err
		}
	}
	return nil
}
