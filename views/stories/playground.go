package stories

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/app/markdown"
	"umg/views"
	playpages "umg/views/playground"
)

func exampleParams() []playpages.Param {
	return []playpages.Param{
		{Path: "max_completion_tokens", Key: "max", Kind: playpages.ParamInteger, Bounds: "1 – 32,000", Min: "1", Max: "32000", First: true,
			Text: "The most tokens the answer may have."},
		{Path: "temperature", Key: "temperature", Kind: playpages.ParamNumber, Bounds: "0 – 2", Min: "0", Max: "2", Default: "1", First: true,
			Text: "How freely the next token is drawn."},
		{Path: "reasoning_effort", Key: "effort", Kind: playpages.ParamEnum, Options: []string{"low", "medium", "high"}, Default: "medium",
			First: true, Text: "How long the model thinks."},
		{Path: "stop", Key: "stop", Kind: playpages.ParamList, First: true, Text: "Texts that end the answer."},
		{Path: "logit", Key: "logit", Kind: playpages.ParamBoolean, Default: "false", Text: "A switch."},
		{Path: "presence_penalty", Key: "presencepenalty", Kind: playpages.ParamNumber, Bounds: "\u22122 – 2", Min: "-2", Max: "2", Default: "0"},
	}
}

const exampleRequest = "req_01kb4a7m9x3v5d2c8n6q1w0zpr"

// exampleImage is a landscape of three shapes.
const exampleImage = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='160' height='90'%3E" +
	"%3Crect width='160' height='90' fill='%23bcd7ee'/%3E%3Ccircle cx='120' cy='26' r='12' fill='%23f5cf6b'/%3E" +
	"%3Cpath d='M0 90 L50 34 L84 66 L108 48 L160 90 Z' fill='%235f7f6b'/%3E%3C/svg%3E"

func exampleTurns() []playpages.Turn {
	return []playpages.Turn{
		{Text: "What is a hold in a prepaid ledger?"},
		{Answer: true, Text: "An amount set aside before the work begins.",
			Note: "900 ms · 31 tokens · $0.00041 · req_01kb4a7m9x3v5d2c8n6q1w0zpr"},
		{Text: "And what if the work costs less?", Image: exampleImage},
		{Answer: true, Thought: "They ask about the difference.", Result: exampleResult(),
			Text: "Then the rest is released:\n\n1. The charge is taken from the hold.\n2. What is left goes back to the balance at once."},
	}
}

// exampleMarkdown is an answer with what Markdown has.
const exampleMarkdown = "## Holds\n\nA **hold** sets an amount aside:\n\n" +
	"| Step | Balance |\n|---|---:|\n| hold | $1.00 |\n| charge | $0.40 |\n\n" +
	"```go\nfunc release(held, cost int64) int64 {\n\treturn held - cost // goes back at once\n}\n```\n\n" +
	"- The rest is *released*.\n- See [the docs](https://example.com/docs)."

const hostileText = "<script>alert(1)</script> [x](data:text/html,x) ![pixel](https://evil.example/p.gif) " +
	"<b hx-get=\"/console\" hx-trigger=\"load\">x</b>\n\n" +
	"averyverylongwordwithoutanyplacetobreakitaveryverylongwordwithoutanyplacetobreakitaveryverylongwordwithoutanyplacetobreakit\u202egnp.exe"

func drawnAnswer(text string, result *playpages.Result) playpages.Turn {
	return playpages.Turn{Answer: true, Text: text, HTML: markdown.Untrusted(text), Result: result}
}

func exampleResult() *playpages.Result {
	return &playpages.Result{
		RequestID: exampleRequest, FirstByte: 312 * time.Millisecond, Total: 1840 * time.Millisecond, Input: 48, CacheRead: 1024,
		Output: 126, Reasoning: 64, Finish: "stop", Cost: 2_148_000,
	}
}

const exampleTools = `[
  {
    "name": "get_weather",
    "description": "The weather of a city right now.",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } },
      "required": ["city"]
    }
  }
]`

func toolTurns() []playpages.Turn {
	called := exampleResult()
	called.Finish = "tool_calls"
	return []playpages.Turn{
		{Text: "Is it warmer in Paris or in Oslo?"},
		{Answer: true, Text: "I look both up.", Result: called, Calls: []playpages.ToolCall{
			{ID: "call_01", Name: "get_weather", Arguments: `{"city":"Paris","unit":"celsius"}`},
			{ID: "call_02", Name: "get_weather", Arguments: `{"city":"Oslo","unit":"celsius"}`},
		}},
		{CallID: "call_01", Text: `{"celsius": 14.5, "sky": "cloudy"}`},
		{CallID: "call_02"},
	}
}

// beside is one more pane with the same conversation.
func beside(p playpages.Playground, number int, model views.Model) playpages.Pane {
	pane := p.Pane
	pane.Number, pane.Model = number, model
	return pane
}

func playStory(name, title string, status int, change func(*playpages.Playground)) Story {
	return Story{Name: name, Group: "Playground", Title: title, Status: status, Path: "/console/playground",
		View: func(s views.Shell) templ.Component {
			all := exampleModels()
			p := playpages.Playground{
				Shell: s, Models: all[:2], ImageMax: 500_000, Pane: playpages.Pane{
					Model: all[0], Style: "chat", Params: exampleParams(), Form: playpages.Form{Stream: true, ToolChoice: "auto", Format: "text"},
				},
			}
			change(&p)
			return playpages.Page(p)
		}}
}

func playground() []Story {
	return append(append(playgroundAlone(), playgroundRuns()...),
		playStory("playground-two", "Two models side by side", 200, func(p *playpages.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			p.Others = []playpages.Pane{beside(*p, 1, p.Models[1])}
		}),
		playStory("playground-one-failed", "Three models, one of which failed", 200, func(p *playpages.Playground) {
			p.Form.Turns = []playpages.Turn{{Text: "What is a hold?"}, drawnAnswer(exampleMarkdown, exampleResult())}
			failed := beside(*p, 1, p.Models[1])
			failed.Form.Turns = failed.Form.Turns[:1]
			failed.Trouble = &views.PlayTrouble{
				Message: "The provider of this model does not answer.", Code: "upstream_error",
				Doc: "/console/docs/errors#upstream_error", RequestID: exampleRequest, Wait: 20 * time.Second,
			}
			p.Others = []playpages.Pane{failed, beside(*p, 2, p.Models[0])}
		}),
		playStory("playground-winner", "Answers of two of three, one of which can win", 200, func(p *playpages.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			late := beside(*p, 1, p.Models[1])
			late.Form.Turns = late.Form.Turns[:1]
			p.Others = []playpages.Pane{late, beside(*p, 2, p.Models[0])}
		}),
		playStory("playground-four", "Four models", 200, func(p *playpages.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			p.Form.Prompt = "And what if the work costs less?"
			for i := range 3 {
				p.Others = append(p.Others, beside(*p, i+1, p.Models[(i+1)%2]))
			}
		}),
		playMidway(),
		playStory("playground-no-models", "No model can be called", 200, func(p *playpages.Playground) { p.Models = nil }),
		Story{Name: "playground-code", Group: "Playground", Title: "The request as code", Status: 200, Path: "/console/playground",
			View: func(s views.Shell) templ.Component {
				c := playpages.Code{Shell: s, Model: exampleModels()[0], Style: "chat", KeyHint: "sk-umg-7H…f3Qk"}
				for _, style := range allStyles {
					c.Variants = append(c.Variants, playpages.Variant{Style: style, Body: exampleBody(style)})
				}
				c.Variants[3] = playpages.Variant{Style: "native", Refusal: "logprobs cannot be expressed in this style."}
				return playpages.CodePage(c)
			}},
	)
}

// playgroundRuns are several models compared, and what is kept of that.
func playgroundRuns() []Story {
	return []Story{
		playStory("playground-override", "Two models, one of which has its own settings", 200, func(p *playpages.Playground) {
			p.Form.Turns, p.Form.System = exampleTurns()[:2], "Answer in one sentence."
			own := beside(*p, 1, p.Models[1])
			own.Form.OwnSettings, own.Form.System = true, "Answer in three sentences."
			own.Params = slices.Clone(own.Params)
			own.Params[0].Value = "512"
			p.Others = []playpages.Pane{own}
		}),
		playStory("playground-compare", "Four answers compared", 200, func(p *playpages.Playground) {
			question := playpages.Turn{Text: "What is a hold?"}
			p.Form.Turns = []playpages.Turn{question, drawnAnswer("An amount set aside before the work begins.", exampleResult())}
			for i := range 3 {
				other := beside(*p, i+1, p.Models[(i+1)%2])
				other.Model.Name = []string{"Aurora Mini Preview with a long name", "Aurora Large", "Aurora Mini"}[i]
				result := exampleResult()
				result.FirstByte = result.FirstByte / 2 * time.Duration(i+1)
				result.Cost /= app.Amount(i + 2)
				other.Form.Turns = []playpages.Turn{question, drawnAnswer("Money that is reserved.", result)}
				p.Others = append(p.Others, other)
			}
			p.Others[2].Form.Turns = p.Others[2].Form.Turns[:1]
		}),
		playHistory("playground-history", "The history is open", false),
		playHistory("playground-history-empty", "The history is open and empty", true),
		runsStory("runs", "Runs of the account", func(v *playpages.Runs) { v.List = exampleRuns() }),
		runsStory("runs-empty", "No runs yet", func(v *playpages.Runs) { v.Kept = true }),
		runsStory("runs-not-kept", "The account keeps no runs", func(v *playpages.Runs) { v.ManagesAccount = true }),
		{Name: "run", Group: "Playground", Title: "A run of the account", Status: 200, Path: playpages.RunsPath,
			View: func(s views.Shell) templ.Component { return playpages.RunPage(exampleRun(s)) }},
		{Name: "run-delete", Group: "Playground", Title: "Delete a run", Status: 200, Path: playpages.RunsPath,
			View: func(s views.Shell) templ.Component { return playpages.RunDeletePage(exampleRun(s)) }},
	}
}

// playMidway is the page while its script takes in an answer, between two pieces of the text.
func playMidway() Story {
	story := playStory("playground-midway", "An answer on its way", 200, func(p *playpages.Playground) {
		p.Form.Turns = []playpages.Turn{{Text: "What is a hold in a prepaid ledger?"}, drawnAnswer(exampleMarkdown[:len(exampleMarkdown)/2], nil)}
	})
	return replaced(story,
		`data-state="idle"`, `data-state="busy"`, "data-stop hidden", "data-stop", "data-send form=", "data-send hidden form=")
}

// replaced is a story with texts of its page replaced, for states that only the script of the page makes.
func replaced(story Story, texts ...string) Story {
	still, change := story.View, strings.NewReplacer(texts...)
	story.View = func(s views.Shell) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			var page strings.Builder
			if err := still(s).Render(ctx, &page); err != nil {
				return err
			}
			_, err := change.WriteString(w, page.String())
			return err
		})
	}
	return story
}

// playgroundAlone are the states of a single pane.
func playgroundAlone() []Story {
	return append([]Story{
		playStory("playground", "Before the first message", 200, func(*playpages.Playground) {}),
		playStory("playground-text", "A model without images, two styles", 200, func(p *playpages.Playground) {
			p.Model, p.Style = p.Models[1], "responses"
		}),
		playStory("playground-answered", "A conversation", 200, func(p *playpages.Playground) {
			p.Form.System, p.Form.Turns = "Answer in plain words.", exampleTurns()
			p.Params[1].Value = "0.2"
		}),
		playStory("playground-markdown", "An answer with Markdown and code", 200, func(p *playpages.Playground) {
			p.Form.Turns = []playpages.Turn{{Text: "What is a hold in a prepaid ledger?"}, drawnAnswer(exampleMarkdown, exampleResult())}
		}),
		playStory("playground-tools", "Calls of tools, and their results", 200, func(p *playpages.Playground) {
			p.Form.Tools, p.Form.ToolChoice, p.Form.Turns = exampleTools, "get_weather", toolTurns()
		}),
		playStory("playground-structured", "An answer by a schema", 200, func(p *playpages.Playground) {
			p.Form.Format, p.Form.SchemaName, p.Form.Schema = "json_schema", "city", "{\n  \"type\": \"object\"\n}"
			p.Form.Turns = []playpages.Turn{{Text: "Which city is the capital of Norway?"},
				drawnAnswer("```json\n{\n  \"city\": \"Oslo\",\n  \"sure\": true\n}\n```", exampleResult())}
		}),
		playStory("playground-variables", "A prompt with variables", 200, func(p *playpages.Playground) {
			p.Form.System, p.Form.Prompt = "Answer in {{language}}.", "Explain {{topic}} to {{reader}}."
			p.Form.Vars = []playpages.Variable{{Name: "language", Value: "Norwegian"}, {Name: "topic", Value: "holds"}, {Name: "reader"}}
		}),
		playStory("playground-prompt", "A saved prompt is open", 200, func(p *playpages.Playground) {
			p.Form.System, p.Form.Prompt = "Answer in plain words.", "What is a hold?"
			p.Form.PromptID, p.Form.PromptVersion = examplePrompts()[0].ID, "3"
			p.Form.Opened = &playpages.OpenPrompt{Prompt: examplePrompts()[0], Version: examplePrompts()[0].Latest}
		}),
		playStory("playground-prompt-changed", "An old version of a saved prompt, changed", 200, func(p *playpages.Playground) {
			p.Form.System, p.Form.Turns = "Answer in plain words.", exampleTurns()[:2]
			one := examplePrompts()[0]
			one.Name, one.Latest = "The first answer to a customer whose payment failed, in the words of our handbook", 12
			p.Form.PromptID, p.Form.PromptVersion = one.ID, "9"
			p.Form.Opened = &playpages.OpenPrompt{Prompt: one, Version: 9, Changed: true}
		}),
		playStory("playground-hostile", "Hostile text everywhere", 200, func(p *playpages.Playground) {
			p.Form.System, p.Form.Prompt = hostileText, hostileText
			p.Form.Turns = []playpages.Turn{{Text: hostileText, Image: "https://evil.example/p.gif"}, drawnAnswer(hostileText, exampleResult()),
				{Answer: true, Text: hostileText, Thought: hostileText,
					Calls: []playpages.ToolCall{{ID: hostileText, Name: hostileText, Arguments: hostileText}}}}
			p.Trouble = &views.PlayTrouble{Message: hostileText, Code: "invalid_request_error", Field: hostileText}
		}),
		playStory("playground-inspector", "The inspector is open", 200, func(p *playpages.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			p.Sent = &playpages.SentPart{
				Request: "{\n  \"model\": \"aurora/aurora-large\",\n" +
					"  \"messages\": [\n    { \"role\": \"user\", \"content\": \"What is a hold in a prepaid ledger?\" }\n  ]\n}",
				Response: "{\n  \"id\": \"chatcmpl-1\"\n}",
			}
		}),
	}, playgroundTrouble()...)
}

// playgroundTrouble are answers that are not whole, and questions without one.
func playgroundTrouble() []Story {
	return []Story{
		playStory("playground-estimated", "An answer whose usage was counted here", 200, func(p *playpages.Playground) {
			p.Form.Turns = exampleTurns()[:2]
			p.Form.Turns[1].Result = &playpages.Result{
				RequestID: exampleRequest, FirstByte: 200 * time.Millisecond, Total: 900 * time.Millisecond, Input: 12, Output: 9,
				Cost: 120_000 * app.Nano, Estimated: true, Left: true,
			}
		}),
		playStory("playground-image", "With an image to send", 200, func(p *playpages.Playground) {
			p.Form.Prompt, p.Form.Image = "What do you see?", exampleImage
		}),
		replaced(playStory("playground-image-dropped", "An image is dragged over the message", 200, func(p *playpages.Playground) {
			p.Form.Prompt = "What do you see?"
		}), "data-composer ", "data-composer data-drop "),
		playStory("playground-refused", "A parameter refused", 422, func(p *playpages.Playground) {
			p.Form.Prompt = "Hello"
			p.Params[1].Value, p.Params[1].Error = "7", "temperature must be at most 2."
			p.Trouble = &views.PlayTrouble{
				Message: "temperature must be at most 2.", Code: "invalid_request_error", Field: "temperature", RequestID: exampleRequest,
			}
		}),
		playStory("playground-unfunded", "Not enough credit", 422, func(p *playpages.Playground) {
			p.Form.Prompt = "Hello"
			p.Trouble = &views.PlayTrouble{
				Message: "Your credit does not cover this request.", Code: "insufficient_quota", RequestID: exampleRequest, NoCredit: true,
			}
		}),
		playStory("playground-limited", "Over the rate limit", 429, func(p *playpages.Playground) {
			p.Form.Prompt, p.Form.Turns = "Hello", exampleTurns()[:2]
			p.Trouble = &views.PlayTrouble{
				Message: "Too many requests to this model.", Code: "rate_limit_exceeded",
				Doc: "/console/docs/errors#rate_limit_exceeded", RequestID: exampleRequest, Wait: 12 * time.Second,
			}
		}),
	}
}
