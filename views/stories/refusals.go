package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	homepages "umg/views/home"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// exampleRefusals are requests that were refused before any provider was called.
func exampleRefusals() []requestpages.LoggedRequest {
	const support = "Support assistant, production"
	rows := []requestpages.LoggedRequest{
		{Request: views.Request{Model: "No model", KeyName: support, Style: "chat", ErrorCode: "model_not_found",
			Duration: 900 * time.Microsecond},
			Refusal: &requestpages.Refusal{Status: 404, Param: "model", Method: "POST", Route: "/v1/chat/completions", Represents: 1,
				Message: `There is no model "…". GET /v1/models lists the models that this key may use.`}},
		{Request: views.Request{Model: "aurora-large", KeyName: "Batch nightly", Style: "messages", ErrorCode: "rate_limit_exceeded",
			Duration: 1_200 * time.Microsecond},
			Refusal: &requestpages.Refusal{Status: 429, Method: "POST", Route: "/v1/messages", Represents: 1_284,
				Message: "The 60 requests per minute of aurora-large are used up. Try again in 12 s."}},
		{Request: views.Request{Model: "No model", KeyName: "Batch nightly", Style: string(views.VideosStyle),
			ErrorCode: "content_policy_violation",
			Duration:  340 * time.Millisecond},
			Refusal: &requestpages.Refusal{Status: 400, Method: "POST", Route: "/v1/videos", Represents: 1}},
		{Request: views.Request{Model: "No model", KeyName: support, ErrorCode: "not_found", Duration: 80 * time.Microsecond},
			Refusal: &requestpages.Refusal{Status: 404, Method: "POST", Represents: 1,
				Message: `There is no endpoint at "…". Near it are POST /v1/chat/completions.`}},
	}
	for i := range rows {
		rows[i].Outcome, rows[i].KeyID = "refused", "key_support"
		rows[i].ID, rows[i].At = "req_01kb4a6zt4h2s8j5y7r3w9mx"+string(rune('a'+i))+"q", at(time.Duration(i+1)*11*time.Minute)
	}
	return rows
}

// refusalStory is the page of one of the example refusals.
func refusalStory(name, title string, row int, change func(*requestpages.RefusalDetail)) Story {
	return Story{Name: name, Group: "Requests", Title: title, Status: 200, Path: "/console/requests/" + exampleRefusals()[row].ID,
		View: func(s views.Shell) templ.Component {
			r := exampleRefusals()[row]
			d := requestpages.RefusalDetail{Shell: s, Request: r, Docs: "/console/docs/errors#" + r.ErrorCode}
			change(&d)
			return requestpages.RefusalPage(d)
		}}
}

func refusalPages() []Story {
	return []Story{
		{Name: "requests-refused", Group: "Requests", Title: "The log, refused requests", Status: 200, Path: "/console/requests?outcome=refused",
			View: func(s views.Shell) templ.Component {
				l := requestpages.Log{Shell: s, Choices: usageChoices(), Requests: exampleRefusals(), Tail: "1.0"}
				l.Query.Outcome = requestpages.OutcomeRefused
				l.Views = requestpages.NewSavedViews("requests", l.Query.Path(), nil, savedMost)
				return requestpages.ListPage(l)
			}},
		refusalStory("refusal", "A request refused: model not found", 0, func(d *requestpages.RefusalDetail) {
			d.Means = "No model has this name, or the key may not see it."
			d.Do = "Take the name from GET /v1/models, with the vendor in front."
			d.Fix = ui.LinkProps{Href: views.ModelsPath, Text: "See all models"}
			d.Newer, d.Older = exampleRefusals()[1].ID, exampleRefusals()[2].ID
			d.Query.Outcome = requestpages.OutcomeRefused
		}),
		refusalStory("refusal-limit", "A request refused: over a limit, a sample of many", 1, func(d *requestpages.RefusalDetail) {
			d.Model = d.Request.Model
			d.Means = "A limit of requests or tokens a minute is reached."
			d.Do = "Wait as long as Retry-After says, or spread the calls."
			d.Fix = ui.LinkProps{Href: views.LimitsPath, Text: "See your limits"}
		}),
		refusalStory("refusal-provider", "A video refused by its provider, in the provider's words", 2, func(d *requestpages.RefusalDetail) {
			d.Means = "The content policy of the provider refused the request."
			d.Do = "Change the prompt or the picture. Sending it again does not help."
		}),
		usageStory("usage-refused", "Refused requests by model", "metric=refused", 200, []string{"aurora-large", "No model"},
			func(u *requestpages.Usage) {
				u.Total.Refused, u.Total.Own429 = 0, 0
				for i := range u.Lines {
					l := &u.Lines[i]
					l.Refused, l.Own429 = l.Requests/9+3, l.Requests/11
					u.Total.Refused, u.Total.Own429 = u.Total.Refused+l.Refused, u.Total.Own429+l.Own429
				}
			}),
	}
}

// withRefusals puts refused requests among the latest and the failed ones.
func withRefusals(o *homepages.Overview) {
	busy(o)
	for _, r := range exampleRefusals()[:2] {
		o.Recent.Requests = append([]views.Request{r.Request}, o.Recent.Requests...)
		o.Failures.Requests = append([]views.Request{r.Request}, o.Failures.Requests...)
	}
	o.Recent.Requests = o.Recent.Requests[:homepages.RecentMax]
}
