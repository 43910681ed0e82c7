package payments

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// paidCheckout is a checkout that was paid with a card, which is saved with the customer.
func (b *bench) paidCheckout() (o *stripe.CheckoutSession, card *stripe.PaymentMethod) {
	b.Helper()
	o = b.checkout()
	b.control(http.MethodPost, "sessions/"+o.ID+"/pay", "", nil)
	p := &stripe.CheckoutSessionParams{}
	p.AddExpand("payment_intent.latest_charge")
	o, err := b.api.CheckoutSessions.Get(o.ID, p)
	b.must(err)
	cards := b.api.PaymentMethods.List(&stripe.PaymentMethodListParams{Customer: new(o.Customer.ID), Type: new("card")})
	if !cards.Next() {
		b.Fatal("no card was saved")
	}
	return o, cards.PaymentMethod()
}

func (b *bench) offSession(customerID, card string) (*stripe.PaymentIntent, error) {
	return b.api.PaymentIntents.New(&stripe.PaymentIntentParams{
		Amount: new(int64(1000)), Currency: new("usd"), Customer: &customerID, PaymentMethod: &card,
		OffSession: new(true), Confirm: new(true),
	})
}

func TestASavedCardPaysWithoutTheCustomer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o, card := b.paidCheckout()
	p, err := b.offSession(o.Customer.ID, card.ID)
	b.must(err)
	if p.Status != "succeeded" || p.AmountReceived != 1000 || p.LatestCharge == nil {
		t.Fatalf("%+v", p)
	}
	for outcome, code := range map[string]stripe.ErrorCode{"card_declined": "card_declined", "insufficient_funds": "card_declined",
		"expired_card": "expired_card", "authentication_required": "authentication_required"} {
		b.control(http.MethodPut, "cards/"+o.Customer.ID+"?outcome="+outcome, "", nil)
		_, err := b.offSession(o.Customer.ID, card.ID)
		e := b.failed(err)
		if e.HTTPStatusCode != 402 || e.Type != stripe.ErrorTypeCard || e.Code != code || e.PaymentIntent == nil ||
			e.PaymentIntent.Status != "requires_payment_method" || e.ChargeID == "" {
			t.Errorf("%s: %+v", outcome, e)
		}
	}
	b.control(http.MethodPut, "cards/"+card.ID+"?outcome=processing", "", nil)
	p, err = b.offSession(o.Customer.ID, card.ID)
	b.must(err)
	if p.Status != "processing" {
		t.Fatalf("a slow one: %s", p.Status)
	}
	b.control(http.MethodPost, "payments/"+p.ID+"/resolve", "", nil)
	if p, err = b.api.PaymentIntents.Get(p.ID, nil); err != nil || p.Status != "succeeded" {
		t.Fatalf("a slow one, later: %v %v", p, err)
	}
	stranger, err := b.api.Customers.New(nil)
	b.must(err)
	if _, err := b.offSession(stranger.ID, card.ID); b.failed(err).Param != "payment_method" {
		t.Errorf("the card of another customer: %v", err)
	}
}

func TestASlowPaymentArrivesByTheClock(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.AsyncAfter = time.Hour })
	o := b.checkout()
	b.control(http.MethodPost, "sessions/"+o.ID+"/pay?with=async", "", nil)
	b.advance(time.Hour)
	o, err := b.api.CheckoutSessions.Get(o.ID, nil)
	b.must(err)
	if o.PaymentStatus != "paid" {
		t.Fatalf("after an hour: %s", o.PaymentStatus)
	}
}

func TestRefundsNeverExceedTheCharge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o, _ := b.paidCheckout()
	ch := o.PaymentIntent.LatestCharge.ID
	r, err := b.api.Refunds.New(&stripe.RefundParams{PaymentIntent: &o.PaymentIntent.ID, Amount: new(int64(1000))})
	b.must(err)
	if r.Amount != 1000 || r.Charge.ID != ch || r.Status != "succeeded" {
		t.Fatalf("%+v", r)
	}
	_, err = b.api.Refunds.New(&stripe.RefundParams{Charge: &ch, Amount: new(int64(1501))})
	if e := b.failed(err); !strings.Contains(e.Msg, "($15.01) is greater than unrefunded amount on charge ($15.00)") {
		t.Errorf("more than is left: %v", e)
	}
	b.control(http.MethodPost, "payments/"+o.ID+"/refund", "", nil)
	if _, err = b.api.Refunds.New(&stripe.RefundParams{Charge: &ch}); b.failed(err).Code != "charge_already_refunded" {
		t.Errorf("when nothing is left: %v", err)
	}
	p := &stripe.ChargeParams{}
	p.AddExpand("refunds")
	got, err := b.api.Charges.Get(ch, p)
	b.must(err)
	if got.AmountRefunded != 2500 || !got.Refunded || len(got.Refunds.Data) != 2 {
		t.Errorf("%d refunded in %d", got.AmountRefunded, len(got.Refunds.Data))
	}
	b.delivered("type=charge.refunded&object="+ch+"&status=200", "2")
}

func TestADisputeTakesTheMoneyUntilItIsDecided(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"won", "lost"} {
		b := setup(t)
		o, _ := b.paidCheckout()
		ch := o.PaymentIntent.LatestCharge.ID
		var d struct{ ID string }
		b.control(http.MethodPost, "payments/"+o.ID+"/dispute?reason=fraudulent", "", &d)
		if status := b.tryControl(http.MethodPost, "payments/"+ch+"/dispute", "", nil); status != 400 {
			t.Errorf("disputed twice: %d", status)
		}
		got, err := b.api.Disputes.Get(d.ID, nil)
		b.must(err)
		if got.Status != "needs_response" || got.Amount != 2500 || got.Charge.ID != ch || got.PaymentIntent.ID != o.PaymentIntent.ID {
			t.Fatalf("%+v", got)
		}
		if _, err := b.api.Refunds.New(&stripe.RefundParams{Charge: &ch}); b.failed(err).Code != "charge_disputed" {
			t.Errorf("a refund of what is disputed: %v", err)
		}
		b.control(http.MethodPost, "disputes/"+d.ID+"/close?outcome="+outcome, "", nil)
		got, err = b.api.Disputes.Get(d.ID, nil)
		b.must(err)
		if string(got.Status) != outcome {
			t.Errorf("closed: %s", got.Status)
		}
		b.delivered("type=charge.dispute.closed&object="+d.ID, "1")
		if outcome == "won" {
			b.delivered("type=charge.dispute.funds_reinstated&object="+d.ID, "1")
			if _, err := b.api.Refunds.New(&stripe.RefundParams{Charge: &ch}); err != nil {
				t.Errorf("a refund after winning: %v", err)
			}
		}
	}
}

func TestTheCardsPageRemovesACard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o, card := b.paidCheckout()
	visit, err := b.api.BillingPortalSessions.New(&stripe.BillingPortalSessionParams{
		Customer: new(o.Customer.ID), ReturnURL: new("https://shop.example.com/billing"),
	})
	b.must(err)
	read := func() string {
		res, err := b.http.Get(visit.URL)
		b.must(err)
		defer res.Body.Close()
		page, _ := io.ReadAll(res.Body)
		return string(page)
	}
	if page := read(); !strings.Contains(page, "4242") || !strings.Contains(page, `href="https://shop.example.com/billing"`) ||
		strings.Contains(page, "src=") || strings.Contains(page, "<link") {
		t.Fatalf("the page: %s", page)
	}
	other, otherCard := b.paidCheckout()
	for id, status := range map[string]int{otherCard.ID: 404, card.ID: 303} {
		res, err := b.http.PostForm(visit.URL+"/remove", url.Values{"card": {id}})
		b.must(err)
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("removing %s of %s: %d", id, other.Customer.ID, res.StatusCode)
		}
	}
	if page := read(); strings.Contains(page, "4242") {
		t.Errorf("the card is still there: %s", page)
	}
	if _, err := b.offSession(o.Customer.ID, card.ID); b.failed(err).HTTPStatusCode != 400 {
		t.Errorf("a card that was removed pays: %v", err)
	}
}
