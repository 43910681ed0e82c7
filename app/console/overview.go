package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/traffic"
	"umg/billing"
	"umg/views"
	homepages "umg/views/home"
	keypages "umg/views/keys"
)

const (
	firstRequestsMax = 20 // The first answered request is searched among this many recent ones.
	waitLookEvery    = time.Second
	recentLookEvery  = 3 * time.Second
	refusedWithin    = 10 * time.Minute    // Refused calls are shown up to this age.
	settledAfter     = homepages.RecentMax // The first steps are hidden by default after this many calls.
	onboardingCookie = "umg_onboarding"
	hidden           = "hidden"
	shown            = "shown"
)

// overviewRoutes are the first page and its parts.
func (c *Console) overviewRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "", Serve: c.overview},
		{Method: http.MethodGet, Path: "/overview/requests", Right: app.ReadUsage, Serve: c.recentRequests},
		{Method: http.MethodGet, Path: "/first-request", Serve: c.firstRequest},
		{Method: http.MethodPost, Path: "/onboarding", Serve: c.setOnboarding},
		{Method: http.MethodPost, Path: "/onboarding/send", Right: app.CallText, Serve: c.sendFirst},
	}
}

func (c *Console) overview(p *page.Page) error {
	return c.renderOverview(p, http.StatusOK, start{form: keypages.NewForm(c.keyChoices(p))})
}

// start is the last action in the first steps: a key that was created or rejected, or a request that was sent.
type start struct {
	form  keypages.Form
	fresh *views.FreshKey
	// Replaced is set when the key replaces one that ended with the verification of the address.
	replaced bool
	// Said is the sentence that tells what the verification of the address gave.
	said string
	sent *homepages.SentCall
}

// renderOverview draws the first page: the way to the first request unless it was put away, then figures. Figures that cannot be read
// are missing from the page.
func (c *Console) renderOverview(p *page.Page, status int, s start) error {
	o := homepages.Overview{Shell: c.Shell(p), Payable: c.payable(), Providers: c.providerHint(p)}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	if c.fillOverview(p, &o, names) {
		o.Failure = &views.LoadFailure{RequestID: p.RequestID()}
	}
	if p.Principal().Rights.Has(app.ManageKeys) && c.showsStart(p, &o, s) {
		if o.Onboarding, err = c.onboarding(p, keys, s); err != nil {
			return err
		}
		trial := c.trial()
		if o.Unverified != nil && o.Unverified.Trial != nil {
			o.Onboarding.Unverified = o.Unverified
		}
		// The step stays, as done, when the address is verified.
		o.Onboarding.Verifies = trial != nil && trial.Verified && (p.User.Verified || o.Onboarding.Unverified != nil)
	}
	o.Path = page.ConsolePath // A form of the page may have been sent to another path.
	return c.Render(p, status, homepages.OverviewPage(o))
}

// providerHint is why the reader should add a provider. It is empty for readers who are not operators.
func (c *Console) providerHint(p *page.Page) homepages.ProviderHint {
	s := c.o.Catalog.Snapshot()
	isReal := func(one *catalog.Provider) bool { return one.Wires != nil }
	switch {
	case !p.User.Operator:
		return homepages.NoProviderHint
	case !slices.ContainsFunc(s.Models(), func(m *catalog.Model) bool { return m.Available }):
		return homepages.NoModels
	case c.o.Simulated && !slices.ContainsFunc(s.Providers(), isReal):
		return homepages.OnlySimulated
	}
	return homepages.NoProviderHint
}

// showsStart reports whether the first steps are shown: until the reader hides them, or until the account has made enough calls.
func (c *Console) showsStart(p *page.Page, o *homepages.Overview, s start) bool {
	if s.fresh != nil || s.sent != nil {
		return true
	}
	if chosen := p.Cookie(onboardingCookie); chosen == hidden || chosen == shown {
		return chosen == shown
	}
	return o.Recent == nil || len(o.Recent.Requests) < settledAfter
}

// onboarding is the state of the first steps of the account.
func (c *Console) onboarding(p *page.Page, keys []views.Key, s start) (*homepages.Onboarding, error) {
	o, err := c.firstSteps(p.Request().Context(), p)
	if err != nil {
		return nil, err
	}
	o.KeyError = cmp.Or(s.form.FormError, s.form.NameError, s.form.ModeError)
	o.Fresh, o.Replaced, o.Said, o.Sent = s.fresh, s.replaced, s.said, s.sent
	o.MayCall = p.Principal().Rights.Has(app.CallText)
	o.BaseURL, o.Language, o.Style = c.APIURL(), p.Language(), p.Cookie(page.StyleCookie)
	if b := c.Balance(p); b.Known && b.Available <= 0 && !b.Uncharged {
		o.Unfunded = true
	}
	o.MayAddModels, o.MustEnrol = p.User.Operator, p.MustEnrol
	c.fillSamples(p, o)
	if k, ok := exampleKey(keys, c.o.Now()); ok {
		o.HasKey, o.KeyHint = true, k.Masked
	}
	return o, nil
}

// fillSamples adds the shortest request in each style, for the cheapest model that answers in it.
func (c *Console) fillSamples(p *page.Page, o *homepages.Onboarding) {
	catalog := c.catalogFor(p)
	if m, ok := catalog.Cheapest(llm.Chat); ok {
		o.Model = m.ID
	}
	for _, style := range []llm.Style{llm.Chat, llm.Messages, llm.Responses, llm.Native} {
		if m, ok := catalog.Cheapest(style); ok {
			if body := playground.SampleRequest(m, style); body != nil {
				o.Bodies = append(o.Bodies, homepages.StyleBody{Style: views.Style(style), Body: body})
			}
		}
	}
}

// firstSteps returns the request that the first steps wait for, and a later call that was rejected before authentication.
func (c *Console) firstSteps(ctx context.Context, p *page.Page) (*homepages.Onboarding, error) {
	records, err := c.o.Reports.Requests(ctx, p.User.AccountID, firstRequestsMax)
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
	from := later(c.o.Now().Add(-refusedWithin), p.User.CreatedAt)
	if o.First != nil && o.First.At.After(from) {
		from = o.First.At
	}
	refused, err := c.refusedCall(ctx, p, from)
	o.Refused = refused
	return o, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// refusedCall returns the latest call since a moment that was refused before authentication, or nil.
func (c *Console) refusedCall(ctx context.Context, p *page.Page, from time.Time) (*homepages.Arrival, error) {
	if c.o.RecentCalls == nil {
		return nil, nil
	}
	calls, err := c.o.RecentCalls.List(ctx, p.User.AccountID, p.RealIP(), from)
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

func viewArrival(call traffic.RecentCall, keyNames map[string]string) *homepages.Arrival {
	return &homepages.Arrival{
		At: call.At, ID: call.RequestID, Method: call.Method, Route: call.Route, KeyName: keyNames[call.KeyID], Style: call.Style,
		Model: call.Model, Status: call.Status, Code: call.Code, Reason: call.Reason, Unknown: call.AccountID == "",
	}
}

// first is the request that the onboarding waits for: the latest answered one, or the latest at all.
func first(requests []views.Request) *homepages.FirstRequest {
	var latest *homepages.FirstRequest
	for _, r := range requests {
		f := &homepages.FirstRequest{Request: r}
		if f.Answered() {
			return f
		}
		latest = cmp.Or(latest, f)
	}
	return latest
}

// firstRequest keeps the waiting step up to date, by events or by one answer. Without news the answer has no content, so that screen
// readers do not repeat the same text.
func (c *Console) firstRequest(p *page.Page) error {
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
	if p.AcceptsEvents() {
		return c.StreamEvents(p, waitLookEvery, look)
	}
	event, found, err := look(p.Request().Context())
	if err != nil {
		return err
	}
	if !found {
		return p.NoContent(http.StatusNoContent)
	}
	return c.Render(p, http.StatusOK, event.HTML)
}

// recentRequests sends events with calls that are newer than those on the page.
func (c *Console) recentRequests(p *page.Page) error {
	if !p.AcceptsEvents() {
		return p.Redirect(http.StatusSeeOther, page.ConsolePath)
	}
	names, err := c.keyNames(p)
	if err != nil {
		return err
	}
	seen := p.LastEventID()
	return c.StreamEvents(p, recentLookEvery, func(ctx context.Context) (views.LiveEvent, bool, error) {
		found, err := c.o.Reports.LatestRequests(ctx, p.User.AccountID, homepages.RecentMax)
		if err != nil {
			return views.LiveEvent{}, false, err
		}
		rows := viewLoggedRequests(found, names)
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

func (c *Console) setOnboarding(p *page.Page) error {
	value := hidden
	if p.FormValue("show") == "true" {
		value = shown
	}
	c.SetPreference(p, page.Preference{Name: onboardingCookie, Value: value, HTTPOnly: true})
	return p.Redirect(http.StatusSeeOther, page.ConsolePath)
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
		Seconds: u[meter.Seconds] / millisPerSecond,
		ID:      r.RequestID, At: r.StartedAt, Model: r.Model, KeyName: name, Style: r.Style, Streamed: r.Streamed, Outcome: r.Outcome,
		ErrorCode: r.ErrorCode, Estimated: r.Estimated, Cached: u.CacheReads(), Input: u.Prompt(), Output: u.Output(),
		Cost: r.Cost, FirstByte: r.FirstByte, Duration: r.Duration,
	}
}
