package stories

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// usage is every state of the pages about what was used.
func usage() []Story {
	return append(append(usagePages(), requestPages()...), refusalPages()...)
}

func usageChoices() requestpages.UsageChoices {
	option := func(values ...string) []ui.Option {
		var options []ui.Option
		for _, v := range values {
			options = append(options, ui.Option{Value: v, Label: v})
		}
		return options
	}
	return requestpages.UsageChoices{
		Models:  option("aurora-large", Model, "cobalt-code", "quarry/reel:pro", "sage-reasoning-long-context-preview"),
		Keys:    []ui.Option{{Value: "key_batch", Label: "Batch nightly"}, {Value: "key_support", Label: "Support assistant, production"}},
		Reasons: option("completed", "client_left", "upstream_broke_off"), Tags: option("development", "production"),
	}
}

// usageOf is a report with made-up figures for every step of the query.
func usageOf(s views.Shell, address string, groups ...string) requestpages.Usage {
	values, _ := url.ParseQuery(address)
	u := requestpages.Usage{Shell: s, Query: requestpages.ParseUsageQuery(values), Choices: usageChoices()}
	u.Now = Now()
	from, to := u.Query.Span(Now())
	step := 24 * time.Hour
	if u.Query.Hourly(Now()) {
		step = time.Hour
	}
	if u.Query.Minutely() {
		step = time.Minute
	}
	i := int64(0)
	for t := from; t.Before(to) && !t.After(Now()); t = t.Add(step) {
		i++
		for g, name := range groups {
			if (i+int64(g))%5 == 0 {
				continue
			}
			n := (i*37%11 + 3) * 97 / int64(g*g+1)
			l := requestpages.UsageLine{
				Start: t, ID: name, Name: keyName(name), Requests: n, Errors: n / 40, Input: n * 1_913, Cached: n * 411, Output: n * 388,
				Cost: app.Amount(n*2_143_871 + i),
			}
			u.Lines = append(u.Lines, l)
			u.Total = u.Total.Plus(l)
		}
	}
	u.Total.Start, u.Total.ID, u.Total.Name = time.Time{}, "", ""
	u.Books = &views.Proof{Usage: 31_482_905_118, Charges: 31_482_905_118, At: at(time.Second)}
	u.Before = usageBefore(u, step)
	u.Views = requestpages.NewSavedViews("usage", u.Query.Path(), exampleViews(), savedMost)
	return u
}

const savedMost = 20

func exampleViews() []requestpages.SavedView {
	return []requestpages.SavedView{
		{Name: "Costs by key, this month", Query: "range=month&by=key"},
		{Name: "Latency of aurora-large, p95, with everything that the support assistant does at night", Query: "metric=p95&model=aurora-large"},
		{Name: "Week by model", Query: ""},
	}
}

func manyViews() (list []requestpages.SavedView) {
	for i := range savedMost {
		list = append(list, requestpages.SavedView{Name: "Customer " + string(rune('A'+i)), Query: "end_user=customer-" + string(rune('a'+i))})
	}
	return list
}

func usageBefore(u requestpages.Usage, step time.Duration) *requestpages.UsagePeriod {
	from, to := u.Query.SpanBefore(Now())
	before := &requestpages.UsagePeriod{From: from, To: to}
	i := int64(4)
	for t := from; t.Before(to); t = t.Add(step) {
		i++
		n := (i*53%9 + 2) * 140
		l := requestpages.UsageLine{Start: t, Requests: n, Input: n * 1_600, Output: n * 300, Cost: app.Amount(n * 1_900_001)}
		before.Lines = append(before.Lines, l)
		before.Total = before.Total.Plus(l)
	}
	return before
}

// keyName is the name of a group, which for a key is what its people call it.
func keyName(group string) string {
	for _, o := range usageChoices().Keys {
		if o.Value == group {
			return o.Label
		}
	}
	return group
}

func exampleTook(u requestpages.Usage) *requestpages.UsageTook {
	took := &requestpages.UsageTook{
		Steps: map[int64]requestpages.UsageTimes{}, Groups: map[string]requestpages.UsageTimes{},
		Sample: "Of calls that were answered. Made of 7,420 of them, at most 89 from each 15 min.",
	}
	of := func(i int) requestpages.UsageTimes {
		d := time.Duration(i%5+3) * 411 * time.Millisecond
		return requestpages.UsageTimes{Calls: 800, P50: d, P95: 4 * d, FirstP50: d / 3, FirstP95: d}
	}
	for i, l := range u.Lines {
		took.Steps[l.Start.Unix()], took.Groups[l.ID] = of(i), of(i)
	}
	took.All = of(1)
	return took
}

// usageStory is the usage report of an address, as change leaves it.
func usageStory(name, title, address string, status int, groups []string, change func(*requestpages.Usage)) Story {
	return Story{Name: name, Group: "Usage", Title: title, Status: status, Path: "/console/usage",
		View: func(s views.Shell) templ.Component {
			u := usageOf(s, address, groups...)
			change(&u)
			return requestpages.UsagePage(u)
		}}
}

func usagePages() []Story {
	models := []string{"aurora-large", "cobalt-code", Model, "sage-reasoning-long-context-preview"}
	many := slices.Concat(models, []string{"tern-1", "tern-2", "tern-3", "tern-4", "quarry/text"})
	none := func(*requestpages.Usage) {}
	video := func(u *requestpages.Usage) {
		l := requestpages.UsageLine{
			Start: u.Lines[0].Start, ID: "quarry/reel:pro", Name: "quarry/reel:pro", Requests: 3, Milliseconds: 23_500, Images: 2, Cost: 9_600_000,
			Overrun: 1_200_000,
		}
		u.Lines = append(u.Lines, l)
		u.Total = u.Total.Plus(l)
	}
	return []Story{
		usageStory("usage", "A week by model", "", 200, models, none),
		usageStory("usage-limit", "This month against the spend limit of the account", "range=month", 200, models, func(u *requestpages.Usage) {
			u.Limit = &requestpages.UsageBudget{Limit: 100 * app.Dollar, Spent: u.Total.Cost, Period: "month"}
			u.Views = requestpages.NewSavedViews("usage", u.Query.Path(), nil, savedMost)
		}),
		usageStory("usage-limit-day", "A week against a spend limit of each day", "", 200, models[:2], func(u *requestpages.Usage) {
			u.Limit = &requestpages.UsageBudget{Limit: 3 * app.Dollar, Spent: 137 * app.Cent, Period: "day"}
			u.Views = requestpages.NewSavedViews("usage", u.Query.Path(), manyViews(), savedMost)
		}),
		usageStory("usage-compared", "30 days, many models, compared", "range=30d&compare=on", 200, many, none),
		usageStory("usage-hours", "A day by its hours, requests by key", "range=custom&from=2026-11-20&to=2026-11-20&by=key&metric=requests", 200,
			[]string{"key_support", "key_batch"}, none),
		usageStory("usage-filtered", "Filtered, in another time zone",
			"range=24h&model=aurora-large&by=key&tz=Asia%2FKolkata&style=chat&reason=completed", 200,
			[]string{"key_support"}, none),
		usageStory("usage-video", "Seconds of video, images, a part borne by us", "metric=seconds", 200, models[:1], video),
		usageStory("usage-books-wrong", "The books do not agree", "", 200, models[:2], func(u *requestpages.Usage) { u.Books.Charges -= 43 }),
		usageStory("usage-books-away", "The books cannot be compared", "range=month&metric=errors", 200, models[:2],
			func(u *requestpages.Usage) { u.Books = nil }),
		usageStory("usage-minutes", "One hour by its minutes", "range=custom&from=2026-11-20T09:00&to=2026-11-20T10:00", 200, models[:2], none),
		usageStory("usage-latency", "How long calls took", "metric=p95", 200, models[:3],
			func(u *requestpages.Usage) { u.Took = exampleTook(*u) }),
		usageStory("usage-budget", "The spend of a key against its budget, and what rules say", "key=key_batch&by=model", 200, models[:2],
			func(u *requestpages.Usage) {
				u.Budget = &requestpages.UsageBudget{Limit: 5 * app.Dollar, Spent: 137 * app.Cent, Period: "day"}
				u.Notes = []string{
					"Tuesday 17 November cost $12.40, 4× the mean of the last 4 Tuesdays, which is $3.01.",
					"November will cost about $41.20 at this rate: $27.31 so far, and the mean of the last 14 whole days, $1.37 a day, " +
						"for what is left of it.",
				}
			}),
		usageStory("usage-empty", "Nothing used yet", "", 200, nil, none),
		usageStory("usage-none", "No usage matches", "model=aurora-large&range=24h", 200, nil, none),
		usageStory("usage-backwards", "The last day before the first", "range=custom&from=2026-11-20&to=2026-11-02", 422, nil,
			func(u *requestpages.Usage) {
				u.Problem = u.Query.Problem()
			}),
		usageStory("usage-error", "Usage cannot be read", "", 200, nil, func(u *requestpages.Usage) {
			u.Failure = &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}
		}),
	}
}
