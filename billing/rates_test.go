package billing_test

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/billing"
)

const quantityMax = 1 << 31

// oracle prices a usage with arbitrary precision and shares no code with the rate card.
func oracle(card billing.RateCard, u billing.Usage) *big.Int {
	rateOf := func(m billing.Meter) *billing.Rate {
		i := slices.IndexFunc(card.Rates, func(r billing.Rate) bool { return r.Meter == m })
		if i < 0 {
			return nil
		}
		return &card.Rates[i]
	}
	sum := new(big.Rat)
	for m := range billing.MeterCount {
		rate := rateOf(m)
		if rate == nil {
			switch m {
			case billing.CacheReadTokens, billing.CacheWriteTokens:
				rate = rateOf(billing.InputTokens)
			case billing.ReasoningTokens:
				rate = rateOf(billing.OutputTokens)
			}
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
	for m := range billing.MeterCount {
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

func anyUsage(t *rapid.T) billing.Usage {
	var u billing.Usage
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
}, card billing.RateCard, u billing.Usage) {
	want := oracle(card, u)
	got, err := card.Cost(u)
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
			{Meter: billing.InputTokens, Amount: app.Amount(p1), Per: 1_000_000},
			{Meter: billing.OutputTokens, Amount: app.Amount(p2), Per: []int64{1, 1_000, 1_000_000, 8}[shape%4]},
			{Meter: billing.Seconds, Amount: app.Amount(p3), Per: 1_000},
		}}
		u := billing.Usage{billing.InputTokens: q1, billing.CacheReadTokens: q2, billing.OutputTokens: q2,
			billing.ReasoningTokens: q3, billing.Seconds: q3}
		valid := true
		for _, p := range []int64{p1, p2, p3} {
			valid = valid && p >= 0 && p <= 1e15
		}
		for _, q := range []int64{q1, q2, q3} {
			valid = valid && q >= 0 && q <= quantityMax
		}
		if !valid {
			if got, err := card.Cost(u); got < 0 {
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
		m := billing.Meter(rapid.IntRange(0, int(billing.MeterCount)-1).Draw(t, "meter"))
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
		with := func(n int64) billing.Usage {
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
		{Meter: billing.InputTokens, Amount: 150_000_000, Per: 1_000_000},
		{Meter: billing.CacheReadTokens, Amount: 37_500_000, Per: 1_000_000},
		{Meter: billing.OutputTokens, Amount: 600_000_000, Per: 1_000_000},
	}}
	video := billing.RateCard{ID: "video", Rates: []billing.Rate{
		{Meter: billing.Seconds, Amount: 10 * app.Cent, Per: 1_000},
		{Meter: billing.Images, Amount: 4 * app.Cent, Per: 1},
	}}
	for name, c := range map[string]struct {
		card billing.RateCard
		u    billing.Usage
		want app.Amount
	}{
		"nothing":                   {small, billing.Usage{}, 0},
		"input and output":          {small, billing.Usage{billing.InputTokens: 10, billing.OutputTokens: 5}, 4_500},
		"half a nano-dollar is one": {small, billing.Usage{billing.CacheReadTokens: 1}, 38},
		"one rounding for all":      {small, billing.Usage{billing.CacheReadTokens: 2}, 75},
		"cache writes as input":     {small, billing.Usage{billing.CacheWriteTokens: 2}, 300},
		"reasoning as output":       {small, billing.Usage{billing.ReasoningTokens: 2}, 1_200},
		"unpriced meters are free":  {small, billing.Usage{billing.Images: 9, billing.Characters: 9}, 0},
		"seconds in milliseconds":   {video, billing.Usage{billing.Seconds: 8_500}, 85 * app.Cent},
		"images each":               {video, billing.Usage{billing.Images: 3}, 12 * app.Cent},
	} {
		got, err := c.card.Cost(c.u)
		if err != nil || got != c.want {
			t.Errorf("%s: cost = %d, %v; want %d", name, got, err, c.want)
		}
	}
}

func TestCostRefusesWhatCannotBePriced(t *testing.T) {
	t.Parallel()
	rate := func(amount app.Amount, per int64) billing.RateCard {
		return billing.RateCard{ID: "x", Rates: []billing.Rate{{Meter: billing.InputTokens, Amount: amount, Per: per}}}
	}
	one := billing.Usage{billing.InputTokens: 1}
	for name, c := range map[string]struct {
		card billing.RateCard
		u    billing.Usage
	}{
		"negative quantity":       {rate(1, 1), billing.Usage{billing.InputTokens: -1}},
		"negative unpriced meter": {rate(1, 1), billing.Usage{billing.Images: -1}},
		"quantity beyond 2^31":    {rate(1, 1), billing.Usage{billing.InputTokens: quantityMax + 1}},
		"most negative quantity":  {rate(1, 1), billing.Usage{billing.InputTokens: math.MinInt64}},
		"negative price":          {rate(-1, 1), one},
		"price beyond the cap":    {rate(1e15+1, 1), one},
		"per nothing":             {rate(1, 0), one},
		"per a negative number":   {rate(1, -1_000), one},
		"per three":               {rate(1, 3), one},
		"per two million":         {rate(1, 2_000_000), one},
		"more than an amount":     {rate(1e15, 1), billing.Usage{billing.InputTokens: quantityMax}},
	} {
		if got, err := c.card.Cost(c.u); err == nil {
			t.Errorf("%s: cost = %d, want an error", name, got)
		}
		if got := c.card.Affordable(app.Dollar, billing.Usage{}, billing.InputTokens); got != 0 && c.card.Check() != nil {
			t.Errorf("%s: affords %d at a rate that is none", name, got)
		}
		if got := c.card.Affordable(-1, c.u, billing.InputTokens); got != 0 {
			t.Errorf("%s: a negative budget affords %d", name, got)
		}
	}
}

func TestRateCardCheck(t *testing.T) {
	t.Parallel()
	good := billing.Rate{Meter: billing.InputTokens, Amount: 1, Per: 1_000_000}
	for name, c := range map[string]struct {
		rates []billing.Rate
		want  string
	}{
		"good":          {[]billing.Rate{good}, ""},
		"empty":         {nil, "at least one"},
		"twice":         {[]billing.Rate{good, good}, "two rates"},
		"unknown meter": {[]billing.Rate{{Meter: billing.MeterCount, Per: 1}}, "not a meter"},
		"per three":     {[]billing.Rate{{Per: 3}}, "divisor"},
		"too dear":      {[]billing.Rate{{Amount: 1e15 + 1, Per: 1}}, "between"},
	} {
		err := billing.RateCard{ID: "x", Rates: c.rates}.Check()
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestMetersHaveNames(t *testing.T) {
	t.Parallel()
	for m := range billing.MeterCount {
		got, err := billing.ParseMeter(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMeter(%q) = %v, %v", m.String(), got, err)
		}
	}
	for _, name := range []string{"", "tokens", "INPUT_TOKENS", billing.MeterCount.String()} {
		if m, err := billing.ParseMeter(name); err == nil {
			t.Errorf("ParseMeter(%q) = %v, want an error", name, m)
		}
	}
}

func BenchmarkCost(b *testing.B) {
	card := billing.RateCard{ID: "b", Rates: []billing.Rate{
		{Meter: billing.InputTokens, Amount: 150_000_000, Per: 1_000_000},
		{Meter: billing.CacheReadTokens, Amount: 37_500_000, Per: 1_000_000},
		{Meter: billing.OutputTokens, Amount: 600_000_000, Per: 1_000_000},
	}}
	u := billing.Usage{billing.InputTokens: 1_234, billing.CacheReadTokens: 512, billing.OutputTokens: 700, billing.ReasoningTokens: 90}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := card.Cost(u); err != nil {
			b.Fatal(err)
		}
	}
}

func TestACardExceedsAnotherInAnyMeter(t *testing.T) {
	t.Parallel()
	card := func(rates ...billing.Rate) billing.RateCard { return billing.RateCard{Rates: rates} }
	in := func(m billing.Meter, a app.Amount, per int64) billing.Rate {
		return billing.Rate{Meter: m, Amount: a, Per: per}
	}
	base := card(in(billing.InputTokens, 3000, 1000), in(billing.OutputTokens, 15_000_000, 1_000_000))
	for name, c := range map[string]struct {
		card billing.RateCard
		want bool
	}{
		"the same":                       {base, false},
		"the same, by the token":         {card(in(billing.InputTokens, 3, 1), in(billing.OutputTokens, 15, 1)), false},
		"dearer input":                   {card(in(billing.InputTokens, 4, 1), in(billing.OutputTokens, 15, 1)), true},
		"cheaper":                        {card(in(billing.InputTokens, 2, 1), in(billing.OutputTokens, 14, 1)), false},
		"dearer thoughts":                {card(in(billing.InputTokens, 2, 1), in(billing.OutputTokens, 14, 1), in(billing.ReasoningTokens, 16, 1)), true},
		"a price of each call":           {card(in(billing.InputTokens, 2, 1), in(billing.OutputTokens, 14, 1), in(billing.Requests, 1, 1)), true},
		"a call that is free":            {card(in(billing.InputTokens, 2, 1), in(billing.OutputTokens, 14, 1), in(billing.Requests, 0, 1)), false},
		"a large price":                  {card(in(billing.InputTokens, 1_000_000_000_000_000, 1), in(billing.OutputTokens, 1, 1)), true},
		"a meter that was not requested": {card(in(billing.InputTokens, 2, 1), in(billing.OutputTokens, 14, 1), in(billing.Images, 9, 1)), false},
	} {
		if got := c.card.Exceeds(base, billing.InputTokens, billing.OutputTokens, billing.ReasoningTokens, billing.Requests); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
