package money

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

// topUp reads a purchase.
func topUp(t *testing.T, g *harness.Gateway, id string) harness.TopUp {
	t.Helper()
	var row harness.TopUp
	if err := g.DB(t).Get(&row, `select `+harness.TopUpColumns+` from topups where id = $1`, id); err != nil {
		t.Fatal(err)
	}
	return row
}

// TestPaymentsCreditWithinTwoSeconds pays as a person would on the payment service's page, and finds the credit in the
// API two seconds later at most, exactly once and without another account's bonus.
func TestPaymentsCreditWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	pay := g.Payments(t)
	c := g.NewCustomer(t, "buyer")
	row := c.StartTopUp(t, c.SignInToConsole(t), "12.34")
	if before := harness.DecodeObject(t, c.Call(t, "GET", "/v1/credits", "").Body); harness.TextMember(before, "balance") != "5" {
		t.Errorf("an order brings credit: %v", before)
	}
	pay.Call(t, "POST", "/_control/sessions/"+row.SessionID+"/pay?with=card", "")
	paid := time.Now()
	for {
		balance := harness.TextMember(harness.DecodeObject(t, c.Call(t, "GET", "/v1/credits", "").Body), "balance")
		if balance == "17.34" {
			break
		}
		if balance != "5" || time.Since(paid) > creditedMax {
			t.Fatalf("%s after paying the balance is %s", time.Since(paid), balance)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if again := topUp(t, c.Gateway, row.ID); again.State != "PAID" || again.Credited != 1234 {
		t.Errorf("the top-up is %+v", again)
	}
	var lines int
	if err := c.DB(t).Get(&lines, `select count(*) from grants where account_id = $1 and source like 'stripe:%'`, c.AccountID); err != nil || lines != 1 {
		t.Errorf("%d grants, %v", lines, err)
	}
}

// creditedMax is how long credit may take that is paid.
const creditedMax = 2 * time.Second

// TestPaymentsAreCountedOnce runs three replicas on one database and one payment service. Events get lost, come many
// times and in any order to any replica, and are forged: what was credited is what was paid.
func TestPaymentsAreCountedOnce(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t)
	pay := g.Payments(t)
	all := []*harness.Gateway{g}
	program, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, err := harness.TryReplicaBinary(program, pay.Env(), g.DatabaseURL(t), g, "--data", harness.DataDir(t))
		if err != nil {
			t.Fatal(err)
		}
		p.StopAtEnd(t)
		all = append(all, p.Gateway)
	}
	t.Run("lost events", func(t *testing.T) { lostEvents(t, g, pay) })
	t.Run("shuffled events", func(t *testing.T) { shuffledEvents(t, all, pay) })
	t.Run("forged events", func(t *testing.T) { forgedEvents(t, all, pay) })
	t.Run("no secret", func(t *testing.T) { noSecret(t, g, pay) })
	g.CheckLedger(t)
}

// lostEvents drops every event of a payment. The worker that asks about open top-ups finds it; that two minutes have
// passed is said by the row.
func lostEvents(t *testing.T, g *harness.Gateway, pay harness.PaymentService) {
	c := g.NewCustomer(t, "lost")
	row := c.StartTopUp(t, c.SignInToConsole(t), "10")
	pay.Call(t, "PUT", "/_control/webhooks", `{"drop":1000}`)
	pay.Call(t, "POST", "/_control/sessions/"+row.SessionID+"/pay?with=card", "")
	dropped := pay.Call(t, "GET", "/_control/deliveries?at_least=1&type=checkout.session.completed&object="+row.SessionID, "")
	if text, _ := json.Marshal(dropped); !bytes.Contains(text, []byte(`"dropped":true`)) {
		t.Fatalf("the event is not lost: %s", text)
	}
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 5_000_000_000 {
		t.Errorf("without an event there is %+v", b)
	}
	db := c.DB(t)
	db.MustExec(`update topups set due_at = now() where id = $1`, row.ID)
	harness.WaitUntil(t, "the sweeper credits what no event told of", func() bool {
		var state string
		return db.Get(&state, `select state from topups where id = $1`, row.ID) == nil && state == "PAID"
	})
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 15_000_000_000 {
		t.Errorf("after it there is %+v", b)
	}
	pay.Call(t, "PUT", "/_control/webhooks", `{"drop":0,"hold":true}`)
}

// paidEvents makes top-ups that end in every way while no event is sent, and returns the events and what was paid in
// cents.
func paidEvents(t *testing.T, g *harness.Gateway, pay harness.PaymentService) (events [][]byte, paid map[string]int64) {
	t.Helper()
	paid = map[string]int64{}
	for i := range payersCount {
		c := g.NewCustomerWithoutCredit(t, fmt.Sprint("payer-", i))
		p := c.SignInToConsole(t)
		for j := range topUpsEach {
			cents := int64(500 + 100*j + i)
			row := c.StartTopUp(t, p, fmt.Sprintf("%d.%02d", cents/100, cents%100))
			at := "/_control/sessions/" + row.SessionID
			switch j {
			case 0:
				pay.Call(t, "POST", at+"/expire", "")
				continue
			case 1:
				pay.Call(t, "POST", at+"/pay?with=async", "")
				pay.Call(t, "POST", "/_control/payments/"+row.SessionID+"/resolve?outcome=failed", "")
				continue
			case 2:
				pay.Call(t, "POST", at+"/pay?with=async", "")
				pay.Call(t, "POST", "/_control/payments/"+row.SessionID+"/resolve?outcome=succeeded", "")
			default:
				pay.Call(t, "POST", at+"/pay?with=card", "")
			}
			paid[c.AccountID] += cents
		}
	}
	for after := ""; ; {
		page := pay.Call(t, "GET", "/v1/events?limit=100"+after, "")
		for _, e := range page["data"].([]any) {
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			events, after = append(events, text), "&starting_after="+harness.TextMember(e, "id")
		}
		if page["has_more"] != true {
			return events, paid
		}
	}
}

const (
	payersCount   = 6
	topUpsEach    = 6
	deliverersMax = 12
)

// shuffledEvents hands the same events over in a new order again and again, each to a replica by chance.
func shuffledEvents(t *testing.T, all []*harness.Gateway, pay harness.PaymentService) {
	events, paid := paidEvents(t, all[0], pay)
	began := time.Now()
	queue := make(chan []byte, len(events))
	var workers sync.WaitGroup
	for range deliverersMax {
		workers.Go(func() {
			for body := range queue {
				if status, text := deliver(all[rand.IntN(len(all))], body, pay.Sign(time.Now(), body)); status != http.StatusOK {
					t.Errorf("an event is answered %d: %s", status, text)
				}
			}
		})
	}
	for sent := 0; sent < harness.WebhookDeliveries; {
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for _, e := range events[:min(len(events), harness.WebhookDeliveries-sent)] {
			queue <- e
			sent++
		}
	}
	close(queue)
	workers.Wait()
	t.Logf("%d deliveries of %d events took %s", harness.WebhookDeliveries, len(events), time.Since(began))
	for account, cents := range paid {
		var credited int64
		err := all[0].DB(t).Get(&credited, `select coalesce(sum(amount_nanos), 0) from grants where account_id = $1`, account)
		if b := all[0].SettledBalance(t, account); err != nil || credited != cents*10_000_000 || b.Posted != credited {
			t.Errorf("%s paid %d cents, was granted %d nano-dollars, and has %+v, %v", account, cents, credited, b, err)
		}
	}
	var open int
	err := all[0].DB(t).Get(&open, `select count(*) from topups where state not in ('PAID', 'EXPIRED', 'FAILED')`)
	if err != nil || open != 0 {
		t.Errorf("%d top-ups have not ended, %v", open, err)
	}
}

// deliver posts an event, and returns how it was answered; zero for not at all.
func deliver(g *harness.Gateway, body []byte, signature string) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	headers := []string{"Authorization", "", "Stripe-Signature", signature}
	a, err := g.TryCall(ctx, http.MethodPost, "/webhooks/payments", string(body), headers...)
	if err != nil {
		return 0, err.Error()
	}
	return a.Status, a.Body
}

// forgedEvents posts events without the secret, and old recordings. The gateway ignores all of them. A right
// signature over a false event moves no money either, since the gateway asks the payment service.
func forgedEvents(t *testing.T, all []*harness.Gateway, pay harness.PaymentService) {
	c := all[0].NewCustomerWithoutCredit(t, "forger")
	row := c.StartTopUp(t, c.SignInToConsole(t), "100")
	lie := []byte(fmt.Sprintf(`{"id":"evt_forged","object":"event","api_version":"2023-10-16","created":%d,"livemode":false,`+
		`"type":"checkout.session.completed","data":{"object":{"id":%q,"object":"checkout.session","payment_status":"paid",`+
		`"status":"complete","amount_total":10000,"amount_subtotal":10000,"currency":"usd"}}}`, time.Now().Unix(), row.SessionID))
	now := time.Now()
	good := pay.Sign(now, lie)
	_, mac, _ := strings.Cut(good, ",v1=")
	stamp := fmt.Sprint(now.Unix())
	other := harness.PaymentService{Secret: pay.Secret + "x"}
	forgeries := []string{
		"", " ", ",", "=", "t=", "v1=", "t=,v1=", "t=" + stamp, "v1=" + mac, "t=" + stamp + ",v0=" + mac, "t=" + stamp + ",v1=",
		"t=" + stamp + ",v1=" + mac[:63], "t=" + stamp + ",v1=" + mac + "00", "t=" + stamp + ",v1=" + strings.Repeat("0", 64),
		"t=" + stamp + ",v1=zz" + mac[2:], "t=" + stamp + "0,v1=" + mac, "t=-" + stamp + ",v1=" + mac, "t=0,v1=" + mac, "t=now,v1=" + mac,
		"t=" + stamp + ".0,v1=" + mac, "t= " + stamp + ",v1=" + mac, "t=99999999999999999999,v1=" + mac, "t=" + stamp + ",t=0,v1=" + mac,
		"t=" + stamp + ",t=" + stamp + ",v1=" + mac, "T=" + stamp + ",V1=" + mac, "t=" + stamp + ";v1=" + mac, mac, "Bearer " + pay.Key,
		other.Sign(now, lie), harness.PaymentService{}.Sign(now, lie), harness.PaymentService{Secret: pay.Key}.Sign(now, lie), harness.PaymentService{Secret: strings.ToLower(pay.Secret)}.Sign(now, lie),
		harness.PaymentService{Secret: strings.TrimPrefix(pay.Secret, "whsec_")}.Sign(now, lie),
		pay.Sign(now.Add(-301*time.Second), lie), pay.Sign(now.Add(-time.Hour), lie), pay.Sign(now.Add(-24*365*time.Hour), lie),
		pay.Sign(now.Add(330*time.Second), lie), pay.Sign(now.Add(24*time.Hour), lie), pay.Sign(time.Unix(0, 0), lie),
		pay.Sign(now, append([]byte(" "), lie...)), pay.Sign(now, lie[:len(lie)-1]), pay.Sign(now, nil),
		pay.Sign(now, bytes.Replace(lie, []byte("10000"), []byte("1000"), 1)),
	}
	for i, signature := range forgeries {
		if status, text := deliver(all[i%len(all)], lie, signature); status != http.StatusBadRequest {
			t.Errorf("the signature %q is answered %d: %s", signature, status, text)
		}
	}
	for _, body := range []string{"", "{}", "null", "[]", `{"id":"evt_x"}`, `{"id":"../x","type":"x","data":{}}`, "\x00", strings.Repeat("[", 10_000)} {
		if status, text := deliver(all[1], []byte(body), pay.Sign(time.Now(), []byte(body))); status != http.StatusBadRequest {
			t.Errorf("the body %.40q is answered %d: %s", body, status, text)
		}
	}
	if len(forgeries) < 40 {
		t.Errorf("only %d forgeries", len(forgeries))
	}
	if status, text := deliver(all[0], lie, good); status != http.StatusOK {
		t.Errorf("a good signature is answered %d: %s", status, text)
	}
	if b := c.SettledBalance(t, c.AccountID); b.Posted != 0 {
		t.Errorf("a forger has %+v", b)
	}
	if again := topUp(t, c.Gateway, row.ID); again.State != "OPEN" {
		t.Errorf("a forgery made the top-up %+v", again)
	}
}

// noSecret finds no route for events where there is no secret, or one that can be guessed.
func noSecret(t *testing.T, g *harness.Gateway, pay harness.PaymentService) {
	for _, secret := range []string{"", "short"} {
		program, err := harness.GatewayBinary()
		if err != nil {
			t.Fatal(err)
		}
		p, err := harness.TryReplicaBinary(program, []string{
			"UMG_STRIPE_KEY=" + pay.Key, "UMG_STRIPE_URL=" + pay.URL, "UMG_STRIPE_WEBHOOK_SECRET=" + secret,
		}, g.DatabaseURL(t), g, "--data", harness.DataDir(t))
		if err != nil {
			t.Fatal(err)
		}
		p.StopAtEnd(t)
		body := []byte(`{"id":"evt_1","object":"event","type":"checkout.session.completed","data":{"object":{}}}`)
		signature := harness.PaymentService{Secret: cmp.Or(secret, pay.Secret)}.Sign(time.Now(), body)
		if status, text := deliver(p.Gateway, body, signature); status != http.StatusNotFound {
			t.Errorf("with the secret %q an event is answered %d: %s", secret, status, text)
		}
	}
}
