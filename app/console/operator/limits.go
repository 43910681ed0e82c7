package operator

import (
	"net/http"
	"strconv"

	"umg/app/account"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	limitAnswersPath = rootPath + "/limits"
	answerCharsMax   = 500
)

// limitAnswers lists what accounts ask for.
func (c *Console) limitAnswers(p *page.Page) error {
	v := operatorpages.LimitAnswers{Shell: c.Shell(p)}
	found, err := c.o.Accounts.AllLimitRequests(p.Request().Context())
	if v.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	for _, r := range found {
		v.List = append(v.List, page.ViewLimitRequest(r))
	}
	return c.Render(p, http.StatusOK, operatorpages.LimitAnswersPage(v))
}

// answerForm is the form for an open request. It returns false after it has led away from an answered one.
func (c *Console) answerForm(p *page.Page) (f operatorpages.ConfirmForm, r account.LimitRequest, open bool, err error) {
	if r, err = c.o.Accounts.FindLimitRequest(p.Request().Context(), p.Param("id")); err != nil {
		return f, r, false, err
	}
	if r.State != account.LimitOpen {
		return f, r, false, c.RedirectWithToast(p, ui.Info, "The request was answered already.", limitAnswersPath)
	}
	v := page.ViewLimitRequest(r)
	f = operatorpages.ConfirmForm{
		Title: "Answer the limit request of " + r.Account,
		Text: "Granting sets the account's multiplier on every replica within a second. Either answer closes the request " +
			"and notifies the account.",
		Back: limitAnswersPath, BackTitle: "Limit requests", Action: v.Path(),
		Facts: []operatorpages.ConfirmFact{
			{Name: "Account", Value: r.Account}, {Name: "Asked by", Value: r.Email}, {Name: "For", Value: v.ModelWords()},
			{Name: "Asks for", Value: v.TimesWords()}, {Name: "Multiplier now", Value: strconv.Itoa(r.FactorNow) + "×"},
			{Name: "Why", Value: r.Reason},
		},
		Fields: []operatorpages.ConfirmField{factorField(strconv.Itoa(r.Factor)), {
			Name: "answer", Label: "Answer to the account", Optional: true, Long: true, CharsMax: answerCharsMax,
		}},
		Buttons: []operatorpages.ConfirmButton{
			{Value: string(account.LimitDeclined), Text: "Decline", Variant: ui.Outline},
			{Value: string(account.LimitDone), Text: "Grant", Icon: ui.IconCheck, Variant: ui.Primary},
		},
	}
	return f, r, true, nil
}

func (c *Console) askAnswer(p *page.Page) error {
	f, _, open, err := c.answerForm(p)
	if err != nil || !open {
		return err
	}
	return c.showConfirm(p, http.StatusOK, f)
}

// answerLimits declines a request, or sets the multiplier as the command “account set-limit-multiplier” does and marks the request as done.
func (c *Console) answerLimits(p *page.Page) error {
	f, r, open, err := c.answerForm(p)
	if err != nil || !open {
		return err
	}
	state := account.LimitState(p.FormValue("do"))
	f.Fields[0].Value, f.Fields[1].Value = p.FormValue("factor"), p.FormValue("answer")
	factor := r.FactorNow
	if state == account.LimitDone {
		factor = readFactor(&f, f.Fields[0].Value)
	}
	return c.confirmed(p, f, func() (func() error, error) {
		ctx, said := p.Request().Context(), "Declined the request of "+r.Account+"."
		if state == account.LimitDone {
			said = "The limits of " + r.Account + " are now " + strconv.Itoa(factor) + "× the usual."
			if err := c.o.Accounts.SetLimitFactor(ctx, operatorFor(p, r.AccountID), factor); err != nil {
				return nil, err
			}
		}
		err := c.o.Accounts.AnswerLimits(ctx, p.User, p.Principal().From, r.ID, state, p.FormValue("answer"))
		return c.then(p, said+" The account sees it under Limits.", limitAnswersPath), err
	})
}
