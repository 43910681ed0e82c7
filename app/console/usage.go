package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	"umg/views"
	requestpages "umg/views/requests"
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
