package stripe

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	stripesdk "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"

	"umg/app"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
	"umg/app/simulator/payments"
	"umg/billing"
)

// controlClient makes a connection for each request. A test server that closes also closes the idle connections of the default
// transport, which would break the request of another test that runs beside it.
var controlClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

const (
	testKey    = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"
	testSecret = "whsec_a_secret_of_thirty_two_chars"
	testBase   = "https://console.example"
)

// clock is the time of a test, for the gateway and for the simulated Stripe.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// shop is a Service over its own test database, with a simulated Stripe.
type shop struct {
	*testing.T

	db     *sqlx.DB
	clock  *clock
	ids    app.IDs
	ledger *billing.Ledger
	mails  *mail.Service
	s      *Service
	sim    *payments.Simulator
	url    string // This is the address of the simulated Stripe.
	lie    atomic.Pointer[lie]
}

// lie changes the simulated Stripe's response about one object.
type lie struct {
	about string // It applies to requests whose path begins so.
	tell  func(thing map[string]any)
}

// answer returns the simulated Stripe's response, or the changed one of a lie.
func (h *shop) answer(w http.ResponseWriter, r *http.Request) {
	l := h.lie.Load()
	if l == nil || r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, l.about) {
		h.sim.ServeHTTP(w, r)
		return
	}
	truth := httptest.NewRecorder()
	h.sim.ServeHTTP(truth, r)
	var thing map[string]any
	if truth.Code == http.StatusOK && json.Unmarshal(truth.Body.Bytes(), &thing) == nil {
		l.tell(thing)
		_ = json.NewEncoder(w).Encode(thing) // The receiver notices an incomplete response.
		return
	}
	w.WriteHeader(truth.Code)
	_, _ = w.Write(truth.Body.Bytes())
}

func open(t *testing.T, change ...func(*Options)) *shop {
	t.Helper()
	h := &shop{T: t, db: pgtest.New(t), clock: &clock{at: time.Now().UTC().Truncate(time.Millisecond)}}
	h.ids = app.IDs{Now: h.clock.now, Random: rand.Reader}
	log := slog.New(slog.NewTextHandler(h.Output(), nil))
	var err error
	h.mails, err = mail.New(h.db, mail.Options{Key: [32]byte{7}, Now: h.clock.now, IDs: h.ids, Log: log})
	h.must(err)
	h.ledger = billing.NewLedger(h.db, billing.Options{Now: h.clock.now, IDs: h.ids, Log: log})
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.receive(w, r) }))
	h.sim = payments.New(payments.Options{
		Now: h.clock.now, Random: rand.Reader, Key: testKey, Secret: testSecret, WebhookURL: hooks.URL, Control: true, RetryWaits: []time.Duration{},
	})
	api := httptest.NewServer(http.HandlerFunc(h.answer))
	h.url = api.URL
	t.Cleanup(func() { api.Close(); h.sim.Close(); hooks.Close() })
	h.s = h.service(change...)
	h.control(http.MethodPut, "webhooks", `{"hold":true}`) // Tests deliver the events themselves.
	return h
}

// service starts another replica.
func (h *shop) service(change ...func(*Options)) *Service {
	h.Helper()
	o := Options{
		Key: testKey, WebhookSecret: testSecret, APIBase: h.url, BaseURL: testBase, Ledger: h.ledger, Mail: h.mails, Now: h.clock.now, IDs: h.ids,
		Log: slog.New(slog.NewTextHandler(h.Output(), nil)),
	}
	for _, f := range change {
		f(&o)
	}
	s, err := New(h.db, o)
	if err != nil {
		h.Fatal(err)
	}
	if s.api != nil {
		backend, _ := s.api.customers.B.(*stripesdk.BackendImplementation) // All clients have this one.
		backend.SetNetworkRetriesSleep(false)
	}
	return s
}

func (h *shop) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = h.s.Webhook(r.Context(), body, r.Header.Get("Stripe-Signature"))
	}
	switch {
	case err == nil:
	case app.KindOf(err) == app.Invalid:
		w.WriteHeader(http.StatusBadRequest)
	default:
		h.Logf("webhook: %v", err)
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// control sends a control request to the simulated Stripe, and returns its response.
func (h *shop) control(method, path, body string) map[string]any {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+"/_control/"+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	resp, err := controlClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		h.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, raw, err)
	}
	var answer map[string]any
	_ = json.Unmarshal(raw, &answer) // Some responses have no body.
	return answer
}

func (h *shop) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// account makes an account with an owner and no credit.
func (h *shop) account() string {
	h.Helper()
	id, user := h.ids.New("acc"), h.ids.New("usr")
	h.db.MustExec(`insert into accounts (id, created_at) values ($1, $2)`, id, h.clock.now())
	h.db.MustExec(`insert into users (id, email, password_hash, created_at) values ($1, $2, 'x', $3)`, user, user+"@example.com", h.clock.now())
	h.db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'owner', $3)`, id, user, h.clock.now())
	h.must(h.ledger.OpenAccount(h.Context(), h.db, id))
	return id
}

// of returns a principal that acts for the account.
func of(account string) app.Principal {
	return app.Principal{AccountID: account, UserID: "usr_test", From: app.Origin{IP: "192.0.2.4"}}
}

func (h *shop) checkout(account string, cents int64) Topup {
	h.Helper()
	t, err := h.s.Checkout(h.Context(), CheckoutRequest{
		Principal: of(account), Email: account + "@example.com", Cents: cents, IdempotencyKey: h.ids.New("idk"),
	})
	h.must(err)
	if t.State != Open || t.URL == "" || t.Cents != cents {
		h.Fatalf("checkout: %+v", t)
	}
	return t
}

// row returns a top-up as it is in the store.
func (h *shop) row(id string) topupRow {
	h.Helper()
	row, err := topupByID(h.Context(), h.db, id)
	h.must(err)
	return row
}

func (h *shop) session(id string) string { h.Helper(); return h.row(id).SessionID }

func (h *shop) pay(id string) {
	h.Helper()
	h.control(http.MethodPost, "sessions/"+h.session(id)+"/pay", "")
}

// deliver sends the waiting events in the given order.
func (h *shop) deliver(order string) {
	h.Helper()
	h.control(http.MethodPost, "webhooks/release?order="+order, "")
	h.control(http.MethodPut, "webhooks", `{"hold":true}`)
}

// bought makes a top-up that is paid and credited.
func (h *shop) bought(account string, cents int64) Topup {
	h.Helper()
	t := h.checkout(account, cents)
	h.pay(t.ID)
	h.deliver("oldest")
	h.state(t.ID, Paid)
	t, err := h.s.Topup(h.Context(), account, t.ID)
	h.must(err)
	h.clock.add(time.Second) // Later objects must be newer.
	return t
}

func (h *shop) state(id string, want State) {
	h.Helper()
	if row := h.row(id); row.State != want {
		h.Fatalf("the top-up is %s, want %s", row.State, want)
	}
}

// credit checks what an account has and owes, in cents, and the invariants of the ledger.
func (h *shop) credit(account string, cents, owed int64) {
	h.Helper()
	b, err := h.ledger.Balance(h.Context(), account)
	h.must(err)
	var debt int64
	h.must(h.db.GetContext(h.Context(), &debt, `select coalesce(sum(owed_nanos), 0) from receivables where account_id = $1`, account))
	if b.Posted != nanos(cents) || debt != int64(nanos(owed)) {
		h.Errorf("the account has $%s and owes $%s; want $%s and $%s", b.Posted, app.Amount(debt), nanos(cents), nanos(owed))
	}
	h.books()
}

func (h *shop) books() {
	h.Helper()
	checks, err := billing.Books(h.Context(), h.db)
	for _, c := range checks {
		if !c.Holds {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Detail))
		}
	}
	if err != nil {
		h.Error(err)
	}
}

func (h *shop) frozen(account string) bool {
	h.Helper()
	is, _, err := frozen(h.Context(), h.db, account)
	h.must(err)
	return is
}

// spend spends an account's credit as a call would.
func (h *shop) spend(account string, amount app.Amount) {
	h.Helper()
	id := h.ids.New("req")
	hold, err := h.ledger.HoldFor(h.Context(), h.db, billing.HoldRequest{ID: id, AccountID: account, Want: amount}, time.Hour)
	h.must(err)
	h.must(h.ledger.SettleIn(h.Context(), h.db, hold, billing.Settlement{
		Cost: amount, Record: billing.UsageRecord{RequestID: id, KeyID: "key_1", Model: "m", Outcome: "succeeded", StartedAt: h.clock.now()},
	}))
}

// signed signs an event as Stripe does.
func (h *shop) signed(body string) (string, []byte) {
	return h.signedBy(testSecret, h.clock.now(), body)
}

func (h *shop) signedBy(secret string, at time.Time, body string) (string, []byte) {
	p := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: secret, Timestamp: at})
	return p.Header, p.Payload
}

// written returns the kinds and recipients of the mails so far.
func (h *shop) written() (kinds []string) {
	h.Helper()
	list, err := h.mails.Outbox(h.Context(), 100)
	h.must(err)
	for _, m := range list {
		kinds = append(kinds, m.Kind)
	}
	return kinds
}

// kind fails the test unless err is of that kind.
func (h *shop) kind(err error, want app.Kind, code string) {
	h.Helper()
	if e := app.AsError(err); err == nil || e.Kind != want || e.Code != code {
		h.Errorf("%v, want kind %d and code %s", err, want, code)
	}
}
