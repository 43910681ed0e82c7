package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/playwright-community/playwright-go"
)

var requestID = regexp.MustCompile(`req_[0-9a-z]+`)

func walkFirstRequest(w *walker) {
	w.to("/sign-in")
	w.link("Create an account")
	w.sees("of trial credit")
	email := fmt.Sprintf("walk-%d@example.com", time.Now().UnixNano())
	w.text("E-mail", email)
	w.text("Password", "a quiet sentence to keep")
	w.button("Create account")
	w.sees("Make your first request")
	w.open(w.c.ConsoleURL + newPerson(w.t, w.c.gateway).mailedLink(w.t, "verify_email", email))
	w.button("Verify this address")
	w.shows("#balance", "$5.00")
	w.button("Make my key")
	w.must(w.expect.Locator(w.Locator("[data-copy-from=fresh-key]")).ToBeVisible())
	w.hand.presses(w.on(playwright.AriaRoleTab, "Messages"))
	w.shows("#call-styles-panel-messages", "/v1/messages")
	// The page waits for the first call, or for the next where a call of the same address was refused.
	w.sees("Waiting for")
	w.button("Send it from here")
	w.sees("Your first request was answered")
	w.menu("Requests")
	w.title("Requests")
	w.count(`[data-testid="request"]`, 1)
	w.hand.presses(w.Locator(`[data-testid="request"] a[href*="req_"]`).First())
	w.sees("What it cost")
	text, err := w.Locator("main").TextContent()
	w.must(err)
	id := requestID.FindString(text)
	if !strings.HasPrefix(id, "req_") {
		w.t.Errorf("the page of the request does not name it: %.200q", text)
	}
	w.link("Ledger entry")
	w.title("Ledger")
	w.must(w.expect.Locator(w.Locator(`[data-testid="entry"][data-kind="charge"]`)).ToHaveCount(1))
}
