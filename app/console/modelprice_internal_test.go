package console

import (
	"math"
	"net/url"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/catalog"
	"umg/app/meter"
	"umg/billing"
	"umg/views/format"
)

func pricedModel(per int64, in, cached, out app.Amount) *catalog.Model {
	m := &catalog.Model{ID: "m", Kind: catalog.KindText, Prices: catalog.Rates{}}
	for counted, amount := range map[meter.Meter]app.Amount{meter.InputTokens: in, meter.CacheReadTokens: cached, meter.OutputTokens: out} {
		m.Prices[counted.String()] = catalog.Price{Amount: amount, Per: per}
		m.RateCard.Rates = append(m.RateCard.Rates, billing.Rate{Meter: counted, Amount: amount, Per: per})
	}
	return m
}

// TestTheCalculatorChargesWhatBillingDoes compares it with the function that prices calls.
func TestTheCalculatorChargesWhatBillingDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := func(name string) app.Amount { return app.Amount(rapid.Int64Range(0, 1e11).Draw(t, name)) }
		m := pricedModel(rapid.SampledFrom([]int64{1, 1_000, 1_000_000}).Draw(t, "per"), amount("in"), amount("cached"), amount("out"))
		usage, q := meter.Counts{}, url.Values{}
		for _, counted := range []meter.Meter{meter.InputTokens, meter.CacheReadTokens, meter.OutputTokens} {
			usage[counted] = rapid.Int64Range(0, 1_000_000).Draw(t, counted.String())
			q.Set(counted.String(), strconv.FormatInt(usage[counted], 10))
		}
		n := rapid.Int64Range(0, 1_000).Draw(t, "requests")
		q.Set("requests", strconv.FormatInt(n, 10))
		want, err := m.RateCard.Cost(usage, meter.Terms{})
		c := calculation(m, q)
		if int64(want) > 0 && n > 0 && want > math.MaxInt64/30/app.Amount(n) {
			if c.Error == "" {
				t.Fatal("what cannot be counted is shown")
			}
			return
		}
		if err != nil || c.Error != "" || c.Total != want || c.Day != want*app.Amount(n) || c.Month != c.Day*30 {
			t.Fatalf("%+v, not %d (%v)", c, want, err)
		}
	})
}

// TestTheCalculatorTakesThePromptAndTheServiceIntoAccount prices both sides of an edge, and the terms that the reader chooses.
func TestTheCalculatorTakesThePromptAndTheServiceIntoAccount(t *testing.T) {
	t.Parallel()
	m := pricedModel(1_000_000, app.Dollar, app.Cent, 2*app.Dollar)
	m.RateCard.Rates = append(m.RateCard.Rates, billing.Rate{Meter: meter.WebSearches, Amount: 10 * app.Dollar, Per: 1_000})
	m.RateCard.Conditions = []billing.Condition{
		{PromptOver: 200_000, Rates: []billing.Rate{{Meter: meter.InputTokens, Amount: 3 * app.Dollar, Per: 1_000_000}}},
		{ServiceTier: "flex", Times: 5_000}, {Schedule: &billing.Schedule{Hours: []billing.Hours{{From: 0, To: 60}}}, Times: 20_000},
	}
	for query, want := range map[string]app.Amount{
		"input_tokens=200000&output_tokens=0":                      20 * app.Cent,
		"input_tokens=150000&cache_read_tokens=50001":              45*app.Cent + 500_010 + app.Dollar/1_000, // All input is over the edge.
		"input_tokens=300000&output_tokens=0":                      90 * app.Cent,
		"input_tokens=300000&output_tokens=0&terms=1":              45 * app.Cent,
		"input_tokens=200000&output_tokens=0&terms=2":              40 * app.Cent,
		"input_tokens=200000&output_tokens=0&terms=9":              20 * app.Cent,
		"input_tokens=0&output_tokens=0&terms=2&web_searches=1000": 10 * app.Dollar,
	} {
		q, _ := url.ParseQuery(query)
		c := calculation(m, q)
		if c.Total != want || c.Error != "" || len(c.Terms) != 3 || c.Terms[2].Label != "00:00–01:00 UTC" {
			t.Errorf("%q gives %+v, not %s", query, c, want)
		}
	}
	q, _ := url.ParseQuery("input_tokens=300000&terms=1")
	if c := calculation(m, q); format.Plain(c.Lines[0].Condition) != "Prompts over 200,000 tokens, Flex tier" || format.Plain(c.Lines[0].Rate) != "$1.50 / 1M tokens" {
		t.Errorf("%+v", c.Lines)
	}
}

func TestTheCalculatorTakesSizesAndSaysWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	seconds := func(dollars app.Amount) (catalog.Rates, billing.RateCard) {
		return catalog.Rates{"seconds": {Amount: dollars, Per: 1}}, billing.RateCard{Rates: []billing.Rate{{Meter: meter.Seconds, Amount: dollars, Per: 1000}}}
	}
	film := &catalog.Model{Kind: catalog.KindVideo, Sizes: []string{"small", "large"}, Seconds: []int64{4, 8, 12}}
	film.Prices, film.RateCard = seconds(10 * app.Cent)
	large, card := seconds(70 * app.Cent)
	film.SizePrices, film.SizeRateCards = map[string]catalog.Rates{"large": large}, map[string]billing.RateCard{"large": card}
	for query, want := range map[string]app.Amount{
		"": 80 * app.Cent, "seconds=4": 40 * app.Cent, "seconds=4&size=large": 280 * app.Cent, "seconds=4&size=huge": 40 * app.Cent,
	} {
		q, _ := url.ParseQuery(query)
		if c := calculation(film, q); c.Total != want || c.Error != "" || len(c.Lines) != 1 {
			t.Errorf("%q gives %+v", query, c)
		}
	}
	m := pricedModel(1_000_000, app.Dollar, app.Cent, 2*app.Dollar)
	for _, wrong := range []string{"input_tokens=-1", "input_tokens=1.5", "output_tokens=2000000000", "requests=x", "cache_read_tokens=1e3"} {
		q, _ := url.ParseQuery(wrong)
		if c := calculation(m, q); c.Error == "" || c.Total != 0 {
			t.Errorf("%q is taken: %+v", wrong, c)
		}
	}
	q, _ := url.ParseQuery("input_tokens=1%2C000%2C000&output_tokens=&cache_read_tokens=0&requests=1")
	if c := calculation(m, q); c.Total != app.Dollar || c.Error != "" {
		t.Errorf("%+v", c)
	}
	if calculation(&catalog.Model{}, nil) != nil {
		t.Error("a model without prices is priced")
	}
}
