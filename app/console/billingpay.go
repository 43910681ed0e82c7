package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/billing/stripe"
	billingpages "umg/views/billing"
	"umg/views/format"
	"umg/views/ui"
)

const (
	payKeyPrefix     = "pay"
	waitForPayMax    = 5 * time.Minute
	thresholdMin     = app.Dollar
	thresholdMax     = 10_000 * app.Dollar
	monthlyMax       = 1_000_000 * app.Dollar
	autoThresholdNew = 10
	autoAmountNew    = 50
	autoCapNew       = 200
)

// payKey matches the idempotency key of a form that buys credit. Sending the form twice buys once.
var payKey = regexp.MustCompile(`^` + payKeyPrefix + `_[0-9a-z]{26}$`)

// dollarsOf parses an amount of whole cents. If the amount is invalid, fault is a sentence for the reader.
func dollarsOf(text string, least, most app.Amount, example string) (a app.Amount, fault string) {
	a, err := app.ParseAmount(strings.TrimPrefix(strings.TrimSpace(text), "$"))
	if err != nil || a < least || a > most || a%app.Cent != 0 {
		return 0, fmt.Sprintf("Enter an amount from %s to %s in whole cents, such as %s.",
			format.ColumnDollars(least, 0), format.ColumnDollars(most, 0), example)
	}
	return a, ""
}

func cents(a app.Amount) int64 { return int64(a / app.Cent) }

// buyCredit opens the payment page. The form keeps its key while it is refused, so that trying again is the same purchase.
func (c *Console) buyCredit(p *page.Page) error {
	form := billingpages.TopUpForm{Choice: p.FormValue("amount"), Own: p.FormValue("own"), Key: p.FormValue("key")}
	if !payKey.MatchString(form.Key) {
		form.Key = c.o.IDs.New(payKeyPrefix)
	}
	text := form.Choice
	if form.Choice == billingpages.OwnAmount {
		text = form.Own
	}
	amount, fault := dollarsOf(text, billingpages.TopUpMin, billingpages.TopUpMax, "50 or 12.50")
	if fault != "" {
		form.Choice, form.OwnError = billingpages.OwnAmount, fault
		return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Pay.TopUp = form })
	}
	t, err := c.o.Payments.Checkout(p.Request().Context(), stripe.CheckoutRequest{
		Principal: p.Principal(), Email: p.User.Email, Cents: cents(amount),
		IdempotencyKey: form.Key + "/" + strconv.FormatInt(cents(amount), 10),
	})
	if err != nil {
		form.FormError = app.AsError(err).Message
		return c.refusePay(p, err, func(b *billingpages.Overview) { b.Pay.TopUp = form })
	}
	if t.URL == "" {
		return p.Redirect(http.StatusSeeOther, billingPath+"/topups/"+t.ID)
	}
	return c.leaveFor(p, billingpages.Leaving{
		Title: "On to the payment page", Link: "Go to the payment page", URL: t.URL,
		Text: "You pay " + format.Dollars(amount) + " there and come back here. If your browser stays on this page, use the button.",
	})
}

// refusePay shows the page again after a purchase or a setting was rejected. It returns any other error.
func (c *Console) refusePay(p *page.Page, err error, change func(*billingpages.Overview)) error {
	switch kind := app.KindOf(err); kind {
	case app.Invalid, app.Unprocessable:
		return c.billingAgain(p, http.StatusUnprocessableEntity, change)
	case app.Conflict, app.Forbidden, app.Exhausted, app.Unavailable:
		return c.billingAgain(p, page.Status(kind), change)
	}
	return err
}

// billingAgain shows the page again with a form as it was sent and what is wrong with it.
func (c *Console) billingAgain(p *page.Page, status int, change func(*billingpages.Overview)) error {
	b, err := c.billingPage(p)
	if err != nil {
		return err
	}
	change(&b)
	return c.Render(p, status, billingpages.OverviewPage(b))
}

// leaveFor leads to another server by a page of this server: the content security policy allows redirects of a form only to this
// server, and a user whose browser does not go on by itself sees the target.
func (c *Console) leaveFor(p *page.Page, l billingpages.Leaving) error {
	l.Shell = c.Shell(p)
	p.Response().Header().Set("Refresh", "0; url="+l.URL)
	return c.Render(p, http.StatusOK, billingpages.LeavingPage(l))
}

func (c *Console) openPortal(p *page.Page) error {
	address, err := c.o.Payments.Portal(p.Request().Context(), p.Principal())
	if err != nil {
		if app.KindOf(err) == app.NotFound || app.KindOf(err) == app.Unavailable {
			return c.RedirectWithToast(p, ui.Danger, app.AsError(err).Message, billingPath)
		}
		return err
	}
	return c.leaveFor(p, billingpages.Leaving{
		Title: "On to the payment service", Link: "Go to the payment service", URL: address,
		Text: "Your cards are kept there. If your browser stays on this page, use the button.",
	})
}

func viewAutoTopUp(a stripe.AutoTopup, available app.Amount) billingpages.AutoTopUp {
	v := billingpages.AutoTopUp{
		On: a.Enabled, Enabled: a.Enabled, HasCard: a.HasCard, Failures: a.Failures, Off: a.DisabledReason, Balance: available,
		SavedThreshold: a.ThresholdNanos, SavedSize: ofCents(a.Cents), SavedIn: ofCents(a.MonthlyCapCents),
		Threshold: strconv.Itoa(autoThresholdNew), Amount: strconv.Itoa(autoAmountNew), Cap: strconv.Itoa(autoCapNew),
	}
	if a.Cents > 0 {
		v.Threshold, v.Amount, v.Cap = v.SavedThreshold.String(), v.SavedSize.String(), v.SavedIn.String()
	}
	return v
}

// setAutoTopUp changes the automatic top-up. What would charge the card at once is asked about first.
func (c *Console) setAutoTopUp(p *page.Page) error {
	ctx, id := p.Request().Context(), p.User.AccountID
	was, err := c.o.Payments.AutoTopup(ctx, id)
	if err != nil {
		return err
	}
	if p.FormValue("enabled") != "true" {
		if err := c.o.Payments.SetAutoTopup(ctx, p.Principal(), stripe.AutoTopup{}); err != nil {
			return err
		}
		return c.RedirectWithToast(p, ui.Success, "Automatic top-up is off.", billingPath)
	}
	credit, err := c.o.Ledger.Credit(ctx, id)
	if err != nil {
		return err
	}
	form := viewAutoTopUp(was, credit.Available())
	form.Enabled, form.Threshold, form.Amount, form.Cap = true, p.FormValue("threshold"), p.FormValue("amount"), p.FormValue("cap")
	threshold, fault := dollarsOf(form.Threshold, thresholdMin, thresholdMax, "10")
	form.ThresholdError = fault
	amount, fault := dollarsOf(form.Amount, billingpages.TopUpMin, billingpages.TopUpMax, "50")
	form.AmountError = fault
	most, fault := dollarsOf(form.Cap, max(amount, billingpages.TopUpMin), monthlyMax, "200")
	form.CapError = fault
	if form.ThresholdError != "" || form.AmountError != "" || form.CapError != "" {
		return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Pay.Auto = form })
	}
	// The card is charged at once if the balance is below the new threshold and was not below the one before.
	charges := credit.Available() < threshold && (!was.Enabled || credit.Available() >= was.ThresholdNanos)
	if charges && p.FormValue("agreed") != amount.String() {
		form.ChargesNow = amount
		return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Pay.Auto = form })
	}
	err = c.o.Payments.SetAutoTopup(ctx, p.Principal(), stripe.AutoTopup{
		Enabled: true, ThresholdNanos: threshold, Cents: cents(amount), MonthlyCapCents: cents(most),
	})
	if err != nil {
		form.FormError = app.AsError(err).Message
		return c.refusePay(p, err, func(b *billingpages.Overview) { b.Pay.Auto = form })
	}
	return c.RedirectWithToast(p, ui.Success, "Automatic top-up is on.", billingPath)
}

func (c *Console) setLowBalance(p *page.Page) error {
	form := billingpages.LowBalance{Threshold: p.FormValue("threshold"), Email: p.User.Email}
	threshold, fault := dollarsOf(form.Threshold, 0, thresholdMax, "5")
	if fault == "" {
		err := c.o.Payments.SetLowBalance(p.Request().Context(), p.Principal(), threshold)
		if err == nil && threshold == 0 {
			return c.RedirectWithToast(p, ui.Success, "No mail is sent about a low balance.", billingPath)
		}
		if err == nil {
			return c.RedirectWithToast(p, ui.Success, "A mail is sent when less than "+format.Dollars(threshold)+" is left.", billingPath)
		}
		if app.KindOf(err) != app.Invalid {
			return err
		}
		fault = app.AsError(err).Message
	}
	form.Error = fault
	return c.billingAgain(p, http.StatusUnprocessableEntity, func(b *billingpages.Overview) { b.Pay.Low = form })
}

// topUp is the page to which the payment page returns the user.
func (c *Console) topUp(p *page.Page) error {
	d, err := c.topUpDetail(p, c.o.Now().Unix())
	return page.Show(c.Renderer, p, http.StatusOK, billingpages.TopUpPage, d, err)
}

// topUpProgress is the part of the page that its script polls. Browsers without scripts are redirected to the page.
func (c *Console) topUpProgress(p *page.Page) error {
	if !p.ForScript() {
		return p.Redirect(http.StatusSeeOther, billingPath+"/topups/"+p.Param("id"))
	}
	since, err := strconv.ParseInt(p.QueryParam("since"), 10, 64)
	if err != nil {
		since = 0
	}
	d, err := c.topUpDetail(p, since)
	return page.Show(c.Renderer, p, http.StatusOK, billingpages.TopUpProgress, d, err)
}

// topUpDetail is the state of a top-up. The page stops polling after waitForPayMax.
func (c *Console) topUpDetail(p *page.Page, since int64) (billingpages.TopUpDetail, error) {
	if c.o.Payments == nil {
		return billingpages.TopUpDetail{}, app.Errorf(app.NotFound, "not_found", "There is no such page.")
	}
	t, err := c.o.Payments.Topup(p.Request().Context(), p.User.AccountID, p.Param("id"))
	if err != nil {
		return billingpages.TopUpDetail{}, err
	}
	waited := c.o.Now().Sub(time.Unix(since, 0))
	return billingpages.TopUpDetail{
		Shell: c.Shell(p), TopUp: viewTopUp(t), PayURL: t.URL, Since: since, Asking: waited < waitForPayMax,
		Cancelled: p.QueryParam("cancelled") == "true",
	}, nil
}
