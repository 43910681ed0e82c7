package console

import (
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkZoom narrows the usage to one model, goes from its days to hours, minutes and the requests behind them, and takes the same out
// as a file.
func walkZoom(w *walker) {
	w.enters("walks-zoom")
	for _, model := range []string{harness.CheapModel, "meridian/atlas-nano"} {
		w.c.UsageRecord(w.T, w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(model, "echo: counted")).Header.Get("X-Request-Id"))
	}
	w.menu("Usage")
	w.hand.chooses(w.labelled("of model"), harness.CheapModel)
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("model=meridian%2Fatlas-small")))
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="usage-total"]`)).ToContainText("1"))
	w.shows("#usage-title", "by day")
	for _, step := range []string{"by hour", "by minute"} {
		w.zooms()
		w.shows("#usage-title", step)
	}
	w.at("#usage-export > summary")
	file := w.downloads(w.on(playwright.AriaRoleLink, "JSON"))
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), harness.CheapModel) || strings.Contains(string(text), "atlas-nano") {
		w.T.Errorf("the exported usage: %.300s %v", text, err)
	}
	w.zooms()
	w.title("Requests")
	w.count(`[data-testid="request"]`, 1)
	w.shows(`[data-testid="request"]`, "atlas-small")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("from=.*model=meridian%2Fatlas-small")))
}

// zooms presses the bar in which something was used; the keyboard goes by the same figures in the table.
func (w *walker) zooms() {
	w.T.Helper()
	if _, mouse := w.hand.(mouseHand); mouse {
		w.hand.presses(w.Locator("a.chart-column:has(rect[data-series])"))
		return
	}
	w.hand.presses(w.Locator(".usage-times summary"))
	used := w.Locator(`[data-testid="usage-step"]`).Filter(playwright.LocatorFilterOptions{HasNot: w.Locator(".muted")})
	w.hand.presses(used.Locator("a.row-link"))
}
