package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// payService is the payment service that a demo brings along, as its ready file says.
type payService struct {
	URL    string `json:"payments_url"`
	Key    string `json:"payments_key"`
	Secret string `json:"payments_secret"`
}

func (g *gateway) payments(t *testing.T) payService {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "ready.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s payService
	if err := json.Unmarshal(text, &s); err != nil || s.URL == "" || s.Key == "" || s.Secret == "" {
		t.Fatalf("the ready file has no payment service: %s, %v", text, err)
	}
	return s
}

// env is what a gateway needs to sell credit by this service.
func (s payService) env() []string {
	return []string{"UMG_STRIPE_KEY=" + s.Key, "UMG_STRIPE_WEBHOOK_SECRET=" + s.Secret, "UMG_STRIPE_URL=" + s.URL}
}

// ask calls the service, its control routes as well as its API, and wants no refusal.
func (s payService) ask(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v: %s", method, path, resp.StatusCode, err, text)
	}
	if len(text) == 0 {
		return nil
	}
	return object(t, string(text))
}

// sign is the signature of an event at a time.
func (s payService) sign(at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(s.Secret))
	_, _ = fmt.Fprintf(mac, "%d.", at.Unix())
	_, _ = mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// topUpRow is a purchase as the table has it.
type topUpRow struct {
	ID       string `db:"id"`
	Session  string `db:"session_id"`
	State    string `db:"state"`
	Cents    int64  `db:"cents"`
	Credited int64  `db:"credited_cents"`
}

const topUpColumns = `id, coalesce(session_id, '') as session_id, state, cents, credited_cents`

// order buys credit as far as the payment page.
func (c customer) order(t *testing.T, p *person, dollars string) topUpRow {
	t.Helper()
	a := p.visit(t, "/console/billing/topups", url.Values{"amount": {"own"}, "own": {dollars}})
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Refresh"), "/pay/cs_test_") {
		t.Fatalf("no payment page: %d %s", a.status, a.body)
	}
	var row topUpRow
	err := c.db(t).Get(&row, `select `+topUpColumns+` from topups where account_id = $1 order by created_at desc, id desc limit 1`, c.accountID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// topUp reads a purchase.
func (g *gateway) topUp(t *testing.T, id string) topUpRow {
	t.Helper()
	var row topUpRow
	if err := g.db(t).Get(&row, `select `+topUpColumns+` from topups where id = $1`, id); err != nil {
		t.Fatal(err)
	}
	return row
}

// TestPaymentsCreditWithinTwoSeconds pays as a person would on the payment service's page, and finds the credit in the
// API two seconds later at most, exactly once and without another account's bonus.
func TestPaymentsCreditWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	g := running(t)
	pay := g.payments(t)
	c := g.newCustomer(t, "buyer")
	row := c.order(t, c.signedIn(t), "12.34")
	if before := object(t, c.call(t, "GET", "/v1/credits", "").body); textAt(before, "balance") != "5" {
		t.Errorf("an order brings credit: %v", before)
	}
	pay.ask(t, "POST", "/_control/sessions/"+row.Session+"/pay?with=card", "")
	paid := time.Now()
	for {
		balance := textAt(object(t, c.call(t, "GET", "/v1/credits", "").body), "balance")
		if balance == "17.34" {
			break
		}
		if balance != "5" || time.Since(paid) > creditedMax {
			t.Fatalf("%s after paying the balance is %s", time.Since(paid), balance)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if again := c.topUp(t, row.ID); again.State != "PAID" || again.Credited != 1234 {
		t.Errorf("the top-up is %+v", again)
	}
	var lines int
	if err := c.db(t).Get(&lines, `select count(*) from grants where account_id = $1 and source like 'stripe:%'`, c.accountID); err != nil || lines != 1 {
		t.Errorf("%d grants, %v", lines, err)
	}
}

// creditedMax is how long credit may take that is paid.
const creditedMax = 2 * time.Second

// TestPaymentsAreCountedOnce runs three replicas on one database and one payment service. Events get lost, come many
// times and in any order to any replica, and are forged: what was credited is what was paid.
func TestPaymentsAreCountedOnce(t *testing.T) {
	t.Parallel()
	g := start(t)
	pay := g.payments(t)
	all := []*gateway{g}
	program, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, err := serveBinary(program, pay.env(), g.databaseURL(t), g, "--data", dataDir(t))
		if err != nil {
			t.Fatal(err)
		}
		p.stopAtEnd(t)
		all = append(all, p.gateway)
	}
	t.Run("lost events", func(t *testing.T) { lostEvents(t, g, pay) })
	t.Run("shuffled events", func(t *testing.T) { shuffledEvents(t, all, pay) })
	t.Run("forged events", func(t *testing.T) { forgedEvents(t, all, pay) })
	t.Run("no secret", func(t *testing.T) { noSecret(t, g, pay) })
	g.books(t)
}

// lostEvents drops every event of a payment. The worker that asks about open top-ups finds it; that two minutes have
// passed is said by the row.
func lostEvents(t *testing.T, g *gateway, pay payService) {
	c := g.newCustomer(t, "lost")
	row := c.order(t, c.signedIn(t), "10")
	pay.ask(t, "PUT", "/_control/webhooks", `{"drop":1000}`)
	pay.ask(t, "POST", "/_control/sessions/"+row.Session+"/pay?with=card", "")
	dropped := pay.ask(t, "GET", "/_control/deliveries?at_least=1&type=checkout.session.completed&object="+row.Session, "")
	if text, _ := json.Marshal(dropped); !bytes.Contains(text, []byte(`"dropped":true`)) {
		t.Fatalf("the event is not lost: %s", text)
	}
	if b := c.balanceOf(t, c.accountID); b.Posted != 5_000_000_000 {
		t.Errorf("without an event there is %+v", b)
	}
	db := c.db(t)
	db.MustExec(`update topups set due_at = now() where id = $1`, row.ID)
	until(t, "the sweeper credits what no event told of", func() bool {
		var state string
		return db.Get(&state, `select state from topups where id = $1`, row.ID) == nil && state == "PAID"
	})
	if b := c.balanceOf(t, c.accountID); b.Posted != 15_000_000_000 {
		t.Errorf("after it there is %+v", b)
	}
	pay.ask(t, "PUT", "/_control/webhooks", `{"drop":0,"hold":true}`)
}

// paidEvents makes top-ups that end in every way while no event is sent, and returns the events and what was paid in
// cents.
func paidEvents(t *testing.T, g *gateway, pay payService) (events [][]byte, paid map[string]int64) {
	t.Helper()
	paid = map[string]int64{}
	for i := range payersCount {
		c := g.newPauper(t, fmt.Sprint("payer-", i))
		p := c.signedIn(t)
		for j := range topUpsEach {
			cents := int64(500 + 100*j + i)
			row := c.order(t, p, fmt.Sprintf("%d.%02d", cents/100, cents%100))
			at := "/_control/sessions/" + row.Session
			switch j {
			case 0:
				pay.ask(t, "POST", at+"/expire", "")
				continue
			case 1:
				pay.ask(t, "POST", at+"/pay?with=async", "")
				pay.ask(t, "POST", "/_control/payments/"+row.Session+"/resolve?outcome=failed", "")
				continue
			case 2:
				pay.ask(t, "POST", at+"/pay?with=async", "")
				pay.ask(t, "POST", "/_control/payments/"+row.Session+"/resolve?outcome=succeeded", "")
			default:
				pay.ask(t, "POST", at+"/pay?with=card", "")
			}
			paid[c.accountID] += cents
		}
	}
	for after := ""; ; {
		page := pay.ask(t, "GET", "/v1/events?limit=100"+after, "")
		for _, e := range page["data"].([]any) {
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			events, after = append(events, text), "&starting_after="+textAt(e, "id")
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
func shuffledEvents(t *testing.T, all []*gateway, pay payService) {
	events, paid := paidEvents(t, all[0], pay)
	began := time.Now()
	queue := make(chan []byte, len(events))
	var workers sync.WaitGroup
	for range deliverersMax {
		workers.Go(func() {
			for body := range queue {
				if status, text := deliver(all[rand.IntN(len(all))], body, pay.sign(time.Now(), body)); status != http.StatusOK {
					t.Errorf("an event is answered %d: %s", status, text)
				}
			}
		})
	}
	for sent := 0; sent < deliveries; {
		rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for _, e := range events[:min(len(events), deliveries-sent)] {
			queue <- e
			sent++
		}
	}
	close(queue)
	workers.Wait()
	t.Logf("%d deliveries of %d events took %s", deliveries, len(events), time.Since(began))
	for account, cents := range paid {
		var credited int64
		err := all[0].db(t).Get(&credited, `select coalesce(sum(amount_nanos), 0) from grants where account_id = $1`, account)
		if b := all[0].balanceOf(t, account); err != nil || credited != cents*10_000_000 || b.Posted != credited {
			t.Errorf("%s paid %d cents, was granted %d nano-dollars, and has %+v, %v", account, cents, credited, b, err)
		}
	}
	var open int
	err := all[0].db(t).Get(&open, `select count(*) from topups where state not in ('PAID', 'EXPIRED', 'FAILED')`)
	if err != nil || open != 0 {
		t.Errorf("%d top-ups have not ended, %v", open, err)
	}
}

// deliver posts an event, and returns how it was answered; zero for not at all.
func deliver(g *gateway, body []byte, signature string) (status int, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	headers := []string{"Authorization", "", "Stripe-Signature", signature}
	a, err := g.tryCall(ctx, http.MethodPost, "/webhooks/payments", string(body), headers...)
	if err != nil {
		return 0, err.Error()
	}
	return a.status, a.body
}

// forgedEvents posts events without the secret, and old recordings. The gateway ignores all of them. A right
// signature over a false event moves no money either, since the gateway asks the payment service.
func forgedEvents(t *testing.T, all []*gateway, pay payService) {
	c := all[0].newPauper(t, "forger")
	row := c.order(t, c.signedIn(t), "100")
	lie := []byte(fmt.Sprintf(`{"id":"evt_forged","object":"event","api_version":"2023-10-16","created":%d,"livemode":false,`+
		`"type":"checkout.session.completed","data":{"object":{"id":%q,"object":"checkout.session","payment_status":"paid",`+
		`"status":"complete","amount_total":10000,"amount_subtotal":10000,"currency":"usd"}}}`, time.Now().Unix(), row.Session))
	now := time.Now()
	good := pay.sign(now, lie)
	_, mac, _ := strings.Cut(good, ",v1=")
	stamp := fmt.Sprint(now.Unix())
	other := payService{Secret: pay.Secret + "x"}
	forgeries := []string{
		"", " ", ",", "=", "t=", "v1=", "t=,v1=", "t=" + stamp, "v1=" + mac, "t=" + stamp + ",v0=" + mac, "t=" + stamp + ",v1=",
		"t=" + stamp + ",v1=" + mac[:63], "t=" + stamp + ",v1=" + mac + "00", "t=" + stamp + ",v1=" + strings.Repeat("0", 64),
		"t=" + stamp + ",v1=zz" + mac[2:], "t=" + stamp + "0,v1=" + mac, "t=-" + stamp + ",v1=" + mac, "t=0,v1=" + mac, "t=now,v1=" + mac,
		"t=" + stamp + ".0,v1=" + mac, "t= " + stamp + ",v1=" + mac, "t=99999999999999999999,v1=" + mac, "t=" + stamp + ",t=0,v1=" + mac,
		"t=" + stamp + ",t=" + stamp + ",v1=" + mac, "T=" + stamp + ",V1=" + mac, "t=" + stamp + ";v1=" + mac, mac, "Bearer " + pay.Key,
		other.sign(now, lie), payService{}.sign(now, lie), payService{Secret: pay.Key}.sign(now, lie), payService{Secret: strings.ToLower(pay.Secret)}.sign(now, lie),
		payService{Secret: strings.TrimPrefix(pay.Secret, "whsec_")}.sign(now, lie),
		pay.sign(now.Add(-301*time.Second), lie), pay.sign(now.Add(-time.Hour), lie), pay.sign(now.Add(-24*365*time.Hour), lie),
		pay.sign(now.Add(330*time.Second), lie), pay.sign(now.Add(24*time.Hour), lie), pay.sign(time.Unix(0, 0), lie),
		pay.sign(now, append([]byte(" "), lie...)), pay.sign(now, lie[:len(lie)-1]), pay.sign(now, nil),
		pay.sign(now, bytes.Replace(lie, []byte("10000"), []byte("1000"), 1)),
	}
	for i, signature := range forgeries {
		if status, text := deliver(all[i%len(all)], lie, signature); status != http.StatusBadRequest {
			t.Errorf("the signature %q is answered %d: %s", signature, status, text)
		}
	}
	for _, body := range []string{"", "{}", "null", "[]", `{"id":"evt_x"}`, `{"id":"../x","type":"x","data":{}}`, "\x00", strings.Repeat("[", 10_000)} {
		if status, text := deliver(all[1], []byte(body), pay.sign(time.Now(), []byte(body))); status != http.StatusBadRequest {
			t.Errorf("the body %.40q is answered %d: %s", body, status, text)
		}
	}
	if len(forgeries) < 40 {
		t.Errorf("only %d forgeries", len(forgeries))
	}
	if status, text := deliver(all[0], lie, good); status != http.StatusOK {
		t.Errorf("a good signature is answered %d: %s", status, text)
	}
	if b := c.balanceOf(t, c.accountID); b.Posted != 0 {
		t.Errorf("a forger has %+v", b)
	}
	if again := c.topUp(t, row.ID); again.State != "OPEN" {
		t.Errorf("a forgery made the top-up %+v", again)
	}
}

// noSecret finds no route for events where there is no secret, or one that can be guessed.
func noSecret(t *testing.T, g *gateway, pay payService) {
	for _, secret := range []string{"", "short"} {
	program, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
		p, err := serveBinary(program, []string{
			"UMG_STRIPE_KEY=" + pay.Key, "UMG_STRIPE_URL=" + pay.URL, "UMG_STRIPE_WEBHOOK_SECRET=" + secret,
		}, g.databaseURL(t), g, "--data", dataDir(t))
		if err != nil {
			t.Fatal(err)
		}
		p.stopAtEnd(t)
		body := []byte(`{"id":"evt_1","object":"event","type":"checkout.session.completed","data":{"object":{}}}`)
		signature := payService{Secret: cmp.Or(secret, pay.Secret)}.sign(time.Now(), body)
		if status, text := deliver(p.gateway, body, signature); status != http.StatusNotFound {
			t.Errorf("with the secret %q an event is answered %d: %s", secret, status, text)
		}
	}
}
