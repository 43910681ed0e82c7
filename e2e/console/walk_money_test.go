package console

import (
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

func walkObserve(w *walker) {
	w.enters("walks-observe")
	for _, words := range []string{"one", "two"} {
		id := w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: "+words)).Header.Get("X-Request-Id")
		w.c.UsageRecord(w.T, id)
	}
	w.menu("Usage")
	w.hand.chooses(w.labelled("Range"), "24 hours")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("range=24h")))
	w.hand.chooses(w.labelled("by"), "Key")
	w.shows(`[data-testid="usage-group"]`, "walks-observe")
	w.at(".usage-more > summary")
	w.box("Compare with the period before")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("compare")))
	w.at("#usage-export > summary")
	file := w.downloads(w.on(playwright.AriaRoleLink, "CSV"))
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "walks-observe") {
		w.T.Errorf("the exported usage: %.300s %v", text, err)
	}
	w.menu("Requests")
	w.count(`[data-testid="request"]`, 2)
	w.hand.chooses(w.Locator("#requests-outcome"), "All errors")
	w.count(`[data-testid="request"]`, 0)
	w.at(".filter-chip")
	w.count(`[data-testid="request"]`, 2)
	harness.DecodeCompletion(w.T, w.c.Call(w.T, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: three")))
	w.count(`[data-testid="request"]`, 3)
	w.hand.presses(w.Locator(`[data-testid="request"] a.row-link`).First())
	w.RequireText("What it cost")
	newest := w.URL()
	w.link("Older")
	w.Must(w.Expect.Page(w.Page).Not().ToHaveURL(newest))
	w.link("Newer")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(newest))
	w.link("Open in playground")
	w.title("Playground")
}

func walkBilling(w *walker) {
	w.enters("walks-billing")
	w.menu("Billing")
	w.hand.presses(w.Locator("#topup-10"))
	w.button("Continue to payment")
	w.Must(w.Expect.Locator(w.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Checkout"})).ToBeVisible())
	// This button is on the payment service's page.
	w.PressButton("Pay with test card")
	topUpIs(w.Tab, "paid")
	requireContent(w.Tab, "$15")
	w.menu("Billing")
	w.box("Top up automatically")
	w.hand.writes(w.Locator("#auto-threshold"), "2")
	w.hand.writes(w.Locator("#auto-amount"), "5")
	w.hand.writes(w.Locator("#auto-cap"), "20")
	w.hand.presses(w.Locator("#auto-top-up").GetByRole(*playwright.AriaRoleButton).Last())
	w.RequireText("Automatic top-up is on.")
	w.link("Ledger")
	w.title("Ledger")
	w.count(`[data-testid="entry"]`, 2)
	w.box("Charge")
	w.count(`[data-testid="entry"]`, 0)
	w.box("Charge")
	w.count(`[data-testid="entry"]`, 2)
	file := w.downloads(w.on(playwright.AriaRoleLink, "Export CSV"))
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "\n") < 3 {
		w.T.Errorf("the exported ledger: %.300s %v", text, err)
	}
	w.menu("Billing")
	w.link("What is charged")
	w.Must(w.Expect.Locator(w.Locator("tr#completed")).ToBeVisible())
}

func walkWebhooks(w *walker) {
	w.enters("walks-webhooks")
	r := harness.NewWebhookReceiver(w.T)
	w.menu("Webhooks")
	w.link("Events")
	w.title("Webhook events")
	w.shows("main", "JSON Schema of video.completed")
	w.hand.presses(w.Locator("main .crumbs a").First())
	w.link("Add endpoint")
	w.hand.writes(w.Locator("#hook-name"), "Walked")
	w.hand.writes(w.Locator("#hook-url"), r.URL)
	w.button("Add endpoint")
	w.RequireText("This is the only time the secret is shown")
	w.link("I stored it")
	w.title("Walked")
	w.at(".hook-verify summary")
	w.hand.presses(w.on(playwright.AriaRoleTab, "Go"))
	w.shows("#verify-plain [role=tabpanel]:not([hidden])", "package main")
	w.hand.chooses(w.Locator("#test-type"), "video.failed")
	w.button("Send test event")
	w.RequireText("Answered 204 No Content")
	if len(r.Received()) != 1 {
		w.T.Errorf("%d events came", len(r.Received()))
	}
	w.link("Rotate…")
	w.button("Rotate secret")
	w.RequireText("This is the only time the secret is shown")
	w.link("I stored it")
	w.RequireText("Events are also signed with the secret before it until")
	w.link("Delete…")
	w.button("Delete endpoint")
	w.RequireText("No endpoints yet")
}
