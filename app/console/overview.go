package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/arrival"
	"umg/app/llm"
	"umg/billing"
	"umg/views"
	homepages "umg/views/home"
	keypages "umg/views/keys"
)

const (
	firstRequestsMax = 20 // latest requests among which the first answered one is searched
	waitLookEvery    = time.Second
	recentLookEvery  = 3 * time.Second
	refusedWithin    = 10 * time.Minute    // age up to which a refused call is shown
	settledAfter     = homepages.RecentMax // number of calls after which the first steps are hidden by default
	hidden           = "hidden"
	shown            = "shown"
)

// overviewRoutes are the first page, and what it asks for.
func overviewRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "", serve: (*Console).overview},
		{Method: http.MethodGet, Path: "/overview/requests", Right: app.ReadUsage, serve: (*Console).recentRequests},
		{Method: http.MethodGet, Path: "/first-request", serve: (*Console).firstRequest},
		{Method: http.MethodPost, Path: "/onboarding", serve: (*Console).setOnboarding},
		{Method: http.MethodPost, Path: "/onboarding/send", Right: app.CallText, serve: (*Console).sendFirst},
	}
}

func (c *Console) overview(p *page) error {
	return c.renderOverview(p, http.StatusOK, keypages.NewForm(c.keyChoices(p)), nil)
}

// renderOverview draws the first page: the way to the first request unless it was put away, then figures. When these
// cannot be read the rest of the page still stands.
func (c *Console) renderOverview(p *page, status int, form keypages.Form, fresh *views.FreshKey) error {
	return c.drawOverview(p, status, start{form: form, fresh: fresh})
}

// start is what was just done on the way to the first request.
type start struct {
	form  keypages.Form
	fresh *views.FreshKey
	sent  *homepages.SentCall
}

func (c *Console) drawOverview(p *page, status int, s start) error {
	o := homepages.Overview{Shell: c.shell(p), Payable: c.payable()}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	if c.fillOverview(p, &o, names) {
		o.Failure = &views.LoadFailure{RequestID: p.Response().Header().Get(echo.HeaderXRequestID)}
	}
	if p.principal().Rights.Has(app.ManageKeys) && c.showsStart(p, &o, s) {
		if o.Onboarding, err = c.onboarding(p, keys, s); err != nil {
			return err
		}
	}
	o.Path = consolePath // also when a form of the page was sent to another path
	return c.render(p, status, homepages.OverviewPage(o))
}

// showsStart reports whether the first steps are shown: until they are put away, or enough was called to need them no more.
func (c *Console) showsStart(p *page, o *homepages.Overview, s start) bool {
	if s.fresh != nil || s.sent != nil {
		return true
	}
	cookie, err := p.Cookie(onboardingCookie)
	if err == nil && (cookie.Value == hidden || cookie.Value == shown) {
		return cookie.Value == shown
	}
	return o.Recent == nil || len(o.Recent.Requests) < settledAfter
}

// onboarding is how far the account is on the way to its first answer.
func (c *Console) onboarding(p *page, keys []views.Key, s start) (*homepages.Onboarding, error) {
	o, err := c.firstSteps(p.Request().Context(), p)
	if err != nil {
		return nil, err
	}
	o.KeyError = cmp.Or(s.form.FormError, s.form.NameError, s.form.ModeError)
	o.Fresh, o.Sent = s.fresh, s.sent
	o.MayCall = p.principal().Rights.Has(app.CallText)
	o.BaseURL, o.Language, o.Style = c.apiURL(), language(p), preferred(p, styleCookie)
	if b := c.balanceOf(p); b.Known && b.Available <= 0 {
		o.Unfunded = true
	}
	c.fillSamples(o)
	if k, ok := exampleKey(keys, c.o.Now()); ok {
		o.HasKey, o.KeyHint = true, k.Masked
	}
	return o, nil
}

// fillSamples adds the shortest request in each style, for the cheapest model that answers in it.
func (c *Console) fillSamples(o *homepages.Onboarding) {
	catalog := c.o.Catalog.Snapshot()
	if m, ok := catalog.Cheapest(llm.Chat); ok {
		o.Model = m.ID
	}
	for _, style := range []llm.Style{llm.Chat, llm.Messages, llm.Responses, llm.Native} {
		if m, ok := catalog.Cheapest(style); ok {
			if body := sampleRequest(m, style); body != nil {
				o.Bodies = append(o.Bodies, homepages.StyleBody{Style: views.Style(style), Body: body})
			}
		}
	}
}

// firstSteps are the request that the first steps wait for, and one that was refused since.
func (c *Console) firstSteps(ctx context.Context, p *page) (*homepages.Onboarding, error) {
	records, err := c.o.Ledger.Requests(ctx, p.user.AccountID, firstRequestsMax)
	if err != nil {
		return nil, err
	}
	requests := make([]views.Request, len(records))
	for i, r := range records {
		requests[i] = viewRequest(r, nil)
	}
	o := &homepages.Onboarding{First: first(requests)}
	if o.First.Answered() {
		return o, nil
	}
	from := c.o.Now().Add(-refusedWithin)
	if o.First != nil && o.First.At.After(from) {
		from = o.First.At
	}
	refused, err := c.refusedCall(ctx, p, from)
	o.Refused = refused
	return o, err
}

// refusedCall returns the latest call since a moment that was refused before authentication, or nil.
func (c *Console) refusedCall(ctx context.Context, p *page, from time.Time) (*homepages.Arrival, error) {
	if c.o.Arrivals == nil {
		return nil, nil
	}
	calls, err := c.o.Arrivals.RecentCalls(ctx, p.user.AccountID, p.RealIP(), from)
	if err != nil {
		return nil, err
	}
	for _, call := range calls {
		if call.Refused {
			return viewArrival(call, nil), nil
		}
	}
	return nil, nil
}

func viewArrival(call arrival.Call, keyNames map[string]string) *homepages.Arrival {
	return &homepages.Arrival{
		At: call.At, ID: call.RequestID, Method: call.Method, Route: call.Route, KeyName: keyNames[call.KeyID], Style: call.Style,
		Model: call.Model, Status: call.Status, Code: call.Code, Unknown: call.AccountID == "",
	}
}

// first is the request that the onboarding waits for: the latest answered one, or the latest at all.
func first(requests []views.Request) *homepages.FirstRequest {
	for _, r := range requests {
		if f := (&homepages.FirstRequest{Request: r}); f.Answered() {
			return f
		}
	}
	if len(requests) == 0 {
		return nil
	}
	return &homepages.FirstRequest{Request: requests[0]}
}

// firstRequest is what the waiting step is kept up to date with: by events, or once for who only asks. While there is nothing
// new there is no content, so that screen readers are not told the same again and again.
func (c *Console) firstRequest(p *page) error {
	told := ""
	look := func(ctx context.Context) (views.LiveEvent, bool, error) {
		o, err := c.firstSteps(ctx, p)
		if err != nil {
			return views.LiveEvent{}, false, err
		}
		now := ""
		switch {
		case o.First.Answered() || o.First != nil && o.Refused == nil:
			now = o.First.ID
		case o.Refused != nil:
			now = o.Refused.ID
		}
		if now == told {
			return views.LiveEvent{}, false, nil
		}
		told = now
		return views.LiveEvent{ID: now, HTML: homepages.FirstRequestPart(*o, true)}, true, nil
	}
	if strings.HasPrefix(p.Request().Header.Get(echo.HeaderAccept), liveKind) {
		return c.live(p, waitLookEvery, look)
	}
	event, found, err := look(p.Request().Context())
	if err != nil {
		return err
	}
	if !found {
		return p.NoContent(http.StatusNoContent)
	}
	return c.render(p, http.StatusOK, event.HTML)
}

// recentRequests tells of calls that are newer than those on the page.
func (c *Console) recentRequests(p *page) error {
	if !strings.HasPrefix(p.Request().Header.Get(echo.HeaderAccept), liveKind) {
		return p.Redirect(http.StatusSeeOther, consolePath)
	}
	names, err := c.keyNames(p)
	if err != nil {
		return err
	}
	seen := lastSeen(p)
	return c.live(p, recentLookEvery, func(ctx context.Context) (views.LiveEvent, bool, error) {
		records, err := c.o.Ledger.Requests(ctx, p.user.AccountID, homepages.RecentMax)
		if err != nil {
			return views.LiveEvent{}, false, err
		}
		rows := viewRequests(records, names)
		if i := slices.IndexFunc(rows, func(r views.Request) bool { return r.ID == seen }); i >= 0 {
			rows = rows[:i]
		}
		if len(rows) == 0 {
			return views.LiveEvent{}, false, nil
		}
		seen = rows[0].ID
		return views.LiveEvent{ID: seen, HTML: homepages.RequestRows(rows, views.Shell{Now: c.o.Now()})}, true, nil
	})
}

func (c *Console) setOnboarding(p *page) error {
	value := hidden
	if p.FormValue("show") == "true" {
		value = shown
	}
	c.setPreference(p, onboardingCookie, value)
	return p.Redirect(http.StatusSeeOther, consolePath)
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
