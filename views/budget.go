package views

import (
	"time"

	"umg/app"
	"umg/views/format"
	"umg/views/ui"
)

// Share is how much of the budget is spent, in hundredths from 0 to 100. What is nearly all is not all.
func (b KeyBudget) Share() int {
	switch {
	case b.Limit <= 0 || b.Spent >= b.Limit:
		return 100
	case b.Spent <= 0:
		return 0
	}
	return max(1, min(99, int(b.Spent/max(b.Limit/100, 1))))
}

// Tone warns of a budget that is nearly spent.
func (b KeyBudget) Tone() ui.Tone {
	switch share := b.Share(); {
	case share >= 100:
		return ui.Danger
	case share >= 80:
		return ui.Warning
	}
	return ui.Brand
}

// KeyBudget is what a key may spend in a period, and how far it has.
type KeyBudget struct {
	Limit    app.Amount
	Spent    app.Amount
	Left     app.Amount
	Period   string
	ResetsAt *time.Time // ResetsAt is nil for a budget that does not reset.
}

// periodWords say over what time a budget is spent.
var periodWords = map[string]string{"total": "in total", "day": "today", "week": "this week", "month": "this month"}

// PeriodWords name the current period, such as "this month".
func (b KeyBudget) PeriodWords() string { return periodWords[b.Period] }

// SumWords are what is spent and the limit.
func (b KeyBudget) SumWords() string {
	return format.Dollars(b.Spent) + " of " + format.Dollars(b.Limit)
}

// SpentWords are what is spent, the limit and the period.
func (b KeyBudget) SpentWords() string { return b.SumWords() + " spent " + b.PeriodWords() }

// LeftWords are what is left of the budget.
func (b KeyBudget) LeftWords() string {
	if b.Left <= 0 {
		return "used up"
	}
	return format.Dollars(b.Left) + " left"
}

// PeriodOptions are how often a budget is refilled.
var PeriodOptions = []ui.Option{
	{Value: "month", Label: "each month"},
	{Value: "week", Label: "each week"},
	{Value: "day", Label: "each day"},
	{Value: "total", Label: "in total, once"},
}
