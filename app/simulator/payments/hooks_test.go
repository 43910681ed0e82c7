package payments

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"
)

func (b *bench) customer() *stripe.Customer {
	b.Helper()
	who, err := b.api.Customers.New(nil)
	b.must(err)
	return who
}

func TestEveryWebhookIsSignedForTheOfficialReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o, _ := b.paidCheckout()
	b.delivered("type=checkout.session.completed&object="+o.ID+"&status=200", "1")
	b.delivered("type=payment_intent.succeeded&status=200", "1")
	seen := map[stripe.EventType]bool{}
	for _, one := range b.hook.all() {
		e, err := webhook.ConstructEvent(one.body, one.signature, secret)
		b.must(err)
		seen[e.Type] = true
		stored, err := b.api.Events.Get(e.ID, nil)
		b.must(err)
		if stored.Type != e.Type || string(stored.Data.Raw) == "" {
			t.Errorf("event %s is stored as %s", e.Type, stored.Type)
		}
		if _, err := webhook.ConstructEvent(one.body, one.signature, secret+"x"); err == nil {
			t.Error("another secret reads it as well")
		}
	}
	if !seen["checkout.session.completed"] || !seen["payment_intent.succeeded"] {
		t.Errorf("what came: %v", seen)
	}
}

func TestAWebhookThatIsRefusedComesAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hook.mu.Lock()
	b.hook.statuses = []int{500, 404}
	b.hook.mu.Unlock()
	who := b.customer()
	attempts := b.delivered("object="+who.ID, "3")
	if attempts[0].Status != 500 || attempts[1].Status != 404 || attempts[2].Status != 200 || attempts[2].Attempt != 3 {
		t.Fatalf("%+v", attempts)
	}
}

func TestWebhooksAreLostRepeatedAndHeldOnDemand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.control(http.MethodPut, "webhooks", `{"drop":1}`, nil)
	lost := b.customer()
	if got := b.delivered("object="+lost.ID, "1"); !got[0].Dropped {
		t.Fatalf("what was to be lost: %+v", got)
	}
	if _, err := b.api.Events.Get(b.delivered("object="+lost.ID, "1")[0].EventID, nil); err != nil {
		t.Errorf("the event itself was lost: %v", err)
	}
	untaken := b.api.Events.List(&stripe.EventListParams{DeliverySuccess: new(false)})
	if !untaken.Next() || !strings.Contains(string(untaken.Event().Data.Raw), lost.ID) {
		t.Error("the event that was lost counts as taken")
	}
	b.control(http.MethodPut, "webhooks", `{"duplicates":9}`, nil)
	b.delivered("object="+b.customer().ID+"&status=200", "10")
	if untaken = b.api.Events.List(&stripe.EventListParams{DeliverySuccess: new(false)}); !untaken.Next() || untaken.Next() {
		t.Error("an event that was taken counts as lost")
	}
	b.control(http.MethodPut, "webhooks", `{"duplicates":0,"hold":true}`, nil)
	first, second := b.customer(), b.customer()
	var released struct{ Released int }
	b.control(http.MethodPost, "webhooks/release?order=newest", "", &released)
	all := b.delivered("status=200", "12")
	if last := all[len(all)-2:]; released.Released != 2 || last[0].ObjectID != second.ID || last[1].ObjectID != first.ID {
		t.Fatalf("released: %+v", last)
	}
	b.control(http.MethodPut, "webhooks", `{"delay_ms":5,"shuffle_ms":20}`, nil)
	slow := b.customer()
	again := b.delivered("object="+slow.ID+"&status=200", "1")[0]
	b.control(http.MethodPost, "events/"+again.EventID+"/send", "", nil)
	b.delivered("object="+slow.ID+"&status=200", "2")
	if status := b.tryControl(http.MethodPut, "webhooks", `{"duplicates":101}`, nil); status != 400 {
		t.Errorf("too many duplicates: %d", status)
	}
}

func TestForgedEventsAreAsBadAsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.checkout()
	for signature, words := range map[string]string{
		"good": "", "none": "no Stripe-Signature header", "wrong": "no valid signature", "empty": "no valid signature", "old": "tolerance",
		"altered": "no valid signature",
	} {
		before := len(b.hook.all())
		var answer struct{ Status int }
		b.control(http.MethodPost, "forge", `{"type":"checkout.session.completed","object":"`+o.ID+`","changes":{"amount_total":1},`+
			`"event":{"livemode":true},"signature":"`+signature+`"}`, &answer)
		got := b.hook.all()
		if answer.Status != 200 || len(got) < before+1 {
			t.Fatalf("%s: %d", signature, answer.Status)
		}
		last := got[len(got)-1]
		e, err := webhook.ConstructEvent(last.body, last.signature, secret)
		switch {
		case words == "" && (err != nil || !e.Livemode || !strings.Contains(string(e.Data.Raw), `"amount_total":1,`)):
			t.Errorf("%s: %v %s", signature, err, last.body)
		case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%s: %v", signature, err)
		}
	}
}
