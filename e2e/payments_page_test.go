package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/playwright-community/playwright-go"
)

// begins asks for a top-up on the billing page, and waits for the payment service's page. Any other choice than a
// preset is an amount of one's own.
func (p *tab) begins(c customer, choice string) {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/billing")
	if choice == "10" || choice == "25" || choice == "100" {
		p.must(p.Locator("label.chip", playwright.PageLocatorOptions{Has: p.Locator("#topup-" + choice)}).Click())
	} else {
		p.must(p.Locator("label.chip", playwright.PageLocatorOptions{Has: p.Locator("#topup-own")}).Click())
		p.must(p.Locator("#topup-amount").Fill(choice))
	}
	p.press("Continue to payment")
	p.must(p.expect.Locator(p.GetByRole("heading", playwright.PageGetByRoleOptions{Name: "Checkout"})).ToBeVisible())
}

// entersWith signs a customer in who may have made no call yet.
func (c customer) entersWith(t *testing.T, o playwright.BrowserNewContextOptions) *tab {
	t.Helper()
	p := newTab(t, o)
	p.open(c.ConsoleURL + "/console/sign-in")
	p.fill("E-mail", c.Email)
	p.fill("Password", c.Password)
	p.press("Sign in")
	p.must(p.expect.Locator(p.Locator("#balance")).ToBeVisible())
	return p
}

// topUpIs waits until the page of a top-up has a state.
func (p *tab) topUpIs(state string) {
	p.t.Helper()
	p.must(p.expect.Locator(p.Locator(`#top-up[data-state="` + state + `"]`)).ToBeVisible())
}

// has waits until the balance in the top bar contains the text.
func (p *tab) has(balance string) {
	p.t.Helper()
	p.must(p.expect.Locator(p.Locator("#balance")).ToContainText(balance))
}

// entry is the newest line of the ledger of a kind.
func (p *tab) entry(c customer, kind string) playwright.Locator {
	p.t.Helper()
	p.open(c.ConsoleURL + "/console/billing/ledger")
	return p.Locator(`[data-testid="entry"][data-kind="` + kind + `"]`).First()
}

var desktopSize = playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1280, Height: 900}}

// TestConsoleTopUpInEveryWayItCanEnd buys with a preset, with an amount of one's own, with a card that is refused
// first, by paying later, and not at all.
func TestConsoleTopUpInEveryWayItCanEnd(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "tops-up")
	pay := c.payments(t)
	p := c.entersWith(t, desktopSize)

	p.begins(c, "10")
	p.sees("$10.00")
	p.press("Pay with test card")
	p.topUpIs("paid")
	p.has("$15")
	p.inEverySize("paid")

	p.begins(c, "12.34")
	p.press("Pay with a card that is declined")
	p.must(p.expect.Locator(p.GetByRole("alert")).ToBeVisible())
	p.press("Pay with test card")
	p.topUpIs("paid")
	p.has("$27.34")

	p.begins(c, "25")
	p.follow("Cancel")
	p.sees("You left before paying")
	p.has("$27.34")

	p.begins(c, "100")
	p.press("Pay later (async)")
	p.topUpIs("waiting")
	var session string
	err := c.db(t).Get(&session, `select session_id from topups where account_id = $1 and cents = 10000`, c.accountID)
	p.must(err)
	pay.ask(t, "POST", "/_control/payments/"+session+"/resolve?outcome=succeeded", "")
	// The page polls by itself.
	p.topUpIs("paid")
	p.has("$127.34")

	line := p.entry(c, "grant")
	p.must(p.expect.Locator(line).ToContainText("+$100"))
	p.must(p.expect.Locator(line.Locator(".cell-after")).ToContainText("$127.34"))
	p.must(p.expect.Locator(p.Locator(`[data-testid="entry"]`)).ToHaveCount(4))
	p.inEverySize("ledger")
	p.must(line.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Top-up and receipt"}).Click())
	p.topUpIs("paid")
	p.open(c.ConsoleURL + "/console/billing")
	rows := p.Locator(`[data-testid="topup"]`)
	p.must(p.expect.Locator(rows).ToHaveCount(4))
	p.inEverySize("billing")
	receipt, err := rows.First().GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Open receipt"}).GetAttribute("href")
	p.must(err)
	p.open(receipt)
	p.sees("$100.00")
	p.open(c.ConsoleURL + "/console/billing/rules")
	p.must(p.expect.Locator(p.Locator("tr#completed")).ToBeVisible())
	p.inEverySize("rules")
	c.books(t)
}

// TestConsoleTopUpNeedsNoScripts buys credit without scripts.
func TestConsoleTopUpNeedsNoScripts(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "scriptless")
	p := c.entersWith(t, playwright.BrowserNewContextOptions{JavaScriptEnabled: new(false), Viewport: &playwright.Size{Width: 360, Height: 800}})
	p.begins(c, "25")
	p.press("Pay with test card")
	p.must(p.expect.Locator(p.Locator("#top-up")).ToBeVisible())
	until(t, "reloading shows the payment", func() bool {
		if _, err := p.Reload(); err != nil {
			return false
		}
		state, err := p.Locator("#top-up").GetAttribute("data-state")
		return err == nil && state == "paid"
	})
	p.has("$30")
	p.must(p.expect.Locator(p.entry(c, "grant")).ToContainText("+$25"))
}

// TestConsoleAutomaticTopUp saves a card with the first purchase. Once a call takes the credit below the threshold, the
// card is charged and a mail tells that credit is low; refused three times in a row, it is charged no more, and a mail
// and the page say so.
func TestConsoleAutomaticTopUp(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "automatic")
	pay, db := c.payments(t), c.db(t)
	p := c.entersWith(t, desktopSize)
	p.begins(c, "5")
	p.press("Pay with test card")
	p.topUpIs("paid")
	p.has("$10")
	p.open(c.ConsoleURL + "/console/billing")
	p.setsAuto("10", "5", "15")
	p.press("Save")
	p.sees("Automatic top-up is on.")
	p.must(p.Locator("#low-threshold").Fill("10"))
	p.must(p.Locator("#low-balance").GetByRole("button").Click())
	p.sees("A mail is sent when less than $10")
	if n := c.topUps(t, db); n != 1 {
		t.Fatalf("%d top-ups before the threshold is crossed", n)
	}

	decodeCompletion(t, c.call(t, "POST", chatPath, ask(cheapModel, "echo: below the threshold")))
	until(t, "the saved card is charged", func() bool { return c.topUps(t, db) == 2 })
	until(t, "a mail says that credit is low", func() bool { return c.mails(t, db, "low_balance") == 1 })
	p.must(p.expect.Locator(p.entry(c, "grant")).ToContainText("+$5"))
	p.has("$14.9")

	var customerID string
	p.must(db.Get(&customerID, `select customer_id from payment_accounts where account_id = $1`, c.accountID))
	pay.ask(t, "PUT", "/_control/cards/"+customerID+"?outcome=card_declined", "")
	p.open(c.ConsoleURL + "/console/billing")
	p.setsAuto("100", "5", "500")
	p.press("Save")
	p.must(p.expect.Locator(p.Locator("#auto-agree")).ToBeVisible())
	p.press("Save and pay $5.00 now")
	p.sees("Automatic top-up is on.")
	for failures := 1; failures <= 3; failures++ {
		until(t, fmt.Sprintf("the card is refused for the %d. time", failures), func() bool {
			var n int
			err := db.Get(&n, `select count(*) from topups where account_id = $1 and auto and state = 'FAILED'`, c.accountID)
			return err == nil && n == failures
		})
		// This ends the wait before the next automatic payment.
		db.MustExec(`update payment_accounts set auto_due_at = null where account_id = $1`, c.accountID)
	}
	if n := c.mails(t, db, "auto_topup_off"); n != 1 {
		t.Errorf("%d mails say that automatic top-up is off", n)
	}
	p.open(c.ConsoleURL + "/console/billing")
	p.sees("Automatic top-up switched itself off")
	p.axe()
	if n := c.topUps(t, db); n != 2 {
		t.Errorf("%d top-ups were paid", n)
	}
	p.open(c.ConsoleURL + "/console/outbox")
	mail := p.Locator(`[data-testid="mail"]`).Filter(playwright.LocatorFilterOptions{HasText: c.Email})
	p.must(p.expect.Locator(mail.Filter(playwright.LocatorFilterOptions{HasText: "Automatic top-ups are turned off"})).ToHaveCount(1))
	p.must(p.expect.Locator(mail.Filter(playwright.LocatorFilterOptions{HasText: "Your credit is low"})).ToHaveCount(1))
}

// setsAuto fills the form of the automatic top-up.
func (p *tab) setsAuto(threshold, amount, most string) {
	p.t.Helper()
	p.must(p.GetByLabel("Top up automatically").Check())
	p.must(p.Locator("#auto-threshold").Fill(threshold))
	p.must(p.Locator("#auto-amount").Fill(amount))
	p.must(p.Locator("#auto-cap").Fill(most))
	p.must(p.Locator("#auto-top-up").GetByRole("button").Focus())
}

// topUps is how many purchases were paid.
func (c customer) topUps(t *testing.T, db *sqlx.DB) (n int) {
	t.Helper()
	if err := db.Get(&n, `select count(*) from topups where account_id = $1 and state = 'PAID'`, c.accountID); err != nil {
		t.Fatal(err)
	}
	return n
}

// mails is how many mails of a kind went to the customer.
func (c customer) mails(t *testing.T, db *sqlx.DB, kind string) (n int) {
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
	c := running(t).newCustomer(t, "disputes")
	pay := c.payments(t)
	row := c.order(t, c.signedIn(t), "20")
	pay.ask(t, "POST", "/_control/sessions/"+row.Session+"/pay?with=card", "")
	db := c.db(t)
	until(t, "it is paid", func() bool { return c.topUps(t, db) == 1 })

	env := append(pay.env(), "DATABASE_URL="+c.databaseURL(t), "UMG_SECRET_KEY="+c.secretKey(t))
	if out, status := run(t, env, "credit", "refund", row.ID, "7.50", "--reason", "asked for it"); status != 0 || !strings.Contains(out, "750 of 2000 cents") {
		t.Fatalf("refund: %d %s", status, out)
	}
	p := c.entersWith(t, desktopSize)
	p.has("$17.5")
	line := p.entry(c, "refund")
	p.must(p.expect.Locator(line).ToContainText("$7.5"))
	p.must(p.expect.Locator(line.Locator(".cell-after")).ToContainText("$17.5"))

	dispute := pay.ask(t, "POST", "/_control/payments/"+row.Session+"/dispute", "")
	until(t, "the account is frozen", func() bool { return c.frozen(t, db) })
	until(t, "the key knows", func() bool {
		return protocols["chat"].send(t, c, ask(cheapModel, "echo: x")).status == http.StatusForbidden
	})
	for _, proto := range allProtocols() {
		for _, members := range [][]string{nil, {`"stream":true`}} {
			proto.fails(t, proto.send(t, c, proto.ask(proto.model, "echo: x", members...)), "forbidden", "account_frozen", "")
		}
	}
	if key := c.data(t, "/v1/key"); key["account_frozen"] != true {
		t.Errorf("the key says %v", key)
	}
	p.must(p.expect.Locator(p.entry(c, "dispute")).ToBeVisible())
	p.sees("This account is frozen")
	p.must(p.expect.Locator(p.Locator("#frozen")).ToContainText("dispute"))
	p.open(c.ConsoleURL + "/console/billing")
	p.sees("Nothing can be bought while the account is frozen")
	p.axe()

	pay.ask(t, "POST", "/_control/disputes/"+textAt(dispute, "id")+"/close?outcome=won", "")
	until(t, "the account is free again", func() bool { return !c.frozen(t, db) })
	until(t, "the key works again", func() bool {
		return protocols["chat"].send(t, c, ask(cheapModel, "echo: again")).status == http.StatusOK
	})
	p.open(c.ConsoleURL + "/console/billing")
	p.must(p.expect.Locator(p.Locator("#frozen")).ToHaveCount(0))
	if b := c.balanceOf(t, c.accountID); b.Posted <= 17_400_000_000 || b.Posted >= 17_500_000_000 {
		t.Errorf("all of it should be back but for a call: %+v", b)
	}
	c.books(t)
}

func (c customer) frozen(t *testing.T, db *sqlx.DB) (is bool) {
	t.Helper()
	if err := db.Get(&is, `select frozen_at is not null from accounts where id = $1`, c.accountID); err != nil {
		t.Fatal(err)
	}
	return is
}
