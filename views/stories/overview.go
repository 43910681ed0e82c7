package stories

import (
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	homepages "umg/views/home"
)

func overview() []Story {
	story := func(name, title string, status int, change func(*homepages.Overview)) Story {
		return Story{Name: name, Group: "Overview", Title: title, Status: status, Path: "/console",
			View: view(homepages.OverviewPage, newcomer, change)}
	}
	balance := func(s Story, b views.Balance) Story {
		s.Adjust = func(shell *views.Shell) { shell.Balance = b }
		return s
	}
	fresh := views.Balance{Known: true, Available: 5 * app.Dollar, LowAt: app.Dollar}
	list := []Story{
		balance(story("overview-new", "Brand new account", 200, func(*homepages.Overview) {}), fresh),
		balance(story("overview-key-error", "First key refused", 422, func(o *homepages.Overview) {
			o.Onboarding.KeyError = "An account has at most 200 keys. Delete one that is not used."
		}), fresh),
		balance(story("overview-key-made", "First key just made, waiting", 200, func(o *homepages.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			o.Onboarding.Fresh = &views.FreshKey{Key: exampleKeys()[0], Secret: Secret}
		}), fresh),
		balance(story("overview-waiting", "Back again, still waiting", 200, func(o *homepages.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint, o.Onboarding.Language, o.Onboarding.Style = true, "sk-umg-7H…f3Qk", "python", "messages"
		}), fresh),
		balance(story("overview-first-failed", "The first request failed", 200, func(o *homepages.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			row := exampleRequests()[5]
			row.Input, row.Output, row.Cost, row.Outcome = 0, 0, 0, "failed"
			o.Onboarding.First = &homepages.FirstRequest{Request: row}
			o.Recent.Requests, o.Failures.Requests = []views.Request{row}, []views.Request{row}
			o.Spending.Requests, o.Spending.Failed, o.Spending.RequestsByDay[29], o.Spending.FailedByDay[29] = 1, 1, 1, 1
		}), fresh),
		balance(story("overview-refused", "The first request had a wrong key", 200, func(o *homepages.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			o.Onboarding.Refused = &homepages.Arrival{
				At: at(8 * time.Second), ID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr", Method: "POST", Route: "/v1/chat/completions", Status: 401,
				Code: "invalid_api_key", Reason: app.ReasonKeyMistyped, Unknown: true,
			}
		}), fresh),
		story("overview-first", "First request answered", 200, firstAnswered),
		balance(story("overview-sent", "Sent from the page, and answered", 200, func(o *homepages.Overview) {
			firstAnswered(o)
			o.Onboarding.Sent = &homepages.SentCall{Answer: "Hello! It is a pleasure to meet you.", Model: Model,
				ID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}), fresh),
		balance(story("overview-sent-refused", "Sent from the page, without credit", 422, func(o *homepages.Overview) {
			fix := homepages.FixOf("insufficient_quota")
			o.Onboarding.Unfunded = true
			o.Onboarding.Sent = &homepages.SentCall{Trouble: "The account has no credit for this request.", Fix: &fix}
			o.Credit = &views.Credit{}
		}), views.Balance{Known: true, LowAt: app.Dollar, NeverFunded: true}),
		story("overview-busy", "A busy account", 200, busy),
		story("overview-simulated", "For the operator of a demo", 200, func(o *homepages.Overview) {
			firstAnswered(o)
			o.Providers = homepages.OnlySimulated
		}),
		story("overview-no-models", "For the operator of a gateway without models", 200, func(o *homepages.Overview) {
			o.Providers, o.Onboarding.Model = homepages.NoModels, ""
		}),
		story("overview-huge", "Great numbers", 200, huge),
	}
	return append(append(list, overviewKeys(story, balance, fresh)...), overviewLater(story, balance, fresh)...)
}

// overviewKeys are the first steps of newcomers whose key was refused, or ended with the verification of their address.
func overviewKeys(
	story func(name, title string, status int, change func(*homepages.Overview)) Story, balance func(Story, views.Balance) Story,
	fresh views.Balance,
) []Story {
	refused := func(name, title, reason string) Story {
		return balance(story(name, title, 200, func(o *homepages.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			o.Onboarding.Refused = &homepages.Arrival{
				At: at(8 * time.Second), ID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr", Method: "POST", Route: "/v1/chat/completions", Status: 401,
				Code: "invalid_api_key", Reason: reason, Unknown: true,
			}
		}), fresh)
	}
	return []Story{
		refused("overview-refused-missing", "The first request had no key", app.ReasonKeyMissing),
		refused("overview-refused-cut", "The first request had a cut key", app.ReasonKeyCut),
		refused("overview-refused-environment", "The first request had the key of another environment", app.ReasonKeyUnknown),
		balance(story("overview-key-replaced", "Back from the mail, with a key", 200, func(o *homepages.Overview) {
			o.Onboarding.Verifies, o.Onboarding.HasKey, o.Onboarding.KeyHint = true, true, "sk-umg-7H…f3Qk"
			o.Onboarding.Fresh = &views.FreshKey{Key: exampleKeys()[0], Secret: Secret}
			o.Onboarding.Replaced = true
			o.Onboarding.Said = "ada@example.com is verified. $5.00 of trial credit was added to your account."
		}), fresh),
	}
}

// overviewLater are the states of accounts that are in use, and what can go wrong there.
func overviewLater(
	story func(name, title string, status int, change func(*homepages.Overview)) Story, balance func(Story, views.Balance) Story,
	fresh views.Balance,
) []Story {
	return []Story{
		story("overview-refused-calls", "A busy account with refused requests", 200, withRefusals),
		story("overview-hooks", "Webhook endpoints in trouble", 200, troubled),
		balance(story("overview-low", "Little credit left", 200, func(o *homepages.Overview) {
			busy(o)
			o.Credit = &views.Credit{Available: 412_905_310, Purchased: 412_905_310}
			o.Balance.Available = o.Credit.Available
		}), views.Balance{Known: true, Available: 412_905_310, LowAt: app.Dollar}),
		balance(story("overview-empty-credit", "No credit left", 200, func(o *homepages.Overview) {
			busy(o)
			o.Credit = &views.Credit{Available: 0}
			o.Balance.Available = 0
		}), views.Balance{Known: true, Available: 0, LowAt: app.Dollar}),
		balance(story("overview-idle", "Onboarding hidden, nothing called yet", 200, func(o *homepages.Overview) { o.Onboarding = nil }), fresh),
		balance(story("overview-store-error", "Figures cannot be read", 200, func(o *homepages.Overview) {
			o.Onboarding = nil
			o.Credit, o.Spending, o.Speed, o.Top, o.Failures, o.Recent = nil, nil, nil, nil, nil, nil
			o.Failure = &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}), views.Balance{}),
		story("overview-part-error", "One figure cannot be read", 200, func(o *homepages.Overview) {
			busy(o)
			o.Speed = nil
			o.Failure = &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}),
	}
}

// newcomer is the page of an account in which nothing was done yet.
func newcomer(s views.Shell) homepages.Overview {
	return homepages.Overview{
		Shell: s, Onboarding: steps(), Credit: trialCredit(), Spending: nothingSpent(),
		Speed: &homepages.Speed{ByHour: make([]time.Duration, 24)},
		Top:   &homepages.TopModels{}, Failures: &homepages.Failures{}, Recent: &homepages.Recent{},
	}
}

func firstAnswered(o *homepages.Overview) {
	o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
	row := exampleRequests()[0]
	row.Cost, row.Cached = 7_500, 0
	row.Input, row.Output = 14, 9
	o.Onboarding.First = &homepages.FirstRequest{Request: row}
	o.Recent.Requests = []views.Request{row}
	o.Credit.Available, o.Credit.Trial = 4_999_992_500, 4_999_992_500
	s := o.Spending
	s.Today, s.Month, s.Requests, s.ByHour[9], s.ByDay[20], s.RequestsByDay[29] = 7_500, 7_500, 1, 7_500, 7_500, 1
	o.Speed = &homepages.Speed{Calls: 1, Whole: homepages.Quantiles{P50: row.Duration, P95: row.Duration}, ByHour: make([]time.Duration, 24)}
	o.Top = &homepages.TopModels{Spend: 7_500, Models: []homepages.ModelSpend{{Model: Model, Spend: 7_500, Requests: 1}}}
	o.Balance.Available = o.Credit.Available
}

func busy(o *homepages.Overview) {
	o.Onboarding = nil
	o.Credit.Trial, o.Credit.Purchased = 4_998_731_450, 48_250_000_000
	o.Credit.Held, o.Credit.Available = 12_400_000, 53_236_331_450
	o.Balance.Available = o.Credit.Available
	all := exampleRequests()
	o.Recent.Requests, o.Running = all, 2
	for _, i := range []int{3, 5, 7} {
		o.Failures.Requests = append(o.Failures.Requests, all[i])
	}
	o.Spending = &homepages.Spending{
		Today: 1_420_918_750, Yesterday: 1_260_004_100, ByHour: month()[10:20], Month: 24_118_220_018, LastMonth: 29_770_100_000,
		ByDay: month()[:21], Requests: 128_412, RequestsBefore: 97_318, RequestsByDay: counts(month()), Failed: 563, FailedBefore: 611,
		FailedByDay: []int64{0, 3, 2, 0, 0, 41, 7, 3, 2, 0, 9, 12, 3, 0, 0, 2, 5, 311, 88, 14, 3, 2, 0, 0, 8, 9, 12, 7, 10, 10},
	}
	o.Speed = &homepages.Speed{
		Calls: billingTimings, Capped: true, Whole: homepages.Quantiles{P50: 2140 * time.Millisecond, P95: 11_870 * time.Millisecond},
		First:       homepages.Quantiles{P50: 388 * time.Millisecond, P95: 1240 * time.Millisecond},
		WholeBefore: homepages.Quantiles{P50: 2510 * time.Millisecond, P95: 12 * time.Second},
	}
	for i := range 24 {
		o.Speed.ByHour = append(o.Speed.ByHour, time.Duration(1400+(i*577)%1900)*time.Millisecond)
	}
	o.Top = &homepages.TopModels{Spend: 24_118_220_018, Models: []homepages.ModelSpend{
		{Model: "aurora-large", Spend: 14_204_918_750, Requests: 18_224}, {Model: "cobalt-code", Spend: 6_020_442_268, Requests: 9_410},
		{Model: "sage-reasoning-long-context-preview", Spend: 3_604_859_000, Requests: 212},
		{Model: Model, Spend: 288_000_000, Requests: 100_554},
	}}
}

// billingTimings is how many calls the time of an answer is worked out from at most.
const billingTimings = 2000

func huge(o *homepages.Overview) {
	busy(o)
	o.Credit = &views.Credit{Available: 1_284_905_118_202_455, Purchased: 1_284_905_000_000_000, Granted: 118_202_455, Held: 40_000_000_000}
	o.Balance.Available = o.Credit.Available
	s := o.Spending
	s.Today, s.Yesterday, s.Month, s.LastMonth = 18_220_441_902_310, 16_904_230_118_450, 402_118_773_004_120, 388_000_000_000_000
	s.Requests, s.RequestsBefore, s.Failed = 184_220_119, 91_000_112, 20_114
	for i := range o.Top.Models {
		o.Top.Models[i].Spend *= 17_000
		o.Top.Models[i].Requests *= 1_700
	}
	o.Top.Spend *= 17_000
}

func nothingSpent() *homepages.Spending {
	return &homepages.Spending{
		ByHour: make([]app.Amount, 10), ByDay: make([]app.Amount, 21), RequestsByDay: make([]int64, 30), FailedByDay: make([]int64, 30),
	}
}

func counts(amounts []app.Amount) []int64 {
	list := make([]int64, len(amounts))
	for i, a := range amounts {
		list[i] = int64(a / (app.Dollar / 10_000))
	}
	return list
}

func steps() *homepages.Onboarding {
	o := &homepages.Onboarding{MayCall: true, BaseURL: BaseURL, Model: Model}
	for style, body := range map[views.Style]string{
		"chat":      `{"model":"` + Model + `","messages":[{"role":"user","content":"Say hello in one short sentence."}]}`,
		"messages":  `{"model":"` + Model + `","max_tokens":1024,"messages":[{"role":"user","content":"Say hello in one short sentence."}]}`,
		"responses": `{"model":"` + Model + `","input":"Say hello in one short sentence."}`,
		"native":    `{"model":"` + Model + `","contents":[{"role":"user","parts":[{"text":"Say hello in one short sentence."}]}]}`,
	} {
		o.Bodies = append(o.Bodies, homepages.StyleBody{Style: style, Body: []byte(body)})
	}
	slices.SortFunc(o.Bodies, func(a, b homepages.StyleBody) int { return strings.Compare(string(a.Style), string(b.Style)) })
	return o
}

func trialCredit() *views.Credit {
	expires := Now().Add(30 * 24 * time.Hour)
	return &views.Credit{Available: 5 * app.Dollar, Trial: 5 * app.Dollar, TrialExpires: &expires}
}

// month is a spend that rises and rests at weekends.
func month() []app.Amount {
	days := []app.Amount{
		0, 210, 480, 530, 610, 190, 140, 720, 890, 940, 1020, 870, 260, 230, 1110,
		1290, 1180, 1340, 1260, 330, 290, 1480, 1610, 1390, 1720, 1550, 410, 380, 1830, 2040,
	}
	for i := range days {
		days[i] *= app.Dollar / 1000
	}
	return days
}

func exampleRequests() []views.Request {
	row := func(ago time.Duration, id, model, key, style string, streamed bool) views.Request {
		return views.Request{
			ID: "req_01kb4a7" + id, At: at(ago), Model: model, KeyName: key, Style: style, Streamed: streamed, Outcome: "succeeded",
		}
	}
	all := []views.Request{
		row(4*time.Second, "m9x3v5d2c8n6q1w0zpr", Model, "Laptop", "chat", false),
		row(31*time.Second, "k2f8s4j6h1d9a3g5b7t", "aurora-large", "Support assistant, production", "chat", true),
		row(2*time.Minute, "c7v1n5m9q3w8e2r6y4u", "cobalt-code", "Editor", "messages", true),
		row(6*time.Minute, "z4x8c2v6b1n5m9a3s7d", "aurora-large", "Batch nightly", "chat", false),
		row(21*time.Minute, "t5y9u3i7o1p4a8s2d6f", "sage-reasoning-long-context-preview", "Research", "responses", true),
		row(48*time.Minute, "g6h1j5k9l3z7x2c4v8b", "cobalt-code", "Editor", "messages", true),
		row(3*time.Hour, "n2m6q1w5e9r4t8y3u7i", "aurora-mini", "Batch nightly", "chat", false),
		row(26*time.Hour, "o8p3a7s1d5f9g4h2j6k", "lumen-vision", "Support assistant, production", "native", false),
	}
	facts := []struct {
		in, cached, out   int64
		cost              app.Amount
		firstByte, took   time.Duration
		outcome, code     string
		estimated, noByte bool
	}{
		{in: 1_204, cached: 896, out: 312, cost: 231_600, firstByte: 412 * time.Millisecond, took: 812 * time.Millisecond},
		{in: 18_422, cached: 16_384, out: 1_057, cost: 21_480_250, firstByte: 640 * time.Millisecond, took: 12_380 * time.Millisecond},
		{
			in: 6_120, out: 188, cost: 2_913_400, firstByte: 388 * time.Millisecond, took: 4_120 * time.Millisecond,
			outcome: "client_left", estimated: true,
		},
		{in: 0, out: 0, took: 34 * time.Millisecond, outcome: "failed", code: "insufficient_quota"},
		{in: 201_993, cached: 120_000, out: 24_806, cost: 1_204_918_750, firstByte: 8_940 * time.Millisecond, took: 154 * time.Second},
		{
			in: 5_830, out: 941, cost: 3_755_000, firstByte: 402 * time.Millisecond, took: 9_871 * time.Millisecond,
			outcome: "cut", code: "upstream_error",
		},
		{in: 9, out: 3, cost: 43, firstByte: 96 * time.Millisecond, took: 101 * time.Millisecond},
		{in: 2_048, took: 60 * time.Second, outcome: "timed_out", code: "upstream_timeout"},
	}
	for i, f := range facts {
		r := &all[i]
		r.Input, r.Cached, r.Output, r.Cost, r.FirstByte, r.Duration = f.in, f.cached, f.out, f.cost, f.firstByte, f.took
		r.ErrorCode, r.Estimated = f.code, f.estimated
		if f.outcome != "" {
			r.Outcome = f.outcome
		}
	}
	return all
}

// troubled is a busy account with a video among its requests, and endpoints that need attention.
func troubled(o *homepages.Overview) {
	busy(o)
	film := exampleRequests()[0]
	film.Model, film.Style, film.Seconds, film.Cost, film.Duration = "quarry/reel:pro", "videos", 8, 240*app.Cent, 41*time.Second
	film.ID, film.Cached, film.Streamed, film.FirstByte = "video_01kb4a6zt4h2s8j5y7r3w9mvkd", 0, false, 0
	o.Recent.Requests = append([]views.Request{film}, o.Recent.Requests...)
	since := at(30 * time.Hour)
	o.Hooks = []views.Webhook{
		{ID: "whe_1", Name: "Billing", Disabled: true, DisabledReason: views.WebhookOffByFailures, DisabledAt: &since},
		{ID: "whe_2", Name: "Search index", FailingSince: &since},
	}
}
