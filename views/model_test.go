package views

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
)

// tokenPriced is a model that is priced by tokens.
func tokenPriced(in, out int64) Model {
	return Model{
		ID: "m", Name: "m", State: ModelAvailable,
		Prices: []Price{{Meter: "input_tokens", Amount: app.Amount(in), Per: 1_000_000}, {Meter: "output_tokens", Amount: app.Amount(out), Per: 1_000_000}},
	}
}

func TestPricesAreToldInTheUnitOfTheirModality(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		price      Price
		text, unit string
	}{
		{Price{Meter: "input_tokens", Amount: 15 * app.Cent, Per: 1_000_000}, "$0.15", "1M tokens"},
		{Price{Meter: "output_tokens", Amount: 600_000, Per: 1_000}, "$0.60", "1M tokens"},
		{Price{Meter: "images", Amount: 4 * app.Cent, Per: 1}, "$0.04", "image"},
		{Price{Meter: "seconds", Amount: 10 * app.Cent, Per: 1}, "$0.10", "second"},
		{Price{Meter: "characters", Amount: 15 * app.Dollar, Per: 1_000_000}, "$15.00", "1M characters"},
		{Price{Meter: "images", Amount: 4 * app.Dollar, Per: 1_000}, "$0.004", "image"},
		{Price{Meter: "images", Amount: 1, Per: 1_000}, "$0.000000001", "1,000 images"}, // An amount cannot hold the price of one.
		{Price{Meter: "web_searches", Amount: app.Cent, Per: 1}, "$10.00", "1,000 web searches"},
		{Price{Meter: "input_tokens", Amount: 20_000_000 * app.Dollar, Per: 1}, "$20,000,000.00", "token"},
		{Price{Meter: "requests", Amount: 1, Per: 1}, "$0.000000001", "request"},
	} {
		if c.price.Text() != c.text || c.price.Unit() != c.unit {
			t.Errorf("%+v is %s per %s", c.price, c.price.Text(), c.price.Unit())
		}
	}
	m := Model{
		Prices:      []Price{{Meter: "seconds", Amount: 30 * app.Cent, Per: 1}},
		OtherPrices: OtherPrices{SizePrices: []SizePrice{{Size: "big", Price: Price{Meter: "seconds", Amount: 70 * app.Cent, Per: 1}}}},
	}
	if m.PriceLine() != "$0.30 – $0.70 per second" {
		t.Error(m.PriceLine())
	}
	if got := tokenPriced(150_000_000, 600_000_000).PriceLine(); got != "$0.15 in · $0.60 out per 1M tokens" {
		t.Error(got)
	}
}

func TestAModelSaysHowLongItStays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	before, after := now.AddDate(0, -1, 0), now.AddDate(0, 6, 0)
	for _, c := range []struct {
		change             func(*Model)
		badge, title, text string
	}{
		{func(*Model) {}, "Available", "Good to know", ""},
		{func(m *Model) { m.Notice = "Busy at noon." }, "Available", "Good to know", "Busy at noon."},
		{func(m *Model) { m.Deprecated = &after }, "Available", "Deprecated from 21 May 2027", "goes on working"},
		{func(m *Model) { m.Deprecated = &before }, "Deprecated", "Deprecated", "goes on working"},
		{func(m *Model) { m.Deprecated, m.Shutdown = &before, &after }, "Deprecated", "Shuts down on 21 May 2027", "before then"},
		{func(m *Model) { m.State, m.Shutdown = ModelEnded, &before }, "Shut down", "Shut down", "another model"},
		{func(m *Model) { m.State = ModelPaused }, "Paused", "Paused", "no new calls"},
		{func(m *Model) { m.State, m.Notice = ModelPaused, "Back at ten." }, "Paused", "Paused", "Back at ten."},
		{func(m *Model) { m.State = ModelComing }, "Coming soon", "Coming soon", "cannot be called yet"},
		{func(m *Model) { m.State = ModelUnserved }, "No provider", "No provider", "None of its providers"},
	} {
		m := tokenPriced(1, 1)
		c.change(&m)
		title, text, _ := m.Lifecycle(now)
		if m.Badge(now).Text != c.badge || title != c.title || !strings.Contains(text, c.text) || (text == "") != (c.text == "") {
			t.Errorf("%s: %q, %q, want %s: %q, %q", m.Badge(now).Text, title, text, c.badge, c.title, c.text)
		}
	}
}

// TestPricesOfAThousandAreExact multiplies what is shown by a thousand and compares.
func TestPricesOfAThousandAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Price{
			Meter:  rapid.SampledFrom([]string{"input_tokens", "output_tokens", "characters"}).Draw(t, "meter"),
			Amount: app.Amount(rapid.Int64Range(0, 1_000_000_000_000).Draw(t, "amount")),
			Per:    rapid.SampledFrom([]int64{1, 1_000, 1_000_000}).Draw(t, "per"),
		}
		text, unit := p.in(UnitThousand)
		if !strings.HasPrefix(unit, "1K ") {
			t.Fatalf("per %s", unit)
		}
		shown, ok := new(big.Rat).SetString(strings.NewReplacer("$", "", ",", "").Replace(text))
		want := big.NewRat(int64(p.Amount), p.Per*1_000_000)
		if !ok || shown.Cmp(want) != 0 {
			t.Fatalf("%d per %d is shown as %s per %s", p.Amount, p.Per, text, unit)
		}
	})
	for _, c := range []struct {
		p          Price
		text, unit string
	}{
		{Price{Meter: "input_tokens", Amount: 15 * app.Cent, Per: 1_000_000}, "$0.00015", "1K tokens"},
		{Price{Meter: "output_tokens", Amount: 1, Per: 1_000_000}, "$0.000000000001", "1K tokens"},
		{Price{Meter: "output_tokens", Amount: 1_234_567 * app.Dollar, Per: 1_000_000}, "$1,234.567", "1K tokens"},
		{Price{Meter: "images", Amount: 4 * app.Cent, Per: 1}, "$0.04", "image"},
	} {
		if text, unit := c.p.in(UnitThousand); text != c.text || unit != c.unit {
			t.Errorf("%+v is %s per %s", c.p, text, unit)
		}
	}
}
