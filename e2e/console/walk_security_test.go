package console

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkSecurity comes back with a forgotten password, ends a session elsewhere, moves to another address, sets sign-in codes up,
// and signs in with one.
func walkSecurity(w *walker) {
	w.c = w.c.NewCustomer(w.T, "walks-security")
	w.resets("another quiet sentence")
	elsewhere := w.c.SignInToConsole(w.T)
	w.signsWith(w.c.Email, w.c.Password)
	w.menu("Settings")
	w.link("Security")
	w.title("Security")
	other := w.Locator(`[data-testid="session"]`).Filter(playwright.LocatorFilterOptions{HasText: "Go program"})
	w.hand.presses(other.GetByRole(*playwright.AriaRoleButton))
	w.RequireText("You are signed in nowhere else.")
	elsewhere.RequireSignedOut(w.T)
	w.link("Profile")
	w.title("Profile")
	moved := "new-" + w.c.Email
	w.hand.writes(w.Locator("#new-email"), moved)
	w.hand.writes(w.Locator("#email-password"), w.c.Password)
	w.button("Send the link")
	w.RequireText("A link is on its way to " + moved)
	w.Open(w.c.ConsoleURL + elsewhere.MailedLink(w.T, "change_email", moved))
	w.button("Use this address")
	w.RequireText("From now on you sign in with")
	w.c.Email = moved
	w.to("/settings")
	w.hand.writes(w.Locator("#current-password"), w.c.Password)
	w.c.Password = "a third quiet sentence"
	w.hand.writes(w.Locator("#password"), w.c.Password)
	w.button("Change password")
	w.RequireText("Your password was changed, and all other sessions were ended.")
	w.usesCodes()
}

// resets sets a new password by the link that is mailed.
func (w *walker) resets(password string) {
	w.T.Helper()
	w.to("/sign-in")
	w.link("Forgot your password?")
	w.text("E-mail", w.c.Email)
	w.hand.presses(w.Locator("main button[type=submit]"))
	w.RequireText("Check your mail")
	w.Open(w.c.ConsoleURL + harness.NewConsoleClient(w.T, w.c.Gateway).MailedLink(w.T, "reset_password", w.c.Email))
	w.hand.writes(w.Locator("#password"), password)
	w.hand.presses(w.Locator("main form button[type=submit]").Last())
	w.RequireText("Sign in with your new password.")
	w.c.Password = password
}

// usesCodes sets up the second step, signs out and comes in by it.
func (w *walker) usesCodes() {
	w.T.Helper()
	w.link("Security")
	w.hand.writes(w.Locator("#current-password"), w.c.Password)
	w.button("Set up sign-in codes")
	secret, err := w.Locator("#totp-secret").TextContent()
	w.Must(err)
	d := newDevice(w.T, secret)
	w.hand.writes(w.Locator("#code"), d.code(w.T))
	w.hand.presses(w.Locator("main form:has(#code) button[type=submit]").Last())
	w.RequireText("This is the only time these codes are shown")
	w.count(".codes code", 10)
	w.leaves()
	w.text("E-mail", w.c.Email)
	w.text("Password", w.c.Password)
	w.button("Sign in")
	w.hand.writes(w.Locator("#code"), d.code(w.T))
	w.hand.presses(w.Locator("main form:has(#code) button[type=submit]").Last())
	w.Must(w.Expect.Locator(w.Locator("#balance")).ToBeVisible())
}

// leaves leaves by the menu of the account.
func (w *walker) leaves() {
	w.T.Helper()
	w.at("#account-menu-button")
	w.hand.presses(w.Locator("#account-menu").GetByRole(*playwright.AriaRoleButton, playwright.LocatorGetByRoleOptions{Name: "Sign out"}))
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("/console/sign-in")))
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
	w.Must(w.Expect.Locator(w.Locator("#key-addresses")).ToHaveValue("127.0.0.1"))
	w.button("Create key")
	w.RequireText("This is the only time the key is shown")
	secret := w.freshSecret()
	w.downloadHas(w.on(playwright.AriaRoleLink, "Download as a file"), secret)
	w.link("I stored it")
	w.keyAnswers(secret, http.StatusForbidden)
	if a := w.c.Call(w.T, http.MethodGet, "/v1/keys", "", harness.BearerHeader(secret)...); a.Status != http.StatusOK {
		w.T.Errorf("a key that manages lists keys: %d %s", a.Status, a.Body)
	}
	w.text("Search keys", "stew")
	w.count(`[data-testid="key"]`, 1)
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("q=stew")))
	w.text("Search keys", " ")
	w.count(`[data-testid="key"]`, 2)
	w.hand.chooses(w.Locator("#keys-kind"), "Managing the account")
	w.count(`[data-testid="key"]`, 1)
	w.link("Steward")
	w.shows("main .key-health", "Never expires")
}
