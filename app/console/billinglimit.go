package console

import (
	"net/http"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/billing"
	"umg/views"
	billingpages "umg/views/billing"
	"umg/views/format"
	"umg/views/ui"
)

// spendLimitRoutes are the forms about credit that also work on servers without payments.
func (c *Console) spendLimitRoutes() []page.Route {
	a := page.Area{Right: app.ManageMoney}
	return []page.Route{a.Post("/billing/limit", c.setSpendLimit), a.Post("/billing/promo", c.redeemPromo)}
}

// fillLimit adds the spend limit to the page of billing.
func (c *Console) fillLimit(p *page.Page, b *billingpages.Overview) (err error) {
	s, err := c.o.Accounts.SpendLimit(p.Request().Context(), p.Principal())
	if b.Limit.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	if s.Set() {
		b.Limit.Limit = &views.KeyBudget{Limit: s.Limit, Spent: s.Spent, Left: s.Left(), Period: string(s.Period), ResetsAt: &s.ResetsAt}
	}
	b.Limit.Form = billingpages.NewLimitForm(b.Limit.Limit)
	return nil
}

// setSpendLimit changes the spend limit. A form without a period removes the limit.
func (c *Console) setSpendLimit(p *page.Page) error {
	form := billingpages.LimitForm{Amount: strings.TrimSpace(p.FormValue("limit")), Period: p.FormValue("period")}
	var to *billing.Allowance
	if form.Period != "" {
		amount, err := app.ParseAmount(strings.TrimPrefix(form.Amount, "$"))
		if err != nil {
			form.AmountError = "Write dollars with a point and at most 9 decimals, such as 100 or 12.50."
		}
		to = &billing.Allowance{Limit: amount, Period: billing.Period(form.Period)}
	}
	if form.AmountError == "" {
		err := c.o.Accounts.SetSpendLimit(p.Request().Context(), p.Principal(), to)
		switch refusal := app.AsError(err); {
		case err == nil && to == nil:
			return c.RedirectWithToast(p, ui.Success, "The account has no spend limit.", billingPath+"#spend-limit")
		case err == nil:
			message := "The account spends at most " + format.Dollars(to.Limit) + " a " + form.Period + "."
			return c.RedirectWithToast(p, ui.Success, message, billingPath+"#spend-limit")
		case refusal.Kind != app.Invalid:
			return err
		case refusal.Param == "period":
			form.PeriodError = refusal.Message
		default:
			form.AmountError = refusal.Message
		}
	}
	return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Limit.Form = form })
}

// redeemPromo adds the credit of a promotion code.
func (c *Console) redeemPromo(p *page.Page) error {
	form := billingpages.PromoForm{Code: p.FormValue("code")}
	got, err := c.o.Accounts.RedeemPromo(p.Request().Context(), p.Principal(), form.Code)
	if err != nil {
		switch app.KindOf(err) {
		case app.Invalid, app.NotFound, app.Conflict, app.Exhausted:
			form.Error = app.AsError(err).Message
			return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Promo = form })
		}
		return err
	}
	text := format.Dollars(got.Amount) + " of credit was added"
	if got.ExpiresAt != nil {
		text += ", to be spent by " + got.ExpiresAt.UTC().Format("2 Jan 2006")
	}
	return c.RedirectWithToast(p, ui.Success, text+".", billingPath)
}
