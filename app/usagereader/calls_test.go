package usagereader_test

import (
	"encoding/json"
	"math/big"
	"os"
	"strconv"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/usagereader"
	"umg/billing"
)

// call is a row of the test data that were written by hand.
type call struct {
	Name, File, Reader string
	Style              llm.Style
	Usage              yaml.Node
	Answers            []yaml.Node
	Rates              map[string]string
	Conditions         []struct {
		PromptOver  int64  `yaml:"prompt_over"`
		ServiceTier string `yaml:"service_tier"`
		Region      string
		Speed       string
		Size        string
		Times       int64
		Rates       map[string]string
	}
	Counts map[string]int64
	Terms  string
	Unread bool
	Cost   json.Number
	Stated json.Number
	Within json.Number
}

func calls(t *testing.T, file string) []call {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []call
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// jsonOf writes YAML as JSON with the digits of its numbers.
func jsonOf(n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		out := []byte{'{'}
		for i := 0; i < len(n.Content); i += 2 {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(strconv.AppendQuote(out, n.Content[i].Value), ':')
			out = append(out, jsonOf(n.Content[i+1])...)
		}
		return append(out, '}')
	case yaml.SequenceNode:
		out := []byte{'['}
		for i, one := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, jsonOf(one)...)
		}
		return append(out, ']')
	}
	if n.Tag == "!!str" {
		return strconv.AppendQuote(nil, n.Value)
	}
	return []byte(n.Value)
}

// read reads the answers and the usage objects of a call.
func (c *call) read(t *testing.T) llm.Usage {
	t.Helper()
	reader, ok := usagereader.Of(c.Reader, c.Style)
	if !ok {
		t.Fatalf("there is no reader of %s in the style %s", c.Reader, c.Style)
	}
	report := usagereader.NewReport()
	for i := range c.Answers {
		reader.ReadAnswer(&report, jsonOf(&c.Answers[i]))
	}
	objects := c.Usage.Content
	if c.Usage.Kind == yaml.MappingNode {
		objects = []*yaml.Node{&c.Usage}
	}
	for _, object := range objects {
		reader.ReadUsage(&report, jsonOf(object))
	}
	usage, known := report.Usage()
	if !known || usage.Doubts != 0 {
		t.Fatalf("the usage is %+v, doubts %d", usage, usage.Doubts)
	}
	return usage
}

// ratesOf reads prices in dollars per million tokens, per second, or each.
func ratesOf(t *testing.T, prices map[string]string) (rates []billing.Rate) {
	t.Helper()
	for name, price := range prices {
		m, err := meter.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		per := m.Info().Unit.Scale()
		if m.Info().Unit == meter.UnitToken {
			per = 1_000_000
		}
		rates = append(rates, billing.Rate{Meter: m, Amount: nanos(t, json.Number(price)), Per: per})
	}
	return rates
}

// nanos is a number of dollars without parts of a nano-dollar.
func nanos(t *testing.T, dollars json.Number) app.Amount {
	t.Helper()
	n := new(big.Rat).Mul(rational(t, dollars), big.NewRat(int64(app.Dollar), 1))
	if !n.IsInt() {
		t.Fatalf("$%s is no whole number of nano-dollars", dollars)
	}
	return app.Amount(n.Num().Int64())
}

func (c *call) card(t *testing.T) *billing.RateCard {
	t.Helper()
	card := &billing.RateCard{ID: "test", Rates: ratesOf(t, c.Rates)}
	for _, d := range c.Conditions {
		card.Conditions = append(card.Conditions, billing.Condition{
			PromptOver: d.PromptOver, ServiceTier: d.ServiceTier, Region: d.Region, Speed: d.Speed, Size: d.Size, Times: d.Times,
			Rates: ratesOf(t, d.Rates),
		})
	}
	if err := card.Check(); err != nil {
		t.Fatal(err)
	}
	return card
}

func TestCallsWorkedOutByHand(t *testing.T) {
	t.Parallel()
	for _, c := range calls(t, "testdata/calls.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			usage := c.read(t)
			counts := usage.Counts()
			want := meter.Counts{meter.Requests: 1}
			for name, n := range c.Counts {
				m, err := meter.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				want[m] = n
			}
			for m := range meter.Count {
				if counts[m] != want[m] {
					t.Errorf("%s is %d, not %d", m, counts[m], want[m])
				}
			}
			if usage.Terms.String() != c.Terms || usage.Unread != c.Unread {
				t.Errorf("the terms are %q and unread is %t", usage.Terms, usage.Unread)
			}
			if c.Stated != "" && (usage.ProviderCost == nil || *usage.ProviderCost != nanos(t, c.Stated)) {
				t.Errorf("the provider states %v, not %s", usage.ProviderCost, c.Stated)
			}
			if c.Cost == "" {
				return
			}
			cost, err := c.card(t).Cost(counts, usage.Terms)
			if err != nil || !isRoundedUp(cost, rational(t, c.Cost)) {
				t.Errorf("the cost is $%s, not $%s (%v)", cost, c.Cost, err)
			}
		})
	}
}

// TestCostsThatProvidersState compares the price of each recorded answer with what the provider says it took.
func TestCostsThatProvidersState(t *testing.T) {
	t.Parallel()
	rows := calls(t, "testdata/costs.yaml")
	exact := 0
	for _, c := range rows {
		usage := c.read(t)
		cost, err := c.card(t).Cost(usage.Counts(), meter.Terms{At: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)})
		stated := nanos(t, c.Stated)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.File, err)
		case usage.Unread || usage.ProviderCost == nil || *usage.ProviderCost != stated:
			t.Errorf("%s: the provider states %v, not %s; unread is %t", c.File, usage.ProviderCost, c.Stated, usage.Unread)
		case cost == stated:
			exact++
		case c.Within == "" || max(cost-stated, stated-cost) > nanos(t, c.Within):
			t.Errorf("%s costs $%s, and the provider states $%s", c.File, cost, c.Stated)
		}
	}
	t.Logf("%d of %d answers with a cost of the provider agree to the nano-dollar, and %d within its rounding", exact, len(rows), len(rows)-exact)
}
