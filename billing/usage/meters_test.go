package usage_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestSumsOfMetersAreThoseOfTheRecords settles calls with any counts, and compares the sums of quarter hours, and the sums that are read
// from the records, with what was settled.
func TestSumsOfMetersAreThoseOfTheRecords(t *testing.T) {
	t.Parallel()
	h := setup(t)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		account := h.account(app.Dollar)
		want := map[string]usage.Line{}
		for i := range rapid.IntRange(1, 6).Draw(rt, "calls") {
			model := fmt.Sprint("m", rapid.IntRange(0, 1).Draw(rt, "model"))
			var counts meter.Counts
			for range rapid.IntRange(0, 5).Draw(rt, "meters") {
				m := rapid.IntRange(0, int(meter.Count)-1).Draw(rt, "meter")
				counts[m] = rapid.Int64Range(0, 1<<31).Draw(rt, "count")
			}
			var upstream *app.Amount
			if rapid.Bool().Draw(rt, "the cost is known") {
				upstream = new(app.Amount(rapid.Int64Range(0, 1000).Draw(rt, "upstream cost")))
			}
			h.use(account, day.Add(time.Duration(i%3)*time.Minute), 1, func(r *billing.UsageRecord) {
				r.Model, r.Usage, r.UpstreamCost = model, counts, upstream
			})
			line := want[model]
			line.Group = model
			line.Requests++
			line.Cost++
			for m := range counts {
				line.Usage[m] += counts[m]
			}
			if upstream != nil {
				line.UpstreamCost += *upstream
				line.UpstreamPriced++
			}
			want[model] = line
		}
		for name, step := range map[string]usage.Step{"the sums": usage.NoStep, "the records": usage.Minutely} {
			q := usage.Query{AccountID: account, From: day, To: day.Add(time.Hour), Group: usage.ByModel, Step: step}
			report, err := h.reports.Report(h.ctx, q)
			if err != nil {
				rt.Fatal(err)
			}
			got := map[string]usage.Line{}
			for _, l := range report.Lines {
				sum := got[l.Group]
				sum.Group, sum.Requests, sum.Cost = l.Group, sum.Requests+l.Requests, sum.Cost+l.Cost
				sum.UpstreamCost, sum.UpstreamPriced = sum.UpstreamCost+l.UpstreamCost, sum.UpstreamPriced+l.UpstreamPriced
				for m := range sum.Usage {
					sum.Usage[m] += l.Usage[m]
				}
				got[l.Group] = sum
			}
			for model := range want {
				if got[model] != want[model] {
					rt.Fatalf("%s of %s are %+v, want %+v", name, model, got[model], want[model])
				}
			}
		}
	})
	h.checkInvariants()
}

// TestARecordKeepsItsTermsCostsAndFlags reads back what a call was served on and what it cost the operator.
func TestARecordKeepsItsTermsCostsAndFlags(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	began := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	stated, upstream := app.Amount(11), app.Amount(7)
	id := h.use(account, began, 12, func(r *billing.UsageRecord) {
		r.Terms = meter.Terms{ServiceTier: "flex", Region: "us"}
		r.ProviderCost, r.UpstreamCost, r.CostCardID, r.Flags = &stated, &upstream, "cost@1", billing.FlagUnpriced
	})
	plain := h.use(account, began, 12, nil)
	r, err := h.reports.Record(h.ctx, account, id)
	if err != nil {
		t.Fatal(err)
	}
	if want := (meter.Terms{At: began, ServiceTier: "flex", Region: "us"}); r.Terms != want || r.ProviderCost == nil || *r.ProviderCost != 11 ||
		r.UpstreamCost == nil || *r.UpstreamCost != 7 || r.CostCardID != "cost@1" || !r.HasFlag(billing.FlagUnpriced) {
		t.Errorf("%+v", r)
	}
	if r, err = h.reports.Record(h.ctx, account, plain); err != nil || r.ProviderCost != nil || r.UpstreamCost != nil || r.CostCardID != "" ||
		r.HasFlag(billing.FlagUnpriced) || (r.Terms != meter.Terms{At: began}) {
		t.Errorf("an ordinary call has %+v, %v", r, err)
	}
}
