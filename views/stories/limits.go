package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	operatorpages "umg/views/operator"
	settingpages "umg/views/settings"
)

func limits() []Story {
	story := func(name, title string, status int, change func(*settingpages.LimitsView)) Story {
		return Story{Name: name, Group: "Limits", Title: title, Status: status, Path: "/console/limits",
			View: view(settingpages.LimitsPage, func(s views.Shell) settingpages.LimitsView {
				return settingpages.LimitsView{
					Shell: s, Factor: 1, Account: accountGauges(), Models: modelGauges(), MayAsk: true, Form: settingpages.WishForm{Times: "2"},
				}
			}, change)}
	}
	operator := func(name, title string, list []views.LimitRequest, failure *views.LoadFailure) Story {
		return Story{Name: name, Group: "Operator", Title: title, Status: 200, Path: "/console/operator/limits",
			Adjust: func(s *views.Shell) { s.Viewer.Operator = true },
			View: func(s views.Shell) templ.Component {
				return operatorpages.LimitAnswersPage(operatorpages.LimitAnswers{Shell: s, List: list, Failure: failure})
			}}
	}
	return []Story{
		story("limits", "Nothing used, nothing asked", 200, func(*settingpages.LimitsView) {}),
		story("limits-used", "In use, with limited keys and answers", 200, func(v *settingpages.LimitsView) {
			v.Factor = 4
			v.Account[0].Used, v.Models[0].Gauges[0].Used, v.Models[1].Gauges[1].Used = 47, 112, 1_984_220
			for _, gauges := range append([]settingpages.ModelGauges{{Gauges: v.Account}}, v.Models...) {
				for i := range gauges.Gauges {
					gauges.Gauges[i].Limit, gauges.Gauges[i].Used = 4*gauges.Gauges[i].Limit, 4*gauges.Gauges[i].Used
				}
			}
			keys := exampleKeys()
			keys[0].Requests, keys[0].Tokens = 60, 200_000
			v.Keys = keys[:1]
			v.Requests = wishes()[1:]
		}),
		story("limits-open", "A request is open", 200, func(v *settingpages.LimitsView) { v.Requests = wishes() }),
		story("limits-refused", "The request was not understood", 422, func(v *settingpages.LimitsView) {
			v.Form = settingpages.WishForm{Times: "5", ReasonError: "Say in a sentence what you need it for, so that it can be decided."}
		}),
		story("limits-developer", "A developer may not ask", 200, func(v *settingpages.LimitsView) { v.MayAsk = false }),
		operator("operator-limits", "Limit requests", wishes(), nil),
		operator("operator-limits-empty", "Limit requests, none", nil, nil),
		operator("operator-limits-error", "Limit requests cannot be read", nil, &views.LoadFailure{RequestID: "req_01kb4a7m9x3v5d2c8n6q1w0zpr"}),
	}
}

func accountGauges() []settingpages.Gauge {
	return []settingpages.Gauge{{Name: "Calls at once", Limit: 50, Known: true},
		{Name: "Requests a minute", Limit: 3000, Used: 212, Known: true}}
}

func modelGauges() []settingpages.ModelGauges {
	return []settingpages.ModelGauges{
		{Model: Model, Gauges: []settingpages.Gauge{
			{Name: "Requests a minute", Limit: 600, Known: true}, {Name: "Tokens a minute", Limit: 1_000_000, Used: 18_220, Known: true},
		}},
		{Model: "aurora-large", Gauges: []settingpages.Gauge{
			{Name: "Requests a minute", Limit: 120, Used: 4, Known: true}, {Name: "Tokens a minute", Limit: 2_000_000, Known: true},
			{Name: "Requests a day", Limit: 10_000, Used: 821, Known: true},
		}},
		{Model: "quarry/reel:pro", Video: true, Gauges: []settingpages.Gauge{
			{Name: "Jobs a day", Limit: 100, Used: 12, Known: true}, {Name: "Jobs at once", Limit: 5, Used: 5, Known: true},
		}},
		{Model: "sage-reasoning-long-context-preview"},
	}
}

func wishes() []views.LimitRequest {
	answered := at(26 * time.Hour)
	return []views.LimitRequest{
		{
			ID: "lreq_01kb4a7k2f8s4j6h1d9a3g5b7t", AccountID: "acct_01kb4a7k2f8s4j6h1d9a3g5b7t", Account: "Harbour Analytics", Email: Email,
			Model: "aurora-large", FactorThen: 4, Factor: 20, FactorNow: 4, State: "open", At: at(3 * time.Hour),
			Reason: "Our support assistant goes live on Monday. We expect 40 calls a second in the mornings, mostly short ones.",
		},
		{
			ID: "lreq_01kb4a7k2f8s4j6h1d9a3g5b7u", AccountID: "acct_01kb4a7k2f8s4j6h1d9a3g5b7t", Account: "Harbour Analytics", Email: Email,
			FactorThen: 1, Factor: 4, FactorNow: 4, State: "done", Answer: "Raised. It holds from now on.",
			At: at(50 * time.Hour), AnsweredAt: &answered, Reason: "Nightly batches.",
		},
		{
			ID: "lreq_01kb4a7k2f8s4j6h1d9a3g5b7v", AccountID: "acct_01kb4a7c7v1n5m9q3w8e2r6y4u", Account: "ada@example.com",
			Email:      "ada@example.com",
			FactorThen: 1, Factor: 100, FactorNow: 1, State: "declined", Answer: "Please say what you build and how many calls you expect.",
			At: at(70 * time.Hour), AnsweredAt: &answered,
			Reason: "We need more throughput.",
		},
	}
}
