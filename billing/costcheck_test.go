package billing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// prices are the cards of the tests below: m@1 has a condition, film@1 a card for each of two sizes.
func prices(_ context.Context, id string) ([]billing.RateCard, error) {
	per := func(m meter.Meter, amount app.Amount) []billing.Rate {
		return []billing.Rate{{Meter: m, Amount: amount, Per: 1}}
	}
	switch id {
	case "m@1":
		return []billing.RateCard{{
			ID: id, Rates: append(per(meter.InputTokens, 1), per(meter.WebSearches, 100)...),
			Conditions: []billing.Condition{{ServiceTier: "flex", Times: 5_000}},
		}}, nil
	case "film@1":
		return []billing.RateCard{{ID: id, Rates: per(meter.Images, 2)}, {ID: id, Rates: per(meter.Images, 3)}}, nil
	case "cost@1":
		return []billing.RateCard{{ID: id, Rates: per(meter.InputTokens, 1)}}, nil
	}
	return nil, app.Errorf(app.NotFound, "not_found", "There is no such version.")
}

// priced settles one call for each way in which a cost follows from what a record says. It returns the ids by name.
func priced(h *fixture) map[string]string {
	h.Helper()
	account := h.account(app.Dollar)
	stated, upstream := app.Amount(77), app.Amount(40)
	ids := map[string]string{}
	for name, c := range map[string]struct {
		hold, cost app.Amount
		record     billing.UsageRecord
	}{
		"usual":   {1000, 240, billing.UsageRecord{Usage: meter.Counts{meter.InputTokens: 40, meter.WebSearches: 2}}},
		"flex":    {1000, 20, billing.UsageRecord{Usage: meter.Counts{meter.InputTokens: 40}, Terms: meter.Terms{ServiceTier: "flex"}}},
		"overrun": {100, 240, billing.UsageRecord{Usage: meter.Counts{meter.InputTokens: 40, meter.WebSearches: 2}, Reason: "overrun"}},
		"bounded": {1000, 90, billing.UsageRecord{Usage: meter.Counts{meter.InputTokens: 100}, Reason: "overrun"}},
		"free":    {1000, 0, billing.UsageRecord{Reason: "upstream_failed"}},
		"unnamed": {1000, 0, billing.UsageRecord{RateCardID: "none"}},
		"film":    {1000, 6, billing.UsageRecord{RateCardID: "film@1", Usage: meter.Counts{meter.Images: 2}}},
		"stated":  {1000, 77, billing.UsageRecord{Costs: billing.Costs{ProviderCost: &stated}, Flags: "x " + billing.FlagProviderPrice}},
		"upstream": {1000, 40, billing.UsageRecord{
			Usage: meter.Counts{meter.InputTokens: 40}, Costs: billing.Costs{UpstreamCost: &upstream, CostCardID: "cost@1"},
		}},
	} {
		hold, r := h.hold(account, c.hold), c.record
		r.RequestID, r.StartedAt, r.Outcome, r.Style = hold.ID, time.Now(), "succeeded", "chat"
		switch r.RateCardID {
		case "":
			r.RateCardID = "m@1"
		case "none":
			r.RateCardID = ""
		}
		if err := h.ledger.SettleIn(h.ctx, h.db, hold, billing.Settlement{Cost: c.cost, Record: r}); err != nil {
			h.Fatal(err)
		}
		ids[name] = hold.ID
	}
	return ids
}

// TestCostsAreComputedAgain is the negative control of the check of costs: it must find each change of what a cost follows from.
func TestCostsAreComputedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, record, change, finding string }{
		{"nothing", "usual", `reason = reason`, ""},
		{"a count", "usual", `meters[1] = meters[1] + 1`, "it cost 240 nano-dollars, and its meters cost 241 by rate card m@1"},
		{"a count of a further meter", "usual", `meters[18] = 1`, "its meters cost 140"},
		{"a meter that no version knows", "usual", `meters = meters || array_fill(0::bigint, array[100]) || 1::bigint`, "meters that this version does not know"},
		{"a cost", "usual", `cost_nanos = cost_nanos - 1`, "it cost 239"},
		{"an overrun", "overrun", `overrun_nanos = overrun_nanos + 1`, "it cost 241"},
		{"terms", "flex", `terms = ''`, "its meters cost 40"},
		{"other terms", "usual", `terms = 'service_tier=flex'`, "it cost 240"},
		{"terms that are none", "flex", `terms = 'service_tier=flex colour=blue'`, "colour=blue"},
		{"the rate card", "usual", `rate_card_id = 'm@2'`, "there are no prices by rate card m@2"},
		{"no rate card", "usual", `rate_card_id = ''`, "names no rate card"},
		{"a size that has no such price", "film", `cost_nanos = 5`, "its meters cost 4 or 6"},
		{"more than a bounded price", "bounded", `cost_nanos = 101`, "its meters cost 100"},
		{"a stated cost", "stated", `provider_cost_nanos = 76`, "not the cost that the provider stated"},
		{"a flag of a charged call", "usual", `flags = 'uncharged'`, "it cost 240 nano-dollars, and its account is not charged"},
		{"a cost of the operator", "upstream", `upstream_cost_nanos = 41`, "it cost the operator 41 nano-dollars, and its meters cost 40 by cost card cost@1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t)
			ids := priced(h)
			h.exec(`update usage_records set `+c.change+` where request_id = $1`, ids[c.record])
			check, err := billing.CheckCosts(h.ctx, h.db, prices, prices)
			if err != nil {
				t.Fatal(err)
			}
			if c.finding == "" {
				if !check.Holds || check.Detail != "" {
					t.Errorf("sound records violate it: %s", check.Detail)
				}
				return
			}
			if check.Holds || !strings.Contains(check.Detail, "request "+ids[c.record]+": ") || !strings.Contains(check.Detail, c.finding) {
				t.Errorf("it holds: %t, %q; want %q", check.Holds, check.Detail, c.finding)
			}
		})
	}
}
