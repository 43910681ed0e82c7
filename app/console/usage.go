package console

import (
	"net/http"

	"context"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// usageRoutes are the pages about what was used.
func (c *Console) usageRoutes() []page.Route {
	a := page.Area{Right: app.ReadUsage}
	return []page.Route{
		a.Get("/usage", c.usage), a.Get("/usage.csv", c.usageCSV), a.Get("/usage.json", c.usageJSON),
		a.Get("/requests", c.requests), a.Get("/requests.csv", c.requestsCSV), a.Get("/requests.json", c.requestsJSON),
		a.Get("/requests/live", c.requestsLive), a.Post("/requests/columns", c.chooseColumns), a.Get("/requests/:id", c.request),
	}
}

func (c *Console) usage(p *page.Page) error {
	u := requestpages.Usage{Shell: c.Shell(p), Query: requestpages.ParseUsageQuery(zonedParams(p))}
	p.ReplaceURL(u.Query.Path())
	status, err := http.StatusOK, c.fillUsage(p, &u)
	if u.Failure, err = page.Unavailable(p, err); err != nil {
		if app.KindOf(err) != app.Invalid {
			return err
		}
		u.Problem = app.AsError(err).Message
	}
	if u.Problem != "" {
		status = http.StatusUnprocessableEntity
	}
	if u.Views, err = c.savedViews(p, account.UsageViews, u.Query.Path()); err != nil {
		return err
	}
	return c.Render(p, status, requestpages.UsagePage(u))
}

// fillUsage reads the report of the page, the period before it and whether the books agree.
func (c *Console) fillUsage(p *page.Page, u *requestpages.Usage) error {
	keys, err := c.logKeys(p)
	if err != nil {
		return err
	}
	if u.Choices, err = c.usageChoices(p, keys.names); err != nil {
		return err
	}
	u.Choices.Tags = keys.tags
	if u.Problem = u.Query.Problem(); u.Problem != "" {
		return nil
	}
	ctx, q := p.Request().Context(), usageQuery(p, u.Query, u.Now, keys)
	report, err := c.o.Reports.Report(ctx, q)
	if err != nil {
		return err
	}
	u.Total = usageLine(u.Query.By, report.Total, keys)
	for _, line := range report.Lines {
		if line.Requests == 0 && !u.Query.OfRefusals() {
			continue // The line has refused requests only, which this report does not divide.
		}
		u.Lines = append(u.Lines, usageLine(u.Query.By, line, keys))
	}
	if u.Before, err = c.usageBefore(ctx, u, q); err != nil {
		return err
	}
	if err = c.usageMore(p, u, q); err != nil {
		return err
	}
	sums, err := c.o.Ledger.Reconcile(ctx, p.User.AccountID)
	absent, err := page.Unavailable(p, err)
	if err == nil && absent == nil {
		u.Books = &views.Proof{Usage: sums.Usage, Charges: sums.Charges, At: sums.At}
	}
	return err
}

const choicesDays = 90 // The model filter offers the models of this many days.

// usageChoices returns the options of the filters: recent models, the keys of the account and all settlement reasons.
func (c *Console) usageChoices(p *page.Page, keyNames map[string]string) (requestpages.UsageChoices, error) {
	var choices requestpages.UsageChoices
	report, err := c.o.Reports.ModelUsage(p.Request().Context(), p.User.AccountID, c.o.Now().AddDate(0, 0, -choicesDays))
	if err != nil {
		return choices, err
	}
	for _, line := range report.Lines {
		choices.Models = append(choices.Models, ui.Option{Value: line.Group, Label: line.Group})
	}
	for id, name := range keyNames {
		choices.Keys = append(choices.Keys, ui.Option{Value: id, Label: name})
	}
	sortOptions(choices.Models)
	sortOptions(choices.Keys)
	for _, rule := range billing.Rules() {
		if rule.Recorded {
			choices.Reasons = append(choices.Reasons, ui.Option{Value: string(rule.Reason), Label: string(rule.Reason)})
		}
	}
	return choices, nil
}

// usageQuery is what the page asks of the reports, divided by its steps and groups.
func usageQuery(p *page.Page, q requestpages.UsageQuery, now time.Time, keys logKeys) usage.Query {
	from, to := q.Span(now)
	return usage.Query{
		AccountID: p.User.AccountID, From: from, To: to, Zone: q.Location(), Model: q.Model, KeyID: q.KeyID, Style: q.Style, Reason: q.Reason,
		EndUser: q.EndUser, Modality: q.Modality, Keys: keys.ofTag(q.Tag), Refusals: true, Limited: q.Metric == requestpages.MetricLimited,

		Step: stepOf(q, now), Group: groupings[q.By],
	}
}

func stepOf(q requestpages.UsageQuery, now time.Time) usage.Step {
	switch {
	case q.Minutely():
		return usage.Minutely
	case q.Hourly(now):
		return usage.Hourly
	}
	return usage.Daily
}

// groupings maps the divisions of the page to those of the reports. Tags are divided by key and combined later.
var groupings = map[string]usage.Grouping{
	requestpages.UsageByModel: usage.ByModel, requestpages.UsageByKey: usage.ByKey, requestpages.UsageByStyle: usage.ByStyle,
	requestpages.UsageByReason: usage.ByReason, requestpages.UsageByEndUser: usage.ByEndUser, requestpages.UsageByModality: usage.ByModality,
	requestpages.UsageByTag: usage.ByKey,
}

// unnamedGroups name the groups of requests that were refused before they said what the report is grouped by.
var unnamedGroups = map[string]string{requestpages.UsageByModel: noModel, requestpages.UsageByStyle: "No style"}

func usageLine(by string, l usage.Line, keys logKeys) requestpages.UsageLine {
	u := l.Usage
	line := requestpages.UsageLine{
		Start: l.Start, ID: l.Group, Name: l.Group, Requests: l.Requests, Errors: l.Failed, Limited: l.Limited,
		Refused: l.Refused, Own429: l.RateLimited,
		Cached: u.CacheReads(), Input: u.Prompt(), Output: u.Output(), Images: u[meter.Images], Milliseconds: u[meter.Seconds],
		Counts: u, Cost: l.Cost, Overrun: l.Overrun,
	}
	if l.Group == "" {
		line.Name = unnamedGroups[by]
	}
	switch by {
	case requestpages.UsageByKey:
		line.Name = keyName(l.Group, keys.names)
	case requestpages.UsageByStyle:
		if l.Group != "" {
			line.Name = views.Style(l.Group).Label()
		}
	case requestpages.UsageByModality:
		line.Name = map[string]string{"text": "Text", "video": "Video"}[l.Group]
	case requestpages.UsageByTag:
		line.ID = keys.tagOf[l.Group]
		line.Name = line.ID
		if line.ID == "" {
			line.Name = "No tag"
		}
	case requestpages.UsageByEndUser:
		if l.Group == "" {
			line.Name = "None named"
		}
	}
	return line
}

// usageBefore is the report of the period before, which is not divided into groups.
func (c *Console) usageBefore(ctx context.Context, u *requestpages.Usage, q usage.Query) (*requestpages.UsagePeriod, error) {
	q.From, q.To = u.Query.SpanBefore(u.Now)
	q.Group = ""
	report, err := c.o.Reports.Report(ctx, q)
	if err != nil {
		return nil, err
	}
	before := &requestpages.UsagePeriod{From: q.From, To: q.To, Total: usageLine("", report.Total, logKeys{})}
	for _, line := range report.Lines {
		before.Lines = append(before.Lines, usageLine("", line, logKeys{}))
	}
	return before, nil
}
