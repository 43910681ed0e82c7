package stories

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	modelpages "umg/views/models"
)

// models are the pages about models, in every state.
func models() []Story {
	list := func(name, title string, q modelpages.Query, change func(*modelpages.List)) Story {
		return Story{Name: name, Group: "Models", Title: title, Status: 200, Path: "/console/models",
			View: view(modelpages.ListPage, func(s views.Shell) modelpages.List {
				return modelpages.List{Shell: s, Query: q, All: exampleModels(), Keys: []modelpages.KeyAllows{
					{ID: "key_1", Name: "Production"},
					{ID: "key_2", Name: "Support assistant", Models: []string{"aurora/aurora-large", "aurora/" + Model}},
				}}
			}, change)}
	}
	as := func(*modelpages.List) {}
	all := []Story{
		list("models-page", "The second page of five hundred", modelpages.Query{Page: 2}, func(l *modelpages.List) {
			for i := len(l.All); i < 500; i++ {
				m := l.All[i%3]
				m.ID, m.Name = m.ID+"-"+strconv.Itoa(i), m.Name+" "+strconv.Itoa(i)
				l.All = append(l.All, m)
			}
		}),
		list("models", "Models of every kind and state", modelpages.Query{}, as),
		list("models-filtered", "Models, searched and sorted", modelpages.Query{
			Text: "a", Capabilities: []string{"text"}, Styles: []string{"chat"}, Sort: "-input",
		}, as),
		list("models-cards", "Models as cards, priced per thousand tokens", modelpages.Query{Unit: views.UnitThousand,
			View: modelpages.ViewCards},
			func(l *modelpages.List) { l.Cards = true }),
		list("models-narrowed", "Models that a key may use, with every filter", modelpages.Query{
			Inputs: []string{"text"}, Outputs: []string{"text"}, Features: []string{"seed", "json"}, Statuses: []string{"available"},
			From: "0.10", To: "5", Context: 128_000, Key: "key_2", Marked: []string{"borealis/elder", "aurora/" + Model}, Unit: views.UnitThousand,
		}, as),
		list("models-conditions", "Models, one with other prices for some calls", modelpages.Query{}, func(l *modelpages.List) {
			l.All[0].Conditions = exampleConditions()
		}),
		list("models-conditions-cards", "Models as cards, one with other prices for some calls", modelpages.Query{View: modelpages.ViewCards},
			func(l *modelpages.List) { l.Cards, l.All[0].Conditions = true, exampleConditions() }),
		list("models-many", "A hundred models", modelpages.Query{Sort: "-context"}, func(l *modelpages.List) { l.All = manyModels() }),
		list("models-none", "No model matches", modelpages.Query{Text: "zebra"}, as),
		list("models-empty", "No catalog yet", modelpages.Query{}, func(l *modelpages.List) { l.All = nil }),
		visitor(list("models-out", "Models, for a visitor", modelpages.Query{}, func(l *modelpages.List) {
			l.Keys = nil
			for i := range l.All {
				l.All[i].Limits.Left = nil
			}
		})),
	}
	return slices.Concat(all, comparisons(), modelParts(), modelReaders())
}

func visitor(s Story) Story {
	s.Out = true
	return s
}

func manyModels() []views.Model {
	base := exampleModels()
	many := make([]views.Model, 100)
	for i := range many {
		many[i] = base[i%len(base)]
		many[i].ID = fmt.Sprintf("%s-%03d", many[i].ID, i)
		many[i].Name = fmt.Sprintf("%s %03d", many[i].Name, i)
		many[i].ContextTokens += int64(i) * 1000
	}
	return many
}

func comparisons() []Story {
	one := func(name, title string, pick []int, change func(*modelpages.Comparison)) Story {
		return Story{Name: name, Group: "Models", Title: title, Status: 200, Path: "/console/compare", View: func(s views.Shell) templ.Component {
			c := modelpages.Comparison{Shell: s}
			all := exampleModels()
			for _, i := range pick {
				c.Models = append(c.Models, all[i])
			}
			c.Others = all[len(pick):]
			change(&c)
			return modelpages.ComparePage(c)
		}}
	}
	as := func(*modelpages.Comparison) {}
	return []Story{
		one("compare", "Four models side by side", []int{0, 1, 2, 5}, func(c *modelpages.Comparison) { c.Others = nil }),
		one("compare-differences", "What two models differ in", []int{0, 1}, func(c *modelpages.Comparison) { c.Only = true }),
		one("compare-conditions", "Two models, one with other prices for some calls", []int{0, 1}, func(c *modelpages.Comparison) {
			c.Models[0].Conditions = exampleConditions()
		}),
		one("compare-unknown", "One model, and one that is gone", []int{0}, func(c *modelpages.Comparison) {
			c.Unknown = []string{"gone/model"}
		}),
		one("compare-same", "Two models that do not differ", []int{0, 0}, func(c *modelpages.Comparison) {
			c.Only = true
			c.Models[1].ID, c.Models[1].Name = "borealis/aurora-large", "Aurora Large by Borealis"
		}),
		one("compare-empty", "Nothing to compare yet", nil, as),
		visitor(one("compare-out", "A comparison, for a visitor", []int{0, 1, 2}, as)),
	}
}

// contractsOf are the contracts as they name one model.
func contractsOf(id string, contracts []modelpages.Contract) []modelpages.Contract {
	named := slices.Clone(contracts)
	for i, c := range named {
		named[i].Sample = bytes.ReplaceAll(c.Sample, []byte("aurora/aurora-large"), []byte(id))
		named[i].Fields = slices.Clone(c.Fields)
		named[i].Fields[0].Allowed = []string{id}
	}
	return named
}

// modelPageStory is the page of one of the example models, as change leaves it.
func modelPageStory(name, title string, i int, change func(*modelpages.Detail), contracts ...modelpages.Contract) Story {
	return Story{Name: name, Group: "Models", Title: title, Status: 200, Path: views.ModelPath(exampleModels()[i].ID),
		View: func(s views.Shell) templ.Component {
			model := exampleModels()[i]
			if len(contracts) > 0 && model.State == views.ModelComing {
				model.State = views.ModelAvailable
			}
			d := modelpages.Detail{
				Shell: s, Model: model, Contracts: contractsOf(model.ID, contracts), KeyHint: "sk-umg-7H…f3Qk", Factor: 1,
				Past: examplePast(model), Calc: exampleCalc(model), HasAPI: len(contracts) > 0,
			}
			change(&d)
			if d.Days == nil && d.Model.Now.Answered > 0 {
				d.Days = exampleDays()
			}
			return modelpages.DetailPage(d)
		}}
}

// modelContracts are the contracts of a model in all styles.
func modelContracts() (contracts []modelpages.Contract) {
	for _, style := range allStyles {
		contracts = append(contracts, modelpages.Contract{
			Style: style, Hash: "5f3a9c0e11d2b476", Fields: exampleFields(), Hints: []string{"seed"}, Without: []string{"logit_bias"},
			Sample: exampleBody(style),
		})
	}
	return contracts
}

// onTab shows a part of the page of a model.
func onTab(tab string, change func(*modelpages.Detail)) func(*modelpages.Detail) {
	return func(d *modelpages.Detail) {
		d.Tab = tab
		change(d)
	}
}

// wholeHistory adds days and changes of a model.
func wholeHistory(d *modelpages.Detail) { d.Days, d.Changes = exampleDays(), modelStory() }

// modelParts are the parts of the page of a model.
func modelParts() []Story {
	contracts := modelContracts()
	return []Story{
		modelPageStory("model", "A model in all four styles", 0, wholeHistory, contracts...),
		modelPageStory("model-api", "How a model is called in all four styles", 0, onTab(modelpages.TabAPI, wholeHistory), contracts...),
		modelPageStory("model-history", "What changed about a model", 0, onTab(modelpages.TabHistory, wholeHistory), contracts...),
		modelPageStory("model-cost", "What a model costs", 0, onTab(modelpages.TabCost, wholeHistory), contracts...),
		modelPageStory("model-performance", "How a model does at two providers", 0, onTab(modelpages.TabPerformance, func(d *modelpages.Detail) {
			d.Days, d.Providers = exampleDays(), examplePerformance(d.Now, false)
		}), contracts...),
		modelPageStory("model-performance-week", "A failing model in seven days", 3, onTab(modelpages.TabPerformance, func(d *modelpages.Detail) {
			d.Days, d.Providers = exampleDays(), examplePerformance(d.Now, true)
		}), contracts...),
		modelPageStory("model-performance-none", "A model without calls", 1, onTab(modelpages.TabPerformance, func(d *modelpages.Detail) {
			d.Model.State, d.Model.Now = views.ModelAvailable, views.ModelNow{Answered: 6, Failed: 1}
		}), contracts...),
		modelPageStory("model-degraded", "A degraded model", 1, wholeHistory, contracts...),
		modelPageStory("model-failing", "A model whose providers all failed", 0, func(d *modelpages.Detail) {
			d.Model.State, d.Model.Now.NoRoute = views.ModelFailing, true
			d.Model.Now.Instead = []views.ModelRef{{ID: "aurora/" + Model, Name: "Aurora Mini"}}
		}, contracts...),
		modelPageStory("model-few-calls", "A model with too few calls to judge, and no limits of its own", 0, func(d *modelpages.Detail) {
			d.Model.Now = views.ModelNow{Answered: 6, Failed: 1, FirstByteP50: 300 * time.Millisecond}
			d.Model.Limits = views.Limits{}
		}, contracts...),
		modelPageStory("model-no-key", "Code for a reader without a key", 1, onTab(modelpages.TabAPI, func(d *modelpages.Detail) {
			d.KeyHint, d.Factor, d.Model.Now = "", 20, views.ModelNow{}
		}), contracts[0]),
		modelPageStory("model-announced", "A model whose price changes", 0, onTab(modelpages.TabHistory, func(d *modelpages.Detail) {
			next := examplePast(d.Model)[1]
			next.From = day(2026, 12, 10)
			d.Next = &next
		}), contracts[0]),
		modelPageStory("model-history-none", "A model of which nothing has changed", 1, onTab(modelpages.TabHistory, func(d *modelpages.Detail) {
			d.Past = nil
		}), contracts[0]),
		modelPageStory("model-conditions", "A model with fees, and other prices for some calls", 0, conditionalPrices, contracts[0]),
		modelPageStory("model-conditions-history", "The past of a model with other prices for some calls", 0,
			onTab(modelpages.TabHistory, conditionalPrices), contracts[0]),
		modelPageStory("model-conditions-cost", "The cost of a model with other prices for some calls", 0,
			onTab(modelpages.TabCost, conditionalPrices), contracts[0]),
	}
}

// modelReaders are pages of a model for readers who may or have less, and of models in other states.
func modelReaders() []Story {
	contracts := modelContracts()
	as := func(*modelpages.Detail) {}
	film := modelpages.Contract{Style: "videos", Hash: "81c0e2aa5b7d9f34", Fields: exampleFields()[:1], Without: []string{"stream"}}
	return []Story{
		modelPageStory("model-last", "A model, with the reader's last requests priced", 1, onTab(modelpages.TabCost, func(d *modelpages.Detail) {
			d.Last = exampleLast()
		}), contracts[0]),
		modelPageStory("model-last-none", "A model, for a reader without requests", 1, onTab(modelpages.TabCost, func(d *modelpages.Detail) {
			d.Last = &modelpages.LastCalls{}
		}), contracts[0]),
		modelPageStory("model-calc-wrong", "A model, a quantity that is none", 1, onTab(modelpages.TabCost, func(d *modelpages.Detail) {
			d.Calc.Inputs[0].Value, d.Calc.Inputs[0].Error = "many", "Input tokens must be a whole number from 0 to 1,000,000,000."
			d.Calc.Error = d.Calc.Inputs[0].Error
		}), contracts[0]),
		visitor(modelPageStory("model-out", "A model, for a visitor", 0, func(d *modelpages.Detail) {
			wholeHistory(d)
			d.Model.Limits.Left, d.KeyHint = nil, ""
		}, contracts[:2]...)),
		visitor(modelPageStory("model-out-api", "How a model is called, for a visitor", 0, onTab(modelpages.TabAPI, func(d *modelpages.Detail) {
			d.Model.Limits.Left, d.KeyHint = nil, ""
		}), contracts[:2]...)),
		modelPageStory("model-paused", "A paused model", 2, as, contracts[0]),
		modelPageStory("model-deprecated", "A deprecated model", 3, wholeHistory, contracts[0]),
		modelPageStory("model-unserved", "A model without a provider", 4, as),
		modelPageStory("model-coming", "A coming model, priced by second and size", 5, filmCalc),
		modelPageStory("model-video", "A model that makes videos", 5, func(d *modelpages.Detail) {
			filmCalc(d)
			d.Model.Released = day(2026, 5, 12)
		}, film),
		modelPageStory("model-video-cost", "What a video costs", 5, onTab(modelpages.TabCost, filmCalc), film),
		modelPageStory("model-video-api", "How a video is made", 5, onTab(modelpages.TabAPI, filmCalc), film),
	}
}

// examplePerformance is a good provider and one that failed for some hours.
func examplePerformance(now time.Time, week bool) modelpages.Performance {
	span, step := modelpages.PerformanceSpan(week)
	p := modelpages.Performance{Week: week, Start: now.UTC().Truncate(step).Add(-span)}
	one := func(provider string, i int, answered, failed, attempts int64) modelpages.ProviderStep {
		wave := time.Duration(i*i%11) * 17 * time.Millisecond
		if provider == "crossroads" {
			wave += 240 * time.Millisecond
		}
		return modelpages.ProviderStep{
			Start: p.Start.Add(time.Duration(i) * step), Provider: provider, Answered: answered, Failed: failed, Attempts: attempts,
			FirstByteP50: 380*time.Millisecond + wave, FirstByteP95: 1100*time.Millisecond + 3*wave,
			DurationP50: 4*time.Second + 9*wave, DurationP95: 11*time.Second + 20*wave, Speed: 86_400 - int64(i*i%13)*1_700,
		}
	}
	for i := range int(span/step) + 1 {
		failed, attempts := int64(0), int64(0)
		switch i {
		case 9:
			failed, attempts = 30, 14
		case 10:
			failed, attempts = 90, 210
		case 17:
			failed = 12
		}
		p.Steps = append(p.Steps, one("aurora", i, 700+int64(i*37%190), failed, attempts))
		if i > 3 && i != 14 {
			p.Steps = append(p.Steps, one("crossroads", i, 60+int64(i*13%41), 0, 0))
		}
	}
	for i, provider := range []string{"aurora", "crossroads"} {
		total := one(provider, 4, 0, 0, 0)
		for _, s := range p.Steps {
			if s.Provider == provider {
				total.Answered, total.Failed, total.Attempts = total.Answered+s.Answered, total.Failed+s.Failed, total.Attempts+s.Attempts
			}
		}
		total.Start = time.Time{}
		total.Speed -= int64(i) * 9_000
		p.Totals = append(p.Totals, total)
	}
	return p
}

func exampleCalc(m views.Model) *modelpages.Calculation {
	c := &modelpages.Calculation{
		Inputs: []modelpages.CalcInput{
			{Name: "input_tokens", Label: "Input tokens", Value: "1000"}, {Name: "cache_read_tokens", Label: "Read from a cache", Value: "0"},
			{Name: "output_tokens", Label: "Output tokens", Value: "500"},
		},
		Requests: modelpages.CalcInput{Name: "requests", Label: "Requests a day", Value: "1000"},
	}
	for _, p := range m.Prices {
		line := modelpages.CalcLine{Label: "Input", Quantity: 1000}
		switch p.Meter {
		case "output_tokens":
			line = modelpages.CalcLine{Label: "Output", Quantity: 500}
		case "input_tokens":
		default:
			continue
		}
		line.Rate, line.Amount = p.Text()+" / 1M tokens", p.Amount*app.Amount(line.Quantity)/1_000_000
		c.Lines = append(c.Lines, line)
		c.Total += line.Amount
	}
	c.Day, c.Month = c.Total*1000, c.Total*30_000
	return c
}

// exampleConditions are other prices of each kind.
func exampleConditions() []views.PriceCondition {
	return []views.PriceCondition{
		{
			Calls:  "Prompts over 200,000 tokens",
			Effect: "$5.00 input, $2.50 cached input, $6.25 cache writes, $10.00 cache writes for 1 hour, $15.00 output per 1M tokens",
		},
		{Calls: "Flex tier", Effect: "half price for tokens"},
		{Calls: "01:00–04:00 and 06:00–10:00 UTC on working days, except 2026-10-01", Effect: "twice the price for tokens"},
		{Calls: "After the first 1,000 web searches", Effect: "$8.00 per 1,000 web searches"},
	}
}

// conditionalPrices gives a model fees, conditions, and a past without the last of them.
func conditionalPrices(d *modelpages.Detail) {
	d.Model.Prices = append(slices.Clone(d.Model.Prices), perMillion("cache_write_1h_tokens", 500), perMillion("input_audio_tokens", 700),
		views.Price{Meter: "web_searches", Amount: 10 * app.Dollar, Per: 1_000},
		views.Price{Meter: "container_seconds", Amount: 30_000 * app.Nano, Per: 1})
	d.Model.Conditions = exampleConditions()
	next := examplePast(d.Model)[0]
	next.From, next.Conditions = day(2026, 12, 10), exampleConditions()[:1]
	d.Next = &next
	d.Past[0].Conditions, d.Past[1].Conditions = d.Model.Conditions, d.Model.Conditions[:2]
	d.Calc.Terms = []modelpages.CalcTerms{
		{Label: "Usual"}, {Value: "1", Label: "Flex tier"},
		{Value: "2", Label: "01:00–04:00 and 06:00–10:00 UTC on working days, except 2026-10-01"},
	}
	d.Calc.Term = "1"
	d.Calc.Lines[0].Quantity, d.Calc.Lines[0].Rate, d.Calc.Lines[0].Amount = 300_000, "$2.50 / 1M tokens", 75*app.Cent
	d.Calc.Inputs[0].Value, d.Calc.Lines[0].Condition = "300000", "Prompts over 200,000 tokens, Flex tier"
	d.Calc.Lines[1].Rate, d.Calc.Lines[1].Amount = "$7.50 / 1M tokens", 3750*1_000*app.Nano
	d.Calc.Lines[1].Condition = d.Calc.Lines[0].Condition
	d.Calc.Total = d.Calc.Lines[0].Amount + d.Calc.Lines[1].Amount
	d.Calc.Day, d.Calc.Month = d.Calc.Total*1000, d.Calc.Total*30_000
}

func filmCalc(d *modelpages.Detail) {
	d.Calc = &modelpages.Calculation{
		Inputs: []modelpages.CalcInput{{Name: "seconds", Label: "Seconds", Value: "8"}}, Sizes: d.Model.Sizes, Size: "1080x1920",
		Requests: modelpages.CalcInput{Name: "requests", Label: "Requests a day", Value: "20"},
		Lines:    []modelpages.CalcLine{{Label: "Each second", Quantity: 8, Rate: "$0.70 / second", Amount: 560 * app.Cent}},
		Total:    560 * app.Cent, Day: 112 * app.Dollar, Month: 3360 * app.Dollar,
	}
}

func examplePast(m views.Model) []modelpages.PastPrices {
	before := func(percent app.Amount) []views.Price {
		var prices []views.Price
		for _, p := range m.Prices {
			if p.Like == "" {
				p.Amount = p.Amount * percent / 100
				prices = append(prices, p)
			}
		}
		return prices
	}
	return []modelpages.PastPrices{
		{From: day(2026, 10, 1), Prices: before(100), SizePrices: m.SizePrices},
		{From: day(2026, 7, 14), Prices: before(140), SizePrices: m.SizePrices},
		{From: day(2026, 5, 12), Prices: before(200)},
	}
}

func exampleDays() []modelpages.Day {
	var days []modelpages.Day
	for i := range 78 {
		d := modelpages.Day{Day: day(2026, 11, 21).AddDate(0, 0, i-77), Answered: 40_000 + int64(i*i%97)*311, Judged: true}
		switch i {
		case 20, 21:
			continue
		case 33, 61:
			d.Failed = d.Answered / 40
		case 47:
			d.Failed = d.Answered / 3
		case 70:
			d.Failed = 12
		}
		days = append(days, d)
	}
	return days
}

func modelStory() []modelpages.Change {
	return []modelpages.Change{
		{At: day(2026, 10, 1).Add(9 * time.Hour), Field: "rates.output_tokens", From: "14 per 1M", To: "10 per 1M"},
		{At: day(2026, 10, 1).Add(9 * time.Hour), Field: "parameters", From: "[temperature, tools, n]", To: "[temperature, tools, seed]"},
		{At: day(2026, 7, 14), Field: "limits.requests_per_minute", From: "30", To: "60"},
		{At: day(2026, 7, 14), Field: "description", From: "a", To: "b"},
		{At: day(2026, 6, 2), Field: "deprecated", To: "2027-06-01"},
		{At: day(2026, 5, 12)},
	}
}

func exampleLast() *modelpages.LastCalls {
	return &modelpages.LastCalls{
		Count: 100, From: day(2026, 11, 3), To: day(2026, 11, 20), Paid: 1_284_310_500, Would: 97_204_150,
		Models: []modelpages.LastModel{
			{Model: "aurora/aurora-large", Count: 62, Paid: 1_201_000_000, Would: 72_060_000},
			{Model: "borealis/thinker", Count: 38, Paid: 83_310_500, Would: 25_144_150},
		},
	}
}
