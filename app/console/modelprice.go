package console

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/meter"
	"umg/billing"
	"umg/views"
	"umg/views/format"
	modelpages "umg/views/models"
)

const (
	calcQuantityMax = 1_000_000_000 // This bounds each quantity of one request.
	calcSecondsMax  = 3_600
	calcRequestsMax = 1_000_000_000 // This bounds the requests per day.
	calcMonthDays   = 30
	lastCallsMax    = 100
)

// calcMeters are the quantities of the calculator that have labels or initial values of their own. They come first.
var calcMeters = []struct {
	meter meter.Meter
	label string
	usual int64
}{
	{meter.InputTokens, "Input tokens", 1_000},
	{meter.CacheReadTokens, "Read from a cache", 0},
	{meter.CacheWriteTokens, "Written to a cache", 0},
	{meter.OutputTokens, "Output tokens", 500},
	{meter.ReasoningTokens, "Reasoning tokens", 0},
	{meter.Images, "Images", 1},
	{meter.Seconds, "Seconds", 8},
	{meter.Characters, "Characters", 1_000},
}

// calcInputs are the quantities of the calculator for a model, in order: those that it has prices for. A request is always one.
func calcInputs(m *catalog.Model) []calcQuantity {
	has := func(counted meter.Meter) bool {
		is := func(r billing.Rate) bool { return r.Meter == counted }
		if slices.ContainsFunc(m.RateCard.Rates, is) ||
			slices.ContainsFunc(m.RateCard.Conditions, func(c billing.Condition) bool { return slices.ContainsFunc(c.Rates, is) }) {
			return true
		}
		for _, card := range m.SizeRateCards {
			if slices.ContainsFunc(card.Rates, is) {
				return true
			}
		}
		return false
	}
	var list []calcQuantity
	known := []meter.Meter{meter.Requests}
	for _, one := range calcMeters {
		known = append(known, one.meter)
		if has(one.meter) {
			list = append(list, calcQuantity{one.meter, one.label, one.usual})
		}
	}
	for counted := range meter.Count {
		if !slices.Contains(known, counted) && has(counted) {
			list = append(list, calcQuantity{counted, counted.Info().Label, 0})
		}
	}
	return list
}

// calcQuantity is a quantity of the calculator with its initial value.
type calcQuantity struct {
	meter meter.Meter
	label string
	usual int64
}

// calculation prices the call that the query describes, with the function that charges for calls. It is nil for a model without prices.
func calculation(m *catalog.Model, q url.Values) *modelpages.Calculation {
	if len(m.Prices) == 0 && len(m.SizePrices) == 0 {
		return nil
	}
	c := &modelpages.Calculation{}
	if len(m.SizePrices) > 0 {
		c.Sizes, c.Size = m.Sizes, q.Get("size")
		if !slices.Contains(m.Sizes, c.Size) {
			c.Size = m.Sizes[0]
		}
	}
	card := m.CardFor(c.Size)
	terms := calcTerms(c, &card, q.Get("terms"))
	var usage meter.Counts
	for _, one := range calcInputs(m) {
		highest, usual, scale := int64(calcQuantityMax), one.usual, one.meter.Info().Unit.Scale()
		if one.meter.Info().Unit == meter.UnitSecond {
			highest = calcSecondsMax
		}
		if one.meter == meter.Seconds && len(m.Seconds) > 0 {
			usual = m.Seconds[len(m.Seconds)/2]
		}
		in, n := calcInput(q, one.meter.String(), one.label, usual, highest)
		c.Inputs = append(c.Inputs, in)
		usage[one.meter] = n * scale
		c.Error = cmp.Or(c.Error, in.Error)
	}
	usage[meter.Requests] = 1
	var requests int64
	c.Requests, requests = calcInput(q, "requests", "Requests a day", 1_000, calcRequestsMax)
	if c.Error = cmp.Or(c.Error, c.Requests.Error); c.Error == "" {
		c.Error = price(c, card, usage, terms, requests)
	}
	return c
}

func calcInput(q url.Values, name, label string, usual, highest int64) (modelpages.CalcInput, int64) {
	in := modelpages.CalcInput{Name: name, Label: label, Value: strconv.FormatInt(usual, 10)}
	if !q.Has(name) {
		return in, usual
	}
	in.Value = strings.TrimSpace(q.Get(name))
	if len(in.Value) > len("1,000,000,000") {
		in.Value = ""
	}
	if in.Value == "" {
		return in, 0
	}
	n, err := strconv.ParseInt(strings.NewReplacer(",", "", " ", "", "_", "").Replace(in.Value), 10, 64)
	if err != nil || n < 0 || n > highest {
		in.Error = label + " must be a whole number from 0 to " + format.Count(highest) + "."
		return in, 0
	}
	return in, n
}

// calcTerms sets the terms to choose from and returns those that were chosen. Conditions that depend on the quantities alone are no
// choice: they hold for quantities that are large enough.
func calcTerms(c *modelpages.Calculation, card *billing.RateCard, chosen string) meter.Terms {
	const usual = -1
	index := usual
	for i := range card.Conditions {
		d := &card.Conditions[i]
		onTerms := billing.Condition{ServiceTier: d.ServiceTier, Region: d.Region, Speed: d.Speed, Quality: d.Quality, Schedule: d.Schedule}
		label := format.Marked(catalog.ConditionCalls(&onTerms))
		if d.Size != "" {
			label = format.Marked(catalog.ConditionCalls(&billing.Condition{Size: d.Size}))
		}
		isKnown := func(t modelpages.CalcTerms) bool { return t.Label == label }
		if label == "" || slices.ContainsFunc(c.Terms, isKnown) {
			continue
		}
		value := strconv.Itoa(i)
		c.Terms = append(c.Terms, modelpages.CalcTerms{Value: value, Label: label})
		if value == chosen {
			index, c.Term = i, value
		}
	}
	if len(c.Terms) > 0 {
		c.Terms = slices.Insert(c.Terms, 0, modelpages.CalcTerms{Label: "Usual"})
	}
	return catalog.ConditionTerms(card, index)
}

// price fills in the cost of the usage. If the cost is too large, price returns a sentence that says so.
func price(c *modelpages.Calculation, card billing.RateCard, usage meter.Counts, terms meter.Terms, requests int64) string {
	const tooMuch = "That costs more than can be counted. Enter smaller quantities."
	total, err := card.Cost(usage, terms)
	if err != nil || requests > 0 && total > math.MaxInt64/calcMonthDays/app.Amount(requests) {
		return tooMuch
	}
	c.Total, c.Day = total, total*app.Amount(requests)
	c.Month = c.Day * calcMonthDays
	for _, l := range card.Lines(usage, terms) {
		if l.Rate.Per == 0 || l.Rate.Amount == 0 && l.Meter == meter.Requests {
			continue
		}
		var conditions []string
		for _, d := range l.Conditions {
			conditions = append(conditions, format.Marked(catalog.ConditionCalls(d)))
		}
		amount, quantity := catalog.Quote(l.Rate)
		shown := views.Price{Meter: l.Meter.String()}
		c.Lines = append(c.Lines, modelpages.CalcLine{
			Label: shown.Label(), Quantity: l.Quantity / l.Meter.Info().Unit.Scale(), Rate: format.Dollars(amount) + " / " + quantity,
			Amount: l.Amount, Condition: strings.Join(conditions, ", "),
		})
	}
	return ""
}

// modelPrice renders the result of the calculator for a changed form.
func (c *Console) modelPrice(p *page.Page) error {
	m, err := c.modelAt(p, p.QueryParam("model"))
	if err != nil {
		return err
	}
	calc := calculation(m, p.QueryParams())
	if calc == nil || !p.ForScript() {
		q := p.QueryParams()
		q.Del("model")
		q.Set("tab", modelpages.TabCost)
		return p.Redirect(http.StatusSeeOther, views.ModelPath(m.ID)+"?"+q.Encode()+"#calculator")
	}
	return c.Render(p, http.StatusOK, modelpages.CalcResult(*calc))
}

// modelLast renders what the last requests of the reader would have cost with a model.
func (c *Console) modelLast(p *page.Page) error {
	m, err := c.modelAt(p, p.QueryParam("model"))
	if err != nil {
		return err
	}
	if m.Kind != catalog.KindText {
		return page.ErrNotFound()
	}
	if !p.ForScript() {
		return p.Redirect(http.StatusSeeOther, modelpages.TabPath(m.ID, modelpages.TabCost)+"&last=100#last-calls")
	}
	last, err := c.lastCalls(p, m)
	return page.Show(c.Renderer, p, http.StatusOK, modelpages.LastCard, last, err)
}

// lastCalls prices the reader's last text requests with a model. Only tokens are priced: they are what all text models share.
func (c *Console) lastCalls(p *page.Page, m *catalog.Model) (modelpages.LastCalls, error) {
	records, err := c.o.Reports.LastText(p.Request().Context(), p.User.AccountID, lastCallsMax)
	if err != nil {
		return modelpages.LastCalls{}, err
	}
	var last modelpages.LastCalls
	for _, r := range records {
		var tokens meter.Counts
		for counted := range meter.Count {
			if counted.Info().Unit == meter.UnitToken {
				tokens[counted] = r.Usage[counted]
			}
		}
		tokens[meter.Requests] = 1
		would, err := m.RateCard.Cost(tokens, r.Terms)
		if err != nil {
			return modelpages.LastCalls{}, err
		}
		if last.Count == 0 {
			last.To = r.StartedAt
		}
		last.From = r.StartedAt
		last.Count++
		last.Paid += r.Cost
		last.Would += would
		i := slices.IndexFunc(last.Models, func(one modelpages.LastModel) bool { return one.Model == r.Model })
		if i < 0 {
			i = len(last.Models)
			last.Models = append(last.Models, modelpages.LastModel{Model: r.Model})
		}
		one := &last.Models[i]
		one.Count, one.Paid, one.Would = one.Count+1, one.Paid+r.Cost, one.Would+would
	}
	slices.SortStableFunc(last.Models, func(a, b modelpages.LastModel) int { return cmp.Compare(b.Paid, a.Paid) })
	return last, nil
}
