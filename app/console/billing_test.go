package console_test

import (
	"crypto/rand"
	"encoding/csv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/console"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/operator"
	"umg/app/postgres/pgtest"
	"umg/app/simulator/payments"
	"umg/billing"
	"umg/billing/stripe"
)

const payKeyOfTest = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"

var (
	topUpPath   = regexp.MustCompile(`/console/billing/topups/top_[0-9a-z]{26}`)
	payAddress  = regexp.MustCompile(`/pay/(cs_[0-9A-Za-z_]+)`)
	formKey     = regexp.MustCompile(`name="key" value="(pay_[0-9a-z]{26})"`)
	transaction = regexp.MustCompile(`/console/requests\?transaction=txn_[0-9a-z]{26}`)
)

// paymentConsole is a console that sells credit, over a test server of the payment service.
type paymentConsole struct {
	*fixture
	ledger *billing.Ledger
	sim    string     // This is the address of the test server.
	told   chan error // The channel receives the result of each event.
}

func withPayments(t *testing.T) *paymentConsole {
	t.Helper()
	ids, log, db := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler), pgtest.New(t)
	h := &paymentConsole{told: make(chan error, 100), ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})}
	mails, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var service *stripe.Service
	hooks := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = service.Webhook(r.Context(), body, r.Header.Get("Stripe-Signature"))
		}
		h.told <- err
	}))
	const secret = "whsec_a_secret_of_thirty_two_chars"
	sim := payments.New(payments.Options{
		Now: time.Now, Random: rand.Reader, Key: payKeyOfTest, Secret: secret, WebhookURL: hooks.URL, Control: true, RetryWaits: []time.Duration{},
	})
	api := httptest.NewServer(sim)
	t.Cleanup(func() { api.Close(); sim.Close(); hooks.Close() })
	h.sim = api.URL
	service, err = stripe.New(db, stripe.Options{
		Key: payKeyOfTest, WebhookSecret: secret, APIBase: api.URL, BaseURL: "http://gateway.test", Ledger: h.ledger, Mail: mails,
		Now: time.Now, IDs: ids, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.fixture = newFixture(t, db, db, nil, func(c *console.Options) {
		c.Payments, c.IDs, c.Notifications = service, ids, notification.New(db, time.Now)
		c.OperatorsNeedNoCode = true
		c.Operator.Actions = operator.New(db, operator.Options{Ledger: h.ledger, Now: time.Now, IDs: ids})
	})
	return h
}

// control tells the stand-in something.
func (h *paymentConsole) control(path string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.sim+"/_control/"+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		h.t.Fatalf("%s: %d", path, resp.StatusCode)
	}
}

// order sends the form for an amount, and gives the path of the top-up's page and the session to pay.
func (h *paymentConsole) order(p *person, amount string) (at, session string) {
	h.t.Helper()
	key := formKey.FindStringSubmatch(p.see("/console/billing").body)
	a := p.send("/console/billing/topups", url.Values{"amount": {amount}, "key": {key[1]}})
	pay := payAddress.FindStringSubmatch(a.header.Get("Refresh"))
	if a.status != 200 || pay == nil || !strings.Contains(a.body, h.sim+pay[0]) {
		h.t.Fatalf("order: %d %q %v", a.status, a.header.Get("Refresh"), alerts(a.body))
	}
	at = topUpPath.FindString(p.see("/console/billing").body)
	return at, pay[1]
}

// paid reports the page of a top-up once an event has credited it.
func (h *paymentConsole) paid(p *person, at, session string) reply {
	h.t.Helper()
	h.control("sessions/" + session + "/pay")
	for range cap(h.told) {
		select {
		case err := <-h.told:
			if err != nil {
				h.t.Fatalf("an event was refused: %v", err)
			}
		case <-h.t.Context().Done():
			h.t.Fatal("the payment was never told of")
		}
		if a := p.see(at); strings.Contains(a.body, `data-state="paid"`) {
			return a
		}
	}
	h.t.Fatal("the payment credited nothing")
	return reply{}
}

// accountOf is the account of the only person.
func (h *fixture) accountOf(email string) (id string) {
	h.t.Helper()
	err := h.db.GetContext(h.t.Context(), &id,
		`select m.account_id from memberships m join users u on u.id = m.user_id where u.email = $1`, email)
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// spend takes credit as a call would.
func spend(t *testing.T, ledger *billing.Ledger, db *sqlx.DB, account, model string, cost app.Amount) {
	t.Helper()
	id := app.IDs{Now: time.Now, Random: rand.Reader}.New("req")
	hold, err := ledger.HoldFor(t.Context(), db, billing.HoldRequest{ID: id, AccountID: account, Want: cost}, time.Hour)
	if err == nil {
		err = ledger.SettleIn(t.Context(), db, hold, billing.Settlement{Cost: cost, Record: billing.UsageRecord{
			RequestID: id, Model: model, Outcome: "succeeded", Reason: string(billing.ReasonCompleted), StartedAt: time.Now(),
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCreditIsBoughtByPlainForms goes the whole way without scripts, and beside it what the script would ask for.
func TestCreditIsBoughtByPlainForms(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("buyer@example.com")
	has(t, "before", p.see("/console/billing"), 200, "No top-ups yet", "agree to the nano-dollar", "Trial", "There is no saved card yet")
	at, session := h.order(p, "25")
	has(t, "waiting", p.see(at), 200, "Waiting for the payment to be confirmed", `data-poll`, at+"/progress?since=")
	has(t, "came back without paying", p.see(at+"?cancelled=true"), 200, "You left before paying", "Back to the payment page")
	p.headers["HX-Request"] = "true"
	has(t, "asked for the first time", p.see(at+"/progress?since="+strconv.FormatInt(time.Now().Unix(), 10)), 200, "data-poll", `id="balance"`)
	slow := p.see(at + "/progress?since=" + strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10))
	has(t, "asked for long", slow, 200, "The payment is not confirmed yet")
	if strings.Contains(slow.body, "data-poll") {
		t.Error("the page never stops polling")
	}
	delete(p.headers, "HX-Request")
	done := h.paid(p, at, session)
	has(t, "paid", done, 200, "$25.00 of credit was added", "Your balance is $30.00", "Receipt")
	if strings.Contains(done.body, "data-poll") {
		t.Error("a page that has its answer goes on asking")
	}
	if a := p.see(at + "/progress"); a.status != http.StatusSeeOther || a.header.Get("Location") != at {
		t.Errorf("the part without scripts: %d %s", a.status, a.header.Get("Location"))
	}
	has(t, "afterwards", p.see("/console/billing"), 200, "$30.00", "Paid", "/receipts/", "agree to the nano-dollar")
	has(t, "the ledger", p.see("/console/billing/ledger"), 200, "+$25.00", "Top-up and receipt", at, "Trial credit")
	other := h.signedIn("stranger@example.com")
	has(t, "another account's", other.see(at), 404)
	has(t, "another account's part", other.see(at+"/progress"), 303)
}

func TestSendingAPurchaseTwiceBuysOnce(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("twice@example.com")
	form := url.Values{"amount": {"own"}, "own": {" $12.50 "}, "key": {formKey.FindStringSubmatch(p.see("/console/billing").body)[1]}}
	first, second := p.send("/console/billing/topups", form), p.send("/console/billing/topups", form)
	if first.header.Get("Refresh") != second.header.Get("Refresh") || !payAddress.MatchString(first.header.Get("Refresh")) {
		t.Errorf("%q and %q", first.header.Get("Refresh"), second.header.Get("Refresh"))
	}
	at := topUpPath.FindString(p.see("/console/billing").body)
	h.paid(p, at, payAddress.FindStringSubmatch(first.header.Get("Refresh"))[1])
	if a := p.send("/console/billing/topups", form); a.status != http.StatusSeeOther || a.header.Get("Location") != at {
		t.Errorf("a third time: %d %s", a.status, a.header.Get("Location"))
	}
	has(t, "credited once", p.see(at), 200, "Your balance is $17.50")
}

func TestAmountsThatCannotBeMeantStandBesideTheirField(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("amounts@example.com")
	for _, c := range []struct{ path, field, value, id string }{
		{"topups", "own", "", "topup-amount-error"}, {"topups", "own", "4.99", "topup-amount-error"},
		{"topups", "own", "10000.01", "topup-amount-error"}, {"topups", "own", "12.345", "topup-amount-error"},
		{"topups", "own", "1e3", "topup-amount-error"}, {"topups", "own", "-20", "topup-amount-error"},
		{"topups", "own", `"><b>x`, "topup-amount-error"}, {"topups", "own", "99999999999999999999", "topup-amount-error"},
		{"auto", "threshold", "0.5", "auto-threshold-error"}, {"auto", "amount", "ten", "auto-amount-error"},
		{"auto", "cap", "9", "auto-cap-error"}, {"low", "threshold", "-1", "low-threshold-error"}, {"low", "threshold", "0.001", "low-threshold-error"},
	} {
		form := url.Values{"amount": {"own"}}
		if c.path == "auto" {
			form = url.Values{"enabled": {"true"}, "threshold": {"1"}, "amount": {"10"}, "cap": {"10"}}
		}
		form.Set(c.field, c.value)
		a := p.send("/console/billing/"+c.path, form)
		if a.status != 422 || !strings.Contains(a.body, `id="`+c.id+`"`) || strings.Contains(a.body, "<b>x") || payAddress.MatchString(a.body) {
			t.Errorf("%s %s %q: %d %v", c.path, c.field, c.value, a.status, alerts(a.body))
		}
		if c.value == "12.345" && !strings.Contains(a.body, `value="12.345"`) {
			t.Error("what was typed is gone")
		}
	}
	has(t, "nothing was bought", p.see("/console/billing"), 200, "No top-ups yet")
}

func TestAutomaticTopUpAsksBeforeItCharges(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("auto@example.com")
	form := url.Values{"enabled": {"true"}, "threshold": {"100"}, "amount": {"50"}, "cap": {"200"}, "agreed": {"50"}}
	has(t, "without a card", p.send("/console/billing/auto", form), 409, "There is no saved card to charge")
	at, session := h.order(p, "10")
	h.paid(p, at, session)
	form.Del("agreed")
	has(t, "asked", p.send("/console/billing/auto", form), 422, "This charges $50.00 at once", `name="agreed" value="50"`, `value="100"`)
	form.Set("agreed", "5")
	has(t, "agreed to something else", p.send("/console/billing/auto", form), 422, "This charges $50.00 at once")
	form.Set("agreed", "50")
	has(t, "agreed", p.after(p.send("/console/billing/auto", form)), 200, "Automatic top-up is on.", "Buys $50.00 whenever less than $100.00")
	has(t, "saved again", p.after(p.send("/console/billing/auto", form)), 200, "Automatic top-up is on.")
	has(t, "off", p.after(p.send("/console/billing/auto", nil)), 200, "Automatic top-up is off.")
	has(t, "a mail", p.after(p.send("/console/billing/low", url.Values{"threshold": {"7.50"}})), 200, "when less than $7.50 is left", `value="7.5"`)
	has(t, "no mail", p.after(p.send("/console/billing/low", url.Values{"threshold": {"0"}})), 200, "No mail is sent")
	portal := p.send("/console/billing/portal", nil)
	has(t, "the portal", portal, 200, "On to the payment service")
	if !strings.Contains(portal.header.Get("Refresh"), h.sim+"/portal/") {
		t.Errorf("the portal is at %q", portal.header.Get("Refresh"))
	}
	has(t, "a portal of an account without a customer", h.signedIn("new@example.com").do(http.MethodPost, "/console/billing/portal", url.Values{}), 303)
}

func TestWithoutAPaymentServiceNothingCanBeBought(t *testing.T) {
	t.Parallel()
	h := setup(t)
	p := h.signedIn("free@example.com")
	has(t, "the page", p.see("/console/billing"), 200, "No payment service is configured", "Trial", "agree to the nano-dollar")
	for _, path := range []string{"/topups", "/auto", "/low", "/portal"} {
		has(t, path, p.send("/console/billing"+path, url.Values{"amount": {"25"}}), 404)
	}
	has(t, "a top-up", p.see("/console/billing/topups/top_1"), 404)
}

func TestWhatAMonthWentToAddsUpAndIsProven(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("spender@example.com")
	account := h.accountOf("spender@example.com")
	spend(t, h.ledger, h.db, account, "aurora-large", 1_204_918_751)
	spend(t, h.ledger, h.db, account, "aurora-large", 43)
	spend(t, h.ledger, h.db, account, "cobalt-code", 2_000_000_000)
	total := `$3.20<span class="money-fine">4918794</span>`
	for by, name := range map[string]string{"model": "cobalt-code", "key": "Playground", "day": time.Now().UTC().Format("Mon 2 Jan")} {
		has(t, by, p.see("/console/billing?by="+by), 200, name, total, "add up to the total exactly", "agree to the nano-dollar")
	}
	has(t, "a month before", p.see("/console/billing?month="+time.Now().UTC().AddDate(0, -2, 0).Format("2006-01")), 200, "Nothing was used in")
	if _, err := h.db.ExecContext(t.Context(), `update usage_rollups set cost_nanos = cost_nanos + 1 where model = 'cobalt-code'`); err != nil {
		t.Fatal(err)
	}
	has(t, "wrong books", p.see("/console/billing"), 200, "The sums of this account do not agree", "4918795", "4918794", "Differs by $0.000000001")
}

func TestTheLedgerIsFilteredPagedAndExported(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("ledger@example.com")
	account := h.accountOf("ledger@example.com")
	const grants = 230
	for i := range grants {
		reason := "=HYPERLINK(\"http://x\"),\n+1"
		if i > 0 {
			reason = "Nr " + strconv.Itoa(i)
		}
		err := h.ledger.Grant(t.Context(), h.db, billing.Grant{
			AccountID: account, Kind: billing.Adjustment, Amount: app.Amount(i + 1), Source: "operator:" + account + strconv.Itoa(i), Reason: reason,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	spend(t, h.ledger, h.db, account, "aurora-large", 7)
	first := p.see("/console/billing/ledger")
	has(t, "all", first, 200, "50 entries on this page", "1 request", "\u2212$0.000000007")
	if !transaction.MatchString(first.body) {
		t.Error("the charge leads to no requests")
	}
	older := regexp.MustCompile(`/console/billing/ledger\?before=\d+`).FindString(first.body)
	has(t, "the next page", p.see(older), 200, "Newest", "Older", "Nr 180")
	has(t, "charges", p.see("/console/billing/ledger?kind=charge"), 200, "1 entry", "Show all", "/console/billing/ledger.csv?kind=charge")
	has(t, "of another time", p.see("/console/billing/ledger?to=2020-01-01"), 200, "No entry matches")
	has(t, "backwards", p.see("/console/billing/ledger?from=2026-02-02&to=2026-02-01"), 200, "No day is in that range")
	has(t, "nonsense", p.see("/console/billing/ledger?kind=x&from=now&before=-1"), 200, "50 entries on this page")
	a := p.see("/console/billing/ledger.csv")
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/csv") || !strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("export: %d %v", a.status, a.header)
	}
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || len(rows) != 1+1+grants+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var sum app.Amount
	for i := len(rows) - 1; i > 0; i-- {
		amount, _ := app.ParseAmount(rows[i][7])
		if sum += amount; sum.String() != rows[i][8] {
			t.Fatalf("row %d: the balance is %s after %s, want %s", i, rows[i][8], rows[i][7], sum)
		}
	}
	if evil := rows[len(rows)-2][4]; evil != "'=HYPERLINK(\"http://x\"),\n+1" {
		t.Errorf("a formula is exported as %q", evil)
	}
	one, _ := csv.NewReader(strings.NewReader(p.see("/console/billing/ledger.csv?kind=charge&before=1").body)).ReadAll()
	if len(one) != 2 || one[1][3] != "charge" || one[1][6] != "1" {
		t.Errorf("the export of charges is %v", one)
	}
}

func TestEverybodyReadsTheRules(t *testing.T) {
	t.Parallel()
	h := setup(t)
	a := h.visitor().see("/console/billing/rules")
	has(t, "the rules", a, 200, "What is charged")
	for _, r := range billing.Rules() {
		if !strings.Contains(a.body, `id="`+string(r.Reason)+`"`) {
			t.Errorf("%s has no anchor", r.Reason)
		}
	}
}
