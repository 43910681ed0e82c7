package stories

import (
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	requestpages "umg/views/requests"
)

func exampleCalls() []requestpages.LoggedRequest {
	const support = "Support assistant, production"
	rows := []requestpages.LoggedRequest{
		{Request: views.Request{Model: "aurora-large", KeyName: support, Style: "chat", Streamed: true, Outcome: "succeeded",
			Input: 4_213, Cached: 1_024,
			Output: 388, Cost: 21_480_251, FirstByte: 412 * time.Millisecond, Duration: 6_318 * time.Millisecond},
			Provider: "meridian", Upstream: "aurora-large-2026-08", Finish: "stop", Reason: "completed", EndUser: "u-4411"},
		{Request: views.Request{Model: "sage-reasoning-long-context-preview", KeyName: "Batch nightly", Style: "messages", Outcome: "client_left",
			ErrorCode: "client_closed_request", Estimated: true, Input: 91_020, Output: 12, Cost: 43, FirstByte: 8 * time.Second,
			Duration: 9 * time.Second},
			Provider: "tern", Upstream: "sage", Reason: "client_left"},
		{Request: views.Request{Model: Model, KeyName: "Playground", Style: "responses", Streamed: true, Outcome: "cut",
			ErrorCode: "upstream_error",
			Estimated: true, Input: 120, Output: 44, Cost: 880_043, FirstByte: 120 * time.Millisecond, Duration: 70 * time.Second},
			Provider: "meridian", Upstream: "aurora-mini", Reason: "upstream_broke_off"},
		{Request: views.Request{Model: "quarry/reel:pro", KeyName: support, Style: "videos", Outcome: "succeeded", Seconds: 8,
			Cost:     960 * app.Cent / 100,
			Duration: 74 * time.Second}, Provider: "quarry", Upstream: "reel-pro", Reason: "video_completed"},
		{Request: views.Request{Model: "aurora-large", KeyName: "deleted key key_01kb3", Style: "native",
			Outcome: "timed_out", ErrorCode: "upstream_timeout",
			Duration: 60 * time.Second}, Reason: "timed_out_unanswered", Provider: "meridian"},
		{Request: views.Request{Model: "cobalt-code", KeyName: "Batch nightly", Style: "chat", Outcome: "succeeded",
			Input: 800, Output: 4_096, Cost: 7,
			FirstByte: 2100 * time.Millisecond, Duration: 2150 * time.Millisecond}, Provider: "tern", Upstream: "cobalt",
			Finish: "length", Reason: "completed"},
	}
	for i := range rows {
		rows[i].ID, rows[i].At = "req_01kb4a6zt4h2s8j5y7r3w9mv"+string(rune('a'+i))+"q", at(time.Duration(i*i*i)*7*time.Minute+4*time.Second)
	}
	rows[3].ID = "video_01kb4a6zt4h2s8j5y7r3w9mvdq"
	return rows
}

func requestPages() []Story {
	list := func(name, title string, status int, change func(*requestpages.Log)) Story {
		return Story{Name: name, Group: "Requests", Title: title, Status: status, Path: "/console/requests",
			View: func(s views.Shell) templ.Component {
				l := requestpages.Log{Shell: s, Choices: usageChoices(), Requests: exampleCalls(), Tail: "1.0"}
				change(&l)
				if len(l.Requests) > 0 && name == "requests" {
					l.Picture = examplePicture(l.Query)
				}
				failed := requestpages.SavedView{Name: "Failed today", Query: "outcome=failed&range=24h"}
				l.Views = requestpages.NewSavedViews("requests", l.Query.Path(), []requestpages.SavedView{failed}, savedMost)
				return requestpages.ListPage(l)
			}}
	}
	stories := []Story{
		list("requests", "The log", 200, func(l *requestpages.Log) { l.Next = "2.req_2" }),
		list("requests-filtered", "The log, filtered, a page in the middle", 200, func(l *requestpages.Log) {
			l.Query = requestpages.Query{
				Model: "aurora-large", From: at(5 * time.Hour), To: at(time.Hour), Zone: "Europe/Berlin", Transaction: "txn_01kb4a6zt4h2s8j5y7r3w9mvaq",
				Reason: "completed", After: "1.req_1",
			}
			l.Requests, l.Next = l.Requests[:2], "2.req_2"
		}),
		list("requests-narrow", "The log, with every filter and fewer columns", 200, func(l *requestpages.Log) {
			values, _ := url.ParseQuery("range=24h&outcome=not_succeeded&provider=meridian&used=aurora-mini&source=api&streamed=yes&tag=production" +
				"&error=upstream_error&finish=length&end_user=u-4411&cost_from=0.001&cost_to=0.5&slower=2.5&key=key_support&hide=first&hide=tokens")
			l.Query = requestpages.ParseQuery(values)
			l.Requests, l.Next = l.Requests[1:3], "2.req_2"
		}),
		list("requests-dense", "The log, a thousand rows at once", 200, func(l *requestpages.Log) {
			l.Query.Rows, l.Next = 1000, "2.req_2"
			for n := range 3 {
				for _, r := range exampleCalls() {
					r.ID += strconv.Itoa(n)
					l.Requests = append(l.Requests, r)
				}
			}
		}),
		list("requests-empty", "The log, before the first call", 200, func(l *requestpages.Log) { l.Requests = nil }),
		list("requests-none", "The log, no call matches", 200, func(l *requestpages.Log) { l.Requests, l.Query.Search = nil, "req_zzz" }),
		list("requests-backwards", "The log, a range that ends before it begins", 200, func(l *requestpages.Log) {
			l.Requests, l.Query.From, l.Query.To = nil, at(time.Hour), at(2*time.Hour)
		}),
		list("requests-page-wrong", "The log, a page that is none", 422, func(l *requestpages.Log) {
			l.Requests, l.Query.After, l.Problem = nil, "x", "This is not where a page of requests ends. Begin with the first page."
		}),
		list("requests-error", "The log cannot be read", 200, func(l *requestpages.Log) {
			l.Requests, l.Failure = nil, &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}),
	}
	for _, menu := range []struct{ name, title, id string }{
		{"filters", "The log, every filter in sight", "requests-filters"}, {"columns", "The log, the menu of columns", "log-columns"},
		{"views", "The log, the menu of saved views", "saved-menu"}, {"export", "The log, the menu of exports", "requests-export"},
	} {
		open := list("requests-open-"+menu.name, menu.title, 200, func(*requestpages.Log) {})
		open.Opens = []string{"requests-toggle", menu.id}
		stories = append(stories, open)
	}
	stories = append(stories, drawerStory(list("requests-drawer", "The log, a request beside it", 200, func(*requestpages.Log) {})))
	return append(append(stories, requestDetails()...), contentStories()...)
}

// drawerStory is the log after its reader opened a row: a script moves the request's part of its page into the drawer.
func drawerStory(log Story) Story {
	list := log.View
	request := requestDetails()[0]
	log.View = func(s views.Shell) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			page, err := templ.ToGoHTML(ctx, list(s))
			if err != nil {
				return err
			}
			detail, err := templ.ToGoHTML(ctx, request.View(s))
			if err != nil {
				return err
			}
			_, part, _ := strings.Cut(string(detail), `<article id="request-detail"`)
			part, _, _ = strings.Cut(part, "</article>")
			text := strings.Replace(string(page), `tabindex="-1" hidden>`, `tabindex="-1">`, 1)
			text = strings.Replace(text, `data-drawer-body>`, `data-drawer-body><article id="request-detail"`+part+"</article>", 1)
			_, err = io.WriteString(w, text)
			return err
		})
	}
	return log
}

func examplePicture(q requestpages.Query) *requestpages.CallPicture {
	from, to, step := q.PictureSpan(Now())
	if step == 0 {
		return nil
	}
	p := &requestpages.CallPicture{From: from, To: to, Step: step, Since: from}
	for t, i := from, int64(3); t.Before(to); t, i = t.Add(step), i+1 {
		n := (i*37%11 + i%3) * 9
		p.Bars = append(p.Bars, requestpages.CallBar{Start: t, Requests: n, Errors: n * (i % 4) / 30})
	}
	return p
}

func priceOfMillion(meter string, amount app.Amount) *views.Price {
	return &views.Price{Meter: meter, Amount: amount, Per: 1_000_000}
}

func exampleTrail(attempts ...requestpages.TrailAttempt) requestpages.Trail {
	return requestpages.Trail{
		Door: 190 * time.Microsecond, Body: 2_400 * time.Microsecond, Checked: 320 * time.Microsecond, Admitted: 350 * time.Microsecond,
		Funded: 620 * time.Microsecond, Attempts: attempts,
	}
}

var (
	ruleCompleted = views.SettlementRule{Reason: "completed", Charge: "usage",
		When: "The answer is complete, and the provider said what it used.",
		Text: "Charged what the provider counted."}
	ruleTimedOut = views.SettlementRule{Reason: "timed_out_unanswered", Charge: "nothing", When: "The provider did not answer in time.",
		Text: "The provider did not answer in time. Nothing was charged."}
)

// requestStory is the page of one of the example calls, as change leaves it.
func requestStory(name, title string, row int, change func(*requestpages.Detail)) Story {
	return Story{Name: name, Group: "Requests", Title: title, Status: 200, Path: "/console/requests/" + exampleCalls()[row].ID,
		View: func(s views.Shell) templ.Component {
			r := exampleCalls()[row]
			d := requestpages.Detail{
				Shell: s, Request: r, RateCard: r.Model + "@3", Known: true, Attempts: 1, Computed: r.Cost, Reserved: 48_200_000,
				Charge: "txn_01kb4a6zt4h2s8j5y7r3w9mvaq", Entry: 98_120, Content: requestpages.CallContent{State: requestpages.ContentOff},
				Rule: views.SettlementRule{Reason: r.Reason, Charge: "delivered", When: "The answer is incomplete.",
					Text: "Charged what was delivered, by an estimate."},
			}
			change(&d)
			return requestpages.DetailPage(d)
		}}
}

func requestFailed() Story {
	return requestStory("request-failed", "A call that failed, as its provider was overloaded", 0, func(d *requestpages.Detail) {
		r := &d.Request
		r.Outcome, r.ErrorCode, r.Reason, r.Model, r.Finish = "failed", "upstream_error", "upstream_failed", "meridian/atlas-large", ""
		r.FirstByte, r.Duration, r.Cost, r.Output, r.Cached = 0, 1_612*time.Millisecond, 0, 0, 0
		d.Rule = views.SettlementRule{Reason: "upstream_failed", Charge: "nothing", When: "Every provider failed before an answer began.",
			Text: "Every provider failed. Nothing was charged."}
		d.Charge, d.Entry, d.Attempts, d.Known, d.RateCard, d.Computed = "", 0, 2, true, "aurora-large@3", 0
		d.Trail = exampleTrail(
			requestpages.TrailAttempt{Provider: "meridian", Status: 503, Cause: "server_error", Start: 910 * time.Microsecond,
				Took: 702 * time.Millisecond},
			requestpages.TrailAttempt{Provider: "meridian", Status: 503, Cause: "server_error", Start: 1_004 * time.Millisecond,
				Took: 607_600 * time.Microsecond})
		d.Message = "The upstream provider failed to answer. Please try again."
		d.ErrorDocs, d.Newer, d.Older = "/console/docs/errors#upstream_error", exampleCalls()[1].ID, exampleCalls()[2].ID
	})
}

func requestDetails() []Story {
	return []Story{
		requestStory("request", "A call, answered", 0, func(d *requestpages.Detail) {
			d.Rule, d.Reasoning, d.Computed = ruleCompleted, 120, 12_109_563
			d.Trail = exampleTrail(requestpages.TrailAttempt{Provider: "meridian", Status: 200, Start: 910 * time.Microsecond,
				First: d.Request.FirstByte})
			d.Lines = []requestpages.PriceLine{
				{Meter: "input_tokens", Quantity: 3_189, Price: priceOfMillion("input_tokens", 2_500_333_333)},
				{Meter: "cache_read_tokens", Quantity: 1_024, Price: priceOfMillion("cache_read_tokens", 250_000_000)},
				{Meter: "output_tokens", Quantity: 268, Price: priceOfMillion("output_tokens", 10_000_000_000)},
				{Meter: "reasoning_tokens", Quantity: 120, Price: priceOfMillion("reasoning_tokens", 10_000_000_000)},
			}
			d.Request.Cost = d.Computed
		}),
		requestStory("request-failover", "A call that went from provider to provider", 0, func(d *requestpages.Detail) {
			d.Rule, d.Known, d.Attempts, d.Request.Provider = ruleCompleted, false, 3, "halcyon"
			d.Trail = exampleFailover(d.Request.FirstByte)
		}),
		requestFailed(),
		requestStory("request-unsent", "A call for which no provider could be asked", 4, func(d *requestpages.Detail) {
			d.Rule = views.SettlementRule{Reason: "upstream_failed", Charge: "nothing", When: "No provider could be asked.",
				Text: "Nothing was charged."}
			d.Charge, d.Entry, d.Attempts, d.Trail = "", 0, 0, exampleTrail()
			d.Request.Outcome, d.Request.Reason, d.Request.ErrorCode = "failed", "upstream_failed", "no_available_provider"
			d.Request.Duration, d.Request.FirstByte, d.Request.Upstream, d.Request.Input = 1_240*time.Microsecond, 0, "", 0
		}),
		requestStory("request-left", "A call its client left, after several attempts", 1, func(d *requestpages.Detail) {
			d.Attempts, d.Known = 3, false
			d.ErrorDocs, d.Newer, d.Older = "/console/docs/errors#client_closed_request", exampleCalls()[0].ID, exampleCalls()[2].ID
			d.Query = requestpages.Query{Outcome: "client_left"}
		}),
		requestStory("request-cut", "A stream that broke off", 2, func(d *requestpages.Detail) {
			d.Lines = []requestpages.PriceLine{{Meter: "output_tokens", Quantity: 44, Price: priceOfMillion("output_tokens", 20_001_000_000)}}
			d.Computed, d.Request.Cost = 880_044, 880_044
		}),
		requestStory("request-video", "A video job", 3, func(d *requestpages.Detail) {
			d.Rule, d.Entry = views.SettlementRule{Reason: "video_completed", Charge: "seconds", Text: "Charged the length that was asked for."}, 0
			d.Lines = []requestpages.PriceLine{{Meter: "seconds", Quantity: 8_000,
				Price: &views.Price{Meter: "seconds", Amount: 12_000_000, Per: 1}}}
			d.Reserved, d.Content.State = d.Request.Cost, requestpages.ContentVideo
		}),
		requestStory("request-refused", "A call that timed out and cost nothing", 4, func(d *requestpages.Detail) {
			d.Rule, d.Charge, d.Entry = ruleTimedOut, "", 0
		}),
		requestStory("request-overrun", "A call that cost more than was reserved", 5, func(d *requestpages.Detail) {
			d.Rule = views.SettlementRule{Reason: "overrun", Charge: "reserve",
				Text: "Charged what was reserved for the call. It cost more, and we bear the rest."}
			d.Request.Cost, d.Reserved, d.Overrun, d.Computed = 100_000, 100_000, 399_712, 499_712
			d.Lines = []requestpages.PriceLine{
				{Meter: "input_tokens", Quantity: 800}, {Meter: "output_tokens", Quantity: 4_096, Price: priceOfMillion("output_tokens", 122_000_000)},
			}
		}),
		requestStory("request-waived", "A call whose usage was not charged", 4, func(d *requestpages.Detail) {
			d.Rule, d.Charge, d.Entry, d.Computed, d.Request.Input = ruleTimedOut, "", 0, 5_000, 50
			d.Lines = []requestpages.PriceLine{{Meter: "input_tokens", Quantity: 50, Price: priceOfMillion("input_tokens", 100_000_000)}}
		}),
		requestStory("request-conditions", "A call with a long prompt, a search and a cache write for an hour", 0, func(d *requestpages.Detail) {
			long := []string{"Prompts over 200,000 tokens"}
			d.Rule, d.Computed, d.Request.Cost = ruleCompleted, 1_972_500_000, 1_972_500_000
			d.Request.Input, d.Request.Output, d.Reserved = 310_000, 1_000, 2_412_750_000
			d.Lines = []requestpages.PriceLine{
				{Meter: "input_tokens", Quantity: 300_000, Price: priceOfMillion("input_tokens", 6_000_000_000), Conditions: long},
				{Meter: "output_tokens", Quantity: 1_000, Price: priceOfMillion("output_tokens", 22_500_000_000), Conditions: long},
				{Meter: "cache_write_1h_tokens", Quantity: 10_000, Price: priceOfMillion("cache_write_1h_tokens", 12_000_000_000), Conditions: long},
				{Meter: "web_searches", Quantity: 3, Price: &views.Price{Meter: "web_searches", Amount: 10 * app.Dollar, Per: 1_000}},
			}
		}),
	}
}

// exampleFailover is the trail of a call that two providers failed before the third answered.
func exampleFailover(first time.Duration) requestpages.Trail {
	return exampleTrail(
		requestpages.TrailAttempt{Provider: "kestrel", Status: 503, Cause: "server_error", Start: 910 * time.Microsecond, Took: first / 5},
		requestpages.TrailAttempt{Provider: "meridian", Cause: "first_byte_timeout", Start: first / 4, Took: first / 3},
		requestpages.TrailAttempt{Provider: "halcyon", Status: 200, Start: first * 3 / 5, First: first * 2 / 5},
	)
}
