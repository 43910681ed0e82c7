package e2e

import (
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
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
	g := running(t)
	began := time.Now()
	p := newTab(t, desktopSize)
	p.must(p.AddInitScript(playwright.Script{Content: new(countClicks)}))
	p.open(g.ConsoleURL)
	p.must(p.Locator("#email").Click())
	p.must(p.Keyboard().Type(g.Email))
	p.must(p.Locator("#password").Click())
	p.must(p.Keyboard().Type(g.Password))
	p.press("Sign in")
	p.follow("Playground")
	p.must(p.Locator("#play-prompt").Click())
	p.must(p.Keyboard().Type("What is a lighthouse?"))
	p.must(p.Locator("[data-send]").Click())
	p.answered(1)
	clicks, took := figure(p.measure(`() => Number(sessionStorage.getItem("clicks"))`)), time.Since(began)
	t.Logf("%.0f clicks, %s", clicks, took.Round(time.Millisecond))
	if clicks < 1 || clicks > clicksMax || took > strangerMax {
		t.Errorf("the first answer takes %.0f clicks and %s", clicks, took)
	}
}
