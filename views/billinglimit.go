package views

import "umg/views/ui"

// limitPath is where the form of the account's spend limit goes, and promoPath that of a promotion code.
const (
	limitPath = billingPath + "/limit"
	promoPath = billingPath + "/promo"
)

// SpendLimit is the most the account may spend in a period, and the form that changes it.
type SpendLimit struct {
	Limit   *KeyBudget // nil for no limit
	Form    LimitForm
	Failure *Trouble // set when the limit could not be read
}

// LimitForm is a spend limit as it was typed. An empty period is no limit.
type LimitForm struct {
	Amount, AmountError string
	Period, PeriodError string
}

// NewLimitForm is the form as it stands at first.
func NewLimitForm(b *KeyBudget) LimitForm {
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
func (s SpendLimit) state() verdict {
	switch {
	case s.Limit == nil:
		return verdict{ui.Plain, "None"}
	case s.Limit.Left <= 0:
		return verdict{ui.Danger, "Reached"}
	}
	return verdict{ui.Success, "On"}
}

const promoLengthMax = "64" // characters as typed, with spaces and dashes

// PromoForm is a promotion code as it was typed.
type PromoForm struct {
	Code, Error string
}
