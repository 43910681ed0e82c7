package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
)

func perMillion(meter string, cents app.Amount) views.Price {
	return views.Price{Meter: meter, Amount: cents * app.Cent, Per: 1_000_000}
}

func day(year int, month time.Month, date int) time.Time {
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

func date(year int, month time.Month, date int) *time.Time {
	t := day(year, month, date)
	return &t
}

var allStyles = []views.Style{"chat", "messages", "responses", "native"}

func exampleModels() []views.Model {
	limits := views.Limits{
		RequestsPerMinute: 60, RequestsPerDay: 5000, TokensPerMinute: 200_000, Concurrency: 16, AccountRequests: 300,
		Left: &views.LimitsLeft{RequestsPerMinute: 57, RequestsPerDay: 4212, TokensPerMinute: 183_420, Concurrency: 14, AccountRequests: 289},
	}
	large := views.Model{
		ID: "aurora/aurora-large", Name: "Aurora Large", Owner: "aurora", Kind: "text", State: views.ModelAvailable, Limits: limits,
		Description:  "The generalist for hard work, with long context, images, tools and strict JSON.",
		Capabilities: []string{"text", "code"}, Input: []string{"text", "image"}, Output: []string{"text"},
		ContextTokens: 256_000, MaxOutput: 32_000, Styles: allStyles, Released: day(2026, 5, 12),
		Prices: []views.Price{
			perMillion("input_tokens", 250), perMillion("cache_read_tokens", 125), perMillion("output_tokens", 1000),
			{Meter: "reasoning_tokens", Like: "output_tokens"}, {Meter: "cache_write_tokens", Like: "input_tokens"},
		},
	}
	mini := large
	mini.ID, mini.Name, mini.Description = "aurora/"+Model, "Aurora Mini", "Quick and inexpensive. A good first choice."
	mini.Prices = []views.Price{perMillion("input_tokens", 15), perMillion("output_tokens", 60)}
	mini.ContextTokens, mini.MaxOutput, mini.Styles = 128_000, 16_384, []views.Style{"chat", "responses"}
	paused := mini
	paused.ID, paused.Name, paused.Owner, paused.State = "borealis/thinker", "Thinker", "borealis", views.ModelPaused
	paused.Notice = "It is under more load than its provider takes; new calls are let in again within the hour."
	paused.Prices = []views.Price{perMillion("input_tokens", 1200), perMillion("output_tokens", 4800), perMillion("reasoning_tokens", 3600)}
	old := mini
	old.ID, old.Name, old.Owner, old.Deprecated, old.Shutdown = "borealis/elder", "Elder", "borealis", date(2026, 11, 1), date(2027, 6, 1)
	old.Notice, old.Styles = "Elder will be replaced by Thinker on 1 June 2027.", allStyles[:1]
	unserved := mini
	unserved.ID, unserved.Name, unserved.Owner, unserved.State, unserved.Styles = "quarry/stone", "Stone", "quarry", views.ModelUnserved, nil
	film := views.Model{
		ID: "quarry/reel:pro", Name: "Reel Pro", Owner: "quarry", Kind: "video", State: views.ModelComing, Released: day(2026, 12, 6),
		Description:  "Video for the final cut; renders longer, in more sizes, and costs more.",
		Capabilities: []string{"video"}, Input: []string{"text", "image"}, Output: []string{"video"},
		Sizes: []string{"720x1280", "1280x720", "1080x1920"}, Seconds: []int64{4, 8, 12},
		Prices:     []views.Price{{Meter: "seconds", Amount: 30 * app.Cent, Per: 1}},
		SizePrices: []views.SizePrice{{Size: "1080x1920", Price: views.Price{Meter: "seconds", Amount: 70 * app.Cent, Per: 1}}},
		Limits:     views.Limits{RequestsPerMinute: 5, JobsPerDay: 40, JobsRunning: 2},
	}
	picture := film
	picture.ID, picture.Name, picture.Kind, picture.Capabilities = "quarry/canvas", "Canvas", "image", []string{"image"}
	picture.Output, picture.Seconds, picture.SizePrices, picture.Sizes = []string{"image"}, nil, nil, []string{"1024x1024"}
	picture.Description, picture.Prices = "Pictures from text.", []views.Price{{Meter: "images", Amount: 4 * app.Cent, Per: 1}}
	voice := picture
	voice.ID, voice.Name, voice.Kind, voice.Capabilities = "quarry/cadence", "Cadence", "speech", []string{"speech"}
	voice.Input, voice.Output, voice.Sizes = []string{"text"}, []string{"audio"}, nil
	voice.Description, voice.Prices = "Reads text aloud.", []views.Price{perMillion("characters", 1500)}
	return []views.Model{large, mini, paused, old, unserved, film, picture, voice}
}

func exampleFields() []views.Field {
	return []views.Field{
		{Name: "model", Types: "string", Required: true, Allowed: []string{"aurora/aurora-large"}, Text: "The model that answers."},
		{Name: "messages", Types: "array of objects", Required: true, Allowed: []string{"not empty"}, Text: "The conversation so far.",
			Fields: []views.Field{
				{Name: "user", Variant: true, Types: "object", Fields: []views.Field{
					{Name: "role", Types: "string", Required: true, Allowed: []string{"user"}},
					{Name: "content", Types: "string or array of objects", Required: true},
				}},
				{Name: "tool", Variant: true, Types: "object", Fields: []views.Field{
					{Name: "tool_call_id", Types: "string", Required: true},
				}},
			}},
		{Name: "temperature", Types: "number", Default: "1", Allowed: []string{"0 – 2"}, Text: "How freely the next token is drawn."},
		{Name: "reasoning_effort", Types: "string", Allowed: []string{"low", "medium", "high"}, Text: "How long the model thinks."},
	}
}

func models() []Story {
	list := func(name, title string, q views.ModelQuery, all []views.Model) Story {
		return Story{Name: name, Group: "Models", Title: title, Status: 200, Path: "/console/models", View: func(s views.Shell) templ.Component {
			return views.ModelsPage(views.Models{Shell: s, Query: q, All: all})
		}}
	}
	one := func(name, title string, i int, contracts ...views.ModelContract) Story {
		return Story{Name: name, Group: "Models", Title: title, Status: 200, Path: views.ModelPath(exampleModels()[i].ID),
			View: func(s views.Shell) templ.Component {
				model := exampleModels()[i]
				if len(contracts) > 0 && model.State == views.ModelComing {
					model.State = views.ModelAvailable
				}
				d := views.ModelDetail{Shell: s, Model: model, Contracts: contracts, KeyHint: "sk-umg-7H…f3Qk", Factor: 1}
				if i == 1 {
					d.KeyHint, d.Factor = "", 20
				}
				return views.ModelPage(d)
			}}
	}
	var contracts []views.ModelContract
	for _, style := range allStyles {
		contracts = append(contracts, views.ModelContract{
			Style: style, Hash: "5f3a9c0e11d2b476", Fields: exampleFields(), Without: []string{"seed", "logit_bias"}, Sample: exampleBody(style),
		})
	}
	return []Story{
		list("models", "Models of every kind and state", views.ModelQuery{}, exampleModels()),
		list("models-filtered", "Models, searched and sorted", views.ModelQuery{
			Text: "a", Capabilities: []string{"text"}, Styles: []string{"chat"}, Sort: "-input",
		}, exampleModels()),
		list("models-none", "No model matches", views.ModelQuery{Text: "zebra"}, exampleModels()),
		list("models-empty", "No catalog yet", views.ModelQuery{}, nil),
		one("model", "A model in all four styles", 0, contracts...),
		one("model-no-key", "A model, for a reader without a key and with higher limits", 1, contracts[0]),
		one("model-paused", "A paused model", 2, contracts[0]),
		one("model-deprecated", "A deprecated model", 3, contracts[0]),
		one("model-unserved", "A model without a provider", 4),
		one("model-coming", "A coming model, priced by second and size", 5),
		one("model-video", "A model that makes videos", 5, views.ModelContract{
			Style: "videos", Hash: "81c0e2aa5b7d9f34", Fields: exampleFields()[:1], Without: []string{"stream"},
		}),
	}
}

func exampleBody(style views.Style) []byte {
	const head = `{"model":"aurora/aurora-large",`
	switch style {
	case "messages":
		return []byte(head + `"max_tokens":1024,"messages":[{"role":"user","content":"Say hello in one short sentence."}]}`)
	case "responses":
		return []byte(head + `"input":"Say hello in one short sentence."}`)
	case "native":
		return []byte(head + `"contents":[{"role":"user","parts":[{"text":"Say hello in one short sentence."}]}]}`)
	default:
		return []byte(head + `"messages":[{"role":"user","content":"Say hello in one short sentence."}],"temperature":0.7,"stream":true}`)
	}
}
