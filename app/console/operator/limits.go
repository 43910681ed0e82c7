package operator

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const limitAnswersPath = rootPath + "/limits"

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

func (c *Console) answerLimits(p *page.Page) error {
	state := account.LimitState(p.FormValue("state"))
	err := c.o.Accounts.AnswerLimits(p.Request().Context(), p.User, p.Principal().From, p.Param("id"), state, p.FormValue("answer"))
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Invalid {
		return c.RedirectWithToast(p, ui.Warning, refusal.Message, limitAnswersPath)
	}
	if err != nil {
		return err
	}
	message := "The request is marked as " + string(state) + ". The account sees it under Limits."
	return c.RedirectWithToast(p, ui.Success, message, limitAnswersPath)
}
