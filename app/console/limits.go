package console

import (
	"net/http"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/ratelimit"
	"umg/app/video"
	"umg/views"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const limitsPath = page.ConsolePath + "/limits"

// limitRoutes returns the routes of the page about limits.
func (c *Console) limitRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/limits", Right: app.ReadModels, Serve: c.limits},
		{Method: http.MethodPost, Path: "/limits", Right: app.ManageAccount, Serve: c.askLimits},
	}
}

func (c *Console) limits(p *page.Page) error {
	return c.renderLimits(p, http.StatusOK, settingpages.WishForm{Model: p.QueryParam("model"), Times: "2"})
}

func (c *Console) renderLimits(p *page.Page, status int, form settingpages.WishForm) error {
	v := settingpages.LimitsView{
		Shell: c.Shell(p), Factor: p.LimitFactor(), Form: form, MayAsk: p.User.Role.Rights().Has(app.ManageAccount),
	}
	found := slices.DeleteFunc(slices.Clone(c.catalogFor(p).Models()), func(m *catalog.Model) bool { return !m.Available })
	left := c.o.Gateway.Headroom(p.User.AccountID, p.LimitFactor(), found)
	var uses map[string]video.Use // The jobs of the account that count towards limits, by model.
	if c.o.Videos != nil {
		var err error
		if uses, err = c.o.Videos.Uses(p.Request().Context(), p.User.AccountID); err != nil {
			return err
		}
	}
	for i, m := range found {
		v.Models = append(v.Models, modelGauges(m, left[i].Model, int64(p.LimitFactor()), uses[m.ID], uses != nil))
	}
	if len(left) > 0 {
		r := left[0].Account
		v.Account = gaugesOf([]string{"Calls at once", "Requests a minute", "Tokens a minute"}, r.Places, r.Requests, r.Tokens)
	}
	requests, err := c.o.Accounts.LimitRequests(p.Request().Context(), p.User.AccountID)
	if err != nil {
		return err
	}
	for _, r := range requests {
		v.Requests = append(v.Requests, page.ViewLimitRequest(r))
	}
	if p.User.Role.Rights().Has(app.ManageKeys) {
		keys, err := c.listKeys(p)
		if err != nil {
			return err
		}
		v.Keys = slices.DeleteFunc(keys, func(k views.Key) bool { return k.Requests+k.Tokens+k.Concurrency == 0 })
	}
	return c.Render(p, status, settingpages.LimitsPage(v))
}

// gaugesOf returns a gauge for each window that has a limit.
func gaugesOf(names []string, windows ...ratelimit.Window) (list []settingpages.Gauge) {
	for i, w := range windows {
		if w.Limit > 0 {
			list = append(list, settingpages.Gauge{Name: names[i], Limit: w.Limit, Used: w.Limit - w.Remaining, Known: true})
		}
	}
	return list
}

// modelGauges returns the limits of a model. If known is false, the use of the limits of jobs is not shown.
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
func (c *Console) askLimits(p *page.Page) error {
	form := settingpages.WishForm{Model: p.FormValue("model"), Times: p.FormValue("times"), Reason: p.FormValue("reason")}
	if _, known := c.catalogFor(p).Model(form.Model); form.Model != "" && !known {
		form.ModelError = "Choose one of the models, or all of them."
		return c.renderLimits(p, http.StatusUnprocessableEntity, form)
	}
	times, _ := strconv.Atoi(form.Times) // A text that is no number becomes zero, which is rejected.
	_, err := c.o.Accounts.AskLimits(p.Request().Context(), p.Principal(), form.Model, times, form.Reason)
	if err == nil {
		message := "Your request was sent to the operators of this server. Their answer appears here."
		return c.RedirectWithToast(p, ui.Success, message, limitsPath+"#increase")
	}
	refusal := app.AsError(err)
	if refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	page.PlaceRefusal(refusal, &form.FormProblem, map[string]*string{
		"model": &form.ModelError, "times": &form.TimesError, "reason": &form.ReasonError,
	})
	return c.renderLimits(p, http.StatusUnprocessableEntity, form)
}
