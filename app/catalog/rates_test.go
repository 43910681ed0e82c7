package catalog

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
)

func TestPricesAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		price   Price
		perUnit string
	}{
		"0.15 per 1M":        {Price{150_000_000, 1_000_000}, "0.00000015"},
		"0.0375 per 1M":      {Price{37_500_000, 1_000_000}, "0.0000000375"},
		"0.000000001 per 1M": {Price{1, 1_000_000}, "0.000000000000001"},
		"10 per 1M":          {Price{10 * app.Dollar, 1_000_000}, "0.00001"},
		"0.04 per 1":         {Price{40_000_000, 1}, "0.04"},
		"15 per 1K":          {Price{15 * app.Dollar, 1_000}, "0.015"},
		"1000 per 1K":        {Price{1000 * app.Dollar, 1_000}, "1"},
		"0 per 1M":           {Price{0, 1_000_000}, "0"},
	} {
		got, err := ParsePrice(text)
		if err != nil || got != want.price || got.PerUnit() != want.perUnit || got.String() != text {
			t.Errorf("%s: %+v, %s per unit, prints %s, %v", text, got, got.PerUnit(), got, err)
		}
	}
}

func TestUnitPricesMultiplyBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Price{
			Amount: app.Amount(rapid.Int64Range(0, 1e15).Draw(t, "nanos")),
			Per:    rapid.SampledFrom([]int64{1, 1_000, 1_000_000}).Draw(t, "per"),
		}
		unit, ok := new(big.Rat).SetString(p.PerUnit())
		if !ok {
			t.Fatalf("%s is no number", p.PerUnit())
		}
		unit.Mul(unit, big.NewRat(p.Per, 1)).Mul(unit, big.NewRat(int64(app.Dollar), 1))
		if unit.Cmp(big.NewRat(int64(p.Amount), 1)) != 0 {
			t.Fatalf("%s per unit is not %s", p.PerUnit(), p)
		}
		if again, err := ParsePrice(p.String()); err != nil || again != p {
			t.Fatalf("%s reads back as %+v, %v", p, again, err)
		}
	})
}

func TestPricesRefuseWhatIsNotOne(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "0.15", "0.15/1M", "per 1M", "0.15 per", "0.15 per 2", "0.15 per 1m", "$0.15 per 1M", "0,15 per 1M", "NaN per 1M", "1 per 1M ",
	} {
		if p, err := ParsePrice(s); err == nil {
			t.Errorf("%q is read as %+v", s, p)
		}
	}
}

func TestSecondsArePricedInMilliseconds(t *testing.T) {
	t.Parallel()
	card, err := Rates{"seconds": {Amount: app.Dollar / 10, Per: 1}}.card("x@1")
	if err != nil {
		t.Fatal(err)
	}
	var usage meter.Counts
	usage[meter.Seconds] = 8_000
	if cost, err := card.Cost(usage, meter.Terms{}); err != nil || cost != 8*app.Dollar/10 || card.ID != "x@1" {
		t.Errorf("eight seconds cost %s with card %s, %v", cost, card.ID, err)
	}
	if back := PriceOf(card.Rates[0]); back != (Price{Amount: app.Dollar / 10, Per: 1}) {
		t.Errorf("the rate reads back as %+v", back)
	}
}
