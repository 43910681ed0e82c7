package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// inEverySize looks for what axe finds, and for pages wider than their window: dark on a telephone, light on a large screen. Each
// look takes long on a busy machine, so make soak alone looks at both themes in both sizes.
func (p *tab) inEverySize(name string) {
	p.t.Helper()
	for width, scheme := range map[int]*playwright.ColorScheme{390: playwright.ColorSchemeDark, 1280: playwright.ColorSchemeLight} {
		p.must(p.SetViewportSize(width, 900))
		if bothThemesEverywhere {
			p.everywhere()
		} else {
			p.must(p.EmulateMedia(playwright.PageEmulateMediaOptions{ColorScheme: scheme, ReducedMotion: playwright.ReducedMotionReduce}))
			_, err := p.Evaluate(coloursSettled)
			p.must(err)
			p.axe()
		}
		if p.measure(`() => document.documentElement.scrollWidth > innerWidth`).(bool) {
			p.t.Errorf("%s is wider than a window of %d pixels", name, width)
		}
		p.picture(fmt.Sprint(name, "-", width))
	}
}

// TestConsoleTrialCreditComesWithTheAddress signs up in a browser: no credit is there until the link that was mailed is
// opened and its button pressed, and a second use of the link brings none.
func TestConsoleTrialCreditComesWithTheAddress(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newTab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}})
	email := fmt.Sprintf("proved-%d@example.com", time.Now().UnixNano())
	p.open(g.ConsoleURL + "/console/sign-up")
	p.sees("is yours once you have opened the link that we send to your address.")
	p.fill("E-mail", email)
	p.fill("Password", "a quiet sentence to keep")
	p.press("Create account")
	p.sees("We sent a link to")
	c := customer{gateway: &gateway{ready: ready{Email: email}, dir: g.dir}}
	c.accountID = c.account(t)
	if b := c.balanceOf(t, c.accountID); b.Posted != 0 {
		t.Errorf("before the address is verified there is %+v", b)
	}

	p.open(g.ConsoleURL + "/console/outbox")
	row := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: email})
	p.must(p.expect.Locator(row).ToHaveCount(1))
	p.inEverySize("outbox")
	p.must(row.GetByRole("link").Click())
	link := p.Locator(`[data-testid="mail-text"] a`).First()
	address, err := link.GetAttribute("href")
	p.must(err)
	p.must(link.Click())
	p.sees("Confirm that")
	p.inEverySize("verify")
	if b := c.balanceOf(t, c.accountID); b.Posted != 0 {
		t.Errorf("looking at the link alone brings %+v", b)
	}
	p.press("Verify this address")
	p.must(p.expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	if b := c.balanceOf(t, c.accountID); b.Posted != 5_000_000_000 {
		t.Errorf("the trial credit is %+v", b)
	}
	p.open(g.ConsoleURL + "/console/billing")
	p.must(p.expect.Locator(p.Locator("#credit")).ToContainText("Trial"))

	p.open(address)
	p.must(p.expect.Locator(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Verify this address"})).ToHaveCount(0))
	if b := c.balanceOf(t, c.accountID); b.Posted != 5_000_000_000 {
		t.Errorf("the link brings credit twice: %+v", b)
	}
}

// TestConsoleTrialNeedsNoScripts takes the same way without scripts, and gets a second link on the way.
func TestConsoleTrialNeedsNoScripts(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newTab(t, playwright.BrowserNewContextOptions{
		JavaScriptEnabled: new(false), Viewport: &playwright.Size{Width: 360, Height: 800},
	})
	email := fmt.Sprintf("plain-%d@example.com", time.Now().UnixNano())
	p.open(g.ConsoleURL + "/console/sign-up")
	p.fill("E-mail", email)
	p.fill("Password", "a quiet sentence to keep")
	p.press("Create account")
	p.sees("We sent a link to")
	p.press("Send another link")
	p.open(g.ConsoleURL + "/console/outbox")
	rows := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: email})
	p.must(p.expect.Locator(rows).ToHaveCount(2))
	p.must(rows.First().GetByRole("link").Click())
	p.must(p.Locator(`[data-testid="mail-text"] a`).First().Click())
	p.press("Verify this address")
	p.must(p.expect.Locator(p.Locator("#balance")).ToContainText("$5"))
	if text, err := p.Content(); err != nil || strings.Contains(text, "Send another link") {
		t.Errorf("a link is still offered, %v", err)
	}
}
