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
	calcQuantityMax = 1_000_000_000 // largest quantity of one request
	calcSecondsMax  = 3_600
	calcRequestsMax = 1_000_000_000 // requests per day
	calcMonthDays   = 30
	lastCallsMax    = 100
	milliseconds    = 1_000
)

// calcMeters are the quantities of the calculator, in order, with their initial values.
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
	var usage meter.Counts
	for _, one := range calcMeters {
		name := one.meter.String()
		_, own := m.Prices[name]
		for _, rates := range m.SizePrices {
			_, sized := rates[name]
			own = own || sized
		}
		if !own {
			continue
		}
		highest, usual := int64(calcQuantityMax), one.usual
		if one.meter == meter.Seconds {
			highest = calcSecondsMax
			if len(m.Seconds) > 0 {
				usual = m.Seconds[len(m.Seconds)/2]
			}
		}
		in, n := calcInput(q, one.meter.String(), one.label, usual, highest)
		c.Inputs = append(c.Inputs, in)
		usage[one.meter] = n
		if one.meter == meter.Seconds {
			usage[one.meter] = n * milliseconds
		}
		c.Error = cmp.Or(c.Error, in.Error)
	}
	if _, own := m.Prices[meter.Requests.String()]; own {
		usage[meter.Requests] = 1
	}
	var requests int64
	c.Requests, requests = calcInput(q, "requests", "Requests a day", 1_000, calcRequestsMax)
	if c.Error = cmp.Or(c.Error, c.Requests.Error); c.Error == "" {
		c.Error = price(c, card, usage, requests)
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

// price fills in the cost of the usage. If the cost is too large, price returns a sentence that says so.
func price(c *modelpages.Calculation, card billing.RateCard, usage meter.Counts, requests int64) string {
	const tooMuch = "That costs more than can be counted. Enter smaller quantities."
	total, err := card.Cost(usage, meter.Terms{})
	if err != nil || requests > 0 && total > math.MaxInt64/calcMonthDays/app.Amount(requests) {
		return tooMuch
	}
	c.Total, c.Day = total, total*app.Amount(requests)
	c.Month = c.Day * calcMonthDays
	for m := range meter.Count {
		if usage[m] == 0 {
			continue
		}
		var alone meter.Counts
		alone[m] = usage[m]
		rate, priced := card.Rate(m)
		amount, err := card.Cost(alone, meter.Terms{})
		if !priced || err != nil {
			continue
		}
		shown, quantity := views.Price{Meter: m.String(), Amount: rate.Amount, Per: rate.Per}, usage[m]
		if m == meter.Seconds {
			shown.Per /= milliseconds
			quantity /= milliseconds
		}
		c.Lines = append(c.Lines, modelpages.CalcLine{
			Label: shown.Label(), Quantity: quantity, Rate: shown.Text() + " / " + shown.Unit(), Amount: amount,
		})
	}
	return ""
}

// modelPrice renders the result of the calculator for a changed form.
func (c *Console) modelPrice(p *page.Page) error {
	m, err := c.modelAt(p.QueryParam("model"))
	if err != nil {
		return err
	}
	calc := calculation(m, p.QueryParams())
	if calc == nil || !p.ForScript() {
		q := p.QueryParams()
		q.Del("model")
		return p.Redirect(http.StatusSeeOther, views.ModelPath(m.ID)+"?"+q.Encode()+"#calculator")
	}
	return c.Render(p, http.StatusOK, modelpages.CalcResult(*calc))
}

// modelLast renders what the last requests of the reader would have cost with a model.
func (c *Console) modelLast(p *page.Page) error {
	m, err := c.modelAt(p.QueryParam("model"))
	if err != nil {
		return err
	}
	if m.Kind != catalog.KindText {
		return page.ErrNotFound()
	}
	if !p.ForScript() {
		return p.Redirect(http.StatusSeeOther, views.ModelPath(m.ID)+"?last=100#last-calls")
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
		for _, counted := range []meter.Meter{
			meter.InputTokens, meter.CacheReadTokens, meter.CacheWriteTokens, meter.OutputTokens, meter.ReasoningTokens,
		} {
			tokens[counted] = r.Usage[counted]
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
