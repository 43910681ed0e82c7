package console

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkShell finds things by the palette, goes about by single keys, switches those off and on, and changes the theme. With the
// mouse it presses what stands for each of the keys.
func walkShell(w *walker) {
	w.enters("walks-shell")
	request := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: find me")).Header.Get("X-Request-Id")
	w.c.UsageRecord(w.T, request)
	w.finds("atlas nano", "Atlas Nano")
	w.title("Atlas Nano")
	w.finds("walks-shell", "walks-shell")
	w.title("walks-shell")
	w.finds(request, request)
	w.RequireText("What it cost")
	w.finds(harness.TextMember(w.c.CreateVideo(w.T, harness.VideoBody(harness.VideosModel, "a paper boat", `"seconds":"4"`)), "id"), "a paper boat")
	w.title("a paper boat")
	w.jumps("v", "Videos")
	w.jumps("a", "Assets")
	w.opensShortcuts()
	w.button("Switch them off")
	w.RequireText("Single-key shortcuts are off in this browser.")
	w.Must(w.Expect.Locator(w.Locator("html[data-keys-off]")).ToBeAttached())
	pressKey(w.Tab, "t")
	// The key must do nothing.
	w.Must(w.Expect.Locator(w.Locator("html")).ToHaveClass("system"))
	// The palette still works.
	w.finds("create an api key", "Create an API key")
	w.Must(w.Expect.Locator(w.Locator("#key-name")).ToBeVisible())
	w.finds("settings", "Settings")
	w.title("Profile")
	w.button("Switch them on")
	w.RequireText("Single-key shortcuts are on in this browser.")
	w.changesTheme()
	w.narrow()
}

// finds opens the palette, types and takes what is found.
func (w *walker) finds(words, hit string) {
	w.T.Helper()
	w.hand.shortcut([]string{"ControlOrMeta+k"}, w.Locator("[data-palette]"))
	w.Must(w.Expect.Locator(w.Locator("#palette-q")).ToBeFocused())
	w.Must(w.Keyboard().Type(words))
	w.Must(w.Expect.Locator(w.Locator("#palette .palette-results:not([aria-busy])")).ToBeAttached())
	w.hand.presses(w.Locator("#palette .hit", playwright.PageLocatorOptions{
		Has: w.Locator(".hit-title", playwright.PageLocatorOptions{HasText: regexp.MustCompile("^" + regexp.QuoteMeta(hit) + "$")}),
	}).First())
}

// jumps goes to a page of the menu by two keys, or by its link.
func (w *walker) jumps(key, page string) {
	w.T.Helper()
	there := w.Locator("main h1", playwright.PageLocatorOptions{HasText: page})
	w.again(there, func() { w.hand.shortcut([]string{"g", key}, w.Locator(`.sidebar [data-jump="`+key+`"]`)) })
	w.title(page)
}

// again does something until it shows, three times at most: a key that falls between two pages is pressed again, as people do.
func (w *walker) again(shows playwright.Locator, do func()) {
	w.T.Helper()
	for range 3 {
		do()
		if shows.First().WaitFor(playwright.LocatorWaitForOptions{Timeout: new(5000.0)}) == nil {
			return
		}
	}
}

// opensShortcuts shows the list of shortcuts, by its key or by the menu of the account.
func (w *walker) opensShortcuts() {
	w.T.Helper()
	list := w.Locator("dialog[open] .shortcuts")
	w.again(list, func() {
		w.hand.shortcut([]string{"?"}, w.Locator("#account-menu-button"), w.Locator("#account-menu [data-shortcuts]"))
	})
	w.Must(w.Expect.Locator(list).ToContainText("Search and commands"))
}

// changesTheme makes the console dark, finds it dark on the next page, and light again by the palette.
func (w *walker) changesTheme() {
	w.T.Helper()
	told := func(change func() error) {
		w.T.Helper()
		_, err := w.ExpectResponse(regexp.MustCompile("/console/theme$"), change)
		w.Must(err)
	}
	told(func() error {
		w.hand.shortcut([]string{"t"}, w.Locator(".sidebar [data-theme-form] [value=dark]"))
		return nil
	})
	w.Must(w.Expect.Locator(w.Locator("html")).ToHaveClass("dark"))
	w.jumps("k", "API keys")
	w.Must(w.Expect.Locator(w.Locator("html")).ToHaveClass("dark"))
	told(func() error { w.finds("theme", "Change between light and dark"); return nil })
	w.Must(w.Expect.Locator(w.Locator("html")).ToHaveClass("light"))
}

// narrow goes to Billing by the drawer of a narrow window and by the balance.
func (w *walker) narrow() {
	w.T.Helper()
	w.Must(w.SetViewportSize(360, 780))
	w.at(".topbar [commandfor=drawer]")
	w.hand.presses(w.Locator("dialog#drawer[open]").GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: "Overview"}))
	w.title("Overview")
	w.at("#balance")
	w.title("Billing")
}
