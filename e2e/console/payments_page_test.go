package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// begins asks for a top-up on the billing page, and waits for the payment service's page. Any other choice than a
// preset is an amount of one's own.
func begins(p *harness.Tab, c harness.Customer, choice string) {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/billing")
	if choice == "10" || choice == "25" || choice == "100" {
		p.Must(p.Locator("label.chip", playwright.PageLocatorOptions{Has: p.Locator("#topup-" + choice)}).Click())
	} else {
		p.Must(p.Locator("label.chip", playwright.PageLocatorOptions{Has: p.Locator("#topup-own")}).Click())
		p.Must(p.Locator("#topup-amount").Fill(choice))
	}
	p.PressButton("Continue to payment")
	p.Must(p.Expect.Locator(p.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Checkout"})).ToBeVisible())
}

// entersWith signs a customer in who may have made no call yet.
func entersWith(t *testing.T, c harness.Customer, o playwright.BrowserNewContextOptions) *harness.Tab {
	t.Helper()
	p := harness.NewTab(t, o)
	p.Open(c.ConsoleURL + "/console/sign-in")
	p.Fill("E-mail", c.Email)
	p.Fill("Password", c.Password)
	p.PressButton("Sign in")
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToBeVisible())
	return p
}

// topUpIs waits until the page of a top-up has a state.
func topUpIs(p *harness.Tab, state string) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.Locator(`#top-up[data-state="` + state + `"]`)).ToBeVisible())
}

// requireContent waits until the balance in the top bar contains the text.
func requireContent(p *harness.Tab, balance string) {
	p.T.Helper()
	p.Must(p.Expect.Locator(p.Locator("#balance")).ToContainText(balance))
}

// paymentEntry is the newest line of the ledger of a kind.
func paymentEntry(p *harness.Tab, c harness.Customer, kind string) playwright.Locator {
	p.T.Helper()
	p.Open(c.ConsoleURL + "/console/billing/ledger")
	return p.Locator(`[data-testid="entry"][data-kind="` + kind + `"]`).First()
}

var desktopSize = playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}}

// TestConsoleTopUpInEveryWayItCanEnd buys with a preset, with an amount of one's own, with a card that is refused
// first, by paying later, and not at all.
func TestConsoleTopUpInEveryWayItCanEnd(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "tops-up")
	pay := c.Payments(t)
	p := entersWith(t, c, desktopSize)

	begins(p, c, "10")
	p.RequireText("$10.00")
	p.PressButton("Pay with test card")
	topUpIs(p, "paid")
	requireContent(p, "$15")
	inEverySize(p, "paid")

	begins(p, c, "12.34")
	p.PressButton("Pay with a card that is declined")
	p.Must(p.Expect.Locator(p.GetByRole("alert")).ToBeVisible())
	p.PressButton("Pay with test card")
	topUpIs(p, "paid")
	requireContent(p, "$27.34")

	begins(p, c, "25")
	p.FollowLink("Cancel")
	p.RequireText("You left before paying")
	requireContent(p, "$27.34")

	begins(p, c, "100")
	p.PressButton("Pay later (async)")
	topUpIs(p, "waiting")
	var session string
	err := c.DB(t).Get(&session, `select session_id from topups where account_id = $1 and cents = 10000`, c.AccountID)
	p.Must(err)
	pay.Call(t, "POST", "/_control/payments/"+session+"/resolve?outcome=succeeded", "")
	// The page polls by itself.
	topUpIs(p, "paid")
	requireContent(p, "$127.34")

	line := paymentEntry(p, c, "grant")
	p.Must(p.Expect.Locator(line).ToContainText("+$100"))
	p.Must(p.Expect.Locator(line.Locator(".cell-after")).ToContainText("$127.34"))
	p.Must(p.Expect.Locator(p.Locator(`[data-testid="entry"]`)).ToHaveCount(4))
	inEverySize(p, "ledger")
	p.Must(line.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Top-up and receipt"}).Click())
	topUpIs(p, "paid")
	p.Open(c.ConsoleURL + "/console/billing")
	rows := p.Locator(`[data-testid="topup"]`)
	p.Must(p.Expect.Locator(rows).ToHaveCount(4))
	inEverySize(p, "billing")
	receipt, err := rows.First().GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Open receipt"}).GetAttribute("href")
	p.Must(err)
	p.Open(receipt)
	p.RequireText("$100.00")
	p.Open(c.ConsoleURL + "/console/billing/rules")
	p.Must(p.Expect.Locator(p.Locator("tr#completed")).ToBeVisible())
	inEverySize(p, "rules")
	c.CheckLedger(t)
}

// TestConsoleTopUpNeedsNoScripts buys credit without scripts.
func TestConsoleTopUpNeedsNoScripts(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "scriptless")
	p := entersWith(t, c, playwright.BrowserNewContextOptions{JavaScriptEnabled: new(false), Viewport: &playwright.Size{Width: 360, Height: 800}})
	begins(p, c, "25")
	p.PressButton("Pay with test card")
	p.Must(p.Expect.Locator(p.Locator("#top-up")).ToBeVisible())
	harness.WaitUntil(t, "reloading shows the payment", func() bool {
		if _, err := p.Reload(); err != nil {
			return false
		}
		state, err := p.Locator("#top-up").GetAttribute("data-state")
		return err == nil && state == "paid"
	})
	requireContent(p, "$30")
	p.Must(p.Expect.Locator(paymentEntry(p, c, "grant")).ToContainText("+$25"))
}

// TestConsoleAutomaticTopUp saves a card with the first purchase. Once a call takes the credit below the threshold, the
// card is charged and a mail tells that credit is low; refused three times in a row, it is charged no more, and a mail
// and the page say so.
func TestConsoleAutomaticTopUp(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "automatic")
	pay, db := c.Payments(t), c.DB(t)
	p := entersWith(t, c, desktopSize)
	begins(p, c, "5")
	p.PressButton("Pay with test card")
	topUpIs(p, "paid")
	requireContent(p, "$10")
	p.Open(c.ConsoleURL + "/console/billing")
	setsAuto(p, "10", "5", "15")
	p.PressButton("Save")
	p.RequireText("Automatic top-up is on.")
	p.Must(p.Locator("#low-threshold").Fill("10"))
	p.Must(p.Locator("#low-balance").GetByRole("button").Click())
	p.RequireText("A mail is sent when less than $10")
	if n := topUps(t, c, db); n != 1 {
		t.Fatalf("%d top-ups before the threshold is crossed", n)
	}

	harness.DecodeCompletion(t, c.Call(t, "POST", harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: below the threshold")))
	harness.WaitUntil(t, "the saved card is charged", func() bool { return topUps(t, c, db) == 2 })
	harness.WaitUntil(t, "a mail says that credit is low", func() bool { return mails(t, c, db, "low_balance") == 1 })
	p.Must(p.Expect.Locator(paymentEntry(p, c, "grant")).ToContainText("+$5"))
	requireContent(p, "$14.9")

	var customerID string
	p.Must(db.Get(&customerID, `select customer_id from payment_accounts where account_id = $1`, c.AccountID))
	pay.Call(t, "PUT", "/_control/cards/"+customerID+"?outcome=card_declined", "")
	p.Open(c.ConsoleURL + "/console/billing")
	setsAuto(p, "100", "5", "500")
	p.PressButton("Save")
	p.Must(p.Expect.Locator(p.Locator("#auto-agree")).ToBeVisible())
	p.PressButton("Save and pay $5.00 now")
	p.RequireText("Automatic top-up is on.")
	for failures := 1; failures <= 3; failures++ {
		harness.WaitUntil(t, fmt.Sprintf("the card is refused for the %d. time", failures), func() bool {
			var n int
			err := db.Get(&n, `select count(*) from topups where account_id = $1 and auto and state = 'FAILED'`, c.AccountID)
			return err == nil && n == failures
		})
		// This ends the wait before the next automatic payment.
		db.MustExec(`update payment_accounts set auto_due_at = null where account_id = $1`, c.AccountID)
	}
	if n := mails(t, c, db, "auto_topup_off"); n != 1 {
		t.Errorf("%d mails say that automatic top-up is off", n)
	}
	p.Open(c.ConsoleURL + "/console/billing")
	p.RequireText("Automatic top-up was turned off")
	p.CheckAccessibility()
	if n := topUps(t, c, db); n != 2 {
		t.Errorf("%d top-ups were paid", n)
	}
	p.Open(c.ConsoleURL + "/console/outbox")
	mail := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: c.Email})
	p.Must(p.Expect.Locator(mail.Filter(playwright.LocatorFilterOptions{HasText: "Automatic top-ups are turned off"})).ToHaveCount(1))
	p.Must(p.Expect.Locator(mail.Filter(playwright.LocatorFilterOptions{HasText: "Your credit is low"})).ToHaveCount(1))
}

// setsAuto fills the form of the automatic top-up.
func setsAuto(p *harness.Tab, threshold, amount, most string) {
	p.T.Helper()
	p.Must(p.GetByLabel("Top up automatically").Check())
	p.Must(p.Locator("#auto-threshold").Fill(threshold))
	p.Must(p.Locator("#auto-amount").Fill(amount))
	p.Must(p.Locator("#auto-cap").Fill(most))
	p.Must(p.Locator("#auto-top-up").GetByRole("button").Focus())
}

// topUps is how many purchases were paid.
func topUps(t *testing.T, c harness.Customer, db *sqlx.DB) (n int) {
	t.Helper()
	if err := db.Get(&n, `select count(*) from topups where account_id = $1 and state = 'PAID'`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	return n
}

// mails is how many mails of a kind went to the customer.
func mails(t *testing.T, c harness.Customer, db *sqlx.DB, kind string) (n int) {
	t.Helper()
	if err := db.Get(&n, `select count(*) from mails where recipient = $1 and kind = $2`, c.Email, kind); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestConsoleRefundAndDispute gives a part of a top-up back by the operator's command, and lets the bank take the rest:
// the account is frozen in every style and on every page until the dispute is won.
func TestConsoleRefundAndDispute(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "disputes")
	pay := c.Payments(t)
	row := c.StartTopUp(t, c.SignInToConsole(t), "20")
	pay.Call(t, "POST", "/_control/sessions/"+row.SessionID+"/pay?with=card", "")
	db := c.DB(t)
	harness.WaitUntil(t, "it is paid", func() bool { return topUps(t, c, db) == 1 })

	env := append(pay.Env(), "DATABASE_URL="+c.DatabaseURL(t), "UMG_SECRET_KEY="+c.SecretKey(t))
	if out, status := harness.RunCommand(t, env, "credit", "refund", row.ID, "7.50", "--reason", "asked for it"); status != 0 || !strings.Contains(out, "750 of 2000 cents") {
		t.Fatalf("refund: %d %s", status, out)
	}
	p := entersWith(t, c, desktopSize)
	requireContent(p, "$17.5")
	line := paymentEntry(p, c, "refund")
	p.Must(p.Expect.Locator(line).ToContainText("$7.5"))
	p.Must(p.Expect.Locator(line.Locator(".cell-after")).ToContainText("$17.5"))

	dispute := pay.Call(t, "POST", "/_control/payments/"+row.SessionID+"/dispute", "")
	harness.WaitUntil(t, "the account is frozen", func() bool { return frozen(t, c, db) })
	harness.WaitUntil(t, "the key knows", func() bool {
		return harness.Styles["chat"].Send(t, c, harness.ChatRequest(harness.CheapModel, "echo: x")).Status == http.StatusForbidden
	})
	for _, proto := range harness.AllStyles() {
		for _, members := range [][]string{nil, {`"stream":true`}} {
			proto.CheckError(t, proto.Send(t, c, proto.Request(proto.Model, "echo: x", members...)), "forbidden", "account_frozen", "")
		}
	}
	if key := c.GetData(t, "/v1/key"); key["account_frozen"] != true {
		t.Errorf("the key says %v", key)
	}
	p.Must(p.Expect.Locator(paymentEntry(p, c, "dispute")).ToBeVisible())
	p.RequireText("This account is frozen")
	p.Must(p.Expect.Locator(p.Locator("#frozen")).ToContainText("dispute"))
	p.Open(c.ConsoleURL + "/console/billing")
	p.RequireText("Nothing can be bought while the account is frozen")
	p.CheckAccessibility()

	pay.Call(t, "POST", "/_control/disputes/"+harness.TextMember(dispute, "id")+"/close?outcome=won", "")
	harness.WaitUntil(t, "the account is free again", func() bool { return !frozen(t, c, db) })
	harness.WaitUntil(t, "the key works again", func() bool {
		return harness.Styles["chat"].Send(t, c, harness.ChatRequest(harness.CheapModel, "echo: again")).Status == http.StatusOK
	})
	p.Open(c.ConsoleURL + "/console/billing")
	p.Must(p.Expect.Locator(p.Locator("#frozen")).ToHaveCount(0))
	if b := c.SettledBalance(t, c.AccountID); b.Posted <= 17_400_000_000 || b.Posted >= 17_500_000_000 {
		t.Errorf("all of it should be back but for a call: %+v", b)
	}
	c.CheckLedger(t)
}

func frozen(t *testing.T, c harness.Customer, db *sqlx.DB) (is bool) {
	t.Helper()
	if err := db.Get(&is, `select frozen_at is not null from accounts where id = $1`, c.AccountID); err != nil {
		t.Fatal(err)
	}
	return is
}
