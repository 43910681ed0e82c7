package console

import (
	"context"
	"time"

	"umg/app/console/page"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

const choicesDays = 90 // back from which models may be filtered by

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
