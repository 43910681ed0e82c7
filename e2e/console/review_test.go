package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// newcomer signs up and stands on the overview.
func newcomer(t *testing.T, g *harness.Gateway, o playwright.BrowserNewContextOptions) *harness.Tab {
	t.Helper()
	p := harness.NewTab(t, o)
	p.Open(g.ConsoleURL + "/console/sign-up")
	p.Fill("E-mail", fmt.Sprintf("review-%d@example.com", time.Now().UnixNano()))
	p.Fill("Password", "a quiet sentence to keep")
	p.PressButton("Create account")
	p.RequireText("Make your first request")
	return p
}

// focused waits until the keyboard is on what the selector finds.
func focused(p *harness.Tab, selector string) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.Locator(selector).First()).ToBeFocused())
}

func pressKey(p *harness.Tab, name string) {
	p.T.Helper()
	p.Must(p.Keyboard().Press(name))
}

func TestConsoleKeysByKeyboard(t *testing.T) {
	t.Parallel()
	p := newcomer(t, harness.SharedDemo(t), playwright.BrowserNewContextOptions{})
	p.Open(p.URL() + "/keys")
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Create key"}).First().Focus())
	pressKey(p, "Enter")
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #key-name")).ToBeFocused())
	p.Must(p.Keyboard().Type("By  keyboard"))
	pressKey(p, "Enter")
	// The focus must not be on the button that closes the dialog, because the key is shown once.
	focused(p, "[data-copy-from=fresh-key]")
	pressKey(p, "Escape")
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "I stored it"}).Focus())
	pressKey(p, "Enter")
	// The element that opened the dialog is gone, so the focus goes to the page's content.
	focused(p, "#main")
	if html, err := p.Content(); err != nil || harness.SecretPattern.MatchString(html) {
		t.Errorf("the secret outlived its dialog: %v", err)
	}
	p.Must(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Actions for By keyboard"}).Focus())
	pickOption(p, "Rotate")
	p.Must(p.Expect.Locator(p.Locator("dialog[open] input[name=overlap]:checked")).ToHaveValue("86400"))
	p.Must(p.Locator("dialog[open] input[name=overlap]:checked").Focus())
	// The next option is seven days.
	pressKey(p, "ArrowDown")
	pressKey(p, "Enter")
	focused(p, "[data-copy-from=fresh-key]")
	pressKey(p, "Escape")
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "I stored it"}).Focus())
	pressKey(p, "Enter")
	// The text is on the page of the key.
	p.RequireText("Two secrets of this key work")
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "End the old secret now…"}).Focus())
	pressKey(p, "Enter")
	focused(p, "dialog[open] a:has-text('Cancel')")
	pressKey(p, "Tab")
	pressKey(p, "Enter")
	p.RequireText("Only the newest secret of By keyboard works.")
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "API keys"}).Last().Focus())
	pressKey(p, "Enter")
	p.Must(p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Actions for By keyboard"}).Focus())
	pickOption(p, "Disable")
	p.RequireText("Key disabled")
	focused(p, "button[aria-label^='Actions for']")
	pickOption(p, "Delete")
	focused(p, "dialog[open] a:has-text('Cancel')")
	pressKey(p, "Escape")
	focused(p, "button[aria-label^='Actions for']")
}

// pickOption opens the menu whose button has the focus, and goes down to an entry of it.
func pickOption(p *harness.Tab, entry string) {
	p.T.Helper()
	const entriesMax = 10
	pressKey(p, "Enter")
	for range entriesMax {
		pressKey(p, "ArrowDown")
		if on, err := p.Evaluate(`entry => document.activeElement.matches(".menu-item") && document.activeElement.textContent.includes(entry)`, entry); err == nil && on == true {
			pressKey(p, "Enter")
			return
		}
	}
	p.T.Fatalf("the menu has no entry %q", entry)
}

func TestConsoleAFormPressedTwiceIsSentOnce(t *testing.T) {
	t.Parallel()
	p := newcomer(t, harness.SharedDemo(t), playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 360, Height: 740}})
	const thrice = `name => { const b = [...document.querySelectorAll("button")].find(b => b.textContent.trim() === name);
		b.focus(); b.click(); b.click(); b.click(); }`
	fill := func(name string) { p.Must(p.Locator("#key-name").Fill(name)) }
	if _, err := p.Evaluate(thrice, "Make my key"); err != nil {
		t.Fatal(err)
	}
	p.Must(p.Expect.Locator(p.Locator("#fresh-key")).ToBeVisible())
	focused(p, "[data-copy-from=fresh-key]")
	address, err := p.Locator("#account-menu").TextContent()
	p.Must(err)
	// Only a verified address may create further keys.
	harness.SharedDemo(t).DB(t).MustExec(`update users set verified_at = now() where email = $1`,
		regexp.MustCompile(`review-\d+@example\.com`).FindString(address))
	p.Open(strings.TrimSuffix(p.URL(), "/") + "/keys")
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Create key"}).First().Click())
	fill(strings.Repeat("W", 80))
	if _, err := p.Evaluate(thrice, "Create key"); err != nil {
		t.Fatal(err)
	}
	p.Must(p.Expect.Locator(p.Locator("dialog[open] #fresh-key")).ToBeVisible())
	wide, err := p.Evaluate(`[...document.querySelectorAll("dialog[open] header, dialog[open] header *")].some(e => e.scrollWidth > e.clientWidth + 1)`)
	if err != nil || wide != false {
		t.Errorf("a long name runs out of the dialog: %v %v", wide, err)
	}
	p.SaveScreenshot("long-name")
	if _, err := p.Reload(); err != nil {
		t.Fatal(err)
	}
	if n, err := p.GetByTestId("key").Count(); err != nil || n != 2 {
		t.Errorf("%d keys after two forms: %v", n, err)
	}
}

func TestConsoleAnEndedSessionLeavesThePage(t *testing.T) {
	t.Parallel()
	p := newcomer(t, harness.SharedDemo(t), playwright.BrowserNewContextOptions{})
	p.Open(p.URL() + "/limits")
	p.RequireText("Usual limits")
	p.Must(p.Context().ClearCookies())
	// The page polls every five seconds by itself.
	p.Must(p.WaitForURL("**/console/sign-in?next=*"))
	if n, err := p.Locator("#limits-now").Count(); err != nil || n != 0 {
		t.Errorf("the sign-in page stands inside another: %v", err)
	}
	p.SaveScreenshot("led-out")
}

func TestAPIModelsComeCompressedToWhoReadsIt(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
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
	g := harness.SharedDemo(t)
	p := newcomer(t, g, playwright.BrowserNewContextOptions{JavaScriptEnabled: new(false)})
	p.Open(g.ConsoleURL + "/console/keys/new")
	p.Fill("Name", "plain")
	p.PressButton("Create key")
	for _, code := range []string{"from openai import OpenAI", `import OpenAI from "openai";`, "package main"} {
		// With scripts, languages are tabs.
		p.RequireText(code)
	}
	p.SaveScreenshot("created")
	if _, err := p.GoBack(); err != nil {
		t.Fatal(err)
	}
	if html, err := p.Content(); err != nil || harness.SecretPattern.MatchString(html) {
		t.Errorf("going back shows the secret again: %v", err)
	}
}
