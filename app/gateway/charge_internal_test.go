package gateway

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

// TestACallIsNeverChargedMoreThanItsHold draws calls, credit and reports of providers. What is charged is within the hold, which is within
// the credit, and it is the exact price of a sound report wherever the credit allows it.
func TestACallIsNeverChargedMoreThanItsHold(t *testing.T) {
	t.Parallel()
	rate := func(m meter.Meter, dollars int64) billing.Rate {
		return billing.Rate{Meter: m, Amount: app.Amount(dollars) * app.Dollar, Per: 1_000_000}
	}
	tiers := billing.RateCard{
		ID: "tiers", Rates: []billing.Rate{rate(meter.InputTokens, 3), rate(meter.CacheReadTokens, 1), rate(meter.OutputTokens, 15)},
		Conditions: []billing.Condition{
			{PromptOver: 1_000, Rates: []billing.Rate{rate(meter.InputTokens, 6), rate(meter.OutputTokens, 22)}},
			{ServiceTier: "priority", Times: 20_000}, {ServiceTier: "flex", Times: 5_000},
			{Times: 20_000, Schedule: &billing.Schedule{Hours: []billing.Hours{{From: 60, To: 240}}}},
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		credit := &account{left: app.Amount(rapid.Int64Range(0, 100_000_000).Draw(t, "credit"))}
		before := credit.left
		f := &funding{credit: credit, startedAt: time.Date(2026, 11, 27, rapid.IntRange(0, 23).Draw(t, "hour"), 0, 0, 0, time.UTC)}
		m := &catalog.Model{RateCard: tiers, Abilities: catalog.Abilities{MaxOutputTokens: 4_096, ContextTokens: 32_000}}
		bytes := rapid.Int64Range(10, 10_000).Draw(t, "bytes")
		head := &dialect.Head{
			Stream: rapid.Bool().Draw(t, "stream"), Choices: 1, TextBytes: bytes, BodyBytes: bytes, TextTokens: bytes / 6,
			MaxTokens: rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "max_tokens"),
		}
		if err := f.price(head, m); err != nil {
			t.Fatal(err)
		}
		if f.reserve(t.Context(), &Call{ID: "c"}, 0) != nil {
			return // There is not enough credit for the call.
		}
		count := rapid.OneOf(rapid.Int64Range(0, 200), rapid.Int64Range(0, 60_000), rapid.Just(int64(50_000_000)))
		s := &dialect.StreamStats{ContentBytes: rapid.Int64Range(0, 1_000).Draw(t, "content"), Reported: true, Finish: "stop"}
		s.Usage = llm.Usage{
			Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "cached"), Output: count.Draw(t, "output"),
			Terms: meter.Terms{ServiceTier: rapid.SampledFrom([]string{"", "flex"}).Draw(t, "tier")},
		}
		_, sound := f.plausibleUsage(s)
		c := f.charge(billing.RuleOf(billing.ReasonCompleted), s)
		if c.cost > f.hold.Amount {
			f.extendToCost(t.Context(), c.cost)
			c = f.charge(billing.RuleOf(billing.ReasonCompleted), s)
		}
		paid := f.hold.Charge(c.cost)
		if paid > f.hold.Amount || f.hold.Amount > before || f.hold.Amount+credit.left != before {
			t.Fatalf("%s are charged of %s held and %s of credit", paid, f.hold.Amount, before)
		}
		terms := s.Usage.Terms
		terms.At = f.startedAt
		exact, err := tiers.Cost(s.Usage.Counts(), terms)
		if err != nil || paid > exact && sound {
			t.Fatalf("%s are charged for %s, %v", paid, exact, err)
		}
		if sound && paid != min(exact, before) {
			t.Fatalf("%s are charged of %s, with %s of credit", paid, exact, before)
		}
	})
}
