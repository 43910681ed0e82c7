package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
)

func overview() []Story {
	story := func(name, title string, status int, change func(*views.Overview)) Story {
		return Story{Name: name, Group: "Overview", Title: title, Status: status, Path: "/console",
			View: func(s views.Shell) templ.Component {
				o := views.Overview{Shell: s, Onboarding: steps(), Credit: trialCredit()}
				change(&o)
				return views.OverviewPage(o)
			}}
	}
	balance := func(s Story, b views.Balance) Story {
		s.Adjust = func(shell *views.Shell) { shell.Balance = b }
		return s
	}
	fresh := views.Balance{Known: true, Available: 5 * app.Dollar, LowAt: app.Dollar}
	return []Story{
		balance(story("overview-new", "Brand new account", 200, func(*views.Overview) {}), fresh),
		balance(story("overview-key-error", "First key refused", 422, func(o *views.Overview) {
			o.Onboarding.Form = views.KeyForm{NameError: "Give the key a name of at most 64 characters.", ModeError: "Choose who will use this key."}
		}), fresh),
		balance(story("overview-key-made", "First key just made, waiting", 200, func(o *views.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			o.Onboarding.Fresh = &views.FreshKey{Key: exampleKeys()[0], Secret: Secret}
			o.Onboarding.Call.Key = Secret
		}), fresh),
		balance(story("overview-waiting", "Back again, still waiting", 200, func(o *views.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint, o.Onboarding.Language = true, "sk-umg-7H…f3Qk", "python"
		}), fresh),
		story("overview-first-failed", "The first request failed", 200, func(o *views.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			row := exampleRequests()[3]
			o.Onboarding.First = &views.FirstRequest{Request: row}
			o.Requests = []views.Request{row}
			o.Stats = views.Stats{Requests: 1, Failed: 1, SpendByDay: firstDay(0)}
		}),
		story("overview-first", "First request answered", 200, func(o *views.Overview) {
			o.Onboarding.HasKey, o.Onboarding.KeyHint = true, "sk-umg-7H…f3Qk"
			row := exampleRequests()[0]
			row.Cost, row.Cached = 7_500, 0
			row.Input, row.Output = 14, 9
			o.Onboarding.First = &views.FirstRequest{Request: row}
			o.Requests = []views.Request{row}
			o.Credit.Available, o.Credit.Trial = 4_999_992_500, 4_999_992_500
			o.Stats = views.Stats{Spend: 7_500, Requests: 1, SpendByDay: firstDay(7_500)}
			o.Balance.Available = o.Credit.Available
		}),
		story("overview-busy", "A busy account", 200, busy),
		story("overview-hooks", "Webhook endpoints in trouble", 200, troubled),
		balance(story("overview-low", "Little credit left", 200, func(o *views.Overview) {
			busy(o)
			o.Credit = views.Credit{Available: 412_905_310, Purchased: 412_905_310}
		}), views.Balance{Known: true, Available: 412_905_310, LowAt: app.Dollar}),
		balance(story("overview-empty-credit", "No credit left", 200, func(o *views.Overview) {
			busy(o)
			o.Credit = views.Credit{Available: 0}
		}), views.Balance{Known: true, Available: 0, LowAt: app.Dollar}),
		balance(story("overview-idle", "Onboarding hidden, nothing called yet", 200, func(o *views.Overview) { o.Onboarding = nil }), fresh),
		balance(story("overview-store-error", "Figures cannot be read", 200, func(o *views.Overview) {
			o.Onboarding = nil
			o.Failure = &views.Trouble{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}), views.Balance{}),
	}
}

func busy(o *views.Overview) {
	o.Onboarding = nil
	o.Credit.Purchased, o.Credit.Held, o.Credit.Available = 48_250_000_000, 12_400_000, 53_236_331_450
	o.Balance.Available = o.Credit.Available
	o.Requests = exampleRequests()
	o.Stats = views.Stats{Spend: 31_482_905_118, Requests: 128_412, Streamed: 101_945, Failed: 563, SpendByDay: month()}
}

func steps() *views.Onboarding {
	return &views.Onboarding{Form: views.NewKeyForm(keyChoices()), Call: views.Call{BaseURL: BaseURL, Model: Model}}
}

func trialCredit() views.Credit {
	expires := Now().Add(30 * 24 * time.Hour)
	return views.Credit{Available: 4_998_731_450, Trial: 4_998_731_450, TrialExpires: &expires}
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

func firstDay(a app.Amount) []app.Amount {
	days := make([]app.Amount, 30)
	days[29] = a
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

// troubled is a busy account with a video among its requests, and endpoints that somebody should look after.
func troubled(o *views.Overview) {
	busy(o)
	film := exampleRequests()[0]
	film.Model, film.Style, film.Seconds, film.Cost, film.Duration = "quarry/reel:pro", "videos", 8, 240*app.Cent, 41*time.Second
	film.ID, film.Cached, film.Streamed, film.FirstByte = "video_01kb4a6zt4h2s8j5y7r3w9mvkd", 0, false, 0
	o.Requests = append([]views.Request{film}, o.Requests...)
	since := at(30 * time.Hour)
	o.Hooks = []views.Webhook{
		{ID: "whe_1", Name: "Billing", Disabled: true, DisabledReason: views.WebhookOffByFailures, DisabledAt: &since},
		{ID: "whe_2", Name: "Search index", FailingSince: &since},
	}
}
