package operator

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/app/meter"
	"umg/billing"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
)

const ratePrefix = "rate."

// usualMeters are those whose fields a text model always has.
var usualMeters = []meter.Meter{meter.InputTokens, meter.CacheReadTokens, meter.CacheWriteTokens, meter.OutputTokens}

// askPrices shows the form for the prices of a model: those in force, or those that are announced.
func (c *Console) askPrices(p *page.Page) error {
	_, m, version, err := c.modelOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.PriceForm{
		CatalogForm: operatorpages.CatalogForm{Version: version}, How: operatorpages.PricesOwn, Markup: "10", When: operatorpages.PricesNow,
	}
	rates, conditions, sizes := m.Rates, m.Conditions, m.SizeRates
	if m.Markup != 0 {
		v.How, v.Markup = operatorpages.PricesByMarkup, markupPercent(m.Markup)
		rates, conditions = m.MarkedUp()
	}
	if a := m.Announced; a != nil && p.QueryParam("announced") != "" {
		rates, conditions, sizes = a.Rates, a.Conditions, a.SizeRates
		v.How, v.When, v.From = operatorpages.PricesOwn, operatorpages.PricesFrom, dayText(a.From)
	}
	if v.Conditions, err = partText(conditions, len(conditions)); err == nil {
		v.Sizes, err = partText(sizes, len(sizes))
	}
	if err != nil {
		return err
	}
	return c.showPrices(p, http.StatusOK, m, v, func(counted meter.Meter) string {
		price, ok := rates[counted.String()]
		if !ok {
			return ""
		}
		return priceText(price, counted)
	})
}

// partText prints a part of the catalog file; nothing for an empty one.
func partText(part any, items int) (string, error) {
	if items == 0 {
		return "", nil
	}
	return catalog.PartText(part)
}

// fieldQuantity is the quantity that the price of a meter is for when the field does not name one.
func fieldQuantity(m meter.Meter) string {
	switch m.Info().Unit {
	case meter.UnitToken:
		return "1M"
	case meter.UnitCharacter:
		return "1M"
	}
	return "1"
}

// priceText is a price as a field has it: the amount alone when it is for the quantity of the field.
func priceText(price catalog.Price, m meter.Meter) string {
	text := price.String()
	if amount, ok := strings.CutSuffix(text, " per "+fieldQuantity(m)); ok {
		return amount
	}
	return text
}

// unitText says what the price of a field is for.
func unitText(m meter.Meter) string {
	_, many := m.Nouns()
	if quantity := fieldQuantity(m); quantity != "1" {
		return "per " + quantity + " " + many
	}
	one, _ := m.Nouns()
	return "per " + one
}

// showPrices shows the form. The value of each meter comes from a function.
func (c *Console) showPrices(
	p *page.Page, status int, m *catalog.FileModel, v operatorpages.PriceForm, value func(meter.Meter) string,
) error {
	v.Shell, v.ID, v.Name, v.HasSizes = c.Shell(p), m.ID, m.Name, len(m.Sizes) > 0
	// The theme form returns to this path.
	v.Path = views.OperatorModelsPath
	if m.Announced != nil {
		v.Announced = dayText(m.Announced.From)
	}
	var cost billing.RateCard
	if routes := sortedRoutes(m); len(routes) > 0 {
		cost, _ = routes[0].Cost.RateCard()
		v.MarkupBase = costText(routes[0].Cost)
	}
	for counted := range meter.Count {
		field := operatorpages.PriceField{
			Meter: counted.String(), Label: counted.Info().Label, Unit: unitText(counted), Value: value(counted),
		}
		rate, hasCost := rateOf(&cost, counted)
		if hasCost {
			amount, quantity := catalog.Quote(rate)
			field.Cost = format.Marked(catalog.Dollars(amount) + " per " + quantity)
		}
		isUsual := m.Kind == catalog.KindText && slices.Contains(usualMeters, counted)
		if isUsual || hasCost || field.Value != "" && m.Rates[field.Meter] != (catalog.Price{}) {
			v.Meters = append(v.Meters, field)
		} else {
			v.More = append(v.More, field)
		}
	}
	return c.Render(p, status, operatorpages.PriceFormPage(v))
}

// changePrices sets the prices of a model, or announces them.
func (c *Console) changePrices(p *page.Page) error {
	_, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	e := modelEdit(m, "Change the prices?", "Change the prices")
	e.ask.Action = operatorpages.ModelFormPath("prices", m.ID)
	e.note, e.said = "Changed the prices of "+m.ID+".", "Changed the prices of "+m.Name+"."
	if p.FormValue("when") == operatorpages.PricesFrom {
		e.note = "Announced prices of " + m.ID + " from " + p.FormValue("from") + "."
		e.said = "Announced the prices of " + m.Name + " from " + p.FormValue("from") + ". Customers get a notice."
	}
	price, errFields := c.readPrices(p)
	e.change = func(f catalog.File) (catalog.File, error) {
		if errFields != nil {
			return f, errFields
		}
		return setPrice(f, m.ID, price)
	}
	e.field = func(path string) string {
		path = strings.TrimPrefix(path, "announced.")
		return isField("rates", "conditions", "size_rates", "markup", "from")(path)
	}
	e.form = func(status int, f operatorpages.CatalogForm) error {
		v := operatorpages.PriceForm{
			CatalogForm: f, How: p.FormValue("how"), Markup: p.FormValue("markup"), Conditions: p.FormValue("conditions"),
			Sizes: p.FormValue("size_rates"), When: p.FormValue("when"), From: p.FormValue("from"),
		}
		return c.showPrices(p, status, m, v, func(counted meter.Meter) string { return p.FormValue(ratePrefix + counted.String()) })
	}
	return c.runEdit(p, e)
}

// setPrice sets the prices of a model. One that has prices and a route from then on, and had none before, can be called.
func setPrice(f catalog.File, id string, price change.Price) (catalog.File, error) {
	before := f
	next, err := change.SetPrice(f, id, price)
	if err != nil || price.Announced != nil {
		return next, err
	}
	for i := range next.Models {
		m := &next.Models[i]
		was := &before.Models[i]
		if m.ID == id && len(was.Rates) == 0 && was.Markup == 0 && len(m.Routes) > 0 {
			m.Availability = catalog.Available
		}
	}
	return next, nil
}

// readPrices reads the prices of the form, or what is wrong with them.
func (c *Console) readPrices(p *page.Page) (change.Price, error) {
	r := newFieldReader(p)
	var price change.Price
	isLater := p.FormValue("when") == operatorpages.PricesFrom
	if p.FormValue("when") != operatorpages.PricesNow && !isLater {
		r.errors["when"] = "Choose when the prices come into force."
	}
	switch p.FormValue("how") {
	case operatorpages.PricesByMarkup:
		markup, ok := parseMarkup(r.text("markup"))
		if !ok {
			r.errors["markup"] = "Enter a percentage above −100 with at most two decimals, such as 10 or 2.5."
		}
		if isLater {
			r.errors["when"] = "A markup comes into force at once. Announce own prices, or choose “At once”."
		}
		price.Markup = markup
		return price, r.err()
	case operatorpages.PricesOwn:
	default:
		r.errors["how"] = "Choose how the prices are made."
	}
	rates := catalog.Rates{}
	for counted := range meter.Count {
		name := counted.String()
		if text := r.text(ratePrefix + name); text != "" {
			one, problem := parsePrice(text, counted)
			if problem != "" {
				r.errors[ratePrefix+name] = problem
			}
			rates[name] = one
		}
	}
	conditions, err := catalog.ParseConditions(p.FormValue("conditions"))
	if err != nil {
		r.errors["conditions"] = sentence(err.Error())
	}
	sizes, err := catalog.ParseSizeRates(p.FormValue("size_rates"))
	if err != nil {
		r.errors["size_rates"] = sentence(err.Error())
	}
	if len(rates) == 0 && len(r.errors) == 0 {
		r.errors["rates"] = "Enter at least one price."
	}
	price.Rates, price.Conditions, price.SizeRates = rates, conditions, sizes
	if isLater {
		from, problem := c.laterDay(r.text("from"))
		if problem != "" {
			r.errors["from"] = problem
		}
		price = change.Price{Announced: &catalog.FileAnnounced{From: from, Rates: rates, Conditions: conditions, SizeRates: sizes}}
	}
	return price, r.err()
}

// parsePrice reads a price of a form: dollars for the quantity of the field, or a price as the catalog file has it. It is never rounded.
func parsePrice(text string, m meter.Meter) (catalog.Price, string) {
	text = strings.TrimPrefix(text, "$")
	full := text
	if !strings.Contains(text, " per ") {
		full += " per " + fieldQuantity(m)
	}
	price, err := catalog.ParsePrice(full)
	if err != nil {
		return price, "“" + text + "” is not a price. Write dollars with at most nine decimals, such as 2.5 or 0.0025 per 1K."
	}
	return price, ""
}

// withdrawPrices asks before announced prices are withdrawn, and withdraws them.
func (c *Console) withdrawPrices(p *page.Page) error {
	_, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	e := modelEdit(m, "Withdraw the announced prices?", "Withdraw the prices")
	e.ask.Action = operatorpages.ModelFormPath("withdraw", m.ID)
	e.note, e.said = "Withdrew the announced prices of "+m.ID+".", "Withdrew the announced prices of "+m.Name+"."
	if m.Announced != nil {
		e.effects = func(catalog.File, catalog.File) []string {
			return []string{"The prices of today stay in force after " + format.Day(time.Time(m.Announced.From)) + "."}
		}
	}
	e.change = func(f catalog.File) (catalog.File, error) { return change.WithdrawAnnounced(f, m.ID) }
	return c.runEdit(p, e)
}
