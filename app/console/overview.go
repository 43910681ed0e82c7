package console

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/billing"
	"umg/views"
)

const (
	recentRequestsMax = 20
	activityDays      = 30
	hidden            = "hidden"
)

func (c *Console) overview(p *page) error {
	return c.renderOverview(p, http.StatusOK, views.NewKeyForm(c.keyChoices(p)), nil)
}

// renderOverview draws the first page: the way to the first request unless it was put away, then figures. When these
// cannot be read the rest of the page still stands.
func (c *Console) renderOverview(p *page, status int, form views.KeyForm, fresh *views.FreshKey) error {
	o := views.Overview{Shell: c.shell(p), Payable: c.payable()}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	o.Hooks, err = c.troubledWebhooks(p)
	unverified, unverifiedErr := c.unverified(p)
	o.Unverified = unverified
	if err = errors.Join(err, unverifiedErr, c.fillActivity(p, &o, names)); err != nil {
		o.Failure = &views.Trouble{RequestID: p.Response().Header().Get(echo.HeaderXRequestID)}
	}
	shown := p.principal().Rights.Has(app.ManageKeys)
	if cookie, err := p.Cookie(onboardingCookie); shown && (err != nil || cookie.Value != hidden || fresh != nil) {
		o.Onboarding = c.onboarding(p, keys, o.Requests)
		o.Onboarding.Form, o.Onboarding.Fresh = form, fresh
		if fresh != nil {
			o.Onboarding.Call.Key = fresh.Secret
		}
	}
	return c.render(p, status, views.OverviewPage(o))
}

func (c *Console) fillActivity(p *page, o *views.Overview, keyNames map[string]string) error {
	ctx, id := p.Request().Context(), p.user.AccountID
	credit, err := c.o.Ledger.Credit(ctx, id)
	if err != nil {
		return err
	}
	activity, err := c.o.Ledger.Activity(ctx, id, activityDays)
	if err != nil {
		return err
	}
	records, err := c.o.Ledger.Requests(ctx, id, recentRequestsMax)
	if err != nil {
		return err
	}
	o.Credit = viewCredit(credit)
	o.Stats = views.Stats{
		Spend: activity.Spend, Requests: activity.Requests, Streamed: activity.Streamed, Failed: activity.Failed,
	}
	if activity.Spend > 0 {
		o.Stats.SpendByDay = activity.ByDay
	}
	for _, r := range records {
		o.Requests = append(o.Requests, viewRequest(r, keyNames))
	}
	return nil
}

func viewRequest(r billing.UsageRecord, keyNames map[string]string) views.Request {
	name, known := keyNames[r.KeyID]
	switch {
	case r.KeyID == "":
		name = "Playground"
	case !known:
		name = "deleted key"
	}
	u := r.Usage
	return views.Request{
		Seconds: u[billing.Seconds] / millisPerSecond,
		ID:      r.RequestID, At: r.StartedAt, Model: r.Model, KeyName: name, Style: r.Style, Streamed: r.Streamed, Outcome: r.Outcome,
		ErrorCode: r.ErrorCode, Estimated: r.Estimated, Cached: u[billing.CacheReadTokens],
		Input:  u[billing.InputTokens] + u[billing.CacheReadTokens] + u[billing.CacheWriteTokens],
		Output: u[billing.OutputTokens] + u[billing.ReasoningTokens], Cost: r.Cost, FirstByte: r.FirstByte, Duration: r.Duration,
	}
}

func (c *Console) onboarding(p *page, keys []views.Key, requests []views.Request) *views.Onboarding {
	o := &views.Onboarding{Call: c.sampleCall(""), Language: language(p), First: first(requests)}
	for _, k := range keys {
		if !k.Disabled && (k.ExpiresAt == nil || k.ExpiresAt.After(c.o.Now())) {
			o.HasKey, o.KeyHint = true, k.Masked
			break
		}
	}
	return o
}

// first is the request that the onboarding waits for: the latest answered one, or the latest at all.
func first(requests []views.Request) *views.FirstRequest {
	for _, r := range requests {
		if f := (&views.FirstRequest{Request: r}); f.Answered() {
			return f
		}
	}
	if len(requests) == 0 {
		return nil
	}
	return &views.FirstRequest{Request: requests[0]}
}

// firstRequest is what the waiting step asks for every two seconds. While there is nothing new there is no content, so
// that screen readers are not told the same again and again.
func (c *Console) firstRequest(p *page) error {
	records, err := c.o.Ledger.Requests(p.Request().Context(), p.user.AccountID, recentRequestsMax)
	if err != nil {
		return err
	}
	requests := make([]views.Request, len(records))
	for i, r := range records {
		requests[i] = viewRequest(r, nil)
	}
	f := first(requests)
	if f == nil {
		return p.NoContent(http.StatusNoContent)
	}
	return c.render(p, http.StatusOK, views.FirstRequestPart(f, true))
}

func (c *Console) setOnboarding(p *page) error {
	value := hidden
	if p.FormValue("show") == "true" {
		value = "shown"
	}
	c.prefer(p, onboardingCookie, value)
	return p.Redirect(http.StatusSeeOther, consolePath)
}
