package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/playwright-community/playwright-go"
)

// walkDeveloper works in another person's account, reads what the role there does not include, and signs out.
func walkDeveloper(w *walker) {
	owner, guest := w.c.NewCustomer(w.T, "owner"), w.c.NewCustomer(w.T, "guest")
	w.c.DB(w.T).MustExec(`insert into memberships (account_id, user_id, role, created_at) select $1, id, 'developer', now() from users where email = $2`,
		owner.AccountID, guest.Email)
	w.c = guest
	w.signsWith(guest.Email, guest.Password)
	w.at("#account-menu-button")
	w.hand.presses(w.Locator("#account-menu").GetByRole(*playwright.AriaRoleButton,
		playwright.LocatorGetByRoleOptions{Name: regexp.MustCompile("^Change to .* developer$")}))
	w.RequireText("You work in ")
	w.menu("Settings")
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Members")).ToBeVisible())
	// The menu must have no link that the role may not follow.
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Audit log")).ToHaveCount(0))
	w.to("/settings/audit")
	w.title("This is for other roles")
	w.RequireText("Your role in this account is developer")
	w.link("Go to the overview")
	w.title("Overview")
	w.menu("API keys")
	w.shows(`[data-testid="key"]`, "owner")
	w.at("#account-menu-button")
	w.hand.presses(w.Locator("#account-menu").GetByRole(*playwright.AriaRoleButton, playwright.LocatorGetByRoleOptions{Name: "Sign out"}))
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("/console/sign-in")))
	w.to("/keys")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("/console/sign-in")))
}

// walkOperator pauses a model and lets it go on, answers who asks for more, looks at the catalog's versions and prices, and gives credit to
// an account, whose owner sees it with the reason.
func walkOperator(w *walker) {
	w.c = w.c.NewCustomer(w.T, "walks-operator")
	w.c.SignInToConsole(w.T).Visit(w.T, "/console/limits", url.Values{"model": {""}, "times": {"5"}, "reason": {"A launch on Monday."}})
	runsIt(w.T, w.c)
	id, _ := ownModel(w.T, w.c.Gateway)
	w.signsWith(w.c.Email, w.c.Password)
	w.menu("Operator")
	w.title("Traffic")
	w.link("Pause " + id)
	w.hand.writes(w.Locator("#pause-reason"), "It moves to new servers")
	w.button("Pause model")
	w.RequireText("Paused " + id)
	w.Must(w.Expect.Locator(w.Locator(".status-strip")).ToBeVisible())
	answersSoon(w.T, w.c, id, "model_temporarily_unavailable")
	w.link("Resume " + id)
	w.button("Resume model")
	w.RequireText("Resumed " + id)
	answersSoon(w.T, w.c, id, "")
	w.link("Metrics")
	w.title("Metrics")
	w.link("Catalog history")
	w.title("Catalog history")
	w.at(`[data-testid="catalog-version"] a.row-link`)
	w.RequireText("What it changed")
	w.hand.presses(w.Locator("main .crumbs a").First())
	w.title("Catalog history")
	w.link("Limit requests")
	w.answersLimits()
	w.givesCredit()
	w.makesCode()
}

// makesCode looks at the queues and at the trials, and makes a promotion code and ends it.
func (w *walker) makesCode() {
	w.T.Helper()
	w.menu("Operator")
	w.title("Traffic")
	w.link("Queues")
	w.title("Queues")
	w.count(`[data-testid="queue"]`, 8)
	w.link("Refresh")
	w.title("Queues")
	w.link("Erasing")
	w.title("Queue: Erasing")
	w.hand.presses(w.Locator("main .crumbs a").First())
	w.title("Queues")
	w.link("Trials and codes")
	w.title("Trials and codes")
	w.link("Create a code")
	code, err := w.Locator("#code").InputValue()
	w.Must(err)
	w.text("Dollars for each account", "3")
	w.text("How many accounts", "1")
	w.hand.writes(w.Locator("#code-reason"), "The walk")
	w.text("Your current password", w.c.Password)
	w.button("Create the code")
	w.RequireText("The code is made")
	w.shows(`[data-code="`+code+`"]`, "The walk")
	w.link("End " + code + " now")
	w.text("Your current password", w.c.Password)
	w.button("End the code")
	w.RequireText("The code " + code + " has ended")
	w.shows(`[data-code="`+code+`"]`, "by "+w.c.Email)
}

// answersLimits answers what the account of the walk asked for.
func (w *walker) answersLimits() {
	w.T.Helper()
	w.title("Limit requests")
	var account string
	w.Must(w.c.DB(w.T).Get(&account, `select name from accounts where id = $1`, w.c.AccountID))
	wish := w.Locator(`[data-testid="limit-request"]`, playwright.PageLocatorOptions{HasText: account}).First()
	w.hand.presses(wish.GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: "Answer"}))
	w.hand.writes(w.Locator("#confirm-answer"), "Enjoy the launch")
	w.text("Your current password", w.c.Password)
	w.button("Grant")
	w.RequireText("Answered: Enjoy the launch")
	w.finds("limits", "Settings: Limits")
	w.shows(".limits-requests", "Enjoy the launch")
}

// givesCredit adds credit on the account's page for operators, and finds the entry with its reason in the ledger.
func (w *walker) givesCredit() {
	w.T.Helper()
	w.menu("Operator")
	w.title("Traffic")
	w.link("Accounts")
	w.title("Accounts")
	w.text("Find", w.c.Email)
	w.count(`[data-testid="account"]`, 1)
	w.at(`[data-testid="account"] a.row-link`)
	w.link("Add credit")
	w.text("Amount", "2.5")
	w.text("Reason", "An outage")
	w.button("Continue")
	w.RequireText("You are a member of this account")
	w.text("Your current password", w.c.Password)
	w.button("Add $2.50")
	w.RequireText("Added $2.50 to")
	w.shows(`[data-testid="entry"]`, "by "+w.c.Email)
	w.menu("Billing")
	w.link("Ledger")
	w.title("Ledger")
	w.shows("#balance", "$7.4")
	entry := w.Locator(`[data-testid="entry"]`, playwright.PageLocatorOptions{HasText: "An outage"})
	w.Must(w.Expect.Locator(entry).ToContainText("2.50"))
	if a := w.c.Call(w.T, http.MethodGet, "/v1/credits", ""); !strings.Contains(a.Body, "7.4") {
		w.T.Errorf("the credit by API: %s", a.Body)
	}
}
