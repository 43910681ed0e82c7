package payments

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"
)

func TestACheckoutThatIsPaidOnThePageIsCompleteEverywhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.checkout()
	if o.Status != "open" || o.PaymentStatus != "unpaid" || o.AmountTotal != 2500 || o.Metadata["topup_id"] != "tu_1" || !strings.HasPrefix(o.ID, "cs_test_") {
		t.Fatalf("a new checkout: %+v", o)
	}
	res, err := b.http.PostForm(o.URL, url.Values{"with": {"card"}})
	b.must(err)
	res.Body.Close()
	if at := res.Header.Get("Location"); res.StatusCode != 303 || at != "https://shop.example.com/done?session="+o.ID {
		t.Fatalf("after paying: %d to %q", res.StatusCode, at)
	}
	p := &stripe.CheckoutSessionParams{}
	p.AddExpand("payment_intent.latest_charge")
	p.AddExpand("line_items")
	o, err = b.api.CheckoutSessions.Get(o.ID, p)
	b.must(err)
	ch := o.PaymentIntent.LatestCharge
	if o.Status != "complete" || o.PaymentStatus != "paid" || ch.Amount != 2500 || !ch.Paid || o.PaymentIntent.Metadata["topup_id"] != "tu_1" ||
		o.LineItems.Data[0].Description != "Credit <b>" || o.CustomerDetails.Email != "ada@example.com" {
		t.Fatalf("after paying: %+v, charge %+v", o, ch)
	}
	res, err = b.http.Get(ch.ReceiptURL)
	b.must(err)
	page, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 200 || !strings.Contains(string(page), "$25.00") {
		t.Fatalf("the receipt: %d %s", res.StatusCode, page)
	}
	b.delivered("type=checkout.session.completed&status=200", "1")
	seen := map[stripe.EventType]bool{}
	for _, one := range b.hook.all() {
		e, err := webhook.ConstructEvent(one.body, one.signature, secret)
		b.must(err)
		seen[e.Type] = true
	}
	_ = seen
}

func TestACardThatIsDeclinedLeavesTheCheckoutOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.checkout()
	res, err := b.http.PostForm(o.URL, url.Values{"with": {"declined"}})
	b.must(err)
	page, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 402 || !strings.Contains(string(page), "Your card was declined.") || !strings.Contains(string(page), "Credit &lt;b&gt;") {
		t.Fatalf("the page after a declined card: %d %s", res.StatusCode, page)
	}
	got, err := b.api.CheckoutSessions.Get(o.ID, nil)
	b.must(err)
	if got.Status != "open" || got.PaymentStatus != "unpaid" {
		t.Fatalf("after a declined card: %s, %s", got.Status, got.PaymentStatus)
	}
	b.control(http.MethodPost, "sessions/"+o.ID+"/pay", "", nil)
	list, err := b.http.Get(o.URL)
	b.must(err)
	list.Body.Close()
	charges := b.api.Charges.List(&stripe.ChargeListParams{PaymentIntent: new(got.PaymentIntent.ID)})
	var states []string
	for charges.Next() {
		states = append(states, string(charges.Charge().Status))
	}
	if strings.Join(states, " ") != "succeeded failed" {
		t.Fatalf("charges of the payment, newest first: %v", states)
	}
}

func TestACheckoutExpiresByTheClockAndOnDemand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	byClock, onDemand := b.checkout(), b.checkout()
	o, err := b.api.CheckoutSessions.Expire(onDemand.ID, nil)
	b.must(err)
	if o.Status != "expired" || o.URL != "" {
		t.Fatalf("after expire: %s", o.Status)
	}
	if _, err := b.api.CheckoutSessions.Expire(onDemand.ID, nil); b.failed(err).HTTPStatusCode != 400 {
		t.Fatal("a checkout expired twice")
	}
	b.advance(24*time.Hour - time.Second)
	if o, _ = b.api.CheckoutSessions.Get(byClock.ID, nil); o.Status != "open" {
		t.Fatalf("a second before its end: %s", o.Status)
	}
	b.advance(time.Second)
	if o, _ = b.api.CheckoutSessions.Get(byClock.ID, nil); o.Status != "expired" {
		t.Fatalf("at its end: %s", o.Status)
	}
	if status := b.tryControl(http.MethodPost, "sessions/"+byClock.ID+"/pay", "", nil); status != 400 {
		t.Fatalf("paying an expired checkout: %d", status)
	}
	b.delivered("type=checkout.session.expired&status=200", "2")
}

func TestAPaymentThatArrivesLaterIsTold(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]struct{ event, payment, state string }{
		"succeeded": {"checkout.session.async_payment_succeeded", "paid", "succeeded"},
		"failed":    {"checkout.session.async_payment_failed", "unpaid", "requires_payment_method"},
	} {
		b := setup(t)
		o := b.checkout()
		b.control(http.MethodPost, "sessions/"+o.ID+"/pay?with=async", "", nil)
		p := &stripe.CheckoutSessionParams{}
		p.AddExpand("payment_intent")
		o, err := b.api.CheckoutSessions.Get(o.ID, p)
		b.must(err)
		if o.Status != "complete" || o.PaymentStatus != "unpaid" || o.PaymentIntent.Status != "processing" {
			t.Fatalf("before the outcome: %s %s %s", o.Status, o.PaymentStatus, o.PaymentIntent.Status)
		}
		b.control(http.MethodPost, "payments/"+o.ID+"/resolve?outcome="+outcome, "", nil)
		o, err = b.api.CheckoutSessions.Get(o.ID, p)
		b.must(err)
		if string(o.PaymentStatus) != want.payment || string(o.PaymentIntent.Status) != want.state {
			t.Fatalf("%s: %s %s", outcome, o.PaymentStatus, o.PaymentIntent.Status)
		}
		b.delivered("type="+want.event+"&status=200", "1")
	}
}
