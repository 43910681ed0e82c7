package payments

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	apiKey = "sk_test_made_up"
	secret = "whsec_made_up"
)

// receiver takes webhooks and answers with the status that the test has set.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	statuses []int // Statuses are those of the next answers, and then 200 follows.
	got      []received
}

type received struct {
	body      []byte
	signature string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, received{body, q.Header.Get("Stripe-Signature")})
		if len(r.statuses) > 0 {
			w.WriteHeader(r.statuses[0])
			r.statuses = r.statuses[1:]
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received(nil), r.got...)
}

// bench is a simulator behind a socket, an official client of it, and a receiver of its webhooks.
type bench struct {
	*testing.T
	sim  *Simulator
	url  string
	api  *client.API
	hook *receiver
	http *http.Client

	mu  sync.Mutex
	now time.Time
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

func setup(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{T: t, hook: newReceiver(t), now: time.Now()}
	o := Options{
		Now: func() time.Time {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.now
		},
		Random: rand.Reader, Key: apiKey, Secret: secret, WebhookURL: b.hook.URL, Control: true,
		RetryWaits: []time.Duration{time.Millisecond, time.Millisecond},
	}
	for _, c := range change {
		c(&o)
	}
	b.sim = New(o)
	server := httptest.NewServer(b.sim)
	b.url = server.URL
	transport := &http.Transport{}
	b.http = &http.Client{Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	b.api = b.client(apiKey)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		b.sim.Close()
	})
	return b
}

// client is an official client with that key. It does not try again by itself.
func (b *bench) client(key string) *client.API {
	be := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: new(b.url), HTTPClient: b.http, MaxNetworkRetries: new(int64(0)), EnableTelemetry: new(false),
		LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
	})
	return client.New(key, &stripe.Backends{API: be, Uploads: be, Connect: be})
}

// control asks a control route, which must take it, and reads what it answers.
func (b *bench) control(method, path, body string, into any) {
	b.Helper()
	if status := b.tryControl(method, path, body, into); status >= 300 {
		b.Fatalf("%s %s: status %d", method, path, status)
	}
}

func (b *bench) tryControl(method, path, body string, into any) int {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.url+"/_control/"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			b.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
	return res.StatusCode
}

// delivered waits for a number of attempts of a type.
func (b *bench) delivered(query string, n string) []delivery {
	b.Helper()
	var answer struct {
		Deliveries []delivery
		Reached    bool
	}
	b.control(http.MethodGet, "deliveries?"+query+"&at_least="+n, "", &answer)
	if !answer.Reached {
		b.Fatalf("%s: only %d of %s attempts came: %+v", query, len(answer.Deliveries), n, answer.Deliveries)
	}
	return answer.Deliveries
}

// raw sends a form and reads the answer.
func (b *bench) raw(method, path, form string, header map[string]string) (*http.Response, map[string]any) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewReader([]byte(form)))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+apiKey)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	tree := map[string]any{}
	_ = json.Unmarshal(raw, &tree)
	return res, tree
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// checkout opens a checkout over 25 dollars for a new customer, whose card is to be saved.
func (b *bench) checkout(change ...func(*stripe.CheckoutSessionParams)) *stripe.CheckoutSession {
	b.Helper()
	who, err := b.api.Customers.New(&stripe.CustomerParams{Email: new("ada@example.com")})
	b.must(err)
	p := &stripe.CheckoutSessionParams{
		Mode: new("payment"), Customer: &who.ID, ClientReferenceID: new("acct_1"),
		SuccessURL: new("https://shop.example.com/done?session={CHECKOUT_SESSION_ID}"),
		CancelURL:  new("https://shop.example.com/back"),
		LineItems: []*stripe.CheckoutSessionLineItemParams{{
			Quantity: new(int64(1)), PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(2500)),
				ProductData: &stripe.CheckoutSessionLineItemPriceDataProductDataParams{Name: new("Credit <b>")},
			},
		}},
		PaymentIntentData: &stripe.CheckoutSessionPaymentIntentDataParams{
			SetupFutureUsage: new("off_session"), Metadata: map[string]string{"topup_id": "tu_1"},
		},
	}
	p.Metadata = map[string]string{"topup_id": "tu_1"}
	for _, c := range change {
		c(p)
	}
	o, err := b.api.CheckoutSessions.New(p)
	b.must(err)
	return o
}

// failed is the error of the service, which must be there.
func (b *bench) failed(err error) *stripe.Error {
	b.Helper()
	e, ok := err.(*stripe.Error)
	if !ok {
		b.Fatalf("no error of the service: %v", err)
	}
	return e
}
