package console

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// opensPlayground enters and opens a model in a style.
func (w *walker) opensPlayground(name, model, style string) {
	w.T.Helper()
	w.enters(name)
	w.to("/playground?model=" + model + "&style=" + style)
	w.title("Playground")
}

// asks writes a message and sends it.
func (w *walker) asks(message string) {
	w.T.Helper()
	w.hand.writes(w.Locator("#play-prompt"), message)
	w.at("[data-send]")
}

// turn presses what the newest message of a kind can be done with.
func (w *walker) turn(kind, what string) {
	w.T.Helper()
	w.hand.presses(w.Locator(kind).Last().Locator(what))
}

// says waits until the newest answer of a pane, or of the page, is complete and is this.
func (w *walker) says(pane, words string) {
	w.T.Helper()
	answer := w.Locator(pane + " [data-answer]").Last()
	w.Must(w.Expect.Locator(answer.Locator("[data-facts] dl")).ToBeVisible())
	w.Must(w.Expect.Locator(answer.Locator("[data-text]")).ToHaveText(words))
}

// request is the id below the newest answer.
func (w *walker) request() string {
	w.T.Helper()
	id, err := w.Locator("[data-answer] [data-request-link]").Last().TextContent()
	w.Must(err)
	return id
}

// walkPlayground stops an answer, edits, asks again, moves, deletes and branches off, and looks at what went over the line.
func walkPlayground(w *walker) {
	w.opensPlayground("walks-playground", "meridian/atlas-large", "chat")
	w.text("System prompt", "Answer briefly.")
	w.asks("simulate: pace=5ms\ncount to 4000")
	w.shows("[data-answer] [data-text]", "1 2 3")
	w.at("[data-stop]")
	waitForAnswer(w.Tab, 1)
	if got := requireFact(w.Tab, "Finish"); got != "stopped by you" {
		w.T.Errorf("the answer ended with %q", got)
	}
	w.turn("[data-turn=user]", "[data-edit]")
	w.hand.writes(w.Locator("[data-editor] textarea"), "echo: edited")
	w.button("Save and ask again")
	w.says("", "edited")
	before := w.request()
	w.turn("[data-answer]", "[data-regenerate]")
	w.Must(w.Expect.Locator(w.Locator("[data-answer] [data-request-link]")).Not().ToHaveText(before))
	w.asks("echo: the second")
	w.says("", "the second")
	w.count("[data-turn]", 4)
	w.turn("[data-turn]", "[data-up]")
	w.Must(w.Expect.Locator(w.Locator("[data-turn]").Last()).ToHaveAttribute("data-turn", "user"))
	w.turn("[data-turn]", "[data-delete]")
	w.count("[data-turn]", 3)
	w.hand.presses(w.Locator("[data-turn]").First().Locator("[data-branch]"))
	w.count("[data-pane]", 2)
	branch := w.Locator("[data-pane]").Last()
	w.Must(w.Expect.Locator(branch.Locator("[data-turn]")).ToHaveCount(1))
	w.hand.presses(branch.GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "More for "}))
	w.hand.presses(branch.Locator("[data-remove-pane]"))
	w.count("[data-pane]", 1)
	w.inspects()
}

// inspects changes the style and finds the request, the answer, its events and the programs of all styles.
func (w *walker) inspects() {
	w.T.Helper()
	w.box("Responses")
	w.shows("#play-side .route-line", "/v1/responses")
	w.asks("echo: in another style")
	w.says("", "in another style")
	w.button("Inspect the request")
	w.shows("#play-sent", "in another style")
	w.shows("[data-sent-line]", "POST /v1/responses")
	inspector := w.Locator("#play-inspector")
	tab := func(name string) {
		w.T.Helper()
		w.hand.presses(inspector.GetByRole("tab", playwright.LocatorGetByRoleOptions{Name: name, Exact: new(true)}))
	}
	tab("Response")
	w.shows("#play-got", w.request())
	tab("Events")
	w.shows("[data-events]", "response.completed")
	tab("Code")
	for _, style := range []string{"Chat completions", "Messages", "Native", "Responses"} {
		tab(style)
		name, _, _ := strings.Cut(strings.ToLower(style), " ")
		code := w.Locator("#play-request-" + name + "-text-curl")
		w.Must(w.Expect.Locator(code).ToBeVisible())
		w.Must(w.Expect.Locator(code).ToContainText("in another style"))
	}
}

// walkPanes asks four models at once: one is refused, one is stopped, another goes on until it is stopped as well. One
// is the winner, the others come back, and another is.
func walkPanes(w *walker) {
	w.opensPlayground("walks-panes", harness.CheapModel+"&model=meridian/atlas-large&model=quillon/folio-swift", "chat")
	w.count("[data-pane]", 3)
	w.button("Add model")
	w.hand.presses(w.Locator("#play-add-models").GetByRole("button", playwright.LocatorGetByRoleOptions{Name: "Folio Pocket", Exact: new(true)}))
	w.count("[data-pane]", 4)
	const first, second, third = "#play", "#play2", "#play3"
	temperature := func(pane string) playwright.Locator { return w.Locator(pane + ` [data-param="temperature"] input`) }
	w.hand.presses(w.Locator(second + " [data-toggle-side]"))
	w.hand.writes(temperature(second), "1")
	w.Must(w.Expect.Locator(temperature(third)).ToHaveValue("1"))
	w.hand.presses(w.Locator(second + " [data-own-settings]"))
	w.hand.writes(temperature(second), "9")
	w.shows(second+" [data-own-badge]", "Different: temperature")
	w.Must(w.Expect.Locator(temperature(third)).ToHaveValue("1"))
	w.hand.presses(w.Locator(second + " [data-toggle-side]"))
	w.Must(w.Expect.Locator(w.Locator("[data-send-word]")).ToHaveText("Send to 4"))
	w.asks("simulate: pace=5ms\ncount to 4000")
	w.shows(second+" [data-trouble]", "temperature")
	w.Must(w.Expect.Locator(w.Locator(second + " [data-trouble] [data-request-link]")).ToBeVisible())
	w.shows(third+" [data-answer] [data-text]", "1 2 3")
	w.hand.presses(w.Locator(third + " [data-stop-pane]"))
	w.Must(w.Expect.Locator(w.Locator(third + "[data-state=idle]")).ToBeVisible())
	w.Must(w.Expect.Locator(w.Locator(third + " [data-answer] [data-facts]")).ToContainText("stopped by you"))
	w.Must(w.Expect.Locator(w.Locator(first + "[data-state=busy]")).ToBeVisible())
	w.at("[data-stop]")
	w.Must(w.Expect.Locator(w.Locator(first + " [data-answer] [data-facts]")).ToContainText("stopped by you"))
	w.shows("[data-compare] thead", "First token")
	w.shows("[data-compare] tbody", "No answer")
	w.hand.presses(w.Locator(third + " [data-winner]"))
	w.count("[data-pane-list] > [data-pane]", 1)
	w.shows("[data-picked]", "Continuing with")
	w.button("Reopen")
	w.count("[data-pane-list] > [data-pane]", 4)
	w.hand.presses(w.Locator(second + " [data-use-shared]"))
	w.Must(w.Expect.Locator(temperature(second)).ToHaveValue("1"))
	w.hand.presses(w.Locator(first + " [data-winner]"))
	w.count("[data-pane-list] > [data-pane]", 1)
	w.asks("echo: alone again")
	w.says(first, "alone again")
	w.opensRun()
}

// opensRun opens the first run of the browser's history, with its four panes and the answers that they had.
func (w *walker) opensRun() {
	w.T.Helper()
	w.button("History")
	w.Must(w.Expect.Locator(w.Locator("[data-history-open]")).ToHaveCount(2))
	w.hand.presses(w.Locator("[data-history-open]").Last())
	w.count("[data-pane-list] > [data-pane]", 4)
	w.shows("#play [data-answer] [data-facts]", "stopped by you")
	w.button("History")
	w.hand.presses(w.Locator("[data-history-clear]"))
	w.shows("[data-history-none]", "No runs yet")
}

// walkTools lets a model call a tool, edits the arguments' result, asks for an answer in a form, and shows a model a picture.
func walkTools(w *walker) {
	w.opensPlayground("walks-tools", "meridian/atlas-large", "chat")
	w.hand.presses(w.Locator(".play-tools summary"))
	w.at("[data-example=tools]")
	w.shows("[data-tool-count]", "1")
	w.asks("call the tool with city=Rome")
	w.shows("[data-turn=tool] [data-call-arguments]", "Rome")
	w.hand.writes(w.Locator("[data-turn=tool] textarea"), `{"degrees": 31}`)
	w.hand.presses(w.Locator(".result-send button"))
	w.Must(w.Expect.Locator(w.Locator("[data-answer]")).ToHaveCount(2))
	w.Must(w.Expect.Locator(w.Locator("[data-answer]").Last().Locator("[data-text]")).ToContainText("31"))
	w.Must(w.Expect.Locator(w.Locator("[data-send]")).ToBeVisible())
	w.hand.presses(w.Locator("[name=format][value=json_schema]"))
	w.at("[data-example=schema]")
	w.asks("in a form")
	w.Must(w.Expect.Locator(w.Locator("[data-answer]").Last().GetByRole("group")).ToContainText(`"sure"`))
	w.hand.presses(w.Locator("[name=format][value=text]"))
	file := filepath.Join(w.T.TempDir(), "kite.png")
	w.Must(os.WriteFile(file, twoHalves(w.T, 32, 16), 0o600))
	w.button("Add an image")
	w.uploads(w.Locator("#play-file"), file)
	w.Must(w.Expect.Locator(w.Locator("[data-image-preview] img")).ToBeVisible())
	w.asks("what is there?")
	w.Must(w.Expect.Locator(w.Locator("[data-turn=user]").Last().Locator("[data-turn-picture] img")).ToBeVisible())
	w.Must(w.Expect.Locator(w.Locator("[data-answer]").Last().Locator("[data-text]")).ToContainText("I see 1 image"))
}
