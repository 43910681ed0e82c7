package console

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// recorded makes a call that ends well, or as the words say, and waits until its record is written.
func (w *walker) recorded(words string) string {
	w.T.Helper()
	id := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, words)).Header.Get("X-Request-Id")
	w.c.UsageRecord(w.T, id)
	return id
}

// walkModelPage goes to a model by the search field's own key, prices its last requests there, reads the prices of before and what
// programs are told, and compares it.
func walkModelPage(w *walker) {
	w.enters("walks-model-page")
	w.recorded("echo: to be priced elsewhere")
	w.menu("Models")
	search := w.labelled("Search models")
	w.Must(w.Expect.Locator(search).ToBeVisible())
	w.hand.shortcut([]string{"/"}, search)
	w.Must(w.Expect.Locator(search).ToBeFocused())
	w.Must(w.Keyboard().Type("atlas large"))
	w.count(`[data-testid="model"]`, 1)
	w.link("Atlas Large")
	w.title("Atlas Large")
	w.button("Copy the model id")
	w.shows("body > [data-voice]", "Copied the model id")
	w.link("Cost")
	w.link("Price my last requests")
	w.shows("#last-calls", "On this model")
	w.shows("#last-calls", "1 request")
	w.link("History")
	w.shows(".past", "$")
	w.link("api.md")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("api.md")))
	w.RequireText("meridian/atlas-large")
	_, err := w.GoBack()
	w.Must(err)
	w.link("Compare")
	w.title("Compare")
}

// walkRequestPage finds a call by its id, hides a column, takes the list along, and reads on the page of a call what it was, why, and
// how it is made again.
func walkRequestPage(w *walker) {
	w.enters("walks-request-page")
	failed := w.recorded("simulate: status=400\nx")
	id := w.recorded("echo: found by its id")
	w.menu("Requests")
	w.at("#log-columns > summary")
	w.box("Tokens")
	w.button("Save columns")
	w.Must(w.Expect.Locator(w.Locator("#requests th", playwright.PageLocatorOptions{HasText: "Tokens"})).ToHaveCount(0))
	w.at("#requests-export > summary")
	w.downloadHas(w.on(playwright.AriaRoleLink, "JSON"), failed)
	w.text("Request id", id)
	w.count(`[data-testid="request"]`, 1)
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("q=" + id)))
	w.shows(`[data-testid="request"]`, "atlas-small")
	w.text("Request id", failed)
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("q=" + failed)))
	w.at(`[data-testid="request"]:not([id="row-` + id + `"]) a.row-link`)
	w.RequireText("What it cost")
	w.shows(".request-explanation", "How to fix it")
	w.button("Copy as cURL")
	w.shows("body > [data-voice]", "Copied as cURL")
}

// walkContent has the content of its calls kept, reads that of one, and deletes it.
func walkContent(w *walker) {
	w.enters("walks-content")
	w.to("/settings/account")
	w.hand.presses(w.Locator(`#content input[name=keep][value=all]`))
	w.hand.writes(w.Locator("#content-days"), "7")
	w.button("Save choice")
	w.Must(w.Expect.Locator(w.Locator("#content-days")).ToHaveValue("7"))
	refused := w.c.Call(w.T, http.MethodPost, harness.ChatPath, `{"model":"unknown/nothing","messages":[{"role":"user","content":"a word to be forgotten"}]}`)
	id := w.recorded("echo: a word to be kept")
	db := w.c.DB(w.T)
	kept := func(request string) (n int) {
		w.Must(db.Get(&n, `select count(*) from content_logs where request_id = $1`, request))
		return n
	}
	harness.WaitUntil(w.T, "the content is kept", func() bool { return kept(id) == 1 })
	if code, n := refused.Header.Get("X-Error-Code"), kept(refused.Header.Get("X-Request-Id")); code != "model_not_found" || n != 0 {
		w.T.Errorf("of a call that was refused as %q there are %d contents", code, n)
	}
	w.to("/requests/" + id)
	w.shows("#content-answer", "a word to be kept")
	w.hand.presses(w.Locator("[data-content=kept] header a"))
	w.button("Delete")
	w.RequireText("A member of this account deleted it")
	w.count("#content-answer", 0)
}
