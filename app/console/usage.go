package console

import (
	"context"
	"net/http"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/saved"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

const choicesDays = 90 // back from which models may be filtered by

// usageRoutes are the pages about what was used.
func (c *Console) usageRoutes() []page.Route {
	a := page.Area{Right: app.ReadUsage}
	return []page.Route{
		a.Get("/usage", c.usage), a.Get("/usage.csv", c.usageCSV), a.Get("/usage.json", c.usageJSON),
		a.Get("/requests", c.requests), a.Get("/requests.csv", c.requestsCSV), a.Get("/requests.json", c.requestsJSON),
		a.Get("/requests/live", c.requestsLive), a.Get("/requests/:id", c.request),
	}
}

func (c *Console) usage(p *page.Page) error {
	u := requestpages.Usage{Shell: c.Shell(p), Query: requestpages.ParseUsageQuery(p.QueryParams())}
	if p.ForScript() {
		p.Response().Header().Set("HX-Replace-Url", u.Query.Path())
	}
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
	if u.Views, err = c.savedViews(p, saved.Usage, u.Query.Path()); err != nil {
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
	report, err := c.report(p, u.Query, u.Now, keys)
	if err != nil {
		return err
	}
	u.Total = usageLine(u.Query.By, report.Total, keys)
	for _, line := range report.Lines {
		u.Lines = append(u.Lines, usageLine(u.Query.By, line, keys))
	}
	if u.Before, err = c.usageBefore(p, u.Query, u.Now, keys); err != nil {
		return err
	}
	if err = c.usageMore(p, u, keys); err != nil {
		return err
	}
	sums, err := c.o.Ledger.Reconcile(p.Request().Context(), p.User.AccountID)
	absent, err := page.Unavailable(p, err)
	if err == nil && absent == nil {
		u.Books = &views.Proof{Usage: sums.Usage, Charges: sums.Charges, At: sums.At}
	}
	return err
}

// report is what the query asks for, divided by its steps and groups.
func (c *Console) report(p *page.Page, q requestpages.UsageQuery, now time.Time, keys logKeys) (usage.Report, error) {
	from, to := q.Span(now)
	r := usageQuery(p, q, from, to, keys)
	r.Step = stepOf(q, now)
	r.Group = groupings[q.By]
	return c.o.Reports.Report(p.Request().Context(), r)
}

func usageQuery(p *page.Page, q requestpages.UsageQuery, from, to time.Time, keys logKeys) usage.Query {
	return usage.Query{
		AccountID: p.User.AccountID, From: from, To: to, Zone: q.Location(), Model: q.Model, KeyID: q.KeyID, Style: q.Style, Reason: q.Reason,
		EndUser: q.EndUser, Modality: q.Modality, Keys: keys.ofTag(q.Tag), Limited: q.Metric == requestpages.MetricLimited,
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

// groupings are what the ledger divides by. Tags are made of keys.
var groupings = map[string]usage.Grouping{
	requestpages.UsageByModel: usage.ByModel, requestpages.UsageByKey: usage.ByKey, requestpages.UsageByStyle: usage.ByStyle,
	requestpages.UsageByReason: usage.ByReason, requestpages.UsageByEndUser: usage.ByEndUser, requestpages.UsageByModality: usage.ByModality,
	requestpages.UsageByTag: usage.ByKey,
}

func (c *Console) usageBefore(p *page.Page, q requestpages.UsageQuery, now time.Time, keys logKeys) (*requestpages.UsagePeriod, error) {
	from, to := q.SpanBefore(now)
	r := usageQuery(p, q, from, to, keys)
	r.Step = stepOf(q, now)
	report, err := c.o.Reports.Report(p.Request().Context(), r)
	if err != nil {
		return nil, err
	}
	before := &requestpages.UsagePeriod{From: from, To: to, Total: usageLine("", report.Total, logKeys{})}
	for _, line := range report.Lines {
		before.Lines = append(before.Lines, usageLine("", line, logKeys{}))
	}
	return before, nil
}

func usageLine(by string, l usage.Line, keys logKeys) requestpages.UsageLine {
	u := l.Usage
	line := requestpages.UsageLine{
		Start: l.Start, ID: l.Group, Name: l.Group, Requests: l.Requests, Errors: l.Failed, Limited: l.Limited,
		Cached: u[billing.CacheReadTokens],
		Input:  u[billing.InputTokens] + u[billing.CacheReadTokens] + u[billing.CacheWriteTokens],
		Output: u[billing.OutputTokens] + u[billing.ReasoningTokens], Images: u[billing.Images], Milliseconds: u[billing.Seconds],
		Cost: l.Cost, Overrun: l.Overrun,
	}
	switch by {
	case requestpages.UsageByKey:
		line.Name = keyName(l.Group, keys.names)
	case requestpages.UsageByStyle:
		line.Name = views.Style(l.Group).Label()
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

func (c *Console) keyNames(p *page.Page) (map[string]string, error) {
	keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
	names := make(map[string]string, len(keys))
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// keyName is what a key is called on pages.
func keyName(id string, names map[string]string) string {
	name, known := names[id]
	switch {
	case id == "":
		return "Playground"
	case !known:
		return "deleted key " + id
	}
	return name
}

// modelUsage reports the usage of an account by model, from a moment to now. Reports begin and end at quarters of an hour.
func (c *Console) modelUsage(ctx context.Context, accountID string, from time.Time) (usage.Report, error) {
	const quarter = 15 * time.Minute
	return c.o.Reports.Report(ctx, usage.Query{
		AccountID: accountID, From: from.UTC().Truncate(quarter), To: c.o.Now().UTC().Truncate(quarter).Add(quarter), Group: usage.ByModel,
	})
}

// usageChoices are what filters offer: the models of the last months, the account's keys and all reasons.
func (c *Console) usageChoices(p *page.Page, keyNames map[string]string) (requestpages.UsageChoices, error) {
	var choices requestpages.UsageChoices
	report, err := c.modelUsage(p.Request().Context(), p.User.AccountID, c.o.Now().AddDate(0, 0, -choicesDays))
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
