package console

import (
	"net/http"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/ratelimit"
	"umg/app/video"
	"umg/views"
	operatorpages "umg/views/operator"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	limitsPath       = consolePath + "/limits"
	limitAnswersPath = operatorPath + "/limits"
)

// limitRoutes are the page about limits, and the operators' about what accounts ask for.
func limitRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/limits", Right: app.ReadModels, serve: (*Console).limits},
		{Method: http.MethodPost, Path: "/limits", Right: app.ManageAccount, serve: (*Console).askLimits},
		{Method: http.MethodGet, Path: "/operator/limits", Operator: true, serve: (*Console).limitAnswers},
		{Method: http.MethodPost, Path: "/operator/limits/:id", Operator: true, serve: (*Console).answerLimits},
	}
}

func (c *Console) limits(p *page) error {
	return c.renderLimits(p, http.StatusOK, settingpages.WishForm{Model: p.QueryParam("model"), Times: "2"})
}

func (c *Console) renderLimits(p *page, status int, form settingpages.WishForm) error {
	v := settingpages.LimitsView{
		Shell: c.shell(p), Factor: p.factor(), Form: form, MayAsk: p.user.Role.Rights().Has(app.ManageAccount),
	}
	found := slices.DeleteFunc(slices.Clone(c.o.Catalog.Snapshot().Models()), func(m *catalog.Model) bool { return !m.Available })
	left := c.o.Gateway.Left(p.user.AccountID, p.factor(), found)
	uses, err := c.videoUses(p)
	if err != nil {
		return err
	}
	for i, m := range found {
		v.Models = append(v.Models, modelGauges(m, left[i].Model, int64(p.factor()), uses[m.ID], uses != nil))
	}
	if len(left) > 0 {
		v.Account = accountGauges(left[0].Account)
	}
	requests, err := c.o.Accounts.LimitRequests(p.Request().Context(), p.user.AccountID)
	if err != nil {
		return err
	}
	for _, r := range requests {
		v.Requests = append(v.Requests, viewWish(r))
	}
	if p.user.Role.Rights().Has(app.ManageKeys) {
		keys, err := c.listKeys(p)
		if err != nil {
			return err
		}
		v.Keys = slices.DeleteFunc(keys, func(k views.Key) bool { return k.Requests+k.Tokens+k.Concurrency == 0 })
	}
	return c.render(p, status, settingpages.LimitsPage(v))
}

func viewWish(r account.LimitRequest) views.LimitRequest {
	return views.LimitRequest{
		ID: r.ID, AccountID: r.AccountID, Account: r.Account, Email: r.Email, Model: r.Model, FactorThen: r.FactorThen, Factor: r.Factor,
		FactorNow: r.FactorNow, Reason: r.Reason, State: string(r.State), Answer: r.Answer, At: r.CreatedAt, AnsweredAt: r.AnsweredAt,
	}
}

// gaugesOf are the windows that have a limit.
func gaugesOf(names []string, windows ...ratelimit.Window) (list []settingpages.Gauge) {
	for i, w := range windows {
		if w.Limit > 0 {
			list = append(list, settingpages.Gauge{Name: names[i], Limit: w.Limit, Used: w.Limit - w.Remaining, Known: true})
		}
	}
	return list
}

func accountGauges(r ratelimit.Remaining) []settingpages.Gauge {
	return gaugesOf([]string{"Calls at once", "Requests a minute", "Tokens a minute"}, r.Places, r.Requests, r.Tokens)
}

// videoUses are the jobs of the account that count towards limits, by model; nil where no videos are made.
func (c *Console) videoUses(p *page) (map[string]video.Use, error) {
	if c.o.Videos == nil {
		return nil, nil
	}
	return c.o.Videos.Uses(p.Request().Context(), p.user.AccountID)
}

// modelGauges are a model's limits, and what of them is used where that is known.
func modelGauges(m *catalog.Model, r ratelimit.Remaining, factor int64, use video.Use, known bool) settingpages.ModelGauges {
	g := settingpages.ModelGauges{Model: m.ID, Video: m.Kind == catalog.KindVideo}
	names := []string{"Requests a minute", "Tokens a minute", "Requests a day", "Calls at once"}
	g.Gauges = gaugesOf(names, r.Requests, r.Tokens, r.Daily, r.Places)
	for _, jobs := range []struct {
		name        string
		limit, used int64
	}{{"Jobs a day", m.Limits.JobsPerDay, use.Today}, {"Jobs at once", m.Limits.JobsRunning, use.Running}} {
		if jobs.limit > 0 {
			g.Gauges = append(g.Gauges, settingpages.Gauge{Name: jobs.name, Limit: jobs.limit * factor, Used: jobs.used, Known: known})
		}
	}
	return g
}

// askLimits takes a request for higher limits.
func (c *Console) askLimits(p *page) error {
	form := settingpages.WishForm{Model: p.FormValue("model"), Times: p.FormValue("times"), Reason: p.FormValue("reason")}
	if _, known := c.o.Catalog.Snapshot().Model(form.Model); form.Model != "" && !known {
		form.ModelError = "Choose one of the models, or all of them."
		return c.renderLimits(p, http.StatusUnprocessableEntity, form)
	}
	times, err := strconv.Atoi(form.Times)
	if err != nil {
		times = 0
	}
	_, err = c.o.Accounts.AskLimits(p.Request().Context(), p.principal(), form.Model, times, form.Reason)
	if err == nil {
		message := "Your request was sent to the operators of this server. Their answer appears here."
		return c.redirectWithToast(p, ui.Success, message, limitsPath+"#increase")
	}
	refusal := app.AsError(err)
	if refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	fields := map[string]*string{"model": &form.ModelError, "times": &form.TimesError, "reason": &form.ReasonError}
	field, known := fields[refusal.Param]
	if !known {
		field = &form.FormProblem
	}
	*field = refusal.Message
	return c.renderLimits(p, http.StatusUnprocessableEntity, form)
}

// limitAnswers lists what accounts ask for.
func (c *Console) limitAnswers(p *page) error {
	v := operatorpages.LimitAnswers{Shell: c.shell(p)}
	found, err := c.o.Accounts.AllLimitRequests(p.Request().Context())
	if v.Failure, err = missing(p, err); err != nil {
		return err
	}
	for _, r := range found {
		v.List = append(v.List, viewWish(r))
	}
	return c.render(p, http.StatusOK, operatorpages.LimitAnswersPage(v))
}

func (c *Console) answerLimits(p *page) error {
	state := account.LimitState(p.FormValue("state"))
	err := c.o.Accounts.AnswerLimits(p.Request().Context(), p.user, p.principal().From, p.Param("id"), state, p.FormValue("answer"))
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Invalid {
		return c.redirectWithToast(p, ui.Warning, refusal.Message, limitAnswersPath)
	}
	if err != nil {
		return err
	}
	message := "The request is marked as " + string(state) + ". The account sees it under Limits."
	return c.redirectWithToast(p, ui.Success, message, limitAnswersPath)
}
