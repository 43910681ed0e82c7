package billing_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

func perMillion(m meter.Meter, dollars string) billing.Rate {
	amount, err := app.ParseAmount(dollars)
	if err != nil {
		panic(err)
	}
	return billing.Rate{Meter: m, Amount: amount, Per: 1_000_000}
}

func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestConditionsPriceAsPriceListsSay has the kinds of prices that public price lists had in 2026.
func TestConditionsPriceAsPriceListsSay(t *testing.T) {
	t.Parallel()
	gemini := billing.RateCard{
		Rates: []billing.Rate{perMillion(meter.InputTokens, "1.25"), perMillion(meter.OutputTokens, "10"), perMillion(meter.CacheReadTokens, "0.125")},
		Conditions: []billing.Condition{{PromptOver: 200_000, Rates: []billing.Rate{
			perMillion(meter.InputTokens, "2.5"), perMillion(meter.OutputTokens, "15"), perMillion(meter.CacheReadTokens, "0.25"),
		}}},
	}
	claude := billing.RateCard{
		Rates: []billing.Rate{
			perMillion(meter.InputTokens, "3"), perMillion(meter.CacheReadTokens, "0.3"), perMillion(meter.CacheWriteTokens, "3.75"),
			perMillion(meter.CacheWriteHourTokens, "6"), perMillion(meter.OutputTokens, "15"),
			{Meter: meter.WebSearches, Amount: 10 * app.Dollar, Per: 1_000},
		},
		Conditions: []billing.Condition{{Region: "us", Times: 11_000}, {ServiceTier: "batch", Times: 5_000}},
	}
	deepseek := billing.RateCard{
		Rates: []billing.Rate{perMillion(meter.InputTokens, "0.15"), perMillion(meter.OutputTokens, "0.60")},
		Conditions: []billing.Condition{{Times: 20_000, Schedule: &billing.Schedule{
			Weekdays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
			Hours:    []billing.Hours{{From: 60, To: 240}, {From: 360, To: 600}}, Except: []string{"2026-10-01"},
		}}},
	}
	speech := billing.RateCard{
		Rates:      []billing.Rate{perMillion(meter.Characters, "15")},
		Conditions: []billing.Condition{{EachOver: 1_000, Rates: []billing.Rate{perMillion(meter.Characters, "10")}}},
	}
	for name, c := range map[string]struct {
		card  billing.RateCard
		u     meter.Counts
		terms meter.Terms
		want  string
	}{
		"a long prompt":        {gemini, meter.Counts{meter.InputTokens: 300_000}, meter.Terms{}, "0.75"},
		"a prompt at the edge": {gemini, meter.Counts{meter.InputTokens: 150_000, meter.CacheReadTokens: 50_000}, meter.Terms{}, "0.19375"},
		"one token over it":    {gemini, meter.Counts{meter.InputTokens: 150_001, meter.CacheReadTokens: 50_000}, meter.Terms{}, "0.3875025"},
		"output of a long one": {gemini, meter.Counts{meter.InputTokens: 200_001, meter.ReasoningTokens: 100}, meter.Terms{}, "0.5015025"},
		"search and a long write": {claude, meter.Counts{meter.InputTokens: 100, meter.CacheWriteHourTokens: 15_000, meter.OutputTokens: 50, meter.WebSearches: 2},
			meter.Terms{}, "0.11105"},
		"a region":                {claude, meter.Counts{meter.InputTokens: 1_000_000, meter.WebSearches: 1}, meter.Terms{Region: "us"}, "3.31"},
		"a region in a batch":     {claude, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{Region: "us", ServiceTier: "batch"}, "1.65"},
		"another region":          {claude, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{Region: "eu"}, "3"},
		"a working hour":          {deepseek, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{At: utc("2026-11-27 03:59")}, "0.3"},
		"the end of the hour":     {deepseek, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{At: utc("2026-11-27 04:00")}, "0.15"},
		"a holiday":               {deepseek, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{At: utc("2026-10-01 03:00")}, "0.15"},
		"a Sunday":                {deepseek, meter.Counts{meter.InputTokens: 1_000_000}, meter.Terms{At: utc("2026-11-29 03:00")}, "0.15"},
		"characters over a bound": {speech, meter.Counts{meter.Characters: 3_000}, meter.Terms{}, "0.035"},
		"characters up to it":     {speech, meter.Counts{meter.Characters: 1_000}, meter.Terms{}, "0.015"},
	} {
		if err := c.card.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want, err := app.ParseAmount(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.card.Cost(c.u, c.terms); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestWrongConditionsAreNamed(t *testing.T) {
	t.Parallel()
	input := []billing.Rate{perMillion(meter.InputTokens, "1")}
	for name, c := range map[string]struct {
		condition billing.Condition
		want      string
	}{
		"nothing to hold":       {billing.Condition{Times: 5_000}, "to which calls"},
		"nothing to change":     {billing.Condition{PromptOver: 1}, "either rates or times"},
		"both":                  {billing.Condition{PromptOver: 1, Rates: input, Times: 5_000}, "either rates or times"},
		"negative":              {billing.Condition{PromptOver: -1, Rates: input}, "prompt_over"},
		"too dear":              {billing.Condition{PromptOver: 1, Times: 2_000_000}, "times must be"},
		"a part by times":       {billing.Condition{EachOver: 1, Times: 5_000}, "each_over needs rates"},
		"a price of two":        {billing.Condition{PromptOver: 1, Rates: slices.Concat(input, input)}, "two rates"},
		"hours that end early":  {billing.Condition{Times: 5_000, Schedule: &billing.Schedule{Hours: []billing.Hours{{From: 60, To: 60}}}}, "hours"},
		"an unknown day":        {billing.Condition{Times: 5_000, Schedule: &billing.Schedule{Hours: []billing.Hours{{To: 60}}, Except: []string{"1 May"}}}, "date"},
		"an empty schedule":     {billing.Condition{Times: 5_000, Schedule: &billing.Schedule{}}, "days or hours"},
		"meters without times":  {billing.Condition{PromptOver: 1, Rates: input, Meters: []meter.Meter{meter.InputTokens}}, "goes with times"},
		"more than can be paid": {billing.Condition{ServiceTier: "x", Times: 1_000_000, Meters: []meter.Meter{meter.Requests}}, "more than can be charged"},
	} {
		card := billing.RateCard{
			Rates:      []billing.Rate{perMillion(meter.InputTokens, "1"), {Meter: meter.Requests, Amount: 1_000_000 * app.Dollar, Per: 1}},
			Conditions: []billing.Condition{c.condition},
		}
		if err := card.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	two := billing.RateCard{Rates: input, Conditions: []billing.Condition{{EachOver: 10, Rates: input}, {EachOver: 10, Rates: input}}}
	if err := two.Check(); err == nil || !strings.Contains(err.Error(), "each_over must be above") {
		t.Error(err)
	}
}

var anyTerms = rapid.Custom(func(t *rapid.T) meter.Terms {
	return meter.Terms{
		At:          utc("2026-11-27 00:00").Add(time.Duration(rapid.Int64Range(0, 7*24*60).Draw(t, "minute")) * time.Minute),
		ServiceTier: rapid.SampledFrom([]string{"", "flex", "priority"}).Draw(t, "tier"),
		Region:      rapid.SampledFrom([]string{"", "us"}).Draw(t, "region"),
	}
})

// anyConditionedCard is a card that passes its check, with prices so low that an amount holds the cost of any usage of these tests.
func anyConditionedCard(t *rapid.T) billing.RateCard {
	amount := rapid.Int64Range(0, 1e12)
	card := billing.RateCard{ID: "rc_test", Rates: []billing.Rate{{Meter: meter.InputTokens, Amount: app.Amount(amount.Draw(t, "input")), Per: 1_000_000}}}
	for m := meter.CacheReadTokens; m < meter.Count; m++ {
		if rapid.Bool().Draw(t, "priced "+m.String()) {
			card.Rates = append(card.Rates, billing.Rate{Meter: m, Amount: app.Amount(amount.Draw(t, "amount")), Per: 1_000_000})
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "conditions") {
		d := billing.Condition{
			PromptOver:  rapid.SampledFrom([]int64{0, 1, 1_000}).Draw(t, "prompt_over"),
			ServiceTier: rapid.SampledFrom([]string{"", "flex", "priority"}).Draw(t, "tier"),
			Region:      rapid.SampledFrom([]string{"", "us"}).Draw(t, "region"),
		}
		if rapid.Bool().Draw(t, "schedule") {
			d.Schedule = &billing.Schedule{Hours: []billing.Hours{{From: 60, To: 240}}, Weekdays: []time.Weekday{time.Monday, time.Friday}}
		}
		if d.PromptOver == 0 && d.ServiceTier == "" && d.Region == "" && d.Schedule == nil {
			d.Speed = "fast" // A condition must say to which calls it applies.
		}
		if rapid.Bool().Draw(t, "times") {
			d.Times = rapid.Int64Range(1, 30_000).Draw(t, "factor")
		} else {
			for m := range meter.Count {
				if rapid.IntRange(0, 9).Draw(t, "priced") == 0 {
					d.Rates = append(d.Rates, billing.Rate{Meter: m, Amount: app.Amount(rapid.Int64Range(0, 1e12).Draw(t, "amount")), Per: 1_000_000})
				}
			}
		}
		if d.Times == 0 && len(d.Rates) == 0 {
			d.Times = 5_000
		}
		card.Conditions = append(card.Conditions, d)
	}
	if len(card.Conditions) > 0 && rapid.Bool().Draw(t, "part") {
		d := &card.Conditions[len(card.Conditions)-1]
		if len(d.Rates) > 0 {
			d.EachOver = rapid.Int64Range(1, 2_000).Draw(t, "each_over")
		}
	}
	if err := card.Check(); err != nil {
		t.Fatal(err)
	}
	return card
}

// TestLinesAddUpToTheCost holds the explanation of a bill against the bill.
func TestLinesAddUpToTheCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card := anyConditionedCard(t)
		var u meter.Counts
		for m := range u {
			u[m] = rapid.SampledFrom([]int64{0, 0, 1, 999, 5_000}).Draw(t, "quantity")
		}
		terms := anyTerms.Draw(t, "terms")
		cost, err := card.Cost(u, terms)
		if err != nil {
			t.Fatal(err)
		}
		sum, counted := new(big.Rat), meter.Counts{}
		for _, line := range card.Lines(u, terms) {
			part := big.NewRat(int64(line.Rate.Amount), max(line.Rate.Per, 1))
			sum.Add(sum, part.Mul(part, new(big.Rat).SetInt64(line.Quantity)))
			counted[line.Meter] += line.Quantity
		}
		if counted != u {
			t.Fatalf("the lines count %v of %v", counted, u)
		}
		exact := new(big.Rat).SetInt64(int64(cost))
		if less := new(big.Rat).Sub(exact, sum); less.Sign() < 0 || less.Cmp(big.NewRat(1, 1)) >= 0 {
			t.Fatalf("the lines add up to %s, and the cost is %s", sum.FloatString(6), cost)
		}
	})
}

// TestTheHighestCardIsNeverBelow compares it with every call that it must cover.
func TestTheHighestCardIsNeverBelow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card := anyConditionedCard(t)
		terms := anyTerms.Draw(t, "terms")
		until := terms.At.Add(time.Duration(rapid.Int64Range(0, 600).Draw(t, "minutes")) * time.Minute)
		var u meter.Counts
		for m := range u {
			u[m] = rapid.SampledFrom([]int64{0, 0, 1, 999, 5_000}).Draw(t, "quantity")
		}
		promptMax := u.Prompt() + rapid.Int64Range(0, 2_000).Draw(t, "slack")
		high := card.Highest(promptMax, terms, until)
		most, err := high.Cost(u, meter.Terms{})
		if err != nil {
			t.Fatal(err)
		}
		if err := high.Check(); err != nil && len(high.Rates) > 0 {
			t.Fatal(err)
		}
		served := terms
		if rapid.Bool().Draw(t, "usual service") {
			served = meter.Terms{}
		}
		served.At = terms.At.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(terms.At)/time.Minute)).Draw(t, "later")) * time.Minute)
		if cost, err := card.Cost(u, served); err != nil || cost > most {
			t.Fatalf("a call costs %s (%v), and the highest card says %s", cost, err, most)
		}
	})
}

func BenchmarkCostWithConditions(b *testing.B) {
	card := billing.RateCard{
		Rates: []billing.Rate{perMillion(meter.InputTokens, "1.25"), perMillion(meter.OutputTokens, "10"), perMillion(meter.CacheReadTokens, "0.125")},
		Conditions: []billing.Condition{{PromptOver: 200_000, Rates: []billing.Rate{
			perMillion(meter.InputTokens, "2.5"), perMillion(meter.OutputTokens, "15"), perMillion(meter.CacheReadTokens, "0.25"),
		}}, {ServiceTier: "flex", Times: 5_000}},
	}
	u := meter.Counts{meter.InputTokens: 1_234, meter.CacheReadTokens: 512, meter.OutputTokens: 700, meter.ReasoningTokens: 90}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := card.Cost(u, meter.Terms{}); err != nil {
			b.Fatal(err)
		}
	}
}
