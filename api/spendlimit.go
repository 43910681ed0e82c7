package api

import (
	"slices"
	"strings"

	"umg/app"
	"umg/app/account"
	"umg/billing"
)

// spendLimitRoutes return how much the account may spend in a period, to every member and key of the account. They are
// an extension.
func spendLimitRoutes() []Route {
	const path = "/v1/spend_limit"
	g := group{app.ManageMoney, hasAccounts}
	return []Route{g.get(path, (*API).getSpendLimit), g.post(path, (*API).setSpendLimit)}
}

// spendLimitJSON is the limit as clients see it; all but enabled is null where there is none.
type spendLimitJSON struct {
	Object    string  `json:"object"`
	Enabled   bool    `json:"enabled"`
	Limit     *string `json:"limit"`
	Period    *string `json:"period"`
	Spent     *string `json:"spent"`
	Remaining *string `json:"remaining"`
	ResetsAt  *int64  `json:"resets_at"`
}

func (a *API) getSpendLimit(x *call) error {
	s, err := a.o.Accounts.SpendLimit(x.Request().Context(), x.principal())
	if err != nil {
		return err
	}
	body := spendLimitJSON{Object: "spend_limit", Enabled: s.Set()}
	if s.Set() {
		body.Limit, body.Period = new(s.Limit.String()), new(string(s.Period))
		body.Spent, body.Remaining, body.ResetsAt = new(s.Spent.String()), new(s.Left().String()), seconds(&s.ResetsAt)
	}
	return a.object(x, body)
}

// setSpendLimit takes an amount with its period, or a limit of null for none.
func (a *API) setSpendLimit(x *call) error {
	f, err := a.strict(x, "limit", "period")
	if err != nil {
		return err
	}
	there, none := f.has("limit")
	if f.err == nil && !there {
		f.err = missingField("limit", "limit is required: dollars as a string, such as \"100\"; null for no limit.")
	}
	var to *billing.Allowance
	if !none {
		to = f.spendLimit()
	}
	if f.err != nil {
		return f.err
	}
	if err := a.o.Accounts.SetSpendLimit(x.Request().Context(), x.principal(), to); err != nil {
		return err
	}
	return a.getSpendLimit(x)
}

func (f *members) spendLimit() *billing.Allowance {
	var limit, period *string
	f.read("limit", "dollars as a string, or null for no limit", &limit)
	f.read("period", `"day", "week" or "month"`, &period)
	if f.err != nil || limit == nil {
		return nil
	}
	amount, err := app.ParseAmount(strings.TrimSpace(*limit))
	switch {
	case err != nil:
		f.err = wrongField("limit", "dollars as a string with at most 9 decimals, such as \"100\"")
	case period == nil:
		f.err = missingField("period", "period is required with a limit: day, week or month; it begins at midnight UTC.")
	case !slices.Contains(account.LimitPeriods(), billing.Period(*period)):
		f.err = wrongField("period", `"day", "week" or "month"`)
	}
	if f.err != nil {
		return nil
	}
	return &billing.Allowance{Limit: amount, Period: billing.Period(*period)}
}
