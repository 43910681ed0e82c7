package billing

import (
	"context"
	"errors"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Period is how often a budget is refilled.
type Period string

// The periods of a budget, which begin at midnight UTC: of any day, of a Monday, of the first of a month.
const (
	InTotal   Period = "total"
	EachDay   Period = "day"
	EachWeek  Period = "week"
	EachMonth Period = "month"
)

// Budget is how much one API key may spend in a period, and how much of that is left. Held is the part of what is left
// that running calls have reserved.
type Budget struct {
	KeyID     string
	AccountID string
	Limit     app.Amount
	Period    Period
	Spent     app.Amount // in this period
	Left      app.Amount // never below zero; a limit that was lowered may be spent already
	Held      app.Amount
	ResetsAt  *time.Time // nil for a budget in total
}

// OpenBudget gives a key a budget, or SetBudget's change where it has one.
func (l *Ledger) OpenBudget(ctx context.Context, q postgres.Queryer, b Budget) error {
	return errors.New("billing: open budget: not built")
}

// SetBudget changes the limit and period of a key's budget. What was spent in this period stays spent.
func (l *Ledger) SetBudget(ctx context.Context, q postgres.Queryer, b Budget) error {
	return errors.New("billing: set budget: not built")
}

// CloseBudget takes a key's budget away, so that only the account's credit limits it. Closing none changes nothing.
func (l *Ledger) CloseBudget(ctx context.Context, q postgres.Queryer, accountID, keyID string) error {
	return errors.New("billing: close budget: not built")
}

// Budgets are the budgets of an account's keys, by the key's id.
func (l *Ledger) Budgets(ctx context.Context, accountID string) (map[string]Budget, error) {
	return nil, errors.New("billing: budgets: not built")
}
