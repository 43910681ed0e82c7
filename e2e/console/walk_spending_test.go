package console

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkSpending keeps the account to a limit, redeems a code, asks for a mail when credit runs low, and sees what each key spent.
func walkSpending(w *walker) {
	w.enters("walks-spending")
	w.recorded("echo: to be paid")
	code := strings.ToUpper(harness.UniqueName("WALK"))
	if out, status := harness.RunCommand(w.T, []string{"DATABASE_URL=" + w.c.DatabaseURL(w.T)}, "promo", "create", "3", "--code", code, "--max-redemptions", "1",
		"--until", "2099-01-01", "--reason", "a walk"); status != 0 {
		w.T.Fatal(out)
	}
	w.menu("Billing")
	w.hand.chooses(w.Locator("#limit-period"), "Each month")
	w.hand.writes(w.Locator("#limit-amount"), "20")
	w.at("#spend-limit button[type=submit]")
	w.shows(`[data-testid="spend-limit"]`, "of $20.00 spent")
	w.hand.writes(w.Locator("#promo-code"), code)
	w.button("Redeem")
	w.shows("#balance", "$7.99")
	w.hand.writes(w.Locator("#promo-code"), code)
	w.button("Redeem")
	w.Must(w.Expect.Locator(w.Locator("#promo-code-error")).ToBeVisible())
	w.hand.writes(w.Locator("#low-threshold"), "2")
	w.at("#low-balance button[type=submit]")
	w.Must(w.Expect.Locator(w.Locator("#low-threshold")).ToHaveValue("2"))
	w.link("By key")
	w.shows("#spend", "walks-spending")
	w.RequireText("The rows add up to the total exactly.")
}

// walkViews keeps filters of the usage under a name, comes back to them, and forgets them.
func walkViews(w *walker) {
	w.enters("walks-views")
	w.menu("Usage")
	w.hand.chooses(w.labelled("Range"), "24 hours")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("range=24h")))
	w.hand.presses(w.Locator("#saved-views summary").First())
	w.hand.writes(w.Locator("#saved-name"), "Last day")
	w.hand.presses(w.Locator(".saved-save").GetByRole(*playwright.AriaRoleButton))
	w.Must(w.Expect.Locator(w.Locator(".saved-chip")).ToHaveAttribute("aria-current", "true"))
	w.menu("Usage")
	w.Must(w.Expect.Page(w.Page).Not().ToHaveURL(regexp.MustCompile("range=24h")))
	w.hand.presses(w.Locator("#saved-views summary").First())
	w.link("Last day")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("range=24h")))
	w.hand.presses(w.Locator("#saved-views summary").First())
	w.at(`#saved-views summary:has-text("Manage")`)
	w.button("Delete Last day")
	w.count(".saved-chip", 0)
}

// walkWithoutCredit sees on every page that no credit is left and where to buy it; a refused call says the same.
func walkWithoutCredit(w *walker) {
	w.c = w.c.NewCustomerWithoutCredit(w.T, "walks-pauper")
	w.signsWith(w.c.Email, w.c.Password)
	w.Must(w.Expect.Locator(w.Locator("#balance")).ToHaveAttribute("data-tone", "danger"))
	refused := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x"), "X-Error-Status", "standard")
	if refused.Status != http.StatusPaymentRequired || !strings.Contains(refused.Body, "/console/billing") {
		w.T.Errorf("a call without credit: %d %s", refused.Status, refused.Body)
	}
	w.at("#balance")
	w.title("Billing")
	w.shows("#credit-notice", "You have no credit yet")
	w.at("#credit-notice a")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("#add-credit$")))
}
