package payments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// requestBytesMax is the largest body of a request.
	requestBytesMax = 64 << 10
	// graceStandard is how long Serve lets running answers finish.
	graceStandard = 2 * time.Second
	// stallMax bounds how long a request waits when a test makes it stall.
	stallMax = 2 * time.Minute
)

// Options configure the simulator. Now, Random and Key are required.
type Options struct {
	Now        func() time.Time
	Random     io.Reader // Random is the source of ids.
	Key        string    // Only this API key is accepted.
	Secret     string    // Secret signs webhooks.
	WebhookURL string    // Events are sent to this address; empty sends none.
	BaseURL    string    // BaseURL is the address of hosted pages; empty means the address of the request.
	Control    bool      // Control serves the routes below /_control.
	AsyncAfter time.Duration
	RetryWaits []time.Duration // A webhook is retried after each of these; nil means six waits from a second to an hour.
}

// Simulator is the payment service. It is an http.Handler.
type Simulator struct {
	o     Options
	api   *http.ServeMux
	hooks *hooks

	mu     sync.Mutex // The lock guards all fields below, and requests run one at a time.
	store  store
	keys   keys
	faults faults
	later  []deadline
}

// deadline is something that time alone decides: an open session that expires, or a slow payment that arrives.
type deadline struct {
	at time.Time
	id string
}

// New makes a simulator. Close it, unless Serve did.
func New(o Options) *Simulator {
	switch {
	case o.Now == nil:
		panic("payments.New: Options.Now is required")
	case o.Random == nil:
		panic("payments.New: Options.Random is required")
	case o.Key == "":
		panic("payments.New: Options.Key is required")
	}
	if o.RetryWaits == nil {
		o.RetryWaits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour}
	}
	s := &Simulator{o: o, store: store{all: map[string]object{}, kinds: map[string][]string{}},
		keys: keys{known: map[string]kept{}}, hooks: newHooks(o)}
	s.api = s.routes()
	return s
}

// Close ends the sending of webhooks and waits for those on their way.
func (s *Simulator) Close() { s.hooks.close() }

// ServeHTTP answers one request.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, requestBytesMax)
	s.checkDue()
	s.api.ServeHTTP(w, r)
}

func (s *Simulator) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /pay/{id}", s.locked(func(w http.ResponseWriter, r *http.Request) {
		s.showCheckout(w, r.PathValue("id"), "", http.StatusOK)
	}))
	mux.HandleFunc("POST /pay/{id}", s.locked(s.checkoutPay))
	mux.HandleFunc("GET /portal/{id}", s.locked(s.portalPage))
	mux.HandleFunc("POST /portal/{id}/remove", s.locked(s.portalRemove))
	mux.HandleFunc("GET /receipts/{id}", s.locked(s.receiptPage))
	if s.o.Control {
		s.controls(mux)
	}
	for _, e := range slices.Concat(customerEndpoints(), methodEndpoints(), sessionEndpoints(), intentEndpoints(), chargeEndpoints(),
		disputeEndpoints(), portalEndpoints(), eventEndpoints()) {
		mux.HandleFunc(e.route, s.handle(e))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		failed := invalid("", "", "Unrecognized request URL (%s: %s).", r.Method, r.URL.Path)
		failed.status = http.StatusNotFound
		failed.write(w)
	})
	return mux
}

// passTime does what is due. The caller holds the lock.
func (s *Simulator) passTime() {
	now := s.o.Now()
	rest := s.later[:0]
	var due []deadline
	for _, d := range s.later {
		if now.Before(d.at) {
			rest = append(rest, d)
		} else {
			due = append(due, d)
		}
	}
	s.later = rest
	for _, d := range due {
		switch o := s.store.get(d.id).(type) {
		case *session:
			s.expire(o)
		case *intent:
			s.resolve(o, true)
		}
	}
}

func (s *Simulator) checkDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passTime()
}

// remindOf notes that an object has something due, and does it then.
func (s *Simulator) remindOf(id string, at time.Time) {
	if len(s.later) >= objectsMax {
		s.later = s.later[1:]
	}
	s.later = append(s.later, deadline{at, id})
	time.AfterFunc(at.Sub(s.o.Now()), s.checkDue)
}

// base is the address of the pages for people.
func (s *Simulator) base(r *http.Request) string {
	if s.o.BaseURL != "" {
		return s.o.BaseURL
	}
	return "http://" + r.Host
}

// newID makes an id of letters and digits after the prefix.
func (s *Simulator) newID(prefix string, length int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	raw := make([]byte, length)
	if _, err := io.ReadFull(s.o.Random, raw); err != nil {
		panic("payments: no randomness: " + err.Error())
	}
	for i, b := range raw {
		raw[i] = letters[int(b)%len(letters)]
	}
	return prefix + string(raw)
}

// Serve answers on the listener until ctx ends, and ends the sending of webhooks. The listener is closed when it
// returns; an orderly end is no error.
func (s *Simulator) Serve(ctx context.Context, l net.Listener) error {
	defer s.Close()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	// goroutine: Serve owns it; it ends when Serve closes the server.
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("payments: serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceStandard)
	defer cancel()
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("payments: serve: %w", err)
	}
	return nil
}
