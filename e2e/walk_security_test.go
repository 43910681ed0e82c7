package e2e

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
)

// walkSecurity comes back with a forgotten password, ends a session elsewhere, moves to another address, sets sign-in codes up,
// and signs in with one.
func walkSecurity(w *walker) {
	w.c = w.c.newCustomer(w.t, "walks-security")
	w.resets("another quiet sentence")
	elsewhere := w.c.signedIn(w.t)
	w.signsWith(w.c.Email, w.c.Password)
	w.menu("Settings")
	w.link("Security")
	w.title("Security")
	other := w.Locator(`[data-testid="session"]`).Filter(playwright.LocatorFilterOptions{HasText: "Go program"})
	w.hand.presses(other.GetByRole(*playwright.AriaRoleButton))
	w.sees("You are signed in nowhere else.")
	elsewhere.out(w.t)
	w.link("Profile")
	w.title("Profile")
	moved := "new-" + w.c.Email
	w.hand.writes(w.Locator("#new-email"), moved)
	w.hand.writes(w.Locator("#email-password"), w.c.Password)
	w.button("Send the link")
	w.sees("A link is on its way to " + moved)
	w.open(w.c.ConsoleURL + elsewhere.mailedLink(w.t, "change_email", moved))
	w.button("Use this address")
	w.sees("From now on you sign in with")
	w.c.Email = moved
	w.to("/settings")
	w.hand.writes(w.Locator("#current-password"), w.c.Password)
	w.c.Password = "a third quiet sentence"
	w.hand.writes(w.Locator("#password"), w.c.Password)
	w.button("Change password")
	w.sees("Your password was changed, and all other sessions were ended.")
	w.usesCodes()
}

// resets sets a new password by the link that is mailed.
func (w *walker) resets(password string) {
	w.t.Helper()
	w.to("/sign-in")
	w.link("Forgot your password?")
	w.text("E-mail", w.c.Email)
	w.hand.presses(w.Locator("main button[type=submit]"))
	w.sees("Check your mail")
	w.open(w.c.ConsoleURL + newPerson(w.t, w.c.gateway).mailedLink(w.t, "reset_password", w.c.Email))
	w.hand.writes(w.Locator("#password"), password)
	w.hand.presses(w.Locator("main form button[type=submit]").Last())
	w.sees("Sign in with your new password.")
	w.c.Password = password
}

// usesCodes sets up the second step, signs out and comes in by it.
func (w *walker) usesCodes() {
	w.t.Helper()
	w.link("Security")
	w.hand.writes(w.Locator("#current-password"), w.c.Password)
	w.button("Set up sign-in codes")
	secret, err := w.Locator("#totp-secret").TextContent()
	w.must(err)
	d := newDevice(w.t, secret)
	w.hand.writes(w.Locator("#code"), d.code(w.t))
	w.hand.presses(w.Locator("main form:has(#code) button[type=submit]").Last())
	w.sees("This is the only time these codes are shown")
	w.count(".codes code", 10)
	w.leaves()
	w.text("E-mail", w.c.Email)
	w.text("Password", w.c.Password)
	w.button("Sign in")
	w.hand.writes(w.Locator("#code"), d.code(w.t))
	w.hand.presses(w.Locator("main form:has(#code) button[type=submit]").Last())
	w.must(w.expect.Locator(w.Locator("#balance")).ToBeVisible())
}

// leaves leaves by the menu of the account.
func (w *walker) leaves() {
	w.t.Helper()
	w.at("#account-menu-button")
	w.hand.presses(w.Locator("#account-menu").GetByRole(*playwright.AriaRoleButton, playwright.LocatorGetByRoleOptions{Name: "Sign out"}))
	w.must(w.expect.Page(w.Page).ToHaveURL(regexp.MustCompile("/console/sign-in")))
}

// walkManagement makes a key that manages the account and can never spend, bound to the own address, and finds it among the others.
func walkManagement(w *walker) {
	w.enters("walks-management")
	w.to("/keys")
	w.link("Create key")
	w.hand.writes(w.Locator("#key-name"), "Steward")
	w.hand.presses(w.Locator(`dialog[open] input[name=kind][value=management]`))
	w.at("dialog[open] .key-more > summary")
	w.hand.presses(w.Locator("dialog[open] button[name=add_address]"))
	w.must(w.expect.Locator(w.Locator("#key-addresses")).ToHaveValue("127.0.0.1"))
	w.button("Create key")
	w.sees("This is the only time the key is shown")
	secret := w.freshSecret()
	w.downloadHas(w.on(playwright.AriaRoleLink, "Download as a file"), secret)
	w.link("I stored it")
	w.keyAnswers(secret, http.StatusForbidden)
	if a := w.c.call(w.t, http.MethodGet, "/v1/keys", "", bearer(secret)...); a.status != http.StatusOK {
		w.t.Errorf("a key that manages lists keys: %d %s", a.status, a.body)
	}
	w.text("Search keys", "stew")
	w.count(`[data-testid="key"]`, 1)
	w.must(w.expect.Page(w.Page).ToHaveURL(regexp.MustCompile("q=stew")))
	w.text("Search keys", " ")
	w.count(`[data-testid="key"]`, 2)
	w.hand.chooses(w.Locator("#keys-kind"), "Managing the account")
	w.count(`[data-testid="key"]`, 1)
	w.link("Steward")
	w.shows("main .key-health", "Never expires")
}
