package usagereader_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/usagereader"
	"umg/billing"
)

// answer is a row of the price data.
type answer struct {
	ID       int
	Provider string
	Style    llm.Style
	Model    string
	Usage    json.RawMessage
	Price    *struct {
		Input, Output, Total json.Number
		WorkedOut            bool `json:"worked_out"`
	}
	Corrected *struct {
		Total json.Number
		Why   string
	}
	Disputed string
	Card     *struct{ Prices map[string]json.RawMessage }
}

// readerNames has the readers of providers that the data name otherwise.
var readerNames = map[string]string{
	"google": "gemini", "aws": "bedrock", "huggingface_nebius": "huggingface", "huggingface_together": "huggingface", "heroku": "compatible",
}

func (a *answer) reader(t *testing.T) llm.UsageReader {
	t.Helper()
	name := a.Provider
	if other, ok := readerNames[name]; ok {
		name = other
	}
	r, ok := usagereader.Of(name, a.Style)
	if !ok {
		t.Fatalf("row %d: there is no reader of %s in the style %s", a.ID, name, a.Style)
	}
	return r
}

// expected returns the undisputed price of a row in dollars, or nil.
func (a *answer) expected(t *testing.T) *big.Rat {
	t.Helper()
	switch {
	case a.Disputed != "" || a.Price == nil:
		return nil
	case a.Corrected != nil:
		return rational(t, a.Corrected.Total)
	case a.Price.Total != "":
		return rational(t, a.Price.Total)
	}
	return new(big.Rat).Add(rational(t, a.Price.Input), rational(t, a.Price.Output))
}

func rational(t *testing.T, n json.Number) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		t.Fatalf("%q is not a number", n)
	}
	return r
}

// priceMeters has the meter of each price of the data.
var priceMeters = map[string]meter.Meter{
	"input_mtok": meter.InputTokens, "output_mtok": meter.OutputTokens, "cache_read_mtok": meter.CacheReadTokens,
	"cache_write_mtok": meter.CacheWriteTokens, "cache_write_1h_mtok": meter.CacheWriteHourTokens,
	"input_audio_mtok": meter.InputAudioTokens, "cache_audio_read_mtok": meter.CacheReadAudioTokens,
	"output_image_mtok": meter.OutputImageTokens, "web_searches_kcount": meter.WebSearches,
}

// rateCard is the price list of a row.
func (a *answer) rateCard(t *testing.T) *billing.RateCard {
	t.Helper()
	c := &billing.RateCard{ID: fmt.Sprint("row ", a.ID)}
	tiers := map[int64]int{}
	for _, name := range slices.Sorted(maps.Keys(a.Card.Prices)) {
		m, known := priceMeters[name]
		if !known {
			t.Fatalf("row %d: the test has no meter for %s", a.ID, name)
		}
		per := int64(1_000_000)
		if strings.HasSuffix(name, "_kcount") {
			per = 1_000
		}
		rate := func(price json.Number) billing.Rate {
			nanos := new(big.Rat).Mul(rational(t, price), big.NewRat(int64(app.Dollar), 1))
			if !nanos.IsInt() {
				t.Fatalf("row %d: %s is %s, which is no whole number of nano-dollars", a.ID, name, price)
			}
			return billing.Rate{Meter: m, Amount: app.Amount(nanos.Num().Int64()), Per: per}
		}
		var tiered struct {
			Base  json.Number
			Tiers []struct {
				Start int64
				Price json.Number
			}
		}
		raw := a.Card.Prices[name]
		if raw[0] != '{' {
			c.Rates = append(c.Rates, rate(json.Number(raw)))
			continue
		}
		if err := json.Unmarshal(raw, &tiered); err != nil {
			t.Fatal(err)
		}
		c.Rates = append(c.Rates, rate(tiered.Base))
		for _, tier := range tiered.Tiers {
			if _, ok := tiers[tier.Start]; !ok {
				tiers[tier.Start] = len(c.Conditions)
				c.Conditions = append(c.Conditions, billing.Condition{PromptOver: tier.Start})
			}
			d := &c.Conditions[tiers[tier.Start]]
			d.Rates = append(d.Rates, rate(tier.Price))
		}
	}
	if len(c.Rates) == 0 {
		// The model is free.
		c.Rates = []billing.Rate{{Meter: meter.InputTokens, Per: 1}}
	}
	slices.SortFunc(c.Conditions, func(x, y billing.Condition) int { return int(x.PromptOver - y.PromptOver) })
	if err := c.Check(); err != nil {
		t.Fatalf("row %d: %v", a.ID, err)
	}
	return c
}

// unpricedFees lists the fees of a usage for which a card has no price. The gateway refuses requests that can cause them.
func unpricedFees(c *billing.RateCard, counts meter.Counts) (fees []string) {
	free := []meter.Meter{meter.Requests, meter.WebFetches}
	for m := range meter.Count {
		if counts[m] > 0 && m.Info().Side == meter.SideFee && !slices.Contains(free, m) && !c.Prices(m) {
			fees = append(fees, m.String())
		}
	}
	return fees
}

func answers(t *testing.T) []answer {
	t.Helper()
	text, err := os.ReadFile("testdata/prices/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []answer
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 789 {
		t.Fatalf("the data have %d rows, not 789", len(all))
	}
	return all
}

// changedLists has the rows whose model has other prices now than when the provider stated its cost.
var changedLists = []int{190, 1366}

// tally counts what became of the rows of some styles.
type tally struct {
	priced, exact, stated, unpriced, disputed int
	// withCost counts the rows whose provider states its cost, and agreed those where the price list says the same.
	withCost, agreed int
	refused          []string
}

func TestPriceListsOfProviders(t *testing.T) {
	t.Parallel()
	served := []llm.Style{llm.Chat, llm.Messages, llm.Responses, llm.Native}
	later := []llm.Style{llm.Converse, llm.Cohere, usagereader.Embeddings, usagereader.Compact}
	var sums [2]tally
	for _, a := range answers(t) {
		i := 0
		if slices.Contains(later, a.Style) {
			i = 1
		} else if !slices.Contains(served, a.Style) {
			t.Fatalf("row %d has the style %s", a.ID, a.Style)
		}
		a.check(t, &sums[i])
	}
	first, second := &sums[0], &sums[1]
	t.Logf("of %d rows with an undisputed price in the styles chat, messages, responses and native, %d charged exactly "+
		"(%d of them by the cost that the provider states), 0 estimated, %d refused before sending (%s)",
		first.priced, first.exact, first.stated, len(first.refused), strings.Join(first.refused, "; "))
	t.Logf("of %d rows with a price in the styles converse, cohere, embeddings and compact, %d charged exactly, %d refused; "+
		"read without a price: %d there, %d and %d disputed in the others",
		second.priced, second.exact, len(second.refused), second.unpriced, first.unpriced, first.disputed)
	t.Logf("of %d rows with a price and with a cost that the provider states, %d agree; the price lists of %d have changed since",
		first.withCost, first.agreed, len(changedLists))
	if first.withCost != first.agreed+len(changedLists) {
		t.Errorf("%d of %d rows agree with the cost of the provider", first.agreed, first.withCost)
	}
	if want := 634; first.priced != want || first.exact+len(first.refused) != want || len(first.refused) > 2 {
		t.Errorf("%d rows have a price, of which %d are exact and %d refused", first.priced, first.exact, len(first.refused))
	}
	if second.exact != second.priced || second.priced != 112 {
		t.Errorf("%d of %d rows of the other styles are exact", second.exact, second.priced)
	}
}

// check reads and prices a row.
func (a *answer) check(t *testing.T, sum *tally) {
	t.Helper()
	report := usagereader.NewReport()
	a.reader(t).ReadUsage(&report, a.Usage)
	usage, known := report.Usage()
	if !known || usage.Doubts != 0 {
		t.Errorf("row %d (%s, %s): the usage is %+v, doubts %d", a.ID, a.Provider, a.Style, usage, usage.Doubts)
		return
	}
	want := a.expected(t)
	switch {
	case want == nil && a.Disputed != "":
		sum.disputed++
		return
	case want == nil:
		sum.unpriced++
		return
	}
	sum.priced++
	card, counts := a.rateCard(t), usage.Counts()
	if usage.Unread {
		sum.refused = append(sum.refused, fmt.Sprintf("row %d: an advisor of another model, which no card of the model prices", a.ID))
		if a.Corrected == nil || !strings.Contains(a.Corrected.Why, "advisor") {
			t.Errorf("row %d (%s, %s): a count was not read: %s", a.ID, a.Provider, a.Style, a.Usage)
		}
		return
	}
	cost, err := card.Cost(counts, meter.Terms{At: time.Date(2025, 11, 6, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	if fees := unpricedFees(card, counts); fees != nil {
		if usage.ProviderCost == nil {
			t.Errorf("row %d: the card has no price for %v, and the provider states no cost", a.ID, fees)
			return
		}
		cost = *usage.ProviderCost
		sum.stated++
	}
	if usage.ProviderCost != nil {
		if sum.withCost++; *usage.ProviderCost == cost {
			sum.agreed++
		} else if !slices.Contains(changedLists, a.ID) {
			t.Errorf("row %d: the price is $%s, and the provider states $%s", a.ID, cost, *usage.ProviderCost)
		}
	}
	if !isRoundedUp(cost, want) {
		t.Errorf("row %d (%s, %s, %s): $%s, not $%s; counts %v; usage %s",
			a.ID, a.Provider, a.Style, a.Model, cost, want.FloatString(12), counts, a.Usage)
		return
	}
	sum.exact++
}

// isRoundedUp reports whether a cost is a price in dollars, rounded up to a nano-dollar.
func isRoundedUp(cost app.Amount, price *big.Rat) bool {
	exact := new(big.Rat).Mul(price, big.NewRat(int64(app.Dollar), 1))
	over := new(big.Rat).Sub(big.NewRat(int64(cost), 1), exact)
	return over.Sign() >= 0 && over.Cmp(big.NewRat(1, 1)) < 0
}
