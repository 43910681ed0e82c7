package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing/reconcile"
	"umg/billing/usage"
)

// first is the day of most records of these tests.
var first = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// record is the sum of a day's calls of a model.
func record(model string, calls, input, output int64, cost app.Amount, change ...func(*usage.ProviderDay)) usage.ProviderDay {
	d := usage.ProviderDay{Day: first, Model: model, Calls: calls, Cost: cost,
		Meters: meter.Counts{meter.InputTokens: input, meter.OutputTokens: output, meter.Requests: calls}}
	for _, c := range change {
		c(&d)
	}
	return d
}

// activity is an activity export with a row for each line.
func activity(lines ...string) string {
	return "date,model,usage,requests,prompt_tokens,completion_tokens\n" + strings.Join(lines, "\n") + "\n"
}

// costs is an export of OpenAI's costs of one day: pairs of a line item and an amount.
func costs(pairs ...string) string {
	var results []string
	for pair := range slices.Chunk(pairs, 2) {
		results = append(results, fmt.Sprintf(`{"line_item":%s,"amount":{"value":%s,"currency":"usd"}}`, pair[0], pair[1]))
	}
	return openAIDay(results...)
}

// openAIDay is a page of one day with results.
func openAIDay(results ...string) string {
	return `{"data":[{"start_time":1793491200,"end_time":1793577600,"results":[` + strings.Join(results, ",") + `]}]}`
}

// lines writes the differences of a result, a line for each, and how many rows agree.
func lines(r *reconcile.Result) string {
	var b strings.Builder
	number := func(v reconcile.Value, n *int64) string {
		switch {
		case n == nil:
			return "?"
		case v.IsCost:
			return "$" + app.Amount(*n).String()
		}
		return fmt.Sprint(*n)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "%s %s %s:", d.Day, d.Model, d.Class)
		for _, v := range d.Values {
			fmt.Fprintf(&b, " %s %s/%s", v.Name, number(v, v.Here), number(v, v.There))
		}
		if d.Note != "" {
			fmt.Fprintf(&b, " (%s)", d.Note)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%d of %d agree", r.Agreeing, r.Compared)
	return b.String()
}

// comparisonCase is an export, the records of the gateway and the lines that the comparison must give.
type comparisonCase struct {
	name, export string
	format       reconcile.Format
	records      []usage.ProviderDay
	want         string
}

func (c *comparisonCase) check(t *testing.T) {
	t.Helper()
	e, err := reconcile.Parse(strings.NewReader(c.export), c.format)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	r := reconcile.Compare(&e, c.records, e.Period)
	if got := lines(&r); got != c.want {
		t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
	}
}

// TestEveryClassOfDifferenceIsFound compares activity exports, which state counts and costs.
func TestEveryClassOfDifferenceIsFound(t *testing.T) {
	t.Parallel()
	const same = "2026-11-01,a/one,0.001,2,100,50"
	for _, c := range []comparisonCase{
		{name: "all agree", export: activity(same), records: []usage.ProviderDay{record("a/one", 2, 100, 50, 1_000_000)}, want: "1 of 1 agree"},
		{name: "costs may differ by a nano-dollar for each call, since the cost of each is rounded up", export: activity(same),
			records: []usage.ProviderDay{record("a/one", 2, 100, 50, 1_000_002)}, want: "1 of 1 agree"},
		{name: "costs differ by more", export: activity(same), records: []usage.ProviderDay{record("a/one", 2, 100, 50, 1_000_003)},
			want: "2026-11-01 a/one other price: cost $0.001000003/$0.001\n0 of 1 agree"},
		{name: "counts differ", export: activity(same), records: []usage.ProviderDay{record("a/one", 3, 100, 51, 1_000_000)},
			want: "2026-11-01 a/one other count: calls 3/2 output tokens 51/50\n0 of 1 agree"},
		{name: "counts and costs differ", export: activity(same), records: []usage.ProviderDay{record("a/one", 2, 90, 50, 900_000)},
			want: "2026-11-01 a/one other count: input tokens 90/100\n2026-11-01 a/one other price: cost $0.0009/$0.001\n0 of 1 agree"},
		{name: "missing here", export: activity(same, "2026-11-01,a/two,0.5,1,7,0"), records: []usage.ProviderDay{record("a/one", 2, 100, 50, 1_000_000)},
			want: "2026-11-01 a/two missing here: calls ?/1 input tokens ?/7 cost ?/$0.5\n1 of 2 agree"},
		{name: "missing there", export: activity(same), records: []usage.ProviderDay{
			record("a/one", 2, 100, 50, 1_000_000), record("a/two", 1, 7, 0, 5),
		}, want: "2026-11-01 a/two missing there: calls 1/? input tokens 7/? cost $0.000000005/?\n1 of 2 agree"},
		{name: "missing on one day only", export: activity(same, "2026-11-02,a/one,0.001,2,100,50"), records: []usage.ProviderDay{
			record("a/one", 2, 100, 50, 1_000_000),
		}, want: "2026-11-02 a/one missing here: calls ?/2 input tokens ?/100 output tokens ?/50 cost ?/$0.001\n1 of 2 agree"},
		{name: "records outside of the period are not compared", export: activity(same), records: []usage.ProviderDay{
			record("a/one", 2, 100, 50, 1_000_000),
			record("a/one", 9, 9, 9, 9, func(d *usage.ProviderDay) { d.Day = first.AddDate(0, 0, 1) }),
		}, want: "1 of 1 agree"},
		{name: "rows and records without usage are no difference", export: activity("2026-11-01,a/free,0,0,0,0"),
			records: []usage.ProviderDay{record("a/none", 0, 0, 0, 0)}, want: "0 of 0 agree"},
		{name: "a cost that is unknown here", export: activity(same), records: []usage.ProviderDay{
			record("a/one", 2, 100, 50, 0, func(d *usage.ProviderDay) { d.Unpriced = 2 }),
		}, want: "2026-11-01 a/one other price: cost ?/$0.001 (calls whose cost is unknown here: 2; give their route a cost card)\n0 of 1 agree"},
		{name: "an estimate", export: activity(same), records: []usage.ProviderDay{
			record("a/one", 2, 100, 48, 1_000_000, func(d *usage.ProviderDay) { d.Estimated = 1 }),
		}, want: "2026-11-01 a/one other count: output tokens 48/50 (calls whose answers ended without usage and were counted here: 1)\n" +
			"0 of 1 agree"},
		{name: "cached, audio and reasoning tokens are parts of the totals", export: activity("2026-11-01,a/one,0,1,15,9"), records: []usage.ProviderDay{
			record("a/one", 1, 1, 2, 0, func(d *usage.ProviderDay) {
				d.Meters[meter.CacheReadTokens], d.Meters[meter.CacheWriteHourTokens], d.Meters[meter.InputAudioTokens] = 2, 4, 8
				d.Meters[meter.ReasoningTokens], d.Meters[meter.OutputAudioTokens] = 3, 4
			}),
		}, want: "1 of 1 agree"},
	} {
		c.check(t)
	}
}

// TestModelsAreMatchedByNameOrFamily compares names of snapshots with names that stand for the latest one.
func TestModelsAreMatchedByNameOrFamily(t *testing.T) {
	t.Parallel()
	row := func(model string) string { return "2026-11-01," + model + ",0,1,10,1" }
	one := func(model string) usage.ProviderDay { return record(model, 1, 10, 1, 0) }
	const missing = " calls ?/1 input tokens ?/10 output tokens ?/1\n"
	for _, c := range []comparisonCase{
		{name: "an alias here", export: activity(row("gpt-4o-2024-08-06")), records: []usage.ProviderDay{one("gpt-4o")}, want: "1 of 1 agree"},
		{name: "an alias there", export: activity(row("claude-sonnet-4-5")), records: []usage.ProviderDay{one("claude-sonnet-4-5-20250929")},
			want: "1 of 1 agree"},
		{name: "latest", export: activity(row("claude-3-5-haiku-20241022")), records: []usage.ProviderDay{one("claude-3-5-haiku-latest")},
			want: "1 of 1 agree"},
		{name: "an alias for two snapshots, with a difference", export: activity(row("gpt-4o-2024-08-06"), row("gpt-4o-2024-11-20")),
			records: []usage.ProviderDay{record("gpt-4o", 2, 21, 2, 0)},
			want: "2026-11-01 gpt-4o other count: input tokens 21/20 " +
				"(compared as one family: here gpt-4o, there gpt-4o-2024-08-06, gpt-4o-2024-11-20)\n0 of 1 agree"},
		{name: "an alias beside its snapshot", export: activity("2026-11-01,gpt-4o-2024-08-06,0,2,20,2"),
			records: []usage.ProviderDay{one("gpt-4o"), one("gpt-4o-2024-08-06")}, want: "1 of 1 agree"},
		{name: "the same names on both sides stay apart", export: activity(row("gpt-4o"), row("gpt-4o-2024-08-06")),
			records: []usage.ProviderDay{one("gpt-4o"), one("gpt-4o-2024-08-06")}, want: "2 of 2 agree"},
		{name: "two snapshots are two models", export: activity(row("gpt-4o-2024-08-06")), records: []usage.ProviderDay{one("gpt-4o-2024-11-20")},
			want: "2026-11-01 gpt-4o-2024-11-20 missing there: calls 1/? input tokens 10/? output tokens 1/?\n" +
				"2026-11-01 gpt-4o-2024-08-06 missing here:" + missing + "0 of 2 agree"},
		{name: "a longer name is another model", export: activity(row("gpt-4o-mini")), records: []usage.ProviderDay{one("gpt-4o")},
			want: "2026-11-01 gpt-4o missing there: calls 1/? input tokens 10/? output tokens 1/?\n" +
				"2026-11-01 gpt-4o-mini missing here:" + missing + "0 of 2 agree"},
	} {
		c.check(t)
	}
}

// TestFeesThatNameNoModel compares charges such as searches, which an export of costs lists beside the models, with what the calls of the
// models cost beyond their tokens.
func TestFeesThatNameNoModel(t *testing.T) {
	t.Parallel()
	searches := func(n int64) func(*usage.ProviderDay) {
		return func(d *usage.ProviderDay) { d.Meters[meter.WebSearches] = n }
	}
	const item = `"web search tool calls"`
	export := costs(`"gpt-5, input"`, "0.01", `"gpt-5, output"`, "0.02", item, "0.05")
	for _, c := range []comparisonCase{
		{name: "fees agree", export: export, records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 80_000_000, searches(5))}, want: "2 of 2 agree"},
		{name: "fees differ", export: export, records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 70_000_000, searches(4))},
			want: "2026-11-01 fees other price: cost $0.04/$0.05 (charged there for no model: web search tool calls $0.05)\n1 of 2 agree"},
		{name: "no fees here", export: export, records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 30_000_000)},
			want: "2026-11-01 fees missing here: cost ?/$0.05 (charged there for no model: web search tool calls $0.05)\n1 of 2 agree"},
		{name: "a call without fees that costs more here is another price", export: export,
			records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 80_000_000)},
			want: "2026-11-01 gpt-5 other price: cost $0.08/$0.03\n" +
				"2026-11-01 fees missing here: cost ?/$0.05 (charged there for no model: web search tool calls $0.05)\n0 of 2 agree"},
		{name: "no fees there", export: costs(`"gpt-5, input"`, "0.03"), records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 80_000_000, searches(5))},
			want: "2026-11-01 gpt-5 other price: cost $0.08/$0.03\n0 of 1 agree"},
		{name: "an export by day compares days", export: costs("null", "0.06", "null", "0.02"), records: []usage.ProviderDay{
			record("gpt-5", 3, 1, 1, 50_000_000, searches(5)), record("gpt-5-mini", 3, 1, 1, 30_000_000),
		}, format: reconcile.OpenAICosts, want: "1 of 1 agree"},
		{name: "an export by day with a difference", export: costs("null", "0.06"), records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 50_000_000)},
			format: reconcile.OpenAICosts, want: "2026-11-01 all models other price: cost $0.05/$0.06\n0 of 1 agree"},
		{name: "calls with an unknown cost that the export does not have", export: costs(`"gpt-5, input"`, "0.03"), format: reconcile.OpenAICosts,
			records: []usage.ProviderDay{record("gpt-5", 3, 1, 1, 30_000_000), record("o9", 1, 1, 1, 0, func(d *usage.ProviderDay) { d.Unpriced = 1 })},
			want:    "2026-11-01 o9 missing there: (calls whose cost is unknown here: 1; give their route a cost card)\n1 of 2 agree"},
	} {
		if c.format == "" {
			c.format = reconcile.OpenAICosts
		}
		c.check(t)
	}
}

// TestVideosAreNotComparedWithTokens checks that a call without tokens is compared with costs and not with a report of tokens.
func TestVideosAreNotComparedWithTokens(t *testing.T) {
	t.Parallel()
	records := []usage.ProviderDay{record("gpt-5", 1, 2, 3, 4), record("sora-2", 1, 0, 0, 5, func(d *usage.ProviderDay) { d.Meters[meter.Seconds] = 4000 })}
	for _, c := range []comparisonCase{
		{name: "tokens", records: records, want: "1 of 1 agree",
			export: openAIDay(`{"model":"gpt-5","input_tokens":2,"output_tokens":3,"num_model_requests":1}`), format: reconcile.OpenAIUsage},
		{name: "costs", records: records, want: "2026-11-01 sora-2 missing there: cost $0.000000005/?\n1 of 2 agree",
			export: costs(`"gpt-5, input"`, "0.000000004"), format: reconcile.OpenAICosts},
	} {
		c.check(t)
	}
}

// TestTotalsAddUp checks that the totals have every row of both sides, compared or not.
func TestTotalsAddUp(t *testing.T) {
	t.Parallel()
	e, err := reconcile.Parse(strings.NewReader(activity("2026-11-01,a/one,0.001,2,100,50", "2026-11-01,a/two,0.5,1,7,0")), "")
	if err != nil {
		t.Fatal(err)
	}
	r := reconcile.Compare(&e, []usage.ProviderDay{record("a/one", 2, 100, 50, 1_000_000), record("a/three", 4, 1, 2, 3)}, e.Period)
	var got []string
	for _, v := range r.Totals {
		got = append(got, fmt.Sprintf("%s %d/%d", v.Name, *v.Here, *v.There))
	}
	if want := "calls 6/3, input tokens 101/107, output tokens 52/50, cost 1000003/501000000"; strings.Join(got, ", ") != want {
		t.Errorf("totals are %s, want %s", strings.Join(got, ", "), want)
	}
	counts := r.ByClass()
	if counts[reconcile.MissingHere] != 1 || counts[reconcile.MissingThere] != 1 || counts[reconcile.OtherPrice] != 0 || r.Compared != 3 {
		t.Errorf("%v of %d", counts, r.Compared)
	}
}
