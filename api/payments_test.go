package api_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/stripe/stripe-go/v76/webhook"

	"umg/app"
	"umg/app/mail"
	"umg/app/simulator/payments"
	"umg/billing"
	"umg/billing/stripe"
)

const (
	paymentPath   = "/webhooks/payments"
	paymentSecret = "whsec_a_secret_of_thirty_two_chars"
)

// seller is a real service of payments before a payment service at that address.
func seller(t *testing.T, db *sqlx.DB, base, secret string) *stripe.Service {
	t.Helper()
	s, err := newSeller(t, db, "sk_test_key", base, secret)
	must(t, err)
	return s
}

func newSeller(t *testing.T, db *sqlx.DB, key, base, secret string) (*stripe.Service, error) {
	t.Helper()
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	mails, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	must(t, err)
	return stripe.New(db, stripe.Options{
		Key: key, WebhookSecret: secret, APIBase: base, BaseURL: "https://gateway.example", Now: time.Now, IDs: ids, Log: log,
		Ledger: billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}), Mail: mails,
	})
}

func signedEvent(body string) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: paymentSecret}).Header
}

func TestPaymentEventsNeedASignatureAndNoKey(t *testing.T) {
	t.Parallel()
	sim := payments.New(payments.Options{Now: time.Now, Random: rand.Reader, Key: "sk_test_key"})
	service := httptest.NewServer(sim)
	t.Cleanup(func() { service.Close(); sim.Close() })
	h := setup(t, func(p *plan) { p.api.Payments = seller(t, p.db, service.URL, paymentSecret) })
	body := `{"id":"evt_1","object":"event","type":"checkout.session.completed","livemode":false,` +
		`"data":{"object":{"id":"cs_test_unknown","object":"checkout.session"}}}`
	for name, c := range map[string]struct {
		body, signature string
		want            int
	}{
		"good":         {body, signedEvent(body), http.StatusOK},
		"again":        {body, signedEvent(body), http.StatusOK},
		"no signature": {body, "", http.StatusBadRequest},
		"altered":      {strings.Replace(body, "evt_1", "evt_2", 1), signedEvent(body), http.StatusBadRequest},
		"no JSON":      {"paid", signedEvent("paid"), http.StatusBadRequest},
		"too long":     {body + strings.Repeat(" ", 64<<10), signedEvent(body), http.StatusRequestEntityTooLarge},
	} {
		if r := h.call(http.MethodPost, paymentPath, c.body, "Stripe-Signature", c.signature); r.status != c.want {
			t.Errorf("%s: %d %s, want %d", name, r.status, r.body, c.want)
		}
	}
	if r := h.call(http.MethodGet, paymentPath, ""); r.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s", r.status, r.body)
	}
}

func TestPaymentEventsAreAskedForAgainWhenThePaymentServiceIsAway(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	h := setup(t, func(p *plan) { p.api.Payments = seller(t, p.db, away.URL, paymentSecret) })
	body := `{"id":"evt_1","object":"event","type":"checkout.session.completed","livemode":false,` +
		`"data":{"object":{"id":"cs_test_1","object":"checkout.session"}}}`
	r := h.call(http.MethodPost, paymentPath, body, "Stripe-Signature", signedEvent(body))
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
}

func TestWithoutASecretThereIsNoRouteForPaymentEvents(t *testing.T) {
	t.Parallel()
	const body = `{"id":"evt_1"}`
	for _, secret := range []string{"", "short"} {
		h := setup(t, func(p *plan) { p.api.Payments = seller(t, p.db, "", secret) })
		if r := h.call(http.MethodPost, paymentPath, body, "Stripe-Signature", signedEvent(body)); r.status != http.StatusNotFound {
			t.Errorf("a secret of %d characters: %d %s", len(secret), r.status, r.body)
		}
	}
	if r := setup(t).call(http.MethodPost, paymentPath, body); r.status != http.StatusNotFound {
		t.Errorf("no payments: %d %s", r.status, r.body)
	}
}
