package console

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// hostileTools describe a tool to a model in words that would run.
const hostileTools = `[{"name":"look","description":"</script><img src=x onerror=canary()>","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}]`

// TestHostileAnswersStayText asks models in every style, streamed and whole, for what would run or load something if it became markup: in
// answers and in calls of tools. Each way to look at the answer is opened.
func TestHostileAnswersStayText(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "answers")
	r := guards(t, c.Gateway, c.SignInToConsole(t), s)
	for i, style := range []string{"chat", "messages", "responses", "native"} {
		r.visit("/console/playground?model=meridian/atlas-large&style=" + style)
		r.Must(r.Locator("#play-stream").SetChecked(true))
		askPlayground(r.Tab, "echo: "+s.wall())
		waitForAnswer(r.Tab, 1)
		r.silent(style + ", streamed")
		r.Must(r.Locator("#play-stream").SetChecked(false))
		askPlayground(r.Tab, "echo: "+s.wall())
		waitForAnswer(r.Tab, 2)
		r.silent(style + ", whole")
		r.inspects(i)
		r.silent(style + ", inspected")
	}
	if n, err := r.Locator("[data-answer] :is(h1, p, pre, table, a[rel])").Count(); err != nil || n == 0 {
		t.Errorf("no Markdown was drawn, so nothing was tried: %d, %v", n, err)
	}
	r.calls()
	r.thinks()
}

// thinks has a model reason about a hostile question, which it quotes in its thoughts.
func (r *guarded) thinks() {
	r.T.Helper()
	r.visit("/console/playground?model=quillon/folio-large&style=chat")
	_, err := r.Locator(`[data-param="reasoning_effort"] select`).SelectOption(playwright.SelectOptionValues{Values: &[]string{"high"}})
	r.Must(err)
	for i, evil := range []string{r.evil.hostile()[0], r.evil.hostile()[6]} {
		askPlayground(r.Tab, evil)
		waitForAnswer(r.Tab, i+1)
		r.Must(r.Expect.Locator(r.Locator("[data-thought-text]").Last()).ToContainText("canary()"))
		r.silent("a thought")
	}
	r.Must(r.Locator("[data-thought] summary").Last().Click())
	r.silent("a thought, unfolded")
}

// inspects opens the request and what came, in all its forms; of one style only, as the rest looks the same.
func (r *guarded) inspects(style int) {
	r.T.Helper()
	viewCode(r.Tab)
	if style > 0 {
		return
	}
	tabs := r.Locator("#play-inspector [role=tab]:visible")
	n, err := tabs.Count()
	r.Must(err)
	for i := range n {
		r.Must(tabs.Nth(i).Click())
	}
}

// calls lets a model call a tool with hostile arguments, and answers it with a hostile result, which the model quotes.
func (r *guarded) calls() {
	r.T.Helper()
	r.visit("/console/playground?model=meridian/atlas-large&style=chat")
	r.Must(r.Locator(".play-tools summary").First().Click())
	r.Must(r.Locator("textarea[name=tools]").Fill(hostileTools))
	arguments := harness.Quote(strings.ReplaceAll(r.evil.wall(), "\n", " "))
	askPlayground(r.Tab, "Please\ncall: look {\"q\":"+arguments+"}\n")
	r.Must(r.Expect.Locator(r.Locator("#play[data-state=idle] [data-answer]")).ToHaveCount(1))
	r.Must(r.Expect.Locator(r.Locator("[data-answer]")).ToContainText("onerror=canary()"))
	r.silent("a call")
	r.Must(r.Locator("[data-turn=tool] textarea").Fill(r.evil.wall()))
	r.Must(r.Locator(".result-send button").First().Click())
	r.Must(r.Expect.Locator(r.Locator("#play[data-state=idle] [data-answer] [data-text]").Last()).ToContainText("According to the tool"))
	r.silent("a result")
}
