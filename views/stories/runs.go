package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	playpages "umg/views/playground"
)

func exampleRuns() []playpages.Run {
	return []playpages.Run{
		{
			ID: "run_01kb4a7m9x3v5d2c8n6q1w0zpr", Title: "What is a hold in a prepaid ledger?", Person: Email, At: at(4 * time.Minute),
			Models: []string{"aurora/large", "aurora/mini"},
		},
		{ID: "run_01kb4a7m9x3v5d2c8n6q1w0zps", Title: "Image", At: at(26 * time.Hour), Models: []string{"aurora/large"}},
	}
}

func exampleRun(s views.Shell) playpages.RunDetail {
	d := playpages.RunDetail{Shell: s, Run: exampleRuns()[0], URL: "https://models.example.com"}
	for i, model := range d.Run.Models {
		result := *exampleResult()
		result.Total *= time.Duration(i + 1)
		d.Answers = append(d.Answers, playpages.RunAnswer{Model: model, Result: result, Content: playpages.PromptContent{
			Settings: []views.Fact{{Name: "Model", Value: model}, {Name: "temperature", Value: "0.5"}}, System: "Answer in one sentence.",
			Turns: []playpages.PromptTurn{
				{Role: "user", Text: d.Run.Title}, {Role: "assistant", Text: "An amount set aside before the work begins."},
			},
		}})
	}
	return d
}

func runsStory(name, title string, change func(*playpages.Runs)) Story {
	return Story{Name: name, Group: "Playground", Title: title, Status: 200, Path: playpages.RunsPath,
		View: func(s views.Shell) templ.Component {
			v := playpages.Runs{Shell: s}
			change(&v)
			return playpages.RunsPage(v)
		}}
}

// playHistory is the playground with its history as the script shows it: part of the page, so that a picture has it.
func playHistory(name, title string, isEmpty bool) Story {
	story := playStory(name, title, 200, func(p *playpages.Playground) {
		p.KeepsRuns = true
		p.Form.Turns = exampleTurns()[:2]
	})
	texts := []string{`id="play-history" popover`, `id="play-history" data-open`}
	if isEmpty {
		return replaced(story, texts...)
	}
	const run = `<li><button type="button" class="history-open">What is a hold in a prepaid ledger?</button>` +
		`<p class="muted text-xs num">10:26:00 · Aurora Large, $0.002148 · Aurora Mini, $0.00041</p></li>`
	return replaced(story, append(texts,
		`<ul class="history-runs" data-history-runs></ul>`, `<ul class="history-runs" data-history-runs>`+run+run+`</ul>`,
		`data-history-none>`, `data-history-none hidden>`, `data-history-clear hidden`, `data-history-clear`)...)
}
