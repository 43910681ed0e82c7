package console

import (
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkModels looks for models by words, capability and price, compares three, reckons what one costs and tries it.
func walkModels(w *walker) {
	w.enters("walks-models")
	w.menu("Models")
	rows := `[data-testid="model"]`
	w.text("Search models", "fjord")
	w.count(rows, 3)
	w.hand.presses(w.Locator(`input[name=capability][value=code]`))
	w.count(rows, 2)
	w.link("Input / 1M")
	w.shows(rows, "Fjord Flash")
	w.link("per 1K")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("unit=1k")))
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Input / 1K")).ToBeVisible())
	w.link("Cards")
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Cards")).ToHaveAttribute("aria-current", "true"))
	w.count(rows, 2)
	w.link("Table")
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Table")).ToHaveAttribute("aria-current", "true"))
	w.to("/models?q=atlas")
	w.count(rows, 3)
	for _, id := range []string{"large", "small", "nano"} {
		w.at(`input[name=m][value="meridian/atlas-` + id + `"]`)
	}
	w.at(".compare-bar button, .compare-bar a")
	w.title("Compare")
	w.RequireText("Atlas Small")
	w.to("/models/" + harness.CheapModel + "?tab=cost")
	w.text("Input tokens", "2000")
	w.text("Output tokens", "0")
	w.shows("main", "$0.0003")
	w.link("API")
	w.hand.presses(w.Locator("#code-style").GetByRole("tab", playwright.LocatorGetByRoleOptions{Name: "Responses"}))
	w.Must(w.Expect.Locator(w.Locator("#code-style-panel-responses")).ToBeVisible())
	w.link("Open in playground")
	w.title("Playground")
	w.shows("main", "Atlas Small")
}
