package console

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkDocs searches the documentation, reads, keeps its language from page to page, and follows a failed call to what its error means.
func walkDocs(w *walker) {
	w.enters("walks-docs")
	w.menu("Docs")
	w.title("Documentation")
	w.text("Search the documentation", "quickstart")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile(`\?q=quickstart$`)))
	w.hand.presses(w.Locator("#docs-results a", playwright.PageLocatorOptions{HasText: "Quickstart"}).First())
	w.title("Quickstart")
	w.hand.presses(w.on(playwright.AriaRoleTab, "Python"))
	w.Must(w.Expect.Locator(w.Locator("main [role=tabpanel]:not([hidden])").First()).ToContainText("import os"))
	w.hand.presses(w.Locator(".docs-pages").GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: "Streaming", Exact: new(true)}))
	w.title("Streaming")
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleTab, "Python")).ToHaveAttribute("aria-selected", "true"))
	w.button("Copy page as Markdown")
	w.shows("body > [data-voice]", "Copied the page as Markdown")
	w.followsError()
	w.finds("quickstart", "Quickstart")
	w.link("Run it in the playground")
	w.title("Playground")
}

// followsError opens what the answer of a failed call says explains it, and finds the same words by the page of the call.
func (w *walker) followsError() {
	w.T.Helper()
	failed := w.c.Call(w.T, http.MethodPost, harness.ChatPath, `{"model":"unknown/model","messages":[{"role":"user","content":"hi"}]}`,
		"X-Error-Status", "standard")
	w.Open(harness.TextMember(harness.DecodeObject(w.T, failed.Body), "error", "doc_url"))
	w.title("Errors")
	w.Must(w.Expect.Locator(w.Locator("main :target")).ToBeInViewport())
	w.shows("main :target", failed.Header.Get("X-Error-Code"))
	refused := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "simulate: status=400\nx")).Header.Get("X-Request-Id")
	w.c.UsageRecord(w.T, refused)
	w.menu("Requests")
	w.at(`[data-testid="request"] a[href*="` + refused + `"]`)
	w.at(`main a[href*="/docs/errors#"]`)
	w.title("Errors")
	w.Must(w.Expect.Locator(w.Locator("main :target")).ToBeInViewport())
}

// walkRecipes sets a tool up, and sees the call of it arrive.
func walkRecipes(w *walker) {
	w.enters("walks-recipes")
	w.finds("set up my tool", "Set up my tool")
	w.link("aider")
	w.title("aider")
	w.button("Make a key for it")
	w.RequireText("This is the only time the key is shown")
	secret := w.freshSecret()
	w.link("Start the test")
	w.RequireText("Waiting for a call of aider…")
	w.keyAnswers(secret, http.StatusOK)
	w.shows("#recipe-calls .arrived", "Key")
	done := w.Locator(`.steps > [data-state="done"] > .step-mark`).First()
	want, err := done.Evaluate("e => getComputedStyle(e).color", nil)
	w.Must(err)
	w.Must(w.Expect.Locator(w.Locator(`.steps > [data-state="current"] > .step-mark`)).ToHaveCSS("color", want))
	w.Must(w.Expect.Locator(w.Locator("#recipe-calls .waiting")).ToHaveCount(0))
	w.hand.presses(w.Locator("#recipe-calls a.link").First())
	w.RequireText("What it cost")
}
