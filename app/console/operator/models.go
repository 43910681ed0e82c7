package operator

import (
	"cmp"
	"context"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/meter"
	"umg/app/modelstatus"
	"umg/app/preset"
	"umg/app/provider/health"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// managedDays is how many days the margins of a model and of a provider cover, today among them.
const managedDays = 30

// modelRoutes are the pages about models of the catalog.
func (c *Console) modelRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.DB == nil}
	return []page.Route{
		a.Get("/operator/models", c.managedModels), a.Get("/operator/models/*", c.managedModel),
		a.Get("/operator/model/edit", c.askModel), a.Post("/operator/model/edit", c.changeModel),
		a.Get("/operator/model/prices", c.askPrices), a.Post("/operator/model/prices", c.changePrices),
		a.Get("/operator/model/withdraw", c.withdrawPrices), a.Post("/operator/model/withdraw", c.withdrawPrices),
		a.Get("/operator/model/retire", c.askRetire), a.Post("/operator/model/retire", c.retireModel),
		a.Post("/operator/model/routes", c.orderRoutes),
		a.Get("/operator/model/route", c.askRoute), a.Post("/operator/model/route", c.changeRoute),
		a.Get("/operator/model/remove", c.removeRoute), a.Post("/operator/model/remove", c.removeRoute),
	}
}

// managedModels lists the models of the catalog, a page at a time.
func (c *Console) managedModels(p *page.Page) error {
	q := operatorpages.ParseManagedQuery(p.QueryParams())
	p.ReplaceURL(q.Path())
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	l := operatorpages.ManagedModels{Shell: c.Shell(p), Query: q}
	file, err := catalog.Export(ctx, c.o.DB)
	if l.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	l.All = len(file.Models)
	for i := range file.Providers {
		l.Providers = append(l.Providers, ui.Option{Value: file.Providers[i].ID, Label: file.Providers[i].ID})
	}
	from, to := q.Page*operatorpages.ManagedPageSize, (q.Page+1)*operatorpages.ManagedPageSize
	board := c.board(p)
	for i := range file.Models {
		row := c.managedRow(&file, &file.Models[i], board)
		if !q.Matches(&row) {
			continue
		}
		if l.Found >= from && l.Found < to {
			l.List = append(l.List, row)
		}
		l.Found++
	}
	return c.Render(p, http.StatusOK, operatorpages.ManagedModelsPage(l))
}

// managedRow is a model of the file as operators see it.
func (c *Console) managedRow(f *catalog.File, m *catalog.FileModel, board modelstatus.Board) operatorpages.ManagedModel {
	row := operatorpages.ManagedModel{
		ID: m.ID, Name: m.Name, Owner: m.Owner, Kind: string(m.Kind), Accounts: len(m.Accounts), Shutdown: time.Time(m.Shutdown),
		Markup: markupText(m.Markup), State: c.managedState(f, m, board),
	}
	if card, ok := m.RateCard(); ok {
		row.Input, row.Output, row.PriceUnit = headlinePrices(&card)
	}
	if m.Announced != nil {
		row.Announced = time.Time(m.Announced.From)
	}
	for _, r := range sortedRoutes(m) {
		if !slices.Contains(row.Providers, r.Provider) {
			row.Providers = append(row.Providers, r.Provider)
		}
		row.UnknownCost = row.UnknownCost || r.Cost == nil
	}
	return row
}

// board is the verdicts on all models, which customers see too.
func (c *Console) board(p *page.Page) modelstatus.Board {
	return c.o.Status.Board(p.Request().Context(), c.o.Catalog.Snapshot())
}

// managedState says what a model is for customers. The file may be newer than the catalog that this replica serves, so it decides what it
// can decide.
func (c *Console) managedState(f *catalog.File, m *catalog.FileModel, board modelstatus.Board) operatorpages.ManagedState {
	verdict := board.Of(m.ID)
	served := slices.ContainsFunc(m.Routes, func(r catalog.FileRoute) bool {
		state, _ := c.routeState(f, r.Provider)
		return state == operatorpages.ProviderInUse
	})
	switch {
	case !m.Shutdown.IsZero() && !c.o.Now().Before(time.Time(m.Shutdown)):
		return operatorpages.ManagedRetired
	case m.Availability != catalog.Available:
		return operatorpages.ManagedHidden
	case m.Paused || verdict.State == modelstatus.Paused:
		return operatorpages.ManagedPaused
	case !served:
		return operatorpages.ManagedUnserved
	case verdict.State == modelstatus.Failing:
		return operatorpages.ManagedFailing
	case verdict.State == modelstatus.Degraded:
		return operatorpages.ManagedDegraded
	}
	return operatorpages.ManagedOffered
}

// routeState says whether calls go to the provider of a route, and why not.
func (c *Console) routeState(f *catalog.File, providerID string) (operatorpages.ProviderState, string) {
	i := slices.IndexFunc(f.Providers, func(one catalog.FileProvider) bool { return one.ID == providerID })
	if i < 0 {
		return operatorpages.ProviderUnusable, "the catalog has no such provider"
	}
	pause := c.pauseOf(health.KindProvider, providerID)
	reason := ""
	if pause != nil {
		reason = pause.Reason
	}
	return c.providerState(&f.Providers[i], 1, pause != nil, reason)
}

// pauseOf is an operator's pause of a model or a provider; nil without one.
func (c *Console) pauseOf(kind, id string) *health.Pause {
	if c.o.Health == nil {
		return nil
	}
	all := c.o.Health.Pauses()
	i := slices.IndexFunc(all, func(pause health.Pause) bool { return pause.Kind == kind && pause.ID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// sortedRoutes are the routes of a model in the order in which calls try them.
func sortedRoutes(m *catalog.FileModel) []catalog.FileRoute {
	return slices.SortedStableFunc(slices.Values(m.Routes), func(a, b catalog.FileRoute) int { return cmp.Compare(a.Order, b.Order) })
}

// markupText is a markup in percent, such as +10%. It is empty without one.
func markupText(f catalog.Factor) string {
	if f == 0 {
		return ""
	}
	percent := markupPercent(f)
	if strings.HasPrefix(percent, "-") {
		return "−" + percent[1:] + "%"
	}
	return "+" + percent + "%"
}

// factorOne is the factor of a markup that changes nothing.
const factorOne catalog.Factor = 10_000

// markupPercent is the percentage of a markup without its sign of percent, such as 10 or -2.5. A factor has ten-thousandths, so that its
// percentage has at most two decimals.
func markupPercent(f catalog.Factor) string {
	const nanosPerStep = app.Dollar / 100 // A ten-thousandth is a hundredth of a percent.
	return (app.Amount(f-factorOne) * nanosPerStep).String()
}

// headlinePrices are the prices of a card in the fewest words: those of input and output, or the first one.
func headlinePrices(card *billing.RateCard) (input, output, unit string) {
	var first string
	for _, r := range card.Rates {
		amount, quantity := catalog.Quote(r)
		switch text := catalog.Dollars(amount); {
		case r.Meter == meter.InputTokens:
			input, unit = text, "per "+quantity+" in / out"
		case r.Meter == meter.OutputTokens:
			output = text
		case first == "":
			first = text + " per " + quantity
		}
	}
	if input == "" && output == "" && first != "" {
		price, quantity, _ := strings.Cut(first, " ")
		return "", price, quantity
	}
	return input, output, unit
}

// costText is the cost of a route in the fewest words. It is empty when it is not known.
func costText(cost *catalog.FileCost) string {
	card, ok := cost.RateCard()
	if !ok {
		return ""
	}
	input, output, unit := headlinePrices(&card)
	return strings.Trim(input+" / "+output, " /") + " " + strings.TrimSuffix(unit, " in / out")
}

// findModel reads the catalog and the model that the address names.
func (c *Console) findModel(p *page.Page, id string) (f catalog.File, m *catalog.FileModel, version int64, err error) {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	if f, version, err = catalog.ExportVersion(ctx, c.o.DB); err != nil {
		return f, nil, 0, err
	}
	i := slices.IndexFunc(f.Models, func(one catalog.FileModel) bool { return one.ID == id })
	if i < 0 {
		return f, nil, version, app.Errorf(app.NotFound, "model_not_found", "There is no such model in the catalog.")
	}
	return f, &f.Models[i], version, nil
}

// managedModel is the page of a model.
func (c *Console) managedModel(p *page.Page) error {
	id := p.Param("*")
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	f, m, version, err := c.findModel(p, id)
	if err != nil && app.KindOf(err) == app.NotFound {
		return c.retiredModel(p, id)
	}
	if err != nil {
		return err
	}
	v := operatorpages.ManagedDetail{
		Shell: c.Shell(p), ManagedModel: c.managedRow(&f, m, c.board(p)), Version: version, Description: m.Description, Notice: m.Notice,
		Aliases: m.Aliases,
		Routes:  c.viewRoutes(&f, m), Facts: modelFacts(m), Limits: limitFacts(&m.Limits),
	}
	for _, id := range m.Accounts {
		v.Visible = append(v.Visible, operatorpages.AccountName{ID: id, Name: c.accountName(p, id)})
	}
	fillPrices(&v, m)
	if len(m.Routes) == 0 {
		v.Unroutable = "Its last route was removed. Customers see it as coming, and calls of it fail."
	}
	if m.Announced != nil {
		v.Change = &operatorpages.ManagedChange{From: time.Time(m.Announced.From), Lines: m.AnnouncedChanges()}
	}
	if pause := c.pauseOf(health.KindModel, m.ID); pause != nil {
		shown := pauseOf(*pause, m.ID)
		v.Pause = &shown
	}
	v.BelowCost = catalog.BelowCost(catalog.File{Models: []catalog.FileModel{*m}})
	return c.showModel(p, v)
}

// showModel completes the page with the margin of the model.
func (c *Console) showModel(p *page.Page, v operatorpages.ManagedDetail) error {
	report, failure, err := c.margins(p, usage.MarginQuery{Model: v.ID})
	if err != nil {
		return err
	}
	v.Failure, v.MarginDays, v.MarginTotal = failure, managedDays, marginLine(&report.Total, "")
	for i := range report.Providers {
		v.Margin = append(v.Margin, marginLine(&report.Providers[i], report.Providers[i].Provider))
	}
	return c.Render(p, http.StatusOK, operatorpages.ManagedModelPage(v))
}

// margins reads the margin of the last days.
func (c *Console) margins(p *page.Page, q usage.MarginQuery) (usage.MarginReport, *views.LoadFailure, error) {
	ctx, cancel := context.WithTimeout(p.Request().Context(), marginTimeMax)
	defer cancel()
	q.Last = c.o.Now().UTC().Truncate(24 * time.Hour)
	q.First = q.Last.AddDate(0, 0, 1-managedDays)
	report, err := c.o.Reports.Margins(ctx, q)
	failure, err := page.Unavailable(p, err)
	return report, failure, err
}

// retiredModel is the page of a model that has left the catalog.
func (c *Console) retiredModel(p *page.Page, id string) error {
	m, isRetired, err := catalog.Retired(p.Request().Context(), c.o.DB, id)
	if err != nil {
		return err
	}
	if !isRetired {
		return page.ErrNotFound()
	}
	return c.showModel(p, operatorpages.ManagedDetail{Shell: c.Shell(p), ManagedModel: operatorpages.ManagedModel{
		ID: m.ID, Name: cmp.Or(m.Name, m.ID), Owner: m.Owner, State: operatorpages.ManagedRetired, Shutdown: m.At,
	}})
}

// accountName is the name of an account, or its id where the name cannot be read.
func (c *Console) accountName(p *page.Page, id string) string {
	if c.o.Actions == nil {
		return id
	}
	one, err := c.o.Actions.Account(p.Request().Context(), id, p.User.ID)
	if err != nil {
		return id
	}
	return cmp.Or(one.Name, id)
}

// viewRoutes are the routes of a model in their order.
func (c *Console) viewRoutes(f *catalog.File, m *catalog.FileModel) []operatorpages.ManagedRoute {
	routes := sortedRoutes(m)
	weights := map[int]int64{}
	for i := range routes {
		weights[routes[i].Order] += int64(routes[i].Weight)
	}
	list := make([]operatorpages.ManagedRoute, len(routes))
	for i := range routes {
		r := &routes[i]
		v := operatorpages.ManagedRoute{
			Key: routeKey(r), Provider: r.Provider, ProviderName: providerName(f, r.Provider), Upstream: r.Model, Style: string(r.Style),
			Order: r.Order, Weight: r.Weight, IsTied: i > 0 && routes[i-1].Order == r.Order, Cost: costText(r.Cost),
		}
		if sum := weights[r.Order]; sum > int64(r.Weight) {
			v.Share = (int64(r.Weight)*100 + sum/2) / sum
		}
		state, why := c.routeState(f, r.Provider)
		v.State, v.Note = state.Badge(), why
		list[i] = v
	}
	return list
}

// routeKey names a route of a model in forms.
func routeKey(r *catalog.FileRoute) string { return r.Provider + " " + r.Model + " " + string(r.Style) }

// providerName is the name of a provider for people.
func providerName(f *catalog.File, id string) string {
	for i := range f.Providers {
		if one := &f.Providers[i]; one.ID == id {
			if known, ok := preset.Find(one.Preset); ok {
				return cmp.Or(one.Name, known.Name)
			}
			return cmp.Or(one.Name, id)
		}
	}
	return id
}

// fillPrices fills in the prices of a model beside the cost of its first route.
func fillPrices(v *operatorpages.ManagedDetail, m *catalog.FileModel) {
	card, _ := m.RateCard()
	var cost billing.RateCard
	if routes := sortedRoutes(m); len(routes) > 0 {
		cost, _ = routes[0].Cost.RateCard()
	}
	for counted := range meter.Count {
		price, isPriced := rateOf(&card, counted)
		costs, hasCost := rateOf(&cost, counted)
		if !isPriced && !hasCost || len(card.Rates) == 0 {
			continue
		}
		line := operatorpages.ManagedPrice{Label: counted.Info().Label}
		if isPriced {
			amount, quantity := catalog.Quote(price)
			line.Price, line.Unit = format.Marked(catalog.Dollars(amount)), "per "+quantity
		}
		if hasCost {
			amount, quantity := catalog.Quote(costs)
			line.Cost = format.Marked(catalog.Dollars(amount))
			line.Unit = cmp.Or(line.Unit, "per "+quantity)
			if line.Unit != "per "+quantity {
				line.Cost += " per " + quantity
			}
			perUnit := func(r billing.Rate) *big.Rat { return big.NewRat(int64(r.Amount), r.Per) }
			line.Below = isPriced && perUnit(price).Cmp(perUnit(costs)) < 0
		}
		v.Prices = append(v.Prices, line)
	}
	for _, rates := range m.SizeRates {
		v.SizePrices += len(rates)
	}
	for i := range card.Conditions {
		v.Conditions = append(v.Conditions, operatorpages.ManagedCondition{
			Calls: format.Marked(catalog.ConditionCalls(&card.Conditions[i])), Effect: format.Marked(catalog.ConditionEffect(&card, i)),
		})
	}
}

func rateOf(card *billing.RateCard, m meter.Meter) (billing.Rate, bool) {
	i := slices.IndexFunc(card.Rates, func(r billing.Rate) bool { return r.Meter == m })
	if i < 0 {
		return billing.Rate{}, false
	}
	return card.Rates[i], true
}

// modelFacts are what a model takes and gives.
func modelFacts(m *catalog.FileModel) []operatorpages.Fact {
	facts := []operatorpages.Fact{{Name: "Takes and gives", Value: strings.Join(m.Input, ", ") + " → " + strings.Join(m.Output, ", ")}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, operatorpages.Fact{Name: name, Value: value})
		}
	}
	if m.ContextTokens > 0 {
		add("Context", format.Count(m.ContextTokens)+" tokens")
		add("Longest answer", format.Count(m.MaxOutputTokens)+" tokens")
	}
	styles := make([]string, len(m.Styles))
	for i, s := range m.Styles {
		styles[i] = string(s)
	}
	add("Styles", strings.Join(styles, ", "))
	add("Sizes", strings.Join(m.Sizes, ", "))
	if !m.Released.IsZero() {
		add("Released", format.Day(time.Time(m.Released)))
	}
	add("Fallbacks", strings.Join(m.Fallbacks, ", "))
	add("For longer prompts", m.LongerContext)
	return facts
}

// limitFacts are the limits of an account.
func limitFacts(l *catalog.Limits) (facts []operatorpages.Fact) {
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"Requests a minute", l.RequestsPerMinute}, {"Tokens a minute", l.TokensPerMinute}, {"Requests a day", l.RequestsPerDay},
		{"Calls at once", l.Concurrency}, {"Jobs a day", l.JobsPerDay}, {"Jobs at once", l.JobsRunning},
	} {
		if limit.n > 0 {
			facts = append(facts, operatorpages.Fact{Name: limit.name, Value: format.Count(limit.n)})
		}
	}
	return facts
}
