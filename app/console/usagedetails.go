package console

import (
	"context"
	"fmt"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/billing/usage"
	"umg/views/format"
	requestpages "umg/views/requests"
)

const (
	ruleDays     = 35 // The notes about days compare this many days.
	sampledWords = "Of calls that were answered."
)

// usageMore reads the parts beside a report: the durations of calls, the budget of the key, the spend limit and the notes about days.
func (c *Console) usageMore(p *page.Page, u *requestpages.Usage, q usage.Query) (err error) {
	if u.Query.NeedsTimes() {
		if u.Took, err = c.usageTook(p.Request().Context(), q, u.Query.By == requestpages.UsageByTag); err != nil {
			return err
		}
	}
	if u.Query.KeyID != "" {
		budgets, err := c.o.Ledger.Budgets(p.Request().Context(), p.User.AccountID)
		if err != nil {
			return err
		}
		if b, known := budgets[u.Query.KeyID]; known {
			u.Budget = &requestpages.UsageBudget{Limit: b.Limit, Spent: b.Spent, Period: string(b.Period)}
		}
	}
	limit, err := c.o.Accounts.SpendLimit(p.Request().Context(), p.Principal())
	if err != nil {
		return err
	}
	if limit.Set() {
		u.Limit = &requestpages.UsageBudget{Limit: limit.Limit, Spent: limit.Spent, Period: string(limit.Period)}
	}
	u.Notes, err = c.usageNotes(p.Request().Context(), u, q)
	return err
}

// usageTook is how long the calls of the report took. Percentiles of keys cannot be combined to those of their tag.
func (c *Console) usageTook(ctx context.Context, q usage.Query, byTag bool) (*requestpages.UsageTook, error) {
	found, err := c.o.Reports.Latencies(ctx, q)
	if err != nil {
		return nil, err
	}
	took := &requestpages.UsageTook{Steps: map[int64]requestpages.UsageTimes{},
		Groups: map[string]requestpages.UsageTimes{}, Sample: sampledWords}
	for _, l := range found.Lines {
		t := requestpages.UsageTimes{Calls: l.Calls, P50: l.P50, P95: l.P95, FirstP50: l.FirstP50, FirstP95: l.FirstP95}
		switch {
		case l.All && l.Start.IsZero():
			took.All = t
		case l.All:
			took.Steps[l.Start.Unix()] = t
		case l.Start.IsZero() && !byTag:
			took.Groups[l.Group] = t
		}
	}
	if took.All.Calls > int64(found.Each) {
		took.Sample += fmt.Sprintf(" Made of %s of them, at most %s from each %s.",
			format.Count(took.All.Calls), format.Count(int64(found.Each)), format.Duration(found.Every))
	}
	return took, nil
}

// usageNotes returns sentences about the days of the report: a day that cost much more than usual, and a forecast for the month.
func (c *Console) usageNotes(ctx context.Context, u *requestpages.Usage, q usage.Query) ([]string, error) {
	if q.EndUser != "" { // The sums of these days are not kept.
		return nil, nil
	}
	y, m, d := u.Now.In(q.Zone).Date()
	tomorrow := time.Date(y, m, d+1, 0, 0, 0, 0, q.Zone)
	q.From, q.To, q.Step, q.Group, q.Limited, q.Refusals = tomorrow.AddDate(0, 0, -ruleDays), tomorrow, usage.Daily, "", false, false
	report, err := c.o.Reports.Report(ctx, q)
	if err != nil {
		return nil, err
	}
	spent := make(map[int64]app.Amount, len(report.Lines))
	for _, l := range report.Lines {
		spent[l.Start.Unix()] = l.Cost
	}
	days := make([]usage.DaySpend, ruleDays)
	for i := range days {
		day := tomorrow.AddDate(0, 0, i-ruleDays)
		days[i] = usage.DaySpend{Day: day, Cost: spent[day.Unix()]}
	}
	var notes []string
	if u, found := usage.FindUnusual(days); found {
		day := u.Day.Format("Monday " + format.ShortDayForm)
		notes = append(notes, fmt.Sprintf("%s cost %s, %d× the mean of the last %d %ss, which is %s.",
			day, format.Dollars(u.Cost), u.Times, u.Weeks, u.Day.Weekday(), format.Dollars(u.Mean)))
	}
	if f, enough := usage.ForecastMonth(days); enough {
		notes = append(notes, fmt.Sprintf(
			"%s will cost about %s at this rate: %s so far, and the mean of the last %d whole days, %s a day, for what is left of it.",
			days[len(days)-1].Day.Month(), format.Dollars(inCents(f.Expected)),
			format.Dollars(f.Spent), f.Days, format.Dollars(inCents(f.Mean))))
	}
	return notes, nil
}

// inCents rounds an estimate down to whole cents. An amount below a dollar is not rounded.
func inCents(a app.Amount) app.Amount {
	if a < app.Dollar {
		return a
	}
	return a - a%app.Cent
}
