package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkSettings chooses how to hear of what, asks for higher limits, reads who changed what, takes its data along and ends the account.
func walkSettings(w *walker) {
	w.enters("walks-settings")
	w.menu("Settings")
	w.link("Notifications")
	w.title("Notification settings")
	w.box("Top-ups by e-mail")
	w.button("Save")
	w.shows("#toasts", "saved")
	w.Must(w.Expect.Locator(w.labelled("Top-ups by e-mail")).Not().ToBeChecked())
	w.Must(w.Expect.Locator(w.labelled("Top-ups in the console")).ToBeChecked())
	w.link("Limits")
	w.title("Limits")
	w.hand.chooses(w.Locator("#wish-times"), "5 times as much")
	w.hand.writes(w.Locator("#wish-reason"), "Three thousand calls an hour from Monday on.")
	w.button("Send the request")
	w.RequireText("Your request is with the operator of this server")
	w.link("Audit log")
	w.title("Audit log")
	w.hand.chooses(w.Locator("#audit-kind"), "API keys")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("kind=key")))
	w.count(`[data-testid="audit-entry"]`, 1)
	w.shows(`[data-testid="audit-entry"]`, "created the key")
	w.hand.presses(w.Locator("#audit").GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: "Show all"}))
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="audit-entry"]`).Filter(
		playwright.LocatorFilterOptions{HasText: "asked for higher limits"})).ToHaveCount(1))
	w.downloadHas(w.on(playwright.AriaRoleLink, "Export CSV"), "account.limits_requested")
	w.leavesAccount()
}

// leavesAccount renames the account, exports it and deletes it, and cannot sign in any more.
func (w *walker) leavesAccount() {
	w.T.Helper()
	w.link("Account")
	w.title("Account")
	name := fmt.Sprintf("Walkers %d", time.Now().UnixNano())
	w.hand.writes(w.Locator("main input[name=name]"), name)
	w.button("Save name")
	w.shows("#account-menu", name)
	w.downloadHas(w.on(playwright.AriaRoleLink, "Download"), w.c.Email)
	w.link("Delete the account…")
	w.text("Type the name of the account", name)
	w.text("Your password", w.c.Password)
	w.button("Delete the account")
	w.Must(w.Expect.Locator(w.Locator("#balance")).ToHaveCount(0))
	if a := harness.NewConsoleClient(w.T, w.c.Gateway).Visit(w.T, "/console/sign-in", url.Values{"email": {w.c.Email}, "password": {w.c.Password}}); a.Status != http.StatusUnprocessableEntity {
		w.T.Errorf("a deleted owner signs in: %d", a.Status)
	}
}
