package console

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

var requestID = regexp.MustCompile(`req_[0-9a-z]+`)

func walkFirstRequest(w *walker) {
	w.to("/sign-in")
	w.link("Create an account")
	w.RequireText("of trial credit")
	email := fmt.Sprintf("walk-%d@example.com", time.Now().UnixNano())
	w.text("E-mail", email)
	w.text("Password", "a quiet sentence to keep")
	w.button("Create account")
	w.RequireText("Make your first request")
	w.Open(w.c.ConsoleURL + harness.NewConsoleClient(w.T, w.c.Gateway).MailedLink(w.T, "verify_email", email))
	w.button("Verify this address")
	w.shows("#balance", "$5.00")
	w.button("Make my key")
	w.Must(w.Expect.Locator(w.Locator("[data-copy-from=fresh-key]")).ToBeVisible())
	w.hand.presses(w.on(playwright.AriaRoleTab, "Messages"))
	w.shows("#call-styles-panel-messages", "/v1/messages")
	// The page waits for the first call, or for the next where a call of the same address was refused.
	w.RequireText("Waiting for")
	w.button("Send it from here")
	w.RequireText("Your first request was answered")
	w.menu("Requests")
	w.title("Requests")
	w.count(`[data-testid="request"]`, 1)
	w.hand.presses(w.Locator(`[data-testid="request"] a[href*="req_"]`).First())
	w.RequireText("What it cost")
	text, err := w.Locator("main").TextContent()
	w.Must(err)
	id := requestID.FindString(text)
	if !strings.HasPrefix(id, "req_") {
		w.T.Errorf("the page of the request does not name it: %.200q", text)
	}
	w.link("Ledger entry")
	w.title("Ledger")
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="entry"][data-kind="charge"]`)).ToHaveCount(1))
}
