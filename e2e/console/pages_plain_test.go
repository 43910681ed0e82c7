package console

import (
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// countClicks counts over pages how often the person pressed the button of their mouse, or Enter.
const countClicks = `addEventListener("click", e => {
	if (e.isTrusted) sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks") || 0) + 1);
}, true);`

const (
	clicksMax   = 6
	strangerMax = 60 * time.Second
)

// TestAStrangerGetsAnAnswerInSixClicks goes from the sign-in that the demo prints to the first answer in the playground.
func TestAStrangerGetsAnAnswerInSixClicks(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	began := time.Now()
	p := harness.NewTab(t, desktopSize)
	p.Must(p.AddInitScript(playwright.Script{Content: new(countClicks)}))
	p.Open(g.ConsoleURL)
	p.Must(p.Locator("#email").Click())
	p.Must(p.Keyboard().Type(g.Email))
	p.Must(p.Locator("#password").Click())
	p.Must(p.Keyboard().Type(g.Password))
	p.PressButton("Sign in")
	p.FollowLink("Playground")
	p.Must(p.Locator("#play-prompt").Click())
	p.Must(p.Keyboard().Type("What is a lighthouse?"))
	p.Must(p.Locator("[data-send]").Click())
	waitForAnswer(p, 1)
	clicks, took := figure(measure(p, `() => Number(sessionStorage.getItem("clicks"))`)), time.Since(began)
	t.Logf("%.0f clicks, %s", clicks, took.Round(time.Millisecond))
	if clicks < 1 || clicks > clicksMax || took > strangerMax {
		t.Errorf("the first answer takes %.0f clicks and %s", clicks, took)
	}
}
