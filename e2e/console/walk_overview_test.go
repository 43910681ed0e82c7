package console

import (
	"net/http"
	"regexp"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkOverview reads what happened, follows a failure to its cause, hides the first steps and brings them back, and opens the bell.
func walkOverview(w *walker) {
	w.enters("walks-overview")
	for _, words := range []string{"echo: well", "simulate: status=400\nx"} {
		id := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, words)).Header.Get("X-Request-Id")
		w.c.UsageRecord(w.T, id)
	}
	w.menu("Overview")
	w.RequireText("You are up and running")
	w.shows(".start-failures", harness.CheapModel)
	w.at(".start-failures a.link")
	w.RequireText("What it cost")
	w.at("aside.sidebar .brand")
	w.title("Overview")
	w.button("Hide")
	w.count("#onboarding", 0)
	w.button("Show first steps")
	w.count("#onboarding", 1)
	w.at(".topbar .bell")
	w.title("Notifications")
	w.link("Notification settings")
	w.title("Notification settings")
}

// walkVisitor looks around without an account: what models there are, what they cost, how they are called, and where to sign up.
func walkVisitor(w *walker) {
	w.to("/models?q=atlas")
	w.count(`[data-testid="model"]`, 3)
	w.hand.presses(w.on(playwright.AriaRoleLink, "Atlas Small"))
	w.title("Atlas Small")
	w.link("Cost")
	w.text("Input tokens", "2000")
	w.text("Output tokens", "0")
	w.shows("main", "$0.0003")
	w.finds("quickstart", "Quickstart")
	w.title("Quickstart")
	w.hand.presses(w.Locator(".topbar").GetByRole(*playwright.AriaRoleLink, playwright.LocatorGetByRoleOptions{Name: "Sign up"}))
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("/console/sign-up")))
	w.RequireText("of trial credit")
}
