package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// newcomer signs up and stands on the overview.
func newcomer(t *testing.T, g *gateway, o playwright.BrowserNewContextOptions) *tab {
	t.Helper()
	p := newTab(t, o)
	p.open(g.ConsoleURL + "/console/sign-up")
	p.fill("E-mail", fmt.Sprintf("review-%d@example.com", time.Now().UnixNano()))
	p.fill("Password", "a quiet sentence to keep")
	p.press("Create account")
	p.sees("Make your first request")
	return p
}

// focused waits until the keyboard is on what the selector finds.
func (p *tab) focused(selector string) {
	p.t.Helper()
	p.must(p.expect.Locator(p.Locator(selector).First()).ToBeFocused())
}

func (p *tab) key(name string) {
	p.t.Helper()
	p.must(p.Keyboard().Press(name))
}

func TestConsoleKeysByKeyboard(t *testing.T) {
	t.Parallel()
	p := newcomer(t, running(t), playwright.BrowserNewContextOptions{})
	p.open(p.URL() + "/keys")
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Create key"}).First().Focus())
	p.key("Enter")
	p.must(p.expect.Locator(p.Locator("dialog[open] #key-name")).ToBeFocused())
	p.must(p.Keyboard().Type("By  keyboard"))
	p.key("Enter")
	// The focus must not be on the button that closes the dialog, because the key is shown once.
	p.focused("[data-copy-from=fresh-key]")
	p.key("Escape")
	p.must(p.expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "I stored it"}).Focus())
	p.key("Enter")
	// The element that opened the dialog is gone, so the focus goes to the page's content.
	p.focused("#main")
	if html, err := p.Content(); err != nil || secretPattern.MatchString(html) {
		t.Errorf("the secret outlived its dialog: %v", err)
	}
	p.must(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Actions for By keyboard"}).Focus())
	p.pick("Rotate")
	p.must(p.expect.Locator(p.Locator("dialog[open] input[name=overlap]:checked")).ToHaveValue("86400"))
	p.must(p.Locator("dialog[open] input[name=overlap]:checked").Focus())
	// The next option is seven days.
	p.key("ArrowDown")
	p.key("Enter")
	p.focused("[data-copy-from=fresh-key]")
	p.key("Escape")
	p.must(p.expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "I stored it"}).Focus())
	p.key("Enter")
	// The text is on the page of the key.
	p.sees("Two secrets of this key work")
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "End the old secret now…"}).Focus())
	p.key("Enter")
	p.focused("dialog[open] a:has-text('Cancel')")
	p.key("Tab")
	p.key("Enter")
	p.sees("Only the newest secret of By keyboard works.")
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "API keys"}).Last().Focus())
	p.key("Enter")
	p.must(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Actions for By keyboard"}).Focus())
	p.pick("Disable")
	p.sees("Key disabled")
	p.focused("button[aria-label^='Actions for']")
	p.pick("Delete")
	p.focused("dialog[open] a:has-text('Cancel')")
	p.key("Escape")
	p.focused("button[aria-label^='Actions for']")
}

// pick opens the menu whose button has the focus, and goes down to an entry of it.
func (p *tab) pick(entry string) {
	p.t.Helper()
	const entriesMax = 10
	p.key("Enter")
	for range entriesMax {
		p.key("ArrowDown")
		if on, err := p.Evaluate(`entry => document.activeElement.matches(".menu-item") && document.activeElement.textContent.includes(entry)`, entry); err == nil && on == true {
			p.key("Enter")
			return
		}
	}
	p.t.Fatalf("the menu has no entry %q", entry)
}

func TestConsoleAFormPressedTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	p := newcomer(t, running(t), playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 360, Height: 740}})
	const thrice = `name => { const b = [...document.querySelectorAll("button")].find(b => b.textContent.trim() === name);
		b.click(); b.click(); b.click(); }`
	fill := func(name string) { p.must(p.Locator("#key-name").Fill(name)) }
	if _, err := p.Evaluate(thrice, "Make my key"); err != nil {
		t.Fatal(err)
	}
	p.must(p.expect.Locator(p.Locator("#fresh-key")).ToBeVisible())
	p.focused("[data-copy-from=fresh-key]")
	address, err := p.Locator("#account-menu").TextContent()
	p.must(err)
	// Only a verified address may create further keys.
	running(t).db(t).MustExec(`update users set verified_at = now() where email = $1`,
		regexp.MustCompile(`review-\d+@example\.com`).FindString(address))
	p.open(strings.TrimSuffix(p.URL(), "/") + "/keys")
	p.must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Create key"}).First().Click())
	fill(strings.Repeat("W", 80))
	if _, err := p.Evaluate(thrice, "Create key"); err != nil {
		t.Fatal(err)
	}
	p.must(p.expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	wide, err := p.Evaluate(`[...document.querySelectorAll("dialog[open] header, dialog[open] header *")].some(e => e.scrollWidth > e.clientWidth + 1)`)
	if err != nil || wide != false {
		t.Errorf("a long name runs out of the dialog: %v %v", wide, err)
	}
	p.picture("long-name")
	if _, err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.GetByTestId("key").Count(); err != nil || n != 2 {
		t.Errorf("%d keys after two forms: %v", n, err)
	}
}

func TestConsoleAnEndedSessionLeavesThePage(t *testing.T) {
	t.Parallel()
	p := newcomer(t, running(t), playwright.BrowserNewContextOptions{})
	p.open(p.URL() + "/limits")
	p.sees("Usual limits")
	p.must(p.Context().ClearCookies())
	// The page polls every five seconds by itself.
	p.must(p.WaitForURL("**/console/sign-in?next=*"))
	if n, err := p.Locator("#limits-now").Count(); err != nil || n != 0 {
		t.Errorf("the sign-in page stands inside another: %v", err)
	}
	p.picture("led-out")
}

func TestAPIModelsComeCompressedToWhoReadsIt(t *testing.T) {
	t.Parallel()
	g := running(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.BaseURL+"/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.APIKey)
	// Go's client asks for gzip by itself and hides the header of the answer.
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !resp.Uncompressed {
		t.Errorf("%d, compressed: %v", resp.StatusCode, resp.Uncompressed)
	}
}

func TestConsoleSaysEverythingWithoutScripts(t *testing.T) {
	t.Parallel()
	g := running(t)
	p := newcomer(t, g, playwright.BrowserNewContextOptions{JavaScriptEnabled: new(false)})
	p.open(g.ConsoleURL + "/console/keys/new")
	p.fill("Name", "plain")
	p.press("Create key")
	for _, code := range []string{"from openai import OpenAI", `import OpenAI from "openai";`, "package main"} {
		// With scripts, languages are tabs.
		p.sees(code)
	}
	p.picture("created")
	if _, err := p.GoBack(); err != nil {
		t.Fatal(err)
	}
	if html, err := p.Content(); err != nil || secretPattern.MatchString(html) {
		t.Errorf("going back shows the secret again: %v", err)
	}
}
