package catalog

import (
	"errors"
	"math/big"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

const (
	smallRates = "    rates: {input_tokens: 0.15 per 1M, output_tokens: 0.60 per 1M}\n"
	smallRoute = "      - {provider: north, model: one-1, style: chat}\n"
)

// everyCondition is one condition of each kind, as a file has them.
const everyCondition = `    conditions:
      - {prompt_over: 200000, rates: {input_tokens: 2.50 per 1M, cache_read_tokens: 0.25 per 1M, output_tokens: 15 per 1M}}
      - {service_tier: flex, times: 0.5}
      - {service_tier: priority, prompt_over: 200000, rates: {input_tokens: 9 per 1M, web_searches: 12.50 per 1K}}
      - {region: us, times: 1.1, meters: [input_tokens, output_tokens]}
      - {speed: fast, rates: {output_tokens: 30 per 1M, container_seconds: 0.0005 per 1}}
      - {hours: ["01:00-04:00", "06:00-10:00"], days: [mon, tue, wed, thu, fri], except: [2026-10-01], times: 2}
      - {days: [sat, sun], times: 0.75}
      - {hours: ["22:30-24:00"], times: 3}
      - {each_over: 1000, rates: {web_searches: 8 per 1K}}
      - {each_over: 60, rates: {container_seconds: 0.0002 per 1}}
      - {size: 1024x1024, quality: high, rates: {images: 0.17 per 1}}
`

const manyRates = `    rates:
      input_tokens: 1.25 per 1M
      cache_read_tokens: 0.125 per 1M
      cache_write_tokens: 1.5625 per 1M
      output_tokens: 10 per 1M
      web_searches: 10 per 1K
      container_seconds: 0.0003 per 1
      megapixels: 0.012345678 per 1
`

// TestConditionsInWords has the words of a price page for each kind of condition.
func TestConditionsInWords(t *testing.T) {
	t.Parallel()
	m, _ := snapshotFrom(t, parse(t, with(t, smallRates, manyRates+everyCondition))).Model("acme/one")
	golden, err := os.ReadFile("testdata/conditions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(m.PriceLines(), "\n") + "\n"; got != string(golden) {
		t.Errorf("the words are\n%s", got)
	}
	list := string(m.ListEntry())
	for _, part := range []string{
		`{"meter":"megapixels","price":"0.012345678","per":1,"unit":"megapixel","text":"$0.012345678 per megapixel"}`,
		`{"service_tier":"flex","text":"Flex tier: half price for tokens","times":"0.5"}`,
		`{"hours":["01:00-04:00","06:00-10:00"],"days":["mon","tue","wed","thu","fri"],"except":["2026-10-01"],`,
		`{"each_over":60,"text":"After the first 60 seconds of a container`, `"web_search":"0.01"`,
	} {
		if !strings.Contains(list, part) {
			t.Errorf("the list lacks %s: %s", part, list)
		}
	}
}

func TestConditionsSurviveTheStoreAndTheExport(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	cost := "        cost:\n          rates: {input_tokens: 0.10 per 1M, cache_read_tokens: 0.05 per 1M, output_tokens: 0.50 per 1M}\n" +
		"          conditions: [{service_tier: flex, times: 0.5}]\n"
	route := "      - provider: north\n        model: one-1\n        style: chat\n" + cost
	raw := with(t, smallRates, manyRates+everyCondition, smallRoute, route,
		"timeouts: {connect: 2s}}", "timeouts: {connect: 2s}, usage: xai, after_cancel: continues, provider_cost: price}")
	b.apply(t, raw)
	stored, err := Export(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	if want := parse(t, raw); !reflect.DeepEqual(stored, want) {
		t.Errorf("stored\n%+v\nnot\n%+v", stored.Models[0], want.Models[0])
	}
	text, err := stored.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if again := parse(t, string(text)); !reflect.DeepEqual(stored, again) {
		t.Errorf("printed as\n%s", text)
	}
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	north := m.Routes[0]
	if north.CostCard == nil || north.CostCard.ID != "acme/one#north/chat/one-1@1" || len(north.CostCard.Conditions) != 1 || m.Routes[1].CostCard != nil {
		t.Errorf("routes %+v", m.Routes)
	}
	if p := north.Provider; p.UsageReader != "xai" || p.AfterCancel != CancelContinues || !p.CostIsPrice ||
		m.Routes[1].Provider.AfterCancel != CancelUnknown {
		t.Errorf("provider %+v", p)
	}
	b.apply(t, strings.Replace(raw, "times: 0.5}]", "times: 0.25}]", 1))
	b.apply(t, strings.Replace(raw, "{service_tier: flex, times: 0.5}\n", "{service_tier: flex, times: 0.4}\n", 1))
	m, _ = b.awaitVersion(t, b.c).Model("acme/one")
	if m.RateCard.ID != "acme/one@2" || m.Routes[0].CostCard.ID != "acme/one#north/chat/one-1@3" {
		t.Errorf("cards %s and %s", m.RateCard.ID, m.Routes[0].CostCard.ID)
	}
	first, err := b.c.Cards(t.Context(), "acme/one@1")
	if err != nil || len(first) != 1 || first[0].Conditions[1].Times != 5_000 {
		t.Errorf("%+v, %v", first, err)
	}
	second, err := b.c.CostCard(t.Context(), "acme/one#north/chat/one-1@2")
	if err != nil || second.Conditions[0].Times != 2_500 {
		t.Errorf("%+v, %v", second, err)
	}
	past, err := b.c.PriceHistory(t.Context(), "acme/one", 5)
	if err != nil || len(past) != 2 || past[1].RateCard.Conditions[1].Times != 5_000 {
		t.Errorf("%+v, %v", past, err)
	}
	changes, err := b.c.ModelChanges(t.Context(), "acme/one", 5)
	if err != nil || len(changes) != 2 || changes[0].Field != "conditions[service_tier=flex].times" || changes[0].From != "0.5" {
		t.Errorf("people see %+v, %v", changes, err)
	}
}

// TestWrongConditionsAndCostsAreNamed has a wrong file in each row, with the field and the reason that the error must have.
func TestWrongConditionsAndCostsAreNamed(t *testing.T) {
	t.Parallel()
	conditions := func(text string) []string {
		return []string{smallRates, smallRates + "    conditions:\n      - " + text + "\n"}
	}
	cost := func(text string) []string {
		return []string{smallRoute, "      - provider: north\n        model: one-1\n        style: chat\n        cost: " + text + "\n"}
	}
	for name, c := range map[string]struct {
		change      []string
		path, about string
	}{
		"nothing to hold":        {conditions("{times: 0.5}"), "models[0].conditions[0]", "to which calls"},
		"nothing to change":      {conditions("{service_tier: flex}"), "models[0].conditions[0]", "either rates or times"},
		"both":                   {conditions("{service_tier: flex, times: 2, rates: {input_tokens: 1 per 1M}}"), "models[0].conditions[0]", "either"},
		"a negative edge":        {conditions("{prompt_over: -1, times: 2}"), "models[0].conditions[0].prompt_over", "between"},
		"a tier in capitals":     {conditions("{service_tier: Flex, times: 2}"), "models[0].conditions[0].service_tier", "small letters"},
		"an unknown day":         {conditions("{days: [monday], times: 2}"), "models[0].conditions[0].days", "monday"},
		"an unknown meter":       {conditions("{region: us, rates: {tokens: 1 per 1M}}"), "models[0].conditions[0].rates", "not a meter"},
		"unknown meters":         {conditions("{region: us, times: 2, meters: [tokens]}"), "models[0].conditions[0].meters", "not a meter"},
		"times beyond the bound": {conditions("{region: us, times: 101}"), "models[0].conditions[0].times", "at most 100"},
		"each_over by times":     {conditions("{each_over: 5, times: 2}"), "models[0].conditions[0].each_over", "needs rates"},
		"meters by rates": {conditions("{region: us, rates: {input_tokens: 1 per 1M}, meters: [input_tokens]}"),
			"models[0].conditions[0].meters", "goes with times"},
		"each_over in two units": {conditions("{each_over: 5, rates: {web_searches: 1 per 1K, seconds: 1 per 1}}"), "models[0].conditions[0].each_over", "same unit"},
		"edges that fall": {conditions("{each_over: 5, rates: {web_searches: 1 per 1K}}\n      - {each_over: 5, rates: {web_searches: 2 per 1K}}"),
			"models[0].conditions[1].each_over", "above"},
		"days that are only excepted": {conditions("{except: [2026-10-01], times: 2}"), "models[0].conditions[0]", "days or hours"},
		"conditions of a video": {[]string{"    size_rates:", "    conditions: [{size: 1280x720, times: 2}]\n    size_rates:"},
			"models[1].conditions", "size_rates"},
		"announced conditions": {[]string{smallRates, smallRates + "    announced: {from: 2026-12-01, rates: {input_tokens: 1 per 1M, output_tokens: 1 per 1M}, " +
			"conditions: [{times: 2}]}\n"}, "models[0].announced.conditions[0]", "to which calls"},
		"a cost of an unknown meter": {cost("{rates: {tokens: 1 per 1M}}"), "models[0].routes[0].cost.rates", "not a meter"},
		"a cost without rates":       {cost("{rates: {}}"), "models[0].routes[0].cost.rates", "at least one"},
		"conditions of a cost": {cost("{rates: {input_tokens: 1 per 1M}, conditions: [{times: 2}]}"),
			"models[0].routes[0].cost.conditions[0]", "to which calls"},
		"a markup beside rates":  {[]string{smallRates, smallRates + "    markup: 1.2\n"}, "models[0].markup", "leave out rates"},
		"a markup without cost":  {[]string{smallRates, "    markup: 1.2\n"}, "models[0].markup", "cost of the first route, which is one-1 at north"},
		"a markup beyond bounds": {append(cost("{rates: {input_tokens: 1 per 1M}}"), smallRates, "    markup: 101\n"), "models[0].markup", "between"},
		"a markup of too little": {append(cost("{rates: {input_tokens: 1 per 1M}}"), smallRates, "    markup: 2\n"), "models[0].rates", "output_tokens"},
		"an unknown reader":      {[]string{"name: North", "name: North, usage: grok"}, "providers[0].usage", "grok"},
		"an unknown cancel":      {[]string{"name: North", "name: North, after_cancel: maybe"}, "providers[0].after_cancel", "stops"},
		"an unknown use of cost": {[]string{"name: North", "name: North, provider_cost: yes"}, "providers[0].provider_cost", "compare"},
		"cache writes as input": {[]string{smallRates, "    rates: {input_tokens: 1 per 1M, cache_read_tokens: 0.1 per 1M, output_tokens: 1 per 1M}\n"},
			"models[0].rates", "cache_write_tokens"},
		"a named reader":       {[]string{"name: South", "name: South, usage: anthropic"}, "models[0].rates", "cache_write_tokens"},
		"fees of a reader":     {[]string{"name: North", "name: North, usage: perplexity"}, "models[0].rates", "requests or web_searches"},
		"sound priced as text": {[]string{"name: North", "name: North, usage: openai", "input: [text]", "input: [text, audio]"}, "models[0].rates", "input_audio_tokens"},
	} {
		raw := with(t, c.change...)
		all := Check(parse(t, raw))
		AddLines([]byte(raw), all)
		if !slices.ContainsFunc(all, func(err error) bool {
			problem, ok := errors.AsType[FileError](err)
			return ok && problem.Path == c.path && strings.Contains(problem.Text, c.about) && problem.Line > 5
		}) {
			t.Errorf("%s: no problem %s about %q among %q", name, c.path, c.about, all)
		}
	}
}

func conditionsOf(text string) []string {
	return []string{smallRates, smallRates + "    conditions:\n      - " + text + "\n"}
}

// TestConditionsThatCannotBeReadNameTheLineAndTheField has texts at which parsing ends, and right ones.
func TestConditionsThatCannotBeReadNameTheLineAndTheField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an unknown member":  {"{promt_over: 5, times: 2}", "promt_over"},
		"a word for a count": {"{prompt_over: many, times: 2}", "at prompt_over"},
		"an odd factor":      {"{region: us, times: 0.12345}", "0.12345"},
		"no factor":          {"{region: us, times: 0}", "four decimals"},
		"hours over a night": {`{hours: ["22:00-02:00"], times: 2}`, "over midnight"},
		"no hours":           {`{hours: ["1am"], times: 2}`, "1am"},
		"no date":            {"{days: [mon], except: [1 May], times: 2}", "1 May"},
		"no price":           {"{region: us, rates: {input_tokens: free}}", "input_tokens"},
		"too fine a price":   {"{region: us, rates: {input_tokens: 0.0000000001 per 1M}}", "input_tokens"},
	} {
		raw := with(t, conditionsOf(c.text)...)
		_, err := ParseFile([]byte(raw))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line 21") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, right := range [][]string{
		{smallRates, manyRates + everyCondition}, conditionsOf("{days: [mon, sun], hours: [\"00:00-24:00\"], times: 100}"),
		{"name: North", "name: North, usage: openai, after_cancel: stops, provider_cost: compare"},
		{"name: South", "name: South, usage: anthropic", "{input_tokens: 0.15 per 1M,", "{input_tokens: 0.15 per 1M, cache_write_tokens: 0.2 per 1M,"},
		{"name: North", "name: North, usage: perplexity, provider_cost: price"},
	} {
		if all := Check(parse(t, with(t, right...))); len(all) > 0 {
			t.Errorf("%q: %v", right, all)
		}
	}
}

func TestConditionsComeIntoForceWithAnnouncedPrices(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	announced := "    conditions: [{service_tier: flex, times: 0.5}, {region: us, times: 1.1}]\n    announced:\n      from: " + tomorrow +
		"\n      rates: {input_tokens: 0.20 per 1M, output_tokens: 0.60 per 1M}\n" +
		"      conditions: [{service_tier: flex, times: 0.6}, {prompt_over: 500, times: 2}]\n"
	f := parse(t, with(t, smallRates, smallRates+announced))
	if err := Apply(t.Context(), db, f); err != nil {
		t.Fatal(err)
	}
	m, _ := snapshotFrom(t, f).Model("acme/one")
	var texts []string
	for _, d := range m.Differences() {
		texts = append(texts, d.String())
	}
	want := "Input tokens: $0.15 per 1M → $0.2 per 1M; Flex tier: half price → 0.6 times the price; " +
		"Region us: 1.1 times the price → no other price; Prompts over 500 tokens: no other price → twice the price"
	if got := strings.Join(texts, "; "); got != want {
		t.Error(got)
	}
	other, _ := snapshotFrom(t, parse(t, with(t, smallRates, smallRates+strings.Replace(announced, "0.6}", "0.7}", 1)))).Model("acme/one")
	if m.Announced.ID() == other.Announced.ID() {
		t.Error("other conditions for the same day have the same id")
	}
	if _, err := db.ExecContext(t.Context(), `
		update models set entry = jsonb_set(entry, '{announced,from}', '"2026-01-01"') where id = 'acme/one'`); err != nil {
		t.Fatal(err)
	}
	if err := applyDuePrices(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	now, err := Export(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if one := now.Models[0]; one.Announced != nil || len(one.Conditions) != 2 || one.Conditions[0].Times != 6_000 || one.Conditions[1].PromptOver != 500 {
		t.Errorf("in force: %+v", one.Conditions)
	}
}

const markupRoute = `      - provider: north
        model: one-1
        style: chat
        cost:
          rates: {input_tokens: 0.10 per 1M, output_tokens: 0.333333333 per 1M, web_searches: 10 per 1K}
          conditions: [{service_tier: flex, times: 0.5}, {prompt_over: 500, rates: {input_tokens: 0.20 per 1M}}]
`

func TestAMarkupIsAppliedOnceAndStoredAsACard(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	raw := with(t, smallRates, "    markup: 1.2\n", smallRoute, markupRoute)
	b.apply(t, raw)
	m, _ := b.awaitVersion(t, b.c).Model("acme/one")
	if got := strings.Join(m.PriceLines(), "; "); m.RateCard.ID != "acme/one@1" ||
		got != "input $0.12 per 1M tokens; output $0.40 per 1M tokens; $12.00 per 1,000 web searches; "+
			"Flex tier: half price for tokens; Prompts over 500 tokens: $0.24 input per 1M tokens" {
		t.Error(m.RateCard.ID, got)
	}
	stored, err := Export(t.Context(), b.db)
	if want := parse(t, raw); err != nil || !reflect.DeepEqual(stored, want) {
		t.Errorf("exported\n%+v\nnot\n%+v, %v", stored.Models[0], want.Models[0], err)
	}
	if lines, err := Diff(stored, parse(t, strings.Replace(raw, "markup: 1.2", "markup: 1.3", 1))); err != nil ||
		!slices.Contains(lines, "~ model acme/one rates.input_tokens 0.12 per 1M → 0.13 per 1M") {
		t.Errorf("%q, %v", lines, err)
	}
	b.apply(t, strings.Replace(raw, "markup: 1.2", "markup: 1.3", 1))
	m, _ = b.awaitVersion(t, b.c).Model("acme/one")
	if m.RateCard.ID != "acme/one@2" || m.Prices["input_tokens"].String() != "0.13 per 1M" {
		t.Errorf("%+v", m.RateCard)
	}
	changes, err := b.c.ModelChanges(t.Context(), "acme/one", 10)
	for _, c := range changes {
		if c.Field == "markup" || strings.HasPrefix(c.Field, "routes") {
			t.Errorf("people see %+v", c)
		}
	}
	if err != nil || len(changes) == 0 {
		t.Errorf("%+v, %v", changes, err)
	}
}

// TestMarkedUpPricesAreExact compares with fractions: the price is never below the cost times the markup, and less than a nano-dollar per
// million units above it.
func TestMarkedUpPricesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"input_tokens", "web_searches", "seconds"}).Draw(t, "meter")
		m, _ := meter.Parse(name)
		cost := Price{Amount: app.Amount(rapid.Int64Range(0, 1e9).Draw(t, "amount")), Per: rapid.SampledFrom([]int64{1, 1_000}).Draw(t, "per")}
		by := Factor(rapid.Int64Range(1, int64(markupMax)).Draw(t, "markup"))
		up, err := Rates{name: cost}.markedUp(by)
		if err != nil {
			t.Fatal(err)
		}
		perMillion := func(p Price) *big.Rat {
			return new(big.Rat).Mul(big.NewRat(int64(p.Amount), p.Per), big.NewRat(1_000_000, m.Info().Unit.Scale()))
		}
		want := new(big.Rat).Mul(perMillion(cost), big.NewRat(int64(by), int64(factorOne)))
		over := new(big.Rat).Sub(perMillion(up[name]), want)
		if bound := big.NewRat(1, 1); perMillion(up[name]).Cmp(big.NewRat(int64(priceMax), 1)) < 0 && (over.Sign() < 0 || over.Cmp(bound) >= 0) {
			t.Fatalf("%s × %s = %s: %s over", cost, by, up[name], over)
		}
		if over.Sign() < 0 {
			t.Fatalf("%s × %s = %s is below", cost, by, up[name])
		}
		if _, err := up.card(""); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPricesBelowCostNeedConfirmation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	below := func(rates, cost string) []string {
		return BelowCost(parse(t, with(t, smallRates, "    "+rates+"\n", smallRoute,
			"      - provider: north\n        model: one-1\n        style: chat\n        cost: {"+cost+"}\n")))
	}
	const usual = "rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M}"
	for name, c := range map[string]struct {
		rates, cost string
		want        []string
	}{
		"the same":    {usual, usual, nil},
		"more":        {"rates: {input_tokens: 1 per 1M, output_tokens: 4.1 per 1M}", usual, nil},
		"less":        {"rates: {input_tokens: 1 per 1M, output_tokens: 3.9 per 1M}", usual, []string{"output_tokens costs $4.00 per 1M tokens at north, and its price is $3.90 per 1M tokens"}},
		"another per": {"rates: {input_tokens: 0.001 per 1K, output_tokens: 4 per 1M}", usual, nil},
		"thinking": {usual, "rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, reasoning_tokens: 5 per 1M}",
			[]string{"reasoning_tokens costs $5.00 per 1M tokens"}},
		"long prompts": {usual, usual + ", conditions: [{prompt_over: 200, rates: {input_tokens: 2 per 1M}}]",
			[]string{"(Prompts over 200 tokens)"}},
		"a discount that the provider does not give": {usual + "\n    conditions: [{service_tier: flex, times: 0.5}]", usual,
			[]string{"input_tokens costs $1.00 per 1M tokens at north, and its price is $0.50 per 1M tokens (Flex tier)", "output_tokens"}},
		"the same discount": {usual + "\n    conditions: [{service_tier: flex, times: 0.5}]", usual + ", conditions: [{service_tier: flex, times: 0.5}]", nil},
		"hours": {usual + "\n    conditions: [{hours: [\"01:00-03:00\"], times: 2}]", usual + ", conditions: [{hours: [\"01:00-04:00\"], times: 2}]",
			[]string{"(01:00–04:00 UTC)", "output_tokens"}},
		"a holiday": {usual + "\n    conditions: [{days: [mon, tue], except: [2026-10-06], times: 2}]", usual + ", conditions: [{days: [mon, tue], times: 2}]",
			[]string{"input_tokens", "output_tokens"}},
		"searches that no call can cause": {usual, "rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, web_searches: 10 per 1K}", nil},
		"searches": {"rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, web_searches: 9 per 1K}",
			"rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, web_searches: 10 per 1K}", []string{"web_searches"}},
		"requests": {usual, "rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, requests: 0.005 per 1}", []string{"requests"}},
		"a part": {"rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, web_searches: 10 per 1K}\n    conditions: [{each_over: 5, rates: {web_searches: 9 per 1K}}]",
			"rates: {input_tokens: 1 per 1M, output_tokens: 4 per 1M, web_searches: 10 per 1K}", []string{"web_searches costs $10.00 per 1,000 web searches"}},
		"announced": {usual + "\n    announced: {from: 2027-01-01, rates: {input_tokens: 0.9 per 1M, output_tokens: 4 per 1M}}", usual,
			[]string{"its price from 2027-01-01 is $0.90 per 1M tokens"}},
	} {
		got := below(c.rates, c.cost)
		ok := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	raw := with(t, smallRates, "    markup: 0.9\n", smallRoute, markupRoute)
	err := Apply(t.Context(), db, parse(t, raw))
	if !errors.Is(err, ErrBelowCost) || !strings.Contains(err.Error(), "output_tokens") {
		t.Errorf("applied with %v", err)
	}
	if v, _ := version(t.Context(), db); v != 0 {
		t.Error("a refused file was applied")
	}
	if err := ApplyAs(t.Context(), db, parse(t, raw), HistoryAction{BelowCost: true}); err != nil {
		t.Error(err)
	}
}

func TestTermsOfConditions(t *testing.T) {
	t.Parallel()
	card, err := newCard("", Rates{"input_tokens": {1, 1}}, []FileCondition{
		{Hours: []HourRange{{0, 600}}, Times: 2 * factorOne}, {ServiceTier: "flex", Times: factorOne / 2}, {Days: []string{"sun"}, Times: 3 * factorOne},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]app.Amount{-1: 1_000, 0: 2_000, 1: 500, 2: 3_000} {
		u := meter.Counts{meter.InputTokens: 1_000}
		if cost, err := card.Cost(u, ConditionTerms(&card, i)); err != nil || cost != want {
			t.Errorf("condition %d: %d, %v", i, cost, err)
		}
	}
	if got := ConditionTerms(&billing.RateCard{}, -1); got != (meter.Terms{}) {
		t.Errorf("%+v", got)
	}
}
