package gateway

import (
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/meter"
	"umg/billing"
)

// cardOf is a rate card of one price.
func cardOf(m meter.Meter, amount app.Amount, per int64) billing.RateCard {
	return billing.RateCard{ID: "card", Rates: []billing.Rate{{Meter: m, Amount: amount, Per: per}}}
}

func TestTheLeastHoldOfAModel(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		model catalog.Model
		want  app.Amount
	}{
		"a free model": {catalog.Model{Kind: catalog.KindText}, 0},
		"a text model": {catalog.Model{Kind: catalog.KindText, RateCard: cardOf(meter.InputTokens, 1000, 1)}, 1000 * app.Amount(inputRuleOf("", "").prompt)},
		"a video model": {
			catalog.Model{Kind: catalog.KindVideo, Seconds: []int64{8, 4}, RateCard: cardOf(meter.Seconds, 1000, millisecondsPerSecond)}, 4000,
		},
		"a video model with a cheaper size": {
			catalog.Model{
				Kind: catalog.KindVideo, Seconds: []int64{4}, RateCard: cardOf(meter.Seconds, 1000, millisecondsPerSecond),
				SizeRateCards: map[string]billing.RateCard{"1x1": cardOf(meter.Seconds, 500, millisecondsPerSecond)},
			}, 2000,
		},
	} {
		if got, err := minHoldOf(&c.model); err != nil || got != c.want {
			t.Errorf("%s: %d, %v; want %d", what, got, err, c.want)
		}
	}
}
