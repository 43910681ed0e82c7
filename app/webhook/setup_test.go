package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/egress"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// TestMain proves that no delivery leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

var must = apptest.Must

// names answers look-ups from a table; the n-th look-up of a name gets its n-th answer, and later look-ups get the last one.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[strings.TrimSuffix(host, ".")]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	i := min(n.asked[host], len(list)-1)
	n.asked[host]++
	var out []netip.Addr
	for s := range strings.FieldsSeq(list[i]) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// notices collects what people are told.
type notices struct {
	mu   sync.Mutex
	list []string
}

func (n *notices) tell(_ context.Context, _ postgres.Queryer, about Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, about.EndpointID+": "+about.Text)
	return nil
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.list...)
}

// bench is a service with a database of its own and receivers that its outbound client may reach.
type bench struct {
	testing.TB
	*Service
	db      *sqlx.DB
	clock   *apptest.Clock
	told    *notices
	options Options
	account app.Principal
}

// setup makes a bench whose outbound client may reach the receivers, and nothing else that is not public.
func setup(t testing.TB, receivers []*receiver, change ...func(*Options)) *bench {
	t.Helper()
	return setupOver(t, egress.Options{Exceptions: hostsOf(receivers), Timeout: 5 * time.Second}, change...)
}

func hostsOf(receivers []*receiver) (list []string) {
	for _, r := range receivers {
		list = append(list, r.host())
	}
	return list
}

func setupOver(t testing.TB, e egress.Options, change ...func(*Options)) *bench {
	t.Helper()
	if e.Resolver == nil {
		e.Resolver = &names{asked: map[string]int{}}
	}
	out, err := egress.New(e)
	must(t, err)
	t.Cleanup(out.Close)
	c := apptest.NewClock()
	b := &bench{TB: t, db: pgtest.New(t), clock: c, told: &notices{}}
	b.options = Options{
		Egress: out, Now: c.Now, IDs: apptest.IDs(c.Now), Random: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Jitter: func(n int64) int64 { return n / 2 }, Key: [32]byte{1, 2, 3}, Notify: b.told.tell,
		Waits: Waits{Attempt: 2 * time.Second, Poll: 20 * time.Millisecond},
	}
	for _, f := range change {
		f(&b.options)
	}
	b.Service = b.replica()
	b.account = b.newAccount()
	return b
}

// replica is another instance over the same store, as another process would be.
func (b *bench) replica() *Service {
	b.Helper()
	s, err := New(b.db, b.options)
	must(b, err)
	return s
}

func (b *bench) newAccount() app.Principal {
	b.Helper()
	return app.Principal{AccountID: apptest.NewAccount(b, b.db, b.clock.Now)}
}

func (b *bench) exec(query string, args ...any) {
	b.Helper()
	_, err := b.db.ExecContext(b.Context(), query, args...)
	must(b, err)
}

func (b *bench) number(query string, args ...any) (n int) {
	b.Helper()
	must(b, b.db.GetContext(b.Context(), &n, query, args...))
	return n
}

// endpoint makes an endpoint of the bench's account for all types.
func (b *bench) endpoint(r *receiver) (Endpoint, string) {
	b.Helper()
	return b.endpointOf(b.account, r.URL+"/hook")
}

func (b *bench) endpointOf(p app.Principal, url string) (Endpoint, string) {
	b.Helper()
	e, secret, err := b.Create(b.Context(), p, EndpointSpec{Name: "test", URL: url, EventTypes: Types()})
	must(b, err)
	return e, secret
}

// emit records an event about a new object, as a caller's transaction does.
func (b *bench) emit(p app.Principal) (objectID string) {
	b.Helper()
	objectID = b.options.IDs.New("video")
	b.emitAbout(p, objectID)
	return objectID
}

func (b *bench) emitAbout(p app.Principal, objectID string) {
	b.Helper()
	must(b, postgres.InTx(b.Context(), b.db, func(tx *sqlx.Tx) error {
		return b.Emit(b.Context(), tx, Event{AccountID: p.AccountID, Type: VideoCompleted, ObjectID: objectID})
	}))
}

// deliver makes one pass and says how many attempts it made.
func (b *bench) deliver(want int) {
	b.Helper()
	if got, err := b.Deliver(b.Context()); err != nil || got != want {
		b.Fatalf("%d attempts, %v, want %d", got, err, want)
	}
}

// only is the one delivery of the bench's account.
func (b *bench) only() DeliveryDetail {
	b.Helper()
	page, err := b.Deliveries(b.Context(), b.account, DeliveryQuery{})
	must(b, err)
	if len(page.Deliveries) != 1 {
		b.Fatalf("%d deliveries", len(page.Deliveries))
	}
	d, err := b.Delivery(b.Context(), b.account, page.Deliveries[0].ID)
	must(b, err)
	return d
}

func (b *bench) get(id string) Endpoint {
	b.Helper()
	e, err := b.Get(b.Context(), b.account, id)
	must(b, err)
	return e
}

// call is a request as a receiver saw it.
type call struct {
	header http.Header
	body   []byte
}

// receiver is a customer's server, which keeps what it is sent.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

// newReceiver answers by the function, or 204 without one.
func newReceiver(t testing.TB, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.calls = append(r.calls, call{req.Header.Clone(), body})
		r.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// answering is a receiver that always answers with a status.
func answering(t testing.TB, status int, headers ...string) *receiver {
	return newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	})
}

func (r *receiver) host() string { return strings.TrimPrefix(r.URL, "http://") }

func (r *receiver) got() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

// verify is a receiver's check, written from the standard alone: the three headers, a tolerance of five minutes, and any
// signature of the list that fits.
func verify(secret string, c call, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	id, stamp := c.header.Get("webhook-id"), c.header.Get("webhook-timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" || strings.Contains(id, ".") {
		return fmt.Errorf("headers %v", c.header)
	}
	if d := now.Sub(time.Unix(at, 0)); d > 5*time.Minute || d < -5*time.Minute {
		return fmt.Errorf("the message is %s old", d)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(bytes.Join([][]byte{[]byte(id), []byte(stamp), c.body}, []byte(".")))
	for signed := range strings.FieldsSeq(c.header.Get("webhook-signature")) {
		version, sum, _ := strings.Cut(signed, ",")
		if raw, err := base64.StdEncoding.DecodeString(sum); err == nil && version == "v1" && hmac.Equal(raw, mac.Sum(nil)) {
			return nil
		}
	}
	return fmt.Errorf("no signature fits")
}
