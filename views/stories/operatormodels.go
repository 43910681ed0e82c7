package stories

import (
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	managedID   = "anthropic/claude-sonnet-4-5"
	managedName = "Claude Sonnet 4.5"
	managedForm = "/console/operator/model/"
)

func modelManagement() []Story {
	list := func(name, title string, change func(*operatorpages.ManagedModels)) Story {
		return operatorStory(name, title, "/console/operator/models", view(operatorpages.ManagedModelsPage, exampleManagedModels, change))
	}
	return slices.Concat([]Story{
		list("operator-models", "Models of the catalog", func(*operatorpages.ManagedModels) {}),
		list("operator-models-many", "Models of the catalog, the second page", func(l *operatorpages.ManagedModels) {
			l.Query.Page, l.Found, l.All = 1, 312, 312
		}),
		list("operator-models-none", "Models of the catalog, none matches", func(l *operatorpages.ManagedModels) {
			l.List, l.Found, l.Query.Text = nil, 0, "gpt-9"
		}),
		list("operator-models-empty", "Models of the catalog, none", func(l *operatorpages.ManagedModels) {
			l.List, l.Found, l.All = nil,
				0, 0
		}),
		list("operator-models-store-error", "Models of the catalog, the store is away", func(l *operatorpages.ManagedModels) {
			l.List, l.Failure = nil, &views.LoadFailure{RequestID: unreadableStore}
		}),
	}, modelDetails(), modelForms(), routeForms())
}

// modelDetails is the page of a model in its states.
func modelDetails() []Story {
	page := func(name, title string, change func(*operatorpages.ManagedDetail)) Story {
		return operatorStory(name, title, "/console/operator/models/"+managedID, view(operatorpages.ManagedModelPage, exampleManaged,
			change))
	}
	return []Story{
		page("operator-model", "Model with two routes", func(*operatorpages.ManagedDetail) {}),
		page("operator-model-one", "Model with one route", func(m *operatorpages.ManagedDetail) {
			m.Routes = m.Routes[:1]
			m.Routes[0].Share = 0
		}),
		page("operator-model-shared", "Model with routes that share a place", func(m *operatorpages.ManagedDetail) {
			m.Routes[1].IsTied, m.Routes[1].Order, m.Routes[0].Share, m.Routes[1].Share = true, 1, 75, 25
			m.Routes[0].Weight = 3
			third := m.Routes[1]
			third.Key, third.Provider, third.ProviderName, third.Order, third.IsTied = "vertex c messages", "vertex", "Vertex AI", 2, false
			third.Cost, third.State, third.Note = "", views.Badge{Tone: ui.Danger, Text: "Cannot be called"},
				"credential: the variable GOOGLE_KEY is not set"
			third.Share = 0
			m.Routes, m.UnknownCost = append(m.Routes, third), true
		}),
		page("operator-model-no-route", "Model whose last route was deleted", func(m *operatorpages.ManagedDetail) {
			m.Routes, m.State = nil, operatorpages.ManagedHidden
			m.Unroutable = "Its last route was removed. Customers see it as coming, and calls of it fail."
		}),
		page("operator-model-unpriced", "Model without prices", func(m *operatorpages.ManagedDetail) {
			m.Prices, m.Conditions, m.Markup, m.State = nil, nil, "", operatorpages.ManagedHidden
			m.Margin, m.MarginTotal = nil, operatorpages.MarginLine{}
		}),
		page("operator-model-announced", "Model with announced prices", func(m *operatorpages.ManagedDetail) {
			m.Markup = ""
			m.Change = &operatorpages.ManagedChange{From: time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC), Lines: []string{
				"Input tokens: $3.3 per 1M → $3.6 per 1M", "Output tokens: $16.5 per 1M → $18 per 1M",
				"Prompts over 200,000 tokens: no other price → twice the price",
			}}
			m.BelowCost = []string{"model " + managedID +
				": cache_read_tokens costs $0.30 per 1M tokens at anthropic, and its price is $0.25 per 1M tokens"}
			m.Prices[1].Price, m.Prices[1].Below = "$0.25", true
		}),
		page("operator-model-private", "Model for some accounts, paused", func(m *operatorpages.ManagedDetail) {
			m.Accounts, m.State, m.Pause = 2, operatorpages.ManagedPaused, examplePause("Its provider moves")
			m.Visible = []operatorpages.AccountName{
				{ID: "acct_01kb4a6zt4h2s8j5y7r3w9mvaq", Name: "Northwind"}, {ID: "acct_01kb4a7m9x3v5d2c8n6q1w0zpr", Name: "Ada’s account"},
			}
		}),
		page("operator-model-retired", "Retired model", func(m *operatorpages.ManagedDetail) {
			m.State, m.Shutdown, m.Routes, m.Prices = operatorpages.ManagedRetired, at(3*24*time.Hour), nil, nil
		}),
		page("operator-model-store-error", "Model, the margin cannot be read", func(m *operatorpages.ManagedDetail) {
			m.Failure = &views.LoadFailure{RequestID: unreadableStore}
		}),
		page("operator-model-hostile", "Model, hostile text", func(m *operatorpages.ManagedDetail) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			m.Name, m.Description, m.Owner, m.Aliases, m.Notice = long, long, long, []string{long}, long
			m.Routes[0].ProviderName, m.Routes[0].Upstream, m.Routes[0].Note = long, long, long
			m.Conditions[0].Calls, m.BelowCost, m.Margin[0].Name = long, []string{long}, long
			m.Visible = []operatorpages.AccountName{{ID: long, Name: long}}
		}),
	}
}

func modelForms() []Story {
	edit := func(name, title string, status int, change func(*operatorpages.ModelForm)) Story {
		return formStory(name, title, managedForm+"edit", status, view(operatorpages.ModelFormPage, exampleModelForm, change))
	}
	prices := func(name, title string, status int, change func(*operatorpages.PriceForm)) Story {
		return formStory(name, title, managedForm+"prices", status, view(operatorpages.PriceFormPage, examplePriceForm, change))
	}
	retire := func(name, title string, status int, change func(*operatorpages.RetireForm)) Story {
		return formStory(name, title, managedForm+"retire", status, view(operatorpages.RetireFormPage, exampleRetireForm, change))
	}
	ask := func(name, title string, status int, change func(*operatorpages.CatalogConfirm)) Story {
		return formStory(name, title, managedForm+"prices", status, view(operatorpages.CatalogConfirmPage, examplePriceQuestion, change))
	}
	return []Story{
		edit("operator-model-edit", "Edit a model", 200, func(*operatorpages.ModelForm) {}),
		edit("operator-model-edit-errors", "Edit a model, fields that are wrong", 422, func(f *operatorpages.ModelForm) {
			f.Name, f.Visibility, f.Accounts, f.RequestsPerMinute = "", operatorpages.VisibleToSome, "acct_unknown", "sixty"
			f.Aliases = "claude sonnet"
			f.Errors = map[string]string{
				"name": "Enter a name.", "accounts": "There is no account acct_unknown.",
				"limits.requests_per_minute": "Enter a whole number.",
				"aliases":                    "“claude sonnet” is not an id: use letters, digits, dots, slashes and hyphens.",
			}
		}),
		prices("operator-model-prices", "Change prices", 200, func(*operatorpages.PriceForm) {}),
		prices("operator-model-prices-markup", "Change the markup", 200, func(f *operatorpages.PriceForm) {
			f.How, f.Markup = operatorpages.PricesByMarkup, "10"
		}),
		prices("operator-model-prices-errors", "Change prices, fields that are wrong", 422, func(f *operatorpages.PriceForm) {
			f.Meters[0].Value, f.When, f.From, f.Conditions = "3,30", operatorpages.PricesFrom, "2026-11-01",
				"- prompt_over: many\n  times: 2"
			f.Errors = map[string]string{ //nolint:gosec // the story has no secret
				"rate.input_tokens": "“3,30” is not a price: write dollars, such as 3.3.", "from": "Choose a day after today.",
				"conditions": "Line 1: prompt_over must be a whole number, not “many”.",
			}
		}),
		prices("operator-model-prices-conflict", "Change prices that another operator changed", 409, func(f *operatorpages.PriceForm) {
			f.Conflict, f.Version, f.Meters[0].Value = exampleConflict(), 15, "3.45"
		}),
		ask("operator-model-prices-ask", "Confirm new prices, some below cost", 200, func(*operatorpages.CatalogConfirm) {}),
		ask("operator-model-prices-ask-errors", "Confirm new prices, wrong password and below cost", 422,
			func(c *operatorpages.CatalogConfirm) {
				c.Errors = map[string]string{
					"current_password": "The password is wrong.", "below_cost": "Allow prices below cost, or go back and change them.",
				}
			}),
		retire("operator-model-retire", "Retire a model", 200, func(*operatorpages.RetireForm) {}),
		retire("operator-model-retire-errors", "Retire a model, the day is wrong", 422, func(f *operatorpages.RetireForm) {
			f.Day = "2026-11-01"
			f.Errors = map[string]string{"shutdown": "Choose a day after today.", "successor": "Choose another model."}
		}),
	}
}

// routeForms are the forms of the routes of a model.
func routeForms() []Story {
	route := func(name, title string, status int, change func(*operatorpages.RouteForm)) Story {
		return formStory(name, title, managedForm+"route", status, view(operatorpages.RouteFormPage, exampleRouteForm, change))
	}
	order := func(name, title string, status int, change func(*operatorpages.RouteOrder)) Story {
		return formStory(name, title, managedForm+"routes", status, view(operatorpages.RouteOrderPage, exampleRouteOrder, change))
	}
	return []Story{
		order("operator-model-routes", "Order of the routes, not in force yet", 200, func(*operatorpages.RouteOrder) {}),
		order("operator-model-routes-errors", "Order of the routes, a weight is wrong", 422, func(o *operatorpages.RouteOrder) {
			o.Routes[1].IsTied, o.Wrong = true, map[string]string{o.Routes[1].Key: "heavy"}
			o.Errors = map[string]string{"weight:" + o.Routes[1].Key: "Enter a whole number from 1 to 1000."}
		}),
		order("operator-model-routes-conflict", "Order of the routes that another operator changed", 409,
			func(o *operatorpages.RouteOrder) {
				o.Conflict = exampleConflict()
			}),
		route("operator-model-route", "Add a route", 200, func(*operatorpages.RouteForm) {}),
		route("operator-model-route-change", "Change a route", 200, func(f *operatorpages.RouteForm) {
			f.Key, f.Provider, f.Upstream, f.Style, f.Weight = "bedrock x messages", "bedrock", "anthropic.claude-sonnet-4-5-v1:0",
				"messages", "3"
			f.Cost = "rates:\n  input_tokens: 3 per 1M\n  output_tokens: 15 per 1M\nconditions:\n  - prompt_over: 200000\n    times: 2"
		}),
		route("operator-model-route-errors", "Add a route, fields that are wrong", 422, func(f *operatorpages.RouteForm) {
			f.Upstream, f.Weight, f.Cost = "", "0", "rates:\n  input: 3 per 1M"
			f.Errors = map[string]string{
				"model": "Enter the provider's name of the model.", "weight": "Enter a whole number from 1 to 1000.",
				"style": "Bedrock does not speak chat here.",
				"cost":  "Line 2: “input” is not a meter; write input_tokens, output_tokens or another one.",
			}
		}),
	}
}

func exampleConflict() *operatorpages.CatalogConflict {
	return &operatorpages.CatalogConflict{By: "bob@example.com", At: at(3 * time.Minute), Changes: []string{
		"~ model " + managedID + " markup 1.1 → 1.2", "+ model " + managedID + " conditions[service_tier=flex].times 0.5",
	}}
}

func exampleManagedModels(s views.Shell) operatorpages.ManagedModels {
	model := func(id, name, owner string, state operatorpages.ManagedState, in, out, markup string,
		providers ...string) operatorpages.ManagedModel {
		return operatorpages.ManagedModel{
			ID: id, Name: name, Owner: owner, Kind: "text", State: state, Providers: providers, Input: in, Output: out,
			PriceUnit: "per 1M tokens in / out", Markup: markup,
		}
	}
	l := operatorpages.ManagedModels{
		Shell: s, Found: 5, All: 5, Providers: []ui.Option{{Value: "anthropic", Label: "anthropic"}, {Value: "bedrock", Label: "bedrock"}},
		List: []operatorpages.ManagedModel{
			model(managedID, managedName, "anthropic", operatorpages.ManagedOffered, "$3.30", "$16.50", "+10%", "anthropic", "bedrock"),
			model("anthropic/claude-haiku-4-5", "Claude Haiku 4.5", "anthropic", operatorpages.ManagedUnserved, "$1.00", "$5.00", "",
				"anthropic"),
			model("openai/gpt-5.1", "GPT-5.1", "openai", operatorpages.ManagedPaused, "$1.25", "$10.00", "", "openai"),
			model("meridian/atlas-next", "Atlas Next", "meridian", operatorpages.ManagedHidden, "", "", ""),
			model("meridian/reel", "Reel", "meridian", operatorpages.ManagedOffered, "", "$0.10", "", "meridian"),
		},
	}
	l.List[1].Accounts, l.List[2].Announced, l.List[2].UnknownCost = 2, time.Date(2026, 12, 15, 0, 0, 0, 0, time.UTC), true
	l.List[1].Shutdown, l.List[4].PriceUnit, l.List[4].Kind = time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), "per second", "video"
	return l
}

func exampleManaged(s views.Shell) operatorpages.ManagedDetail {
	line := func(name string, calls int64, revenue, cost app.Amount) operatorpages.MarginLine {
		return operatorpages.MarginLine{Name: name, Calls: calls, Revenue: revenue, PricedRevenue: revenue, Cost: cost}
	}
	const unit = "per 1M tokens"
	return operatorpages.ManagedDetail{
		Shell: s, ManagedModel: exampleManagedModels(s).List[0], Version: 14,
		Description: "Balances intelligence and speed for agents and for code.", Aliases: []string{"claude-sonnet-4-5",
			"claude-sonnet-4-5-20250929"},
		Facts: []operatorpages.Fact{
			{Name: "Takes and gives", Value: "text, image → text"}, {Name: "Context", Value: "200,000 tokens"}, {Name: "Longest answer",
				Value: "64,000 tokens"},
			{Name: "Styles", Value: "chat, messages, responses, native"}, {Name: "Released", Value: "29 Sep 2025"},
		},
		Limits: []operatorpages.Fact{{Name: "Requests a minute", Value: "60"}, {Name: "Tokens a minute", Value: "200,000"}},
		Prices: []operatorpages.ManagedPrice{
			{Label: "Input", Unit: unit, Price: "$3.30", Cost: "$3.00"}, {Label: "Cached input", Unit: unit, Price: "$0.33", Cost: "$0.30"},
			{Label: "Cache writes", Unit: unit, Price: "$4.125", Cost: "$3.75"}, {Label: "Output", Unit: unit, Price: "$16.50",
				Cost: "$15.00"},
			{Label: "Web searches", Unit: "per 1K", Cost: "$10.00"},
		},
		Conditions: []operatorpages.ManagedCondition{
			{Calls: "Prompts over 200,000 tokens", Effect: "$6.60 input, $24.75 output per 1M tokens"}, {Calls: "Batch tier",
				Effect: "half price"},
		},
		Routes: exampleRouteOrder(s).Routes,
		Margin: []operatorpages.MarginLine{line("anthropic", 15_011, 339_900_000_000, 309_000_000_000), line("bedrock", 3193,
			72_400_000_000, 65_800_000_000)},
		MarginTotal: line("", 18_204, 412_300_000_000, 374_800_000_000), MarginDays: 30,
	}
}

func exampleRouteOrder(s views.Shell) operatorpages.RouteOrder {
	on := views.Badge{Tone: ui.Success, Text: "On"}
	return operatorpages.RouteOrder{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ModelID: managedID, ModelName: managedName, Unsaved: true,
		Routes: []operatorpages.ManagedRoute{
			{Key: "anthropic a messages", Provider: "anthropic", ProviderName: "Anthropic", Upstream: "claude-sonnet-4-5-20250929",
				Style: "messages",
				Order: 1, Weight: 1, Cost: "$3.00 / $15.00 per 1M tokens", State: on},
			{Key: "bedrock b messages", Provider: "bedrock", ProviderName: "Bedrock in Oregon",
				Upstream: "anthropic.claude-sonnet-4-5-v1:0",
				Style:    "messages", Order: 2, Weight: 1, Cost: "$3.00 / $15.00 per 1M tokens", State: on},
		},
	}
}

func exampleModelForm(s views.Shell) operatorpages.ModelForm {
	return operatorpages.ModelForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ID: managedID, Model: managedName, Name: managedName, IsText: true,
		Description: "Balances intelligence and speed for agents and for code.", Visibility: operatorpages.VisibleToAll,
		Aliases: "claude-sonnet-4-5\nclaude-sonnet-4-5-20250929", ContextTokens: "200000", OutputMax: "64000", RequestsPerMinute: "60",
		TokensPerMinute: "200000",
	}
}

func examplePriceForm(s views.Shell) operatorpages.PriceForm {
	const unit = "per 1M tokens"
	return operatorpages.PriceForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ID: managedID, Name: managedName, How: operatorpages.PricesOwn,
		Markup:     "10",
		MarkupBase: "$3.00 / $15.00 per 1M tokens", When: operatorpages.PricesNow,
		Meters: []operatorpages.PriceField{
			{Meter: "input_tokens", Label: "Input", Unit: unit, Value: "3.3", Cost: "$3.00"},
			{Meter: "cache_read_tokens", Label: "Cached input", Unit: unit, Value: "0.33", Cost: "$0.30"},
			{Meter: "output_tokens", Label: "Output", Unit: unit, Value: "16.5", Cost: "$15.00"},
			{Meter: "web_searches", Label: "Web searches", Unit: "per 1K", Cost: "$10.00"},
		},
		More: []operatorpages.PriceField{
			{Meter: "input_audio_tokens", Label: "Audio input", Unit: unit}, {Meter: "requests", Label: "Requests", Unit: "per 1"},
		},
		Conditions: "- prompt_over: 200000\n  rates:\n    input_tokens: 6.6 per 1M\n    output_tokens: 24.75 per 1M",
	}
}

func exampleRouteForm(s views.Shell) operatorpages.RouteForm {
	return operatorpages.RouteForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ModelID: managedID, ModelName: managedName,
		Providers: []operatorpages.Choice{{Value: "bedrock", Label: "Bedrock in Oregon"}, {Value: "anthropic", Label: "Anthropic"}},
		Provider:  "bedrock",
		Upstream:  "anthropic.claude-sonnet-4-5-v1:0", Style: "", Place: operatorpages.PlaceLast, Weight: "1",
		Styles: []operatorpages.Choice{{Value: "", Label: "The style of the call"}, {Value: "messages", Label: "messages"},
			{Value: "chat", Label: "chat"}},
	}
}

func exampleRetireForm(s views.Shell) operatorpages.RetireForm {
	return operatorpages.RetireForm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, ID: managedID, Name: managedName, When: operatorpages.RetireOn,
		Day:    "2027-03-01",
		Models: []operatorpages.Choice{{Value: "anthropic/claude-haiku-4-5", Label: "Claude Haiku 4.5"}},
		UsedBy: []string{"openai/gpt-5.1", "meridian/atlas"},
	}
}

func examplePriceQuestion(s views.Shell) operatorpages.CatalogConfirm {
	return operatorpages.CatalogConfirm{
		Shell: s, CatalogForm: operatorpages.CatalogForm{Version: 14}, Title: "Change prices?", Text: managedID, Verb: "Change the prices",
		Action: managedForm + "prices?id=anthropic%2Fclaude-sonnet-4-5", Back: "/console/operator/models/" + managedID,
		BackText: managedName, CanChange: true,
		Fields:    []operatorpages.HiddenField{{Name: "how", Value: "own"}, {Name: "rate.input_tokens", Value: "2.5"}},
		Customers: []string{"Claude Sonnet 4.5, input: $3.30 → $2.50 per 1M tokens, at once."},
		Changes:   []string{"~ model " + managedID + " rates.input_tokens 3.3 per 1M → 2.5 per 1M", "- model " + managedID + " markup 1.1"},
		BelowCost: []string{"model " + managedID +
			": input_tokens costs $3.00 per 1M tokens at anthropic, and its price is $2.50 per 1M tokens"},
	}
}
