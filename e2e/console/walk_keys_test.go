package console

import (
	"net/http"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkKeys makes a key with limits, changes it, gives it a new secret while the old one works on, ends that, disables the key and
// enables it, and deletes it by its name, as it was used today.
func walkKeys(w *walker) {
	w.enters("walks-keys")
	w.menu("API keys")
	w.link("Create key")
	w.hand.writes(w.Locator("#key-name"), "Nightly")
	w.hand.writes(w.Locator("#key-budget"), "5")
	w.at("dialog[open] .key-more > summary")
	w.hand.writes(w.Locator("#key-rpm"), "30")
	w.button("Create key")
	w.RequireText("This is the only time the key is shown")
	w.at("[data-copy-from=fresh-key]")
	w.shows("dialog[open] [data-voice]", "Copied the API key")
	first := w.freshSecret()
	w.link("I stored it")
	w.link("Nightly")
	w.title("Nightly")
	w.hand.writes(w.Locator("#key-name"), "Nightly jobs")
	w.hand.chooses(w.Locator("#key-env"), "Production")
	w.hand.writes(w.Locator("#key-budget"), "7")
	w.at(halfSpent)
	w.button("Save changes")
	w.menu("API keys")
	w.shows(nightly, "Nightly jobs")
	w.shows(nightly, "$7")
	w.shows(nightly, "production")
	second := w.rotates(first)
	w.endsOld(first, second)
	w.onKey("Disable")
	w.shows(nightly, "Disabled")
	w.keyAnswers(second, http.StatusUnauthorized)
	w.onKey("Enable")
	w.shows(nightly, "Active")
	w.keyAnswers(second, http.StatusOK)
	w.onKey("Delete…")
	w.button("Delete key")
	// The focus goes to the field with the mistake.
	w.Must(w.Expect.Locator(w.Locator("#delete-name")).ToBeFocused())
	w.hand.writes(w.Locator("#delete-name"), "Nightly jobs")
	w.button("Delete key")
	w.count(`[data-testid="key"]`, 1)
	w.keyAnswers(second, http.StatusUnauthorized)
}

// halfSpent is the choice to be told when half of a budget is spent.
const halfSpent = `input[name=budget_alerts][value="50"]`

const nightly = `[data-testid="key"]:has-text("Nightly")`

// onKey opens the menu of the key and takes an entry of it.
func (w *walker) onKey(entry string) {
	w.T.Helper()
	w.at(nightly + " [aria-label^='Actions for']")
	w.hand.presses(w.Locator(nightly + " .menu-item").Filter(playwright.LocatorFilterOptions{HasText: entry}))
}

// freshSecret is the secret that the page shows once.
func (w *walker) freshSecret() string {
	w.T.Helper()
	text, err := w.Locator("#fresh-key").TextContent()
	w.Must(err)
	return harness.SecretPattern.FindString(text)
}

// keyAnswers calls with a secret until that ends as it should, for as long as a decision may take.
func (w *walker) keyAnswers(secret string, status int) {
	w.T.Helper()
	harness.WaitUntil(w.T, "a call with the secret ends otherwise", func() bool {
		return w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x"), harness.BearerHeader(secret)...).Status == status
	})
}

// rotates makes a new secret, finds both at work, and waits until the use of the old one is written down.
func (w *walker) rotates(old string) string {
	w.T.Helper()
	w.onKey("Rotate…")
	w.hand.presses(w.Locator(`input[name=overlap][value="3600"]`))
	w.button("Rotate key")
	w.Must(w.Expect.Locator(w.Locator("#fresh-key")).Not().ToContainText(old))
	secret := w.freshSecret()
	w.keyAnswers(secret, http.StatusOK)
	w.keyAnswers(old, http.StatusOK)
	db := w.c.DB(w.T)
	harness.WaitUntil(w.T, "the use of the old secret is written down", func() bool {
		var used bool
		err := db.Get(&used, `select previous_used_at is not null from api_keys where account_id = $1 and name = 'Nightly jobs'`, w.c.AccountID)
		return err == nil && used
	})
	return secret
}

// endsOld sees on the page of the key that its old secret was used, and ends it.
func (w *walker) endsOld(old, secret string) {
	w.T.Helper()
	w.link("I stored it")
	w.RequireText("Two secrets of this key work")
	w.Must(w.Expect.Locator(w.Locator(halfSpent)).ToBeChecked())
	w.shows("main .alert", "Last used ")
	w.Must(w.Expect.Locator(w.Locator("main .alert").First()).Not().ToContainText("never"))
	w.link("End the old secret now…")
	w.button("End the old secret")
	w.RequireText("Only the newest secret of Nightly jobs works.")
	w.keyAnswers(old, http.StatusUnauthorized)
	w.keyAnswers(secret, http.StatusOK)
	w.hand.presses(w.Locator("main .crumbs a"))
	w.title("API keys")
}
