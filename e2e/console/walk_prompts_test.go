package console

import (
	"os"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkPrompts saves a prompt with a variable, then a second version, compares the two, shares one with a visitor and takes the link
// back, and brings it out and in again as a file.
func walkPrompts(w *walker) {
	w.opensPlayground("walks-prompts", harness.CheapModel, "chat")
	w.text("System prompt", "You greet {{who}}.")
	w.hand.writes(w.Locator("[data-var=who] input"), "Ada")
	w.asks("echo: hello {{who}}")
	w.says("", "hello Ada")
	w.button("More for Atlas Small")
	w.button("Save as prompt…")
	w.hand.writes(w.Locator("dialog[open] #prompt-name"), "Greeting")
	w.button("Save")
	w.Must(w.WaitForURL("**/console/playground?prompt=*"))
	w.Must(w.Expect.Locator(w.Locator("[data-var=who] input")).ToHaveValue("Ada"))
	w.shows("[data-opened]", "v1")
	w.text("System prompt", "You greet {{who}} twice.")
	w.button("Save as v2")
	w.RequireText("Saved as version 2.")
	w.shows("[data-opened]", "v2")
	w.link("Prompts")
	w.Must(w.Expect.Locator(w.row("prompt", "Greeting").Locator(".cell-version")).ToHaveText("2"))
	w.link("Greeting")
	w.title("Greeting")
	w.link("Compare")
	w.shows(`.diff [data-kind=removed]`, "You greet {{who}}.")
	w.shows(`.diff [data-kind=added]`, "You greet {{who}} twice.")
	w.link("Greeting")
	w.title("Greeting")
	w.shares()
	w.button("Actions for Greeting")
	file := w.downloads(w.on(playwright.AriaRoleLink, "Export"))
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "You greet {{who}} twice.") {
		w.T.Errorf("the exported prompt: %.200s %v", text, err)
	}
	w.link("Saved prompts")
	w.link("Import…")
	w.uploads(w.Locator("dialog[open] #prompt-file"), file)
	w.button("Import")
	w.title("Greeting")
	w.link("Saved prompts")
	w.count(`[data-testid="prompt"]`, 2)
}

// shares makes a link that a visitor reads, and revokes it.
func (w *walker) shares() {
	w.T.Helper()
	w.link("Share…")
	w.button("Make the link")
	w.Must(w.Expect.Locator(w.Locator("#share-link")).ToBeVisible())
	link, err := w.Locator("#share-link").TextContent()
	w.Must(err)
	visitor := harness.NewTab(w.T, desktopSize)
	visitor.Open(strings.TrimSpace(link))
	visitor.RequireText("You greet")
	w.link("Done")
	w.shows("#prompt-links", "Shows version 2")
	w.button("Revoke the link to version 2")
	w.shows("#prompt-links", "No one outside this account can read this prompt")
	visitor.Open(strings.TrimSpace(link))
	visitor.RequireText("This link shows nothing")
}

// row is a row of a list by what it says.
func (w *walker) row(kind, words string) playwright.Locator {
	return w.Locator(`[data-testid="` + kind + `"]`).Filter(playwright.LocatorFilterOptions{HasText: words})
}

// uploads presses a field for files, and chooses one in the window of the system that opens.
func (w *walker) uploads(field playwright.Locator, file string) {
	w.T.Helper()
	chooser, err := w.ExpectFileChooser(func() error { w.hand.presses(field); return nil })
	w.Must(err)
	w.Must(chooser.SetFiles(file))
}
