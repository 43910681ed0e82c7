package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// inEverySize looks for what axe finds, and for pages wider than their window: dark on a telephone, light on a large screen. Each
// look takes long on a busy machine, so make soak alone looks at both themes in both sizes.
func inEverySize(p *harness.Tab, name string) {
	p.T.Helper()
	for width, scheme := range map[int]*playwright.ColorScheme{390: playwright.ColorSchemeDark, 1280: playwright.ColorSchemeLight} {
		p.Must(p.SetViewportSize(width, 900))
		if harness.BothThemesEverywhere {
			everywhere(p)
		} else {
			p.Must(p.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme, ReducedMotion: playwright.ReducedMotionReduce}))
			_, err := p.Evaluate(coloursSettled)
			p.Must(err)
			p.CheckAccessibility()
		}
		if measure(p, `() => document.documentElement.scrollWidth > innerWidth`).(bool) {
			p.T.Errorf("%s is wider than a window of %d pixels", name, width)
		}
		p.SaveScreenshot(fmt.Sprint(name, "-", width))
	}
}

// TestConsoleTrialCreditComesWithTheAddress signs up in a browser: no credit is there until the link that was mailed is
// opened and its button pressed, and a second use of the link brings none.
func TestConsoleTrialCreditComesWithTheAddress(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	email := fmt.Sprintf("proved-%d@example.com", time.Now().UnixNano())
	p.Open(g.ConsoleURL + "/console/sign-up")
	p.RequireText("is yours once you have opened the link that we send to your address.")
	p.Fill("E-mail", email)
	p.Fill("Password", "a quiet sentence to keep")
	p.PressButton("Create account")
	p.RequireText("We sent a link to")
	c := harness.Customer{Gateway: &harness.Gateway{Ready: harness.Ready{Email: email}, Dir: g.Dir}}
	c.AccountID = c.DemoAccountID(t)
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 0 {
		t.Errorf("before the address is verified there is %+v", b)
	}

	p.Open(g.ConsoleURL + "/console/outbox")
	row := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: email})
	p.Must(p.Expect.Locator(row).ToHaveCount(1))
	inEverySize(p, "outbox")
	p.Must(row.GetByRole("link").Click())
	link := p.Locator(`[data-testid="mail-text"] a`).First()
	address, err := link.GetAttribute("href")
	p.Must(err)
	p.Must(link.Click())
	p.RequireText("Confirm that")
	inEverySize(p, "verify")
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 0 {
		t.Errorf("looking at the link alone brings %+v", b)
	}
	p.PressButton("Verify this address")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 5_000_000_000 {
		t.Errorf("the trial credit is %+v", b)
	}
	p.Open(g.ConsoleURL + "/console/billing")
	p.Must(p.Expect.Locator(p.Locator("#credit")).ToContainText("Trial"))

	p.Open(address)
	p.Must(p.Expect.Locator(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Verify this address"})).ToHaveCount(0))
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 5_000_000_000 {
		t.Errorf("the link brings credit twice: %+v", b)
	}
}

// TestConsoleTrialNeedsNoScripts takes the same way without scripts, and gets a second link on the way.
func TestConsoleTrialNeedsNoScripts(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	p := harness.NewTab(t, playwright.BrowserNewContextOptions{
		JavaScriptEnabled: new(false), Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	email := fmt.Sprintf("plain-%d@example.com", time.Now().UnixNano())
	p.Open(g.ConsoleURL + "/console/sign-up")
	p.Fill("E-mail", email)
	p.Fill("Password", "a quiet sentence to keep")
	p.PressButton("Create account")
	p.RequireText("We sent a link to")
	p.PressButton("Send another link")
	p.Open(g.ConsoleURL + "/console/outbox")
	rows := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: email})
	p.Must(p.Expect.Locator(rows).ToHaveCount(2))
	p.Must(rows.First().GetByRole("link").Click())
	p.Must(p.Locator(`[data-testid="mail-text"] a`).First().Click())
	p.PressButton("Verify this address")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	if text, err := p.Content(); err != nil || strings.Contains(text, "Send another link") {
		t.Errorf("a link is still offered, %v", err)
	}
}
