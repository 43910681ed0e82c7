package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/idempotency"
	"umg/billing/stripe"
)

// Limits of the routes about buying credit. What is a whole number of cents is written in dollars.
const (
	topUpMin        = stripe.CentsMin * app.Cent
	topUpMax        = stripe.CentsMax * app.Cent
	thresholdMin    = app.Dollar
	thresholdMax    = 10_000 * app.Dollar
	monthlyCapMax   = 1_000_000 * app.Dollar
	currencyOfMoney = "usd"
)

// billingRoutes buy credit, set up automatic purchases, and set the balance below which members get a mail. They are an extension.
func billingRoutes() []Route {
	route := func(method, path string, serve func(*API, *call) error) Route {
		return Route{Method: method, Path: path, Right: app.ManageMoney, Family: OpenAIFamily, serve: withPayments(serve)}
	}
	get := func(path string, serve func(*API, *call) error) Route { return route(http.MethodGet, path, serve) }
	post := func(path string, serve func(*API, *call) error) Route { return route(http.MethodPost, path, serve) }
	const (
		topUps = "/v1/top_ups"
		auto   = "/v1/auto_top_up"
		alert  = "/v1/low_balance_alert"
	)
	return []Route{
		get(topUps, (*API).listTopUps), post(topUps, (*API).createTopUp), get(topUps+"/:id", (*API).getTopUp),
		get(auto, (*API).getAutoTopUp), post(auto, (*API).setAutoTopUp),
		get(alert, (*API).getLowBalanceAlert), post(alert, (*API).setLowBalanceAlert),
		post("/v1/billing_portal", (*API).openPortal),
	}
}

// withPayments refuses purchases with an explanation where payments are disabled. Past purchases can still be read.
func withPayments(serve func(*API, *call) error) func(*API, *call) error {
	return func(a *API, x *call) error {
		if a.o.Payments == nil || x.Request().Method == http.MethodPost && !a.o.Payments.Enabled() {
			return stripe.Disabled()
		}
		return serve(a, x)
	}
}

// topUpJSON is a purchase of credit as clients see it. Amounts are decimal dollars in text, so that no reader rounds them.
type topUpJSON struct {
	ID         string  `json:"id"`
	Object     string  `json:"object"`
	Amount     string  `json:"amount"`
	Currency   string  `json:"currency"`
	Status     string  `json:"status"`
	Automatic  bool    `json:"automatic"`
	URL        *string `json:"url"` // A person pays at URL, which is null unless the top-up is open.
	ReceiptURL *string `json:"receipt_url"`
	Failure    *string `json:"failure"`
	Refunded   string  `json:"refunded"`
	CreatedAt  int64   `json:"created_at"`
	PaidAt     *int64  `json:"paid_at"`
}

func topUpBody(t stripe.Topup) topUpJSON {
	return topUpJSON{
		ID: t.ID, Object: "top_up", Amount: dollarText(t.Cents), Currency: currencyOfMoney, Status: strings.ToLower(string(t.State)),
		Automatic: t.Auto, URL: orNull(t.URL), ReceiptURL: orNull(t.ReceiptURL), Failure: orNull(t.Failure),
		Refunded: dollarText(t.RefundedCents), CreatedAt: t.CreatedAt.Unix(), PaidAt: seconds(t.PaidAt),
	}
}

func dollarText(cents int64) string { return (app.Amount(cents) * app.Cent).String() }

func (a *API) listTopUps(x *call) error {
	limit, err := x.pageSize()
	if err != nil {
		return err
	}
	list, err := a.o.Payments.TopupsAfter(x.Request().Context(), x.key.AccountID, x.QueryParam("after"), limit+1)
	if err != nil {
		return err
	}
	return a.object(x, listBody(list[:min(len(list), limit)], len(list) > limit, func(t stripe.Topup) string { return t.ID }, topUpBody))
}

func (a *API) getTopUp(x *call) error {
	t, err := a.o.Payments.Topup(x.Request().Context(), x.key.AccountID, x.Param("id"))
	return reply(a, x, t, err, topUpBody)
}

// createTopUp opens a checkout, once for each Idempotency-Key. A person pays at its url; the card that they leave there is
// what automatic top-ups charge.
func (a *API) createTopUp(x *call) error {
	f, err := a.strict(x, "amount")
	if err != nil {
		return err
	}
	amount, given := f.dollars("amount", topUpMin, topUpMax)
	if f.err == nil && !given {
		f.err = missingField("amount", "amount is required: dollars in whole cents as a string, such as \"25\" or \"12.50\".")
	}
	if f.err != nil {
		return f.err
	}
	dry, err := x.dryRun()
	if err != nil {
		return err
	}
	if dry {
		return a.object(x, struct {
			Object   string `json:"object"`
			Amount   string `json:"amount"`
			Currency string `json:"currency"`
		}{"top_up.quote", amount.String(), currencyOfMoney})
	}
	describe := func(key string) idempotency.Request {
		return idempotency.Request{Operation: "top_ups", Body: []byte(amount.String()), ResultID: checkoutKey(key, a.now())}
	}
	body, _, err := a.createOnce(x, describe, func(id string) ([]byte, error) {
		t, err := a.o.Payments.Checkout(x.Request().Context(), stripe.CheckoutRequest{
			Principal: x.principal(), Cents: int64(amount / app.Cent), IdempotencyKey: "api:" + cmp.Or(id, a.o.IDs.New("pay")),
		})
		if err != nil {
			return nil, err
		}
		return json.Marshal(topUpBody(t))
	})
	if err != nil {
		return err
	}
	return a.send(x, body)
}

// checkoutKey names the checkout of a client's key at the payment service. It is the same for a day, so that a retry after a failure is
// the same purchase. Using the key again when its answer has expired is another purchase.
func checkoutKey(key string, now time.Time) string {
	return fmt.Sprintf("pay_%x", sha256.Sum256([]byte(now.UTC().Format(time.DateOnly)+" "+key)))
}

// autoTopUpJSON are the rules by which the saved card is charged automatically. Amounts are null until they were chosen.
type autoTopUpJSON struct {
	Object         string  `json:"object"`
	Enabled        bool    `json:"enabled"`
	Threshold      *string `json:"threshold"`
	Amount         *string `json:"amount"`
	MonthlyCap     *string `json:"monthly_cap"`
	HasCard        bool    `json:"has_card"`
	Failures       int     `json:"failures"`
	DisabledReason *string `json:"disabled_reason"`
}

func (a *API) getAutoTopUp(x *call) error {
	t, err := a.o.Payments.AutoTopup(x.Request().Context(), x.key.AccountID)
	if err != nil {
		return err
	}
	body := autoTopUpJSON{
		Object: "auto_top_up", Enabled: t.Enabled, HasCard: t.HasCard, Failures: t.Failures, DisabledReason: orNull(t.DisabledReason),
	}
	if t.Cents > 0 {
		threshold, amount, monthly := t.ThresholdNanos.String(), dollarText(t.Cents), dollarText(t.MonthlyCapCents)
		body.Threshold, body.Amount, body.MonthlyCap = &threshold, &amount, &monthly
	}
	return a.object(x, body)
}

// setAutoTopUp changes what is given and leaves the rest.
func (a *API) setAutoTopUp(x *call) error {
	f, err := a.strict(x, "enabled", "threshold", "amount", "monthly_cap")
	if err != nil {
		return err
	}
	ctx := x.Request().Context()
	to, err := a.o.Payments.AutoTopup(ctx, x.key.AccountID)
	if err != nil {
		return err
	}
	f.read("enabled", "true or false", &to.Enabled)
	for _, field := range []struct {
		name        string
		least, most app.Amount
		saved       bool
		set         func(app.Amount)
	}{
		{"threshold", thresholdMin, thresholdMax, to.ThresholdNanos > 0, func(n app.Amount) { to.ThresholdNanos = n }},
		{"amount", topUpMin, topUpMax, to.Cents > 0, func(n app.Amount) { to.Cents = int64(n / app.Cent) }},
		{"monthly_cap", topUpMin, monthlyCapMax, to.MonthlyCapCents > 0, func(n app.Amount) { to.MonthlyCapCents = int64(n / app.Cent) }},
	} {
		n, given := f.dollars(field.name, field.least, field.most)
		switch {
		case f.err != nil:
		case given && !to.Enabled:
			f.err = wrongField(field.name, "left out while automatic top-up is off; send it together with enabled: true")
		case given:
			field.set(n)
		case to.Enabled && !field.saved:
			f.err = missingField(field.name, field.name+" is required to turn automatic top-up on: dollars as a string, such as \"50\".")
		}
	}
	if f.err != nil {
		return f.err
	}
	if err := a.o.Payments.SetAutoTopup(ctx, x.principal(), to); err != nil {
		return err
	}
	return a.getAutoTopUp(x)
}

func (a *API) getLowBalanceAlert(x *call) error {
	amount, err := a.o.Payments.LowBalance(x.Request().Context(), x.key.AccountID)
	if err != nil {
		return err
	}
	return a.object(x, struct {
		Object    string `json:"object"`
		Enabled   bool   `json:"enabled"`
		Threshold string `json:"threshold"`
	}{"low_balance_alert", amount > 0, amount.String()})
}

func (a *API) setLowBalanceAlert(x *call) error {
	f, err := a.strict(x, "threshold")
	if err != nil {
		return err
	}
	amount, given := f.dollars("threshold", 0, thresholdMax)
	if f.err == nil && !given {
		f.err = missingField("threshold", "threshold is required: dollars as a string, such as \"5\"; \"0\" for no mail.")
	}
	if f.err != nil {
		return f.err
	}
	if err := a.o.Payments.SetLowBalance(x.Request().Context(), x.principal(), amount); err != nil {
		return err
	}
	return a.getLowBalanceAlert(x)
}

func (a *API) openPortal(x *call) error {
	if _, err := a.strict(x); err != nil {
		return err
	}
	address, err := a.o.Payments.Portal(x.Request().Context(), x.principal())
	if err != nil {
		return err
	}
	return a.object(x, struct {
		Object string `json:"object"`
		URL    string `json:"url"`
	}{"billing_portal", address})
}

// dollars reads one member that is an amount of whole cents, and reports whether the body has it.
func (f *members) dollars(name string, least, most app.Amount) (n app.Amount, given bool) {
	var text *string
	what := fmt.Sprintf("dollars in whole cents as a string, from \"%s\" to \"%s\"", least, most)
	f.read(name, what, &text)
	if f.err != nil || text == nil {
		return 0, false
	}
	n, err := app.ParseAmount(*text)
	if err != nil || n < least || n > most || n%app.Cent != 0 {
		f.err = wrongField(name, what+", not "+quoted(shorten(*text)))
	}
	return n, true
}
