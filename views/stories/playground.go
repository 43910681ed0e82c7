package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
)

func exampleParams() []views.Param {
	return []views.Param{
		{Path: "max_completion_tokens", Key: "max", Kind: views.ParamInteger, Bounds: "1 – 32000", Min: "1", Max: "32000", First: true,
			Text: "The most tokens the answer may have."},
		{Path: "temperature", Key: "temperature", Kind: views.ParamNumber, Bounds: "0 – 2", Min: "0", Max: "2", Default: "1", First: true,
			Text: "How freely the next token is drawn."},
		{Path: "reasoning_effort", Key: "effort", Kind: views.ParamEnum, Options: []string{"low", "medium", "high"}, Default: "medium",
			First: true, Text: "How long the model thinks."},
		{Path: "stop", Key: "stop", Kind: views.ParamList, First: true, Text: "Texts that end the answer."},
		{Path: "logit", Key: "logit", Kind: views.ParamBoolean, Default: "false", Text: "A switch."},
		{Path: "presence_penalty", Key: "presencepenalty", Kind: views.ParamNumber, Bounds: "\u22122 – 2", Min: "-2", Max: "2", Default: "0"},
	}
}

const exampleRequest = "req_01kb4a7m9x3v5d2c8n6q1w0zpr"

// exampleImage is one grey dot.
const exampleImage = "data:image/gif;base64,R0lGODlhAQABAIAAAMLCwgAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="

func exampleTurns() []views.PlayTurn {
	result := &views.PlayResult{
		RequestID: exampleRequest, FirstByte: 312 * time.Millisecond, Total: 1840 * time.Millisecond, Input: 48, CacheRead: 1024,
		Output: 126, Reasoning: 64, Finish: "stop", Cost: 2_148_000,
	}
	return []views.PlayTurn{
		{Text: "What is a hold in a prepaid ledger?"},
		{Answer: true, Text: "An amount set aside before the work begins.", Note: "0.9 s · 31 tokens · $0.00041 · req_01…"},
		{Text: "And what if the work costs less?", Image: exampleImage},
		{Answer: true, Thought: "They ask about the difference.", Result: result,
			Text: "Then the rest is released:\n\n1. The charge is taken from the hold.\n2. What is left goes back to the balance at once."},
	}
}

func playground() []Story {
	story := func(name, title string, status int, change func(*views.Playground)) Story {
		return Story{Name: name, Group: "Playground", Title: title, Status: status, Path: "/console/playground",
			View: func(s views.Shell) templ.Component {
				all := exampleModels()
				p := views.Playground{
					Shell: s, Models: all[:2], ImageMax: 500_000, PlayPane: views.PlayPane{
						Model: all[0], Style: "chat", Params: exampleParams(), Form: views.PlayForm{Stream: true},
					},
				}
				change(&p)
				return views.PlaygroundPage(p)
			}}
	}
	return []Story{
		story("playground", "Before the first message", 200, func(*views.Playground) {}),
		story("playground-text", "A model without images, two styles", 200, func(p *views.Playground) {
			p.Model, p.Style = p.Models[1], "responses"
		}),
		story("playground-answered", "A conversation", 200, func(p *views.Playground) {
			p.Form.System, p.Form.Turns = "Answer in plain words.", exampleTurns()
			p.Params[1].Value = "0.2"
		}),
		story("playground-estimated", "An answer whose usage was counted here", 200, func(p *views.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			p.Form.Turns[1].Result = &views.PlayResult{
				RequestID: exampleRequest, FirstByte: 200 * time.Millisecond, Total: 900 * time.Millisecond, Input: 12, Output: 9,
				Cost: 21 * app.Nano, Estimated: true, Left: true,
			}
		}),
		story("playground-image", "With an image to send", 200, func(p *views.Playground) {
			p.Form.Prompt, p.Form.Image = "What do you see?", exampleImage
		}),
		story("playground-refused", "A parameter refused", 422, func(p *views.Playground) {
			p.Form.Prompt = "Hello"
			p.Params[1].Value, p.Params[1].Error = "7", "temperature must be at most 2."
			p.Trouble = &views.PlayTrouble{
				Message: "temperature must be at most 2.", Code: "invalid_request_error", Field: "temperature", RequestID: exampleRequest,
			}
		}),
		story("playground-unfunded", "Not enough credit", 422, func(p *views.Playground) {
			p.Form.Prompt = "Hello"
			p.Trouble = &views.PlayTrouble{
				Message: "Your credit does not cover this request.", Code: "insufficient_quota", RequestID: exampleRequest, NoCredit: true,
			}
		}),
		story("playground-limited", "Over the rate limit", 429, func(p *views.Playground) {
			p.Form.Prompt, p.Form.Turns = "Hello", exampleTurns()[:2]
			p.Trouble = &views.PlayTrouble{
				Message: "Too many requests to this model.", Code: "rate_limit_exceeded", RequestID: exampleRequest, Wait: 12 * time.Second,
			}
		}),
		story("playground-no-models", "No model can be called", 200, func(p *views.Playground) { p.Models = nil }),
		{Name: "playground-code", Group: "Playground", Title: "The request as code", Status: 200, Path: "/console/playground",
			View: func(s views.Shell) templ.Component {
				c := views.PlayCode{Shell: s, Model: exampleModels()[0], Style: "chat", KeyHint: "sk-umg-7H…f3Qk"}
				for _, style := range allStyles {
					c.Variants = append(c.Variants, views.PlayVariant{Style: style, Body: exampleBody(style)})
				}
				c.Variants[3] = views.PlayVariant{Style: "native", Refusal: "logprobs cannot be said in this style."}
				return views.PlayCodePage(c)
			}},
	}
}
