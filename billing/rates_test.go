package billing_test

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

const quantityMax = 1 << 31

// sharedPrices maps the meters that have the price of another one when a card has none for them.
var sharedPrices = map[meter.Meter]meter.Meter{
	meter.CacheReadTokens: meter.InputTokens, meter.CacheWriteTokens: meter.InputTokens, meter.ReasoningTokens: meter.OutputTokens,
	meter.CacheWriteHourTokens: meter.CacheWriteTokens, meter.CacheWriteLongTokens: meter.CacheWriteTokens,
	meter.InputAudioTokens: meter.InputTokens, meter.CacheReadAudioTokens: meter.InputAudioTokens,
	meter.OutputAudioTokens: meter.OutputTokens, meter.InputImageTokens: meter.InputTokens,
	meter.OutputImageTokens: meter.OutputTokens, meter.InputVideoTokens: meter.InputTokens,
	meter.CitationTokens: meter.InputTokens, meter.CacheReadImageTokens: meter.CacheReadTokens,
}

// oracle prices a usage with arbitrary precision and shares no code with the rate card.
func oracle(card billing.RateCard, u meter.Counts) *big.Int {
	rateOf := func(m meter.Meter) *billing.Rate {
		i := slices.IndexFunc(card.Rates, func(r billing.Rate) bool { return r.Meter == m })
		if i < 0 {
			return nil
		}
		return &card.Rates[i]
	}
	sum := new(big.Rat)
	for m := range meter.Count {
		rate := rateOf(m)
		for from := m; rate == nil; {
			to, shared := sharedPrices[from]
			if !shared {
				break
			}
			rate, from = rateOf(to), to
		}
		if rate == nil {
			continue
		}
		line := big.NewRat(int64(rate.Amount), rate.Per)
		sum.Add(sum, line.Mul(line, new(big.Rat).SetInt64(u[m])))
	}
	nanos, rest := new(big.Int).QuoRem(sum.Num(), sum.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		nanos.Add(nanos, big.NewInt(1))
	}
	return nanos
}

func anyCard(t *rapid.T) billing.RateCard {
	card := billing.RateCard{ID: "rc_test"}
	for m := range meter.Count {
		if !rapid.Bool().Draw(t, "priced "+m.String()) {
			continue
		}
		amount := rapid.OneOf(
			rapid.Int64Range(0, 1_000_000_000_000_000), rapid.Int64Range(0, 100), rapid.Just(int64(1_000_000_000_000_000)),
		).Draw(t, "amount")
		per := rapid.SampledFrom([]int64{1, 8, 1_000, 15_625, 1_000_000}).Draw(t, "per")
		card.Rates = append(card.Rates, billing.Rate{Meter: m, Amount: app.Amount(amount), Per: per})
	}
	return card
}

func anyUsage(t *rapid.T) meter.Counts {
	var u meter.Counts
	for m := range u {
		u[m] = rapid.OneOf(rapid.Int64Range(0, quantityMax), rapid.Int64Range(0, 3), rapid.Just(int64(quantityMax))).Draw(t, "quantity")
	}
	return u
}

func TestCostEqualsArbitraryPrecision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card, u := anyCard(t), anyUsage(t)
		compareCost(t, card, u)
	})
}

func compareCost(t interface {
	Fatalf(format string, args ...any)
}, card billing.RateCard, u meter.Counts) {
	want := oracle(card, u)
	got, err := card.Cost(u, meter.Terms{})
	switch {
	case !want.IsInt64() && err == nil:
		t.Fatalf("cost %s does not fit an amount, but came out as %d", want, got)
	case want.IsInt64() && err != nil:
		t.Fatalf("cost %s fits an amount, but: %v", want, err)
	case want.IsInt64() && int64(got) != want.Int64():
		t.Fatalf("cost = %d, want %s", got, want)
	}
}

func FuzzCostEqualsArbitraryPrecision(f *testing.F) {
	f.Add(int64(150_000_000), int64(600_000_000), int64(1), int64(12), int64(34), int64(5), uint8(0))
	f.Add(int64(1e15), int64(1e15), int64(1e15), int64(1<<31), int64(1<<31), int64(1<<31), uint8(7))
	f.Add(int64(37_500_000), int64(0), int64(0), int64(1), int64(0), int64(0), uint8(1))
	f.Fuzz(func(t *testing.T, p1, p2, p3, q1, q2, q3 int64, shape uint8) {
		card := billing.RateCard{ID: "rc_fuzz", Rates: []billing.Rate{
			{Meter: meter.InputTokens, Amount: app.Amount(p1), Per: 1_000_000},
			{Meter: meter.OutputTokens, Amount: app.Amount(p2), Per: []int64{1, 1_000, 1_000_000, 8}[shape%4]},
			{Meter: meter.Seconds, Amount: app.Amount(p3), Per: 1_000},
		}}
		u := meter.Counts{meter.InputTokens: q1, meter.CacheReadTokens: q2, meter.OutputTokens: q2,
			meter.ReasoningTokens: q3, meter.Seconds: q3}
		valid := true
		for _, p := range []int64{p1, p2, p3} {
			valid = valid && p >= 0 && p <= 1e15
		}
		for _, q := range []int64{q1, q2, q3} {
			valid = valid && q >= 0 && q <= quantityMax
		}
		if !valid {
			if got, err := card.Cost(u, meter.Terms{}); got < 0 {
				t.Fatalf("bad input gave a negative cost %d, %v", got, err)
			}
			return
		}
		compareCost(t, card, u)
	})
}

func TestAffordableIsTheExactTurningPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card, fixed := anyCard(t), anyUsage(t)
		m := meter.Meter(rapid.IntRange(0, int(meter.Count)-1).Draw(t, "meter"))
		budget := app.Amount(rapid.OneOf(
			rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(0, 1_000_000),
		).Draw(t, "budget"))
		if rapid.Bool().Draw(t, "budget near the cost") {
			if cost := oracle(card, fixed); cost.IsInt64() && cost.Int64() < math.MaxInt64-10 {
				budget = app.Amount(max(0, cost.Int64()+rapid.Int64Range(-3, 3).Draw(t, "off by")))
			}
		}
		limit := big.NewInt(int64(budget))
		got := card.Affordable(budget, fixed, m)
		if got == 0 && oracle(card, fixed).Cmp(limit) > 0 {
			return
		}
		with := func(n int64) meter.Counts {
			u := fixed
			u[m] += n
			return u
		}
		if got < 0 || fixed[m]+got > quantityMax || oracle(card, with(got)).Cmp(limit) > 0 {
			t.Fatalf("%d more %s is not affordable with %s", got, m, budget)
		}
		if fixed[m]+got < quantityMax && oracle(card, with(got+1)).Cmp(limit) <= 0 {
			t.Fatalf("%d more %s would be affordable too", got+1, m)
		}
	})
}

func TestCostExamples(t *testing.T) {
	t.Parallel()
	small := billing.RateCard{ID: "small", Rates: []billing.Rate{
		{Meter: meter.InputTokens, Amount: 150_000_000, Per: 1_000_000},
		{Meter: meter.CacheReadTokens, Amount: 37_500_000, Per: 1_000_000},
		{Meter: meter.OutputTokens, Amount: 600_000_000, Per: 1_000_000},
	}}
	video := billing.RateCard{ID: "video", Rates: []billing.Rate{
		{Meter: meter.Seconds, Amount: 10 * app.Cent, Per: 1_000},
		{Meter: meter.Images, Amount: 4 * app.Cent, Per: 1},
	}}
	for name, c := range map[string]struct {
		card billing.RateCard
		u    meter.Counts
		want app.Amount
	}{
		"nothing":                   {small, meter.Counts{}, 0},
		"input and output":          {small, meter.Counts{meter.InputTokens: 10, meter.OutputTokens: 5}, 4_500},
		"half a nano-dollar is one": {small, meter.Counts{meter.CacheReadTokens: 1}, 38},
		"one rounding for all":      {small, meter.Counts{meter.CacheReadTokens: 2}, 75},
		"cache writes as input":     {small, meter.Counts{meter.CacheWriteTokens: 2}, 300},
		"reasoning as output":       {small, meter.Counts{meter.ReasoningTokens: 2}, 1_200},
		"unpriced meters are free":  {small, meter.Counts{meter.Images: 9, meter.Characters: 9}, 0},
		"seconds in milliseconds":   {video, meter.Counts{meter.Seconds: 8_500}, 85 * app.Cent},
		"images each":               {video, meter.Counts{meter.Images: 3}, 12 * app.Cent},
	} {
		got, err := c.card.Cost(c.u, meter.Terms{})
		if err != nil || got != c.want {
			t.Errorf("%s: cost = %d, %v; want %d", name, got, err, c.want)
		}
	}
}

func TestCostRefusesWhatCannotBePriced(t *testing.T) {
	t.Parallel()
	rate := func(amount app.Amount, per int64) billing.RateCard {
		return billing.RateCard{ID: "x", Rates: []billing.Rate{{Meter: meter.InputTokens, Amount: amount, Per: per}}}
	}
	one := meter.Counts{meter.InputTokens: 1}
	for name, c := range map[string]struct {
		card billing.RateCard
		u    meter.Counts
	}{
		"negative quantity":       {rate(1, 1), meter.Counts{meter.InputTokens: -1}},
		"negative unpriced meter": {rate(1, 1), meter.Counts{meter.Images: -1}},
		"quantity beyond 2^31":    {rate(1, 1), meter.Counts{meter.InputTokens: quantityMax + 1}},
		"most negative quantity":  {rate(1, 1), meter.Counts{meter.InputTokens: math.MinInt64}},
		"negative price":          {rate(-1, 1), one},
		"price beyond the cap":    {rate(1e15+1, 1), one},
		"per nothing":             {rate(1, 0), one},
		"per a negative number":   {rate(1, -1_000), one},
		"per three":               {rate(1, 3), one},
		"per two million":         {rate(1, 2_000_000), one},
		"more than an amount":     {rate(1e15, 1), meter.Counts{meter.InputTokens: quantityMax}},
	} {
		if got, err := c.card.Cost(c.u, meter.Terms{}); err == nil {
			t.Errorf("%s: cost = %d, want an error", name, got)
		}
		if got := c.card.Affordable(app.Dollar, meter.Counts{}, meter.InputTokens); got != 0 && c.card.Check() != nil {
			t.Errorf("%s: affords %d at a rate that is none", name, got)
		}
		if got := c.card.Affordable(-1, c.u, meter.InputTokens); got != 0 {
			t.Errorf("%s: a negative budget affords %d", name, got)
		}
	}
}

func TestRateCardCheck(t *testing.T) {
	t.Parallel()
	good := billing.Rate{Meter: meter.InputTokens, Amount: 1, Per: 1_000_000}
	for name, c := range map[string]struct {
		rates []billing.Rate
		want  string
	}{
		"good":          {[]billing.Rate{good}, ""},
		"empty":         {nil, "at least one"},
		"twice":         {[]billing.Rate{good, good}, "two rates"},
		"unknown meter": {[]billing.Rate{{Meter: meter.Count, Per: 1}}, "not a meter"},
		"per three":     {[]billing.Rate{{Per: 3}}, "divisor"},
		"too dear":      {[]billing.Rate{{Amount: 1e15 + 1, Per: 1}}, "between"},
	} {
		card := billing.RateCard{ID: "x", Rates: c.rates}
		err := card.Check()
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestMetersHaveNames(t *testing.T) {
	t.Parallel()
	for m := range meter.Count {
		got, err := meter.Parse(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMeter(%q) = %v, %v", m.String(), got, err)
		}
	}
	for _, name := range []string{"", "tokens", "INPUT_TOKENS", meter.Count.String()} {
		if m, err := meter.Parse(name); err == nil {
			t.Errorf("ParseMeter(%q) = %v, want an error", name, m)
		}
	}
}

func BenchmarkCost(b *testing.B) {
	card := billing.RateCard{ID: "b", Rates: []billing.Rate{
		{Meter: meter.InputTokens, Amount: 150_000_000, Per: 1_000_000},
		{Meter: meter.CacheReadTokens, Amount: 37_500_000, Per: 1_000_000},
		{Meter: meter.OutputTokens, Amount: 600_000_000, Per: 1_000_000},
	}}
	u := meter.Counts{meter.InputTokens: 1_234, meter.CacheReadTokens: 512, meter.OutputTokens: 700, meter.ReasoningTokens: 90}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := card.Cost(u, meter.Terms{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestACardExceedsAnotherInAnyMeter(t *testing.T) {
	t.Parallel()
	card := func(rates ...billing.Rate) billing.RateCard { return billing.RateCard{Rates: rates} }
	in := func(m meter.Meter, a app.Amount, per int64) billing.Rate {
		return billing.Rate{Meter: m, Amount: a, Per: per}
	}
	base := card(in(meter.InputTokens, 3000, 1000), in(meter.OutputTokens, 15_000_000, 1_000_000))
	for name, c := range map[string]struct {
		card billing.RateCard
		want bool
	}{
		"the same":                       {base, false},
		"the same, by the token":         {card(in(meter.InputTokens, 3, 1), in(meter.OutputTokens, 15, 1)), false},
		"dearer input":                   {card(in(meter.InputTokens, 4, 1), in(meter.OutputTokens, 15, 1)), true},
		"cheaper":                        {card(in(meter.InputTokens, 2, 1), in(meter.OutputTokens, 14, 1)), false},
		"dearer thoughts":                {card(in(meter.InputTokens, 2, 1), in(meter.OutputTokens, 14, 1), in(meter.ReasoningTokens, 16, 1)), true},
		"a price of each call":           {card(in(meter.InputTokens, 2, 1), in(meter.OutputTokens, 14, 1), in(meter.Requests, 1, 1)), true},
		"a call that is free":            {card(in(meter.InputTokens, 2, 1), in(meter.OutputTokens, 14, 1), in(meter.Requests, 0, 1)), false},
		"a large price":                  {card(in(meter.InputTokens, 1_000_000_000_000_000, 1), in(meter.OutputTokens, 1, 1)), true},
		"a meter that was not requested": {card(in(meter.InputTokens, 2, 1), in(meter.OutputTokens, 14, 1), in(meter.Images, 9, 1)), false},
	} {
		if got := c.card.Exceeds(&base, meter.InputTokens, meter.OutputTokens, meter.ReasoningTokens, meter.Requests); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
