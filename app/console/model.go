package console

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/modelstatus"
	"umg/billing"
	"umg/billing/usage"
	"umg/views"
	modelpages "umg/views/models"
)

const (
	modelDays       = 90
	pastPricesMax   = 50
	modelChangesMax = 50
)

// model is the page of one model.
func (c *Console) model(p *page.Page) error {
	m, err := c.modelAt(p, p.Param("*"))
	if err != nil {
		return err
	}
	d := c.modelDetail(p, m)
	d.Language, d.Style, d.Tab = p.Language(), p.Cookie(page.StyleCookie), modelpages.ParseTab(p.QueryParam("tab"))
	d.HasAPI = hasContracts(m)
	switch d.Tab {
	case modelpages.TabPerformance:
		err = c.addPerformance(p, &d, m.ID)
	case modelpages.TabCost:
		err = c.addCost(p, &d, m)
	case modelpages.TabAPI:
		d.Contracts = modelContracts(m)
		d.KeyHint, err = c.hintFor(p)
	case modelpages.TabHistory:
		err = c.addPast(p, &d, m.ID)
	}
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, modelpages.DetailPage(d))
}

// hintFor is the masked key for code samples of a reader with an account.
func (c *Console) hintFor(p *page.Page) (string, error) {
	if p.User.AccountID == "" {
		return "", nil
	}
	return c.keyHint(p)
}

// addCost adds the calculator, and what the reader's last requests would have cost when the reader asked for it.
func (c *Console) addCost(p *page.Page, d *modelpages.Detail, m *catalog.Model) error {
	d.Calc = calculation(m, p.QueryParams())
	mayRead := p.User.Role.Rights().Has(app.ReadUsage) && p.User.AccountID != ""
	if p.QueryParam("last") == "" || !mayRead || m.Kind != catalog.KindText {
		return nil
	}
	last, err := c.lastCalls(p, m)
	d.Last = &last
	return err
}

// addPerformance adds how a model does at each of its providers, and its last days.
func (c *Console) addPerformance(p *page.Page, d *modelpages.Detail, id string) error {
	ctx, now := p.Request().Context(), c.o.Now().UTC()
	d.Providers.Week = p.QueryParam("span") == modelpages.SpanWeek
	span, step := modelpages.PerformanceSpan(d.Providers.Week)
	d.Providers.Start = now.Truncate(step).Add(-span)
	totals, err := c.o.Reports.ProviderTotals(ctx, id, d.Providers.Start)
	if err != nil {
		return err
	}
	steps, err := c.o.Reports.ProviderSteps(ctx, id, d.Providers.Start, step)
	if err != nil {
		return err
	}
	d.Providers.Totals, d.Providers.Steps = viewProviderSteps(totals), viewProviderSteps(steps)
	days, err := c.o.Reports.ModelDays(ctx, id, now.AddDate(0, 0, 1-modelDays))
	for _, day := range days {
		d.Days = append(d.Days, modelpages.Day{
			Day: day.Day, Answered: day.Answered, Failed: day.Failed,
			Judged: modelstatus.Health{Succeeded: day.Answered, Failed: day.Failed}.IsJudged(),
		})
	}
	return err
}

func viewProviderSteps(stats []usage.ProviderStats) []modelpages.ProviderStep {
	steps := make([]modelpages.ProviderStep, len(stats))
	for i, s := range stats {
		steps[i] = modelpages.ProviderStep{
			Start: s.Start, Provider: s.Provider, Answered: s.Answered, Failed: s.Failed, Attempts: s.Attempts,
			FirstByteP50: s.FirstByteP50, FirstByteP95: s.FirstByteP95, DurationP50: s.DurationP50, DurationP95: s.DurationP95,
			Speed: s.SpeedP50,
		}
	}
	return steps
}

// modelLimits renders what is left of the limits, for a page that polls.
func (c *Console) modelLimits(p *page.Page) error {
	m, err := c.modelAt(p, p.QueryParam("model"))
	if err != nil {
		return err
	}
	if !p.ForScript() {
		return p.Redirect(http.StatusSeeOther, views.ModelPath(m.ID)+"#limits")
	}
	return c.Render(p, http.StatusOK, modelpages.Limits(c.modelDetail(p, m)))
}

// modelDetail is a model with the limits of the reader's account.
func (c *Console) modelDetail(p *page.Page, m *catalog.Model) modelpages.Detail {
	d := modelpages.Detail{Shell: c.Shell(p), Model: viewModel(m, c.board(p), p.LimitFactor()), Factor: p.LimitFactor()}
	if p.User.AccountID != "" {
		addLeft(&d.Model.Limits, c.o.Gateway.Headroom(p.User.AccountID, p.LimitFactor(), []*catalog.Model{m})[0])
	}
	return d
}

// addPast adds the former prices and the changes of a model.
func (c *Console) addPast(p *page.Page, d *modelpages.Detail, id string) error {
	ctx := p.Request().Context()
	past, err := c.o.Catalog.PriceHistory(ctx, id, pastPricesMax)
	if err != nil {
		return err
	}
	for _, one := range past {
		sizes := slices.Sorted(maps.Keys(one.SizePrices))
		d.Past = append(d.Past, modelpages.PastPrices{
			From: one.From, Prices: viewPrices(one.Prices, false), SizePrices: viewSizePrices(sizes, one.SizePrices),
			Conditions: viewConditions(&one.RateCard),
		})
	}
	if m, known := c.catalogFor(p).Model(id); known && m.Announced != nil {
		d.Next = &modelpages.PastPrices{
			From: m.Announced.From, Prices: viewPrices(m.Announced.Prices, false), SizePrices: viewSizePrices(m.Sizes, m.Announced.SizePrices),
			Conditions: viewConditions(&m.Announced.RateCard),
		}
	}
	changes, err := c.o.Catalog.ModelChanges(ctx, id, modelChangesMax)
	if err != nil {
		return err
	}
	for _, one := range changes {
		change := modelpages.Change{At: one.At, Field: one.Field, From: one.From, To: one.To, Gone: one.Gone}
		if strings.HasPrefix(one.Field, "conditions[") { // The history of prices says what the conditions are.
			change = modelpages.Change{At: one.At, Field: "conditions"}
		}
		if n := len(d.Changes); n == 0 || change != d.Changes[n-1] {
			d.Changes = append(d.Changes, change)
		}
	}
	return nil
}

// hasContracts reports whether a model answers in any style.
func hasContracts(m *catalog.Model) bool { return len(m.Served()) > 0 || m.VideoContract() != nil }

// modelContracts returns the contract of each style in which a model answers.
func modelContracts(m *catalog.Model) (contracts []modelpages.Contract) {
	add := func(style llm.Style, contract *catalog.Contract, sample []byte) {
		fields, hints, without := playground.FieldsOf(contract.Schema())
		contracts = append(contracts, modelpages.Contract{
			Style: views.Style(style), Hash: contract.Hash(), Fields: fields, Hints: hints, Without: without, Sample: sample,
		})
	}
	for _, style := range m.Served() {
		if contract, ok := m.Contract(style); ok {
			add(style, contract, playground.SampleRequest(m, style))
		}
	}
	if contract := m.VideoContract(); contract != nil {
		add(catalog.VideosStyle, contract, nil)
	}
	return contracts
}

// viewPrices returns prices by meter. For text it includes meters that are charged at the price of another meter.
func viewPrices(rates catalog.Rates, text bool) []views.Price {
	var prices []views.Price
	for name, price := range rates {
		prices = append(prices, views.Price{Meter: name, Amount: price.Amount, Per: price.Per})
	}
	slices.SortFunc(prices, func(a, b views.Price) int { return strings.Compare(a.Meter, b.Meter) })
	if !text {
		return prices
	}
	for _, pair := range [][2]meter.Meter{
		{meter.CacheReadTokens, meter.InputTokens}, {meter.CacheWriteTokens, meter.InputTokens},
		{meter.ReasoningTokens, meter.OutputTokens},
	} {
		name, like := pair[0].String(), pair[1].String()
		_, own := rates[name]
		if _, base := rates[like]; !own && base {
			prices = append(prices, views.Price{Meter: name, Like: like})
		}
	}
	return prices
}

// viewConditions returns the conditions of a card in words.
func viewConditions(card *billing.RateCard) []views.PriceCondition {
	var conditions []views.PriceCondition
	for i := range card.Conditions {
		conditions = append(conditions, views.PriceCondition{
			Calls: catalog.ConditionCalls(&card.Conditions[i]), Effect: catalog.ConditionEffect(card, i),
		})
	}
	return conditions
}

// viewSizePrices returns the prices that are specific to a size, in the order of the sizes.
func viewSizePrices(sizes []string, rates map[string]catalog.Rates) (prices []views.SizePrice) {
	for _, size := range sizes {
		for _, price := range viewPrices(rates[size], false) {
			prices = append(prices, views.SizePrice{Size: size, Price: price})
		}
	}
	return prices
}
