package billing

import (
	"umg/views"
	"umg/views/ui"
)

// limitPath is where the form of the account's spend limit goes, and promoPath that of a promotion code.
const (
	limitPath = views.BillingPath + "/limit"
	promoPath = views.BillingPath + "/promo"
)

// SpendLimit is the most the account may spend in a period, and the form that changes it.
type SpendLimit struct {
	Limit   *views.KeyBudget // Limit is nil for an account without a limit.
	Form    LimitForm
	Failure *views.LoadFailure // Failure is set when the limit could not be read.
}

// LimitForm is a spend limit as it was typed. An empty period is no limit.
type LimitForm struct {
	Amount, AmountError string
	Period, PeriodError string
}

// NewLimitForm is the form as it is first shown.
func NewLimitForm(b *views.KeyBudget) LimitForm {
	if b == nil {
		return LimitForm{}
	}
	return LimitForm{Amount: b.Limit.String(), Period: b.Period}
}

var limitPeriods = []ui.Option{
	{Value: "", Label: "No limit"},
	{Value: "month", Label: "Each month"},
	{Value: "week", Label: "Each week"},
	{Value: "day", Label: "Each day"},
}

// state is the badge of the limit.
func (s SpendLimit) state() views.Badge {
	switch {
	case s.Limit == nil:
		return views.Badge{Tone: ui.Plain, Text: "None"}
	case s.Limit.Left <= 0:
		return views.Badge{Tone: ui.Danger, Text: "Reached"}
	}
	return views.Badge{Tone: ui.Success, Text: "On"}
}

const promoLengthMax = "64" // A code has at most this many characters as typed, with spaces and dashes.

// PromoForm is a promotion code as it was typed.
type PromoForm struct {
	Code, Error string
}
