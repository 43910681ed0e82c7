package stripe

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"umg/app"
)

func TestAPaidCheckoutIsCreditedOnceHoweverOftenItsEventsCome(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.checkout(account, 2500)
	h.control(http.MethodPut, "webhooks", `{"hold":true,"duplicates":9}`)
	h.pay(top.ID)
	h.control(http.MethodPost, "webhooks/release?order=together", "")
	h.control(http.MethodGet, "deliveries?type=checkout.session.completed&status=200&at_least=10&timeout=20s", "")
	h.state(top.ID, Paid)
	h.credit(account, 2500, 0)
	got, err := h.s.Topup(t.Context(), account, top.ID)
	h.must(err)
	if got.ReceiptURL == "" || got.PaidAt == nil || got.URL != "" || got.Source != "stripe:"+h.session(top.ID) {
		t.Errorf("%+v", got)
	}
	if n := h.s.Stats().Credited; n != 1 {
		t.Errorf("%d credits", n)
	}
	if _, err := h.s.Topup(t.Context(), h.account(), top.ID); app.KindOf(err) != app.NotFound {
		t.Errorf("another account reads the top-up: %v", err)
	}
}

func TestACheckoutThatIsAskedForTwiceIsOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	r := CheckoutRequest{Principal: of(account), Email: "a@example.com", Cents: 500, IdempotencyKey: "k"}
	tops := make([]Topup, 6)
	var all sync.WaitGroup
	for i := range tops {
		all.Go(func() {
			var err error
			if tops[i], err = h.s.Checkout(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, top := range tops {
		if top.ID != tops[0].ID || top.URL != tops[0].URL || top.URL == "" {
			t.Fatalf("two checkouts: %+v and %+v", top, tops[0])
		}
	}
	var customers int
	h.must(h.db.GetContext(t.Context(), &customers, `select count(*) from payment_accounts where customer_id is not null`))
	if customers != 1 {
		t.Errorf("%d customers", customers)
	}
	r.Cents = 600
	_, err := h.s.Checkout(t.Context(), r)
	h.kind(err, app.Unprocessable, "idempotency_error")
}

func TestACheckoutIsRefusedForWhatCannotBeBought(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	for cents, ok := range map[int64]bool{-500: false, 0: false, 499: false, 500: true, 1_000_000: true, 1_000_001: false} {
		_, err := h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: cents, IdempotencyKey: h.ids.New("k"), Email: "a@example.com"})
		if (err == nil) != ok {
			t.Errorf("%d cents: %v", cents, err)
		}
	}
	_, err := h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: 500})
	h.kind(err, app.Invalid, "invalid_request_error")
	_, err = h.s.Checkout(t.Context(), CheckoutRequest{Principal: of("acc_unknown"), Cents: 500, IdempotencyKey: "k"})
	h.kind(err, app.NotFound, "account_not_found")
	for range openMax - 2 {
		h.checkout(account, 500)
	}
	_, err = h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: 500, IdempotencyKey: "more", Email: "a@example.com"})
	h.kind(err, app.Exhausted, "too_many_open_topups")
	h.db.MustExec(`update accounts set frozen_at = now() where id = $1`, account)
	_, err = h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: 500, IdempotencyKey: "frozen"})
	h.kind(err, app.Forbidden, "account_frozen")
	off := h.service(func(o *Options) { o.Key = "" })
	_, err = off.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Cents: 500, IdempotencyKey: "off"})
	h.kind(err, app.NotFound, "payments_disabled")
	if off.Enabled() || off.Receives() {
		t.Error("without a key nothing can be bought")
	}
}

func TestAPaymentServiceThatIsAwayLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	r := CheckoutRequest{Principal: of(account), Email: "a@example.com", Cents: 700, IdempotencyKey: "k"}
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":3,"method":"POST","path":"/v1/checkout"}`)
	_, err := h.s.Checkout(t.Context(), r)
	h.kind(err, app.Unavailable, "payments_unavailable")
	h.control(http.MethodPut, "faults", `{"mode":"lost","times":3,"method":"POST","path":"/v1/checkout"}`)
	_, _ = h.s.Checkout(t.Context(), r) // One attempt may have succeeded.
	top, err := h.s.Checkout(t.Context(), r)
	h.must(err)
	if top.State != Open {
		t.Errorf("%+v", top)
	}
	h.pay(top.ID)
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":50,"method":"GET","path":"/v1/checkout"}`)
	h.deliver("oldest")
	h.control(http.MethodDelete, "faults", "")
	h.state(top.ID, Open)
	h.credit(account, 0, 0)
	h.clock.add(firstDefault + time.Second)
	h.s.runOnce(t.Context())
	h.state(top.ID, Paid)
	h.credit(account, 700, 0)
}

func TestALostWebhookIsMadeUpFor(t *testing.T) {
	t.Parallel()
	h := open(t)
	early, late := h.account(), h.account()
	first, second := h.checkout(early, 500), h.checkout(late, 600)
	h.control(http.MethodPut, "webhooks", `{"hold":false,"drop":100}`)
	h.pay(first.ID)
	h.clock.add(firstDefault + time.Second)
	h.s.runOnce(t.Context())
	h.state(first.ID, Paid)
	h.state(second.ID, Open)
	h.clock.add(20 * time.Hour) // The gateway refreshes the top-up once an hour now, and reads the list of events once a minute.
	h.s.runOnce(t.Context())
	h.pay(second.ID)
	for range 9 {
		h.clock.add(time.Minute)
		h.s.runOnce(t.Context())
	}
	h.state(second.ID, Paid)
	h.control(http.MethodPost, "payments/"+h.session(first.ID)+"/refund?amount=200", "")
	h.clock.add(2 * time.Minute)
	h.s.runOnce(t.Context())
	h.state(first.ID, PartlyRefunded)
	h.credit(early, 300, 0)
	h.credit(late, 600, 0)
}

func TestAnUnpaidCheckoutExpires(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	top := h.checkout(account, 500)
	h.control(http.MethodPost, "sessions/"+h.session(top.ID)+"/expire", "")
	h.deliver("oldest")
	h.state(top.ID, Expired)
	h.clock.add(time.Second)
	h.control(http.MethodPut, "faults", `{"mode":"error","status":503,"times":3,"method":"POST","path":"/v1/checkout"}`)
	_, err := h.s.Checkout(t.Context(), CheckoutRequest{Principal: of(account), Email: "a@example.com", Cents: 900, IdempotencyKey: "k"})
	h.kind(err, app.Unavailable, "payments_unavailable")
	h.clock.add(abandonedAfter + time.Minute)
	h.s.runOnce(t.Context())
	list, err := h.s.Topups(t.Context(), account, 10)
	h.must(err)
	if len(list) != 2 || list[0].State != Expired || list[0].Cents != 900 {
		t.Errorf("%+v", list)
	}
	h.credit(account, 0, 0)
}

func TestASlowPaymentIsCreditedWhenItArrivesAndNotBefore(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"oldest", "newest"} {
		for outcome, want := range map[string]State{"succeeded": Paid, "failed": Failed} {
			t.Run(order+" "+outcome, func(t *testing.T) {
				t.Parallel()
				h := open(t)
				account := h.account()
				top := h.checkout(account, 1500)
				h.control(http.MethodPost, "sessions/"+h.session(top.ID)+"/pay?with=async", "")
				h.must(h.s.refresh(t.Context(), top.ID, eventRef{}))
				h.state(top.ID, Open)
				h.credit(account, 0, 0)
				h.control(http.MethodPost, "payments/"+h.session(top.ID)+"/resolve?outcome="+outcome, "")
				h.deliver(order)
				h.state(top.ID, want)
				cents := int64(0)
				if want == Paid {
					cents = 1500
				}
				h.credit(account, cents, 0)
			})
		}
	}
}

func TestACustomerUnknownToStripeIsCreatedAgain(t *testing.T) {
	t.Parallel()
	h := open(t)
	account := h.account()
	h.checkout(account, 500)
	h.db.MustExec(`update payment_accounts set customer_id = 'cus_gone'`)
	h.checkout(account, 600)
	_, err := h.s.Portal(t.Context(), of(account))
	h.must(err)
	h.db.MustExec(`update payment_accounts set customer_id = 'cus_gone'`)
	_, err = h.s.Portal(t.Context(), of(account))
	h.kind(err, app.NotFound, "no_payment_details")
}
