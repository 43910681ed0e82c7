package models

import (
	"strings"
	"testing"
	"time"

	"umg/views"
	"umg/views/format"
)

func TestNinetyDaysAreDrawnAlsoWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	d := Detail{Shell: views.Shell{Now: today.Add(9 * time.Hour)}, Days: []Day{
		{Day: today.AddDate(0, 0, -90), Answered: 5, Failed: 5}, // This day is too old.
		{Day: today.AddDate(0, 0, -89), Answered: 3}, {Day: today.AddDate(0, 0, -2), Answered: 990, Failed: 10, Judged: true},
		{Day: today.AddDate(0, 0, -1), Answered: 90, Failed: 10, Judged: true}, {Day: today},
	}}
	strip := d.strip()
	if len(strip) != 90 || strip[0].state != "none" || strip[87].state != "some" || strip[88].state != "bad" || strip[89].state != "none" || strip[1].state != "none" {
		t.Errorf("%+v", strip)
	}
	if format.Plain(strip[0].title) != "24 Aug 2026: all of 3 calls answered" || format.Plain(strip[89].title) != "21 Nov 2026: no data" ||
		format.Plain(strip[88].title) != "20 Nov 2026: 90.0% of 100 calls answered, 10 failed" {
		t.Errorf("%s; %s; %s", strip[0].title, strip[88].title, strip[89].title)
	}
	d.Days = d.Days[1:]
	if got := format.Plain(d.stripSummary()); got != "98.1% of 1,103 calls answered in 90 days, on 3 days with calls; failures on 2 days." {
		t.Error(got)
	}
	if got := (Detail{}).stripSummary(); !strings.HasPrefix(got, "No one called") {
		t.Error(got)
	}
}

func TestNotQuiteAllCallsAreNeverAll(t *testing.T) {
	t.Parallel()
	for want, c := range map[string][2]int64{
		"100%": {5, 5}, "99.9%": {999_999, 1_000_000}, "97.3%": {973, 1000}, "90.0%": {9, 10}, "0.0%": {0, 3}, "33.3%": {1, 3}, "–": {0, 0},
	} {
		if got := format.Plain(views.SuccessShare(c[0], c[1])); got != want {
			t.Errorf("%v is %s, want %s", c, got, want)
		}
	}
}

func TestPricesAreDrawnAsStepsFromTheFirstToToday(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	past := func(days int, in, out int64) PastPrices {
		return PastPrices{From: now.AddDate(0, 0, -days), Prices: tokens("m", in, out, 0).Prices}
	}
	d := Detail{Shell: views.Shell{Now: now}, Model: tokens("m", 25, 100, 0), Past: []PastPrices{past(25, 25, 100), past(100, 50, 200)}}
	lines, most := d.priceSteps()
	if len(lines) != 2 || most != 200 || lines[0].path != "M0 74H450V86H600" || lines[1].path != "M0 2H450V50H600" {
		t.Errorf("%+v, %d", lines, most)
	}
	d.Past = d.Past[:1]
	if lines, _ := d.priceSteps(); lines != nil {
		t.Errorf("one price is drawn as %+v", lines)
	}
}

func TestChangesAreSentences(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Change{
		"Came into the catalog":                      {},
		"Left the catalog":                           {Gone: true},
		"Output price: $14.00 per 1M → $0.50 per 1M": {Field: "rates.output_tokens", From: "14 per 1M", To: "0.5 per 1M"},
		"Each second price at 720x1280: $0.70 per 1": {Field: "size_rates.720x1280.seconds", To: "0.70 per 1"},
		"Parameters: added seed; removed n":          {Field: "parameters", From: "[tools, n]", To: "[tools, seed]"},
		"Parameters: in another order":               {Field: "parameters", From: "[a, b]", To: "[b, a]"},
		"Limit of requests per minute: 30 → 60":      {Field: "limits.requests_per_minute", From: "30", To: "60"},
		"Shuts down: 1 Jun 2027, not any more":       {Field: "shutdown", From: "2027-06-01"},
		"Range of temperature max: 1.2":              {Field: "ranges.temperature.max", To: "1.2"},
		"Description reworded":                       {Field: "description", From: "a", To: "b"},
	} {
		if got := format.Plain(c.Text()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAComparisonMarksWhatDiffers(t *testing.T) {
	t.Parallel()
	c := Comparison{Models: someModels()[2:]} // These are models b and a.
	differs := map[string]bool{}
	for _, g := range c.groups() {
		for _, r := range g.rows {
			differs[r.name] = r.differs
			if len(r.cells) != 2 {
				t.Errorf("%s has %d cells", r.name, len(r.cells))
			}
		}
	}
	for name, want := range map[string]bool{"Input": true, "Output": false, "Context": true, "tools": true, "Status": false, "Chat completions": true} {
		if got, there := differs[name]; !there || got != want {
			t.Errorf("%s differs: %v, there: %v", name, got, there)
		}
	}
	all := 0
	for range differs {
		all++
	}
	c.Only = true
	for _, g := range c.groups() {
		for _, r := range g.rows {
			if !r.differs {
				t.Errorf("%s does not differ", r.name)
			}
		}
	}
	if got := ParseMarked([]string{"a", "a", "", "b", "c", "d", "e"}); strings.Join(got, "") != "abcd" {
		t.Error(got)
	}
	if c.path(true) != "/console/compare?m=b&m=a&only=differences" || c.without("b") != "/console/compare?m=a&only=differences" || all == 0 {
		t.Error(c.path(true), c.without("b"))
	}
}
