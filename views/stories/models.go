package stories

import (
	"time"

	"umg/app"
	"umg/views"
	modelpages "umg/views/models"
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

// exampleLimits are limits of which some is used.
var exampleLimits = views.Limits{
	RequestsPerMinute: 60, RequestsPerDay: 5000, TokensPerMinute: 200_000, Concurrency: 16, AccountRequests: 300,
	Left: &views.LimitsLeft{RequestsPerMinute: 57, RequestsPerDay: 4212, TokensPerMinute: 183_420, Concurrency: 14, AccountRequests: 289},
}

func exampleModels() []views.Model {
	limits := exampleLimits
	large := views.Model{
		ID: "aurora/aurora-large", Name: "Aurora Large", Owner: "aurora", Kind: "text", State: views.ModelAvailable, Limits: limits,
		Description:  "The generalist for hard work, with long context, images, tools and strict JSON.",
		Capabilities: []string{"text", "code"}, Input: []string{"text", "image"}, Output: []string{"text"},
		ContextTokens: 256_000, MaxOutput: 32_000, Styles: allStyles, Released: day(2026, 5, 12),
		Prices: []views.Price{
			perMillion("input_tokens", 250), perMillion("cache_read_tokens", 125), perMillion("output_tokens", 1000),
			{Meter: "reasoning_tokens", Like: "output_tokens"}, {Meter: "cache_write_tokens", Like: "input_tokens"},
		},
		Parameters: []string{"temperature", "top_p", "stop", "seed", "logprobs", "tools", "tool_choice", "response_format", "structured_outputs"},
		Now: views.ModelNow{
			Answered: 18_412, Failed: 9, Judged: true, FirstByteP50: 412 * time.Millisecond, FirstByteP95: 1180 * time.Millisecond, Speed: 86_400,
			DurationP50: 4100 * time.Millisecond, DurationP95: 11_300 * time.Millisecond,
		},
	}
	mini := large
	mini.ID, mini.Name, mini.Description = "aurora/"+Model, "Aurora Mini", "Quick and inexpensive. A good first choice."
	mini.Prices = []views.Price{perMillion("input_tokens", 15), perMillion("output_tokens", 60)}
	mini.ContextTokens, mini.MaxOutput, mini.Styles = 128_000, 16_384, []views.Style{"chat", "responses"}
	mini.Parameters = []string{"temperature", "top_p", "stop", "seed", "response_format"}
	mini.Now = views.ModelNow{
		Answered: 1_183, Failed: 21, Judged: true, FirstByteP50: 171 * time.Millisecond, FirstByteP95: 640 * time.Millisecond, Speed: 212_700,
	}
	mini.State = views.ModelDegraded
	large.Fallbacks = []string{mini.ID}
	instead := []views.ModelRef{{ID: large.ID, Name: large.Name}, {ID: mini.ID, Name: mini.Name}}
	paused := mini
	paused.Description = "Thinks long about hard questions, and says how it got there."
	paused.Parameters, paused.Now = []string{"tools", "reasoning_effort"}, views.ModelNow{Instead: instead[:1]}
	paused.ID, paused.Name, paused.Owner, paused.State = "borealis/thinker", "Thinker", "borealis", views.ModelPaused
	paused.Notice = "It is under more load than its provider takes; new calls are let in again within the hour."
	paused.Prices = []views.Price{perMillion("input_tokens", 1200), perMillion("output_tokens", 4800), perMillion("reasoning_tokens", 3600)}
	old := mini
	old.Description = "The small model of last year, for programs that rely on it."
	old.Now, old.Successor = views.ModelNow{
		Answered: 31, Failed: 6, Judged: true, FirstByteP50: 2300 * time.Millisecond, Speed: 9_300, Instead: instead,
	}, "borealis/thinker"
	old.State = views.ModelFailing
	old.Fallbacks = []string{large.ID, mini.ID}
	old.ID, old.Name, old.Owner, old.Deprecated, old.Shutdown = "borealis/elder", "Elder", "borealis", date(2026, 11, 1), date(2027, 6, 1)
	old.Notice, old.Styles = "Elder will be replaced by Thinker on 1 June 2027.", allStyles[:1]
	unserved := mini
	unserved.Description = "Short answers and classification at a low price."
	unserved.Now = views.ModelNow{Instead: instead[1:]}
	unserved.ID, unserved.Name, unserved.Owner, unserved.State, unserved.Styles = "quarry/stone", "Stone", "quarry", views.ModelUnserved, nil
	film := views.Model{
		ID: "quarry/reel:pro", Name: "Reel Pro", Owner: "quarry", Kind: "video", State: views.ModelComing, Released: day(2026, 12, 6),
		Description:  "Video for the final cut; renders longer, in more sizes, and costs more.",
		Capabilities: []string{"video"}, Input: []string{"text", "image"}, Output: []string{"video"},
		Sizes: []string{"720x1280", "1280x720", "1080x1920"}, Seconds: []int64{4, 8, 12},
		Prices: []views.Price{{Meter: "seconds", Amount: 30 * app.Cent, Per: 1}},
		OtherPrices: views.OtherPrices{
			SizePrices: []views.SizePrice{{Size: "1080x1920", Price: views.Price{Meter: "seconds", Amount: 70 * app.Cent, Per: 1}}},
		},
		Limits: views.Limits{RequestsPerMinute: 5, JobsPerDay: 40, JobsRunning: 2},
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

func exampleFields() []modelpages.Field {
	return []modelpages.Field{
		{Name: "model", Types: "string", Required: true, Allowed: []string{"aurora/aurora-large"}, Text: "The model that answers."},
		{Name: "messages", Types: "array of objects", Required: true, Allowed: []string{"not empty"}, Text: "The conversation so far.",
			Fields: []modelpages.Field{
				{Name: "user", Variant: true, Types: "object", Fields: []modelpages.Field{
					{Name: "role", Types: "string", Required: true, Allowed: []string{"user"}},
					{Name: "content", Types: "string or array of objects", Required: true},
				}},
				{Name: "tool", Variant: true, Types: "object", Fields: []modelpages.Field{
					{Name: "tool_call_id", Types: "string", Required: true},
				}},
			}},
		{Name: "temperature", Types: "number", Default: "1", Allowed: []string{"0 – 2"}, Text: "How freely the next token is drawn."},
		{Name: "reasoning_effort", Types: "string", Allowed: []string{"low", "medium", "high"}, Text: "How long the model thinks."},
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
