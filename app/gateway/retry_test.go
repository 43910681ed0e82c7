package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/meter"
	"umg/app/provider/health"
)

// routed are models whose routes are tried in other ways than one after the other.
const routed = `
  - {id: test/keys, ROUTES [{provider: delta, model: up-keys, style: chat}, {provider: beta, model: up-keys-b, style: chat, order: 2}]}
  - {id: test/keys-counted, ROUTES [{provider: delta, model: up-keys-counted, style: messages}]}
  - {id: test/frail, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, ROUTES [{provider: delta, model: up-frail, style: chat}]}
  - {id: test/narrow, ROUTES [{provider: narrow, model: up-narrow, style: chat}, {provider: beta, model: up-narrow-b, style: chat, order: 2}]}
  - {id: test/narrow-only, ROUTES [{provider: narrow, model: up-narrow, style: chat}]}
  - {id: test/brief, timeout: 300ms, ROUTES [{provider: gamma, model: up-brief, style: chat, timeouts: {total: 100ms}}, {provider: beta, model: up-brief-b, style: chat, order: 2}]}
  - {id: test/unhedged, hedge: false, ROUTES [{provider: alpha, model: up-unhedged, style: chat}, {provider: beta, model: up-unhedged-b, style: chat, order: 2}]}
  - {id: test/hedged, hedge: true, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, ROUTES [{provider: alpha, model: up-hedged, style: chat}, {provider: beta, model: up-hedged-b, style: chat, order: 2}]}
`

// asked counts the requests that a provider has seen.
func (b *bench) asked(provider string) int {
	b.t.Helper()
	n := 0
	for _, r := range b.sim.Requests() {
		if r.Provider == provider {
			n++
		}
	}
	return n
}

// watched is the bench with a monitor of its own in its gateway, which the store knows too.
func (b *bench) watched() (*bench, *health.Monitor) {
	b.t.Helper()
	next := *b
	m := health.New(health.Options{Now: time.Now, Random: b.options.Random, DB: b.db, Replica: b.replica})
	o := b.options
	o.Health = m
	next.gateway = gateway.New(o)
	return &next, m
}

// idle checks that no attempt is on its way.
func idle(t *testing.T, m *health.Monitor) {
	t.Helper()
	for _, s := range m.Report().Providers {
		if s.InFlight != 0 {
			t.Errorf("%s has %d attempts that never ended", s.Provider, s.InFlight)
		}
	}
}

func TestASilentUpstreamIsAskedOnce(t *testing.T) {
	t.Parallel()
	b := build(t, startMoney, hastyWait)
	for _, more := range []string{"", streamed} {
		b := b.fresh(t)
		b.fault("alpha", "stall")
		r, _, err := b.generate(b.call("test/two", "count to 3", more))
		must(t, err)
		if b.asked("alpha") != 1 || b.asked("beta") != 1 || r.Attempts != 2 || r.Provider != "beta" || r.Duration > 2*time.Second {
			t.Errorf("alpha %d, beta %d, report %+v", b.asked("alpha"), b.asked("beta"), r)
		}
		b.settled(r.Cost)
		if u := b.record(); u.Provider != "beta" || u.UpstreamModel != "up-two-b" || u.Attempts != 2 || u.Cost != cost(r.Usage[0], 3) {
			t.Errorf("record %+v", u)
		}
	}
}

func TestADeadUpstreamIsEjectedAndNotAskedAnyMore(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.fault("alpha", "status=503")
	var paid app.Amount
	for range 8 {
		r, _, err := b.generate(b.call("test/two", "count to 3", ""))
		must(t, err)
		if r.Provider != "beta" {
			t.Fatalf("report %+v", r)
		}
		paid += r.Cost
	}
	// Two tries a call, until the fifth failure in a row.
	if b.asked("alpha") != 5 || b.asked("beta") != 8 {
		t.Errorf("alpha was asked %d times and beta %d", b.asked("alpha"), b.asked("beta"))
	}
	if got := b.balance().Posted; got != startMoney-paid {
		t.Errorf("posted %s, want %s less", got, paid)
	}
	idle(t, m)
}

func TestTheOnlyRouteIsAskedOnceAlthoughItIsEjected(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.fault("alpha", "status=503")
	for range 3 {
		if _, _, err := b.generate(b.call("test/one", "hi", "")); app.AsError(err).Code != "upstream_error" {
			t.Fatal(err)
		}
	}
	before := b.asked("alpha")
	r, _, err := b.generate(b.call("test/one", "hi", ""))
	if app.AsError(err).Code != "upstream_error" || r.Attempts != 1 || b.asked("alpha") != before+1 {
		t.Errorf("%v after %d attempts", err, r.Attempts)
	}
	b.control(http.MethodDelete, "faults", nil)
	for range 2 { // The first call shows that the route is healthy again.
		if r, _, err := b.generate(b.call("test/one", "hi", "")); err != nil || r.Attempts != 1 {
			t.Errorf("%v, report %+v", err, r)
		}
	}
	if up := m.Report().Upstreams[0]; up.State != health.StateClosed {
		t.Errorf("%+v", up)
	}
	idle(t, m)
}

func TestTheRetryBudgetHoldsUnderAFloodOfFailures(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("delta", "status=503")
	const calls, floor, share = 200, 10, 10
	for range calls {
		if _, _, err := b.generate(b.call("test/frail", "hi", "")); app.AsError(err).Code != "upstream_error" {
			t.Fatal(err)
		}
	}
	retries := b.asked("delta") - calls
	if retries < floor || retries > floor+calls/share {
		t.Errorf("%d calls were tried again %d times", calls, retries)
	}
}

// doorkeeper answers in place of the simulator by the credential of a request.
type doorkeeper struct {
	next   http.Handler
	mu     sync.Mutex
	status map[string]int // Status maps the end of a credential to its status.
	seen   []string
}

func (d *doorkeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "+secret)
	d.mu.Lock()
	status := d.status[key]
	if strings.Contains(r.URL.Path, "/delta/") {
		d.seen = append(d.seen, key)
	}
	d.mu.Unlock()
	if status == 0 || !strings.Contains(r.URL.Path, "/delta/") {
		d.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error":{"message":"no","code":"no_%s"}}`, strings.ToLower(key))
}

func (d *doorkeeper) keys() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := strings.Join(d.seen, ",")
	d.seen = nil
	return keys
}

func TestARetryWaitsAsLongAsChanceSays(t *testing.T) {
	t.Parallel()
	const most = 3 * time.Second
	for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
		// The pool of this gateway is empty, so the first reset is none of a stale connection.
		all := setup(t, startMoney, func(o *gateway.Options) {
			o.RetryWait = most
			o.Random = func(n int) int {
				if n != int(most)+1 { // Other values come from the choice of routes.
					return 0
				}
				return int(wait)
			}
		})
		for _, spec := range []string{"reset", "status=500", "status=429", "status=408"} {
			b := all.fresh(t)
			b.fault("alpha", "times=1;"+spec)
			r, _, err := b.generate(b.call("test/one", "count to 3", ""))
			must(t, err)
			if r.Attempts != 2 || r.Duration < wait || r.Duration > most {
				t.Errorf("%s, %s: report %+v", spec, wait, r)
			}
			b.settled(r.Cost)
		}
	}
}

func TestOfSeveralWaitsTheShortestIsTold(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, c := range []struct {
		model, alpha, beta string
		crowded            bool
		wait               time.Duration
	}{
		{"test/two", "status=429;retry-after=20", "status=429;retry-after=7", true, 7 * time.Second},
		{"test/two", "status=429;retry-after=7", "status=429;retry-after=20", true, 7 * time.Second},
		{"test/two", "status=429;retry-after=20", "status=429", true, 5 * time.Second},
		{"test/two", "status=429;retry-after=3000", "status=429;retry-after=2000", true, time.Minute},
		{"test/two", "status=429;retry-after=20", "status=422", false, 0},
		{"test/hedged", "slow-first=200ms;status=429;retry-after=7", "slow-first=300ms;status=429;retry-after=20", true, 7 * time.Second},
	} {
		for _, more := range []string{"", streamed} {
			b, m := all.fresh(t).watched()
			if c.model == "test/hedged" {
				b.warm(more)
				b.open(startMoney)
			}
			b.fault("alpha", c.alpha)
			b.fault("beta", c.beta)
			_, _, err := b.generate(b.call(c.model, "count to 3", more))
			if e := app.AsError(err); e == nil || (e.Kind == app.Exhausted) != c.crowded || e.RetryAfter != c.wait {
				t.Errorf("%s and %s: %v, after %s", c.alpha, c.beta, err, e.RetryAfter)
			}
			b.settled(0)
			idle(t, m)
		}
	}
}

func TestACountIsAskedForWithEveryCredential(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	d := &doorkeeper{next: all.sim}
	all.answerWith(d)
	for _, c := range []struct {
		status map[string]int
		keys   string
		fails  bool
	}{
		{nil, "", false},
		{map[string]int{"": 401}, ",SECOND", false},
		{map[string]int{"": 429, "SECOND": 402}, ",SECOND,THIRD", false},
		{map[string]int{"": 401, "SECOND": 403, "THIRD": 429}, ",SECOND,THIRD", true},
		{map[string]int{"": 400}, "", true},
	} {
		b, m := all.fresh(t).watched()
		d.mu.Lock()
		d.status = c.status
		d.mu.Unlock()
		n, err := b.gateway.CountTokens(t.Context(), b.call("test/keys-counted", "count to 3", ""))
		if keys := d.keys(); keys != c.keys || (err != nil) != c.fails || err == nil && (n.Tokens == 0 || n.Estimated) {
			t.Errorf("%v: tried %q, %+v, %v", c.status, keys, n, err)
		}
		idle(t, m)
	}
}

func TestCredentialsThatAreRefusedOrUsedUpGiveWayToOthers(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	d := &doorkeeper{next: all.sim}
	all.answerWith(d)
	for _, c := range []struct {
		status   map[string]int
		keys     string // Keys lists the credentials that were tried; the first has no name.
		attempts int
		provider string
		again    string // Again lists the credentials that the next call tries.
	}{
		{map[string]int{"": 401}, ",SECOND", 2, "delta", "SECOND"},
		{map[string]int{"": 402, "SECOND": 403}, ",SECOND,THIRD", 3, "delta", "THIRD"},
		{map[string]int{"": 429, "SECOND": 401}, ",SECOND,THIRD", 3, "delta", "THIRD"},
		{map[string]int{"": 401, "SECOND": 401, "THIRD": 401}, ",SECOND,THIRD", 4, "beta", ""},
		{map[string]int{"": 400}, "", 1, "", ""},
	} {
		b := all.fresh(t)
		d.mu.Lock()
		d.status = c.status
		d.mu.Unlock()
		r, _, err := b.generate(b.call("test/keys", "count to 3", ""))
		if (err == nil) != (c.provider != "") {
			t.Fatal(c.status, err)
		}
		if keys := d.keys(); keys != c.keys || r.Attempts != c.attempts || err == nil && r.Provider != c.provider {
			t.Errorf("%v: tried %q, report %+v", c.status, keys, r)
		}
		if c.provider == "" {
			continue
		}
		r, _, err = b.generate(b.call("test/keys", "count to 3", ""))
		if keys := d.keys(); err != nil || keys != c.again || r.Attempts != 1 || r.Provider != c.provider {
			t.Errorf("%v: the next call tried %q, %v, report %+v", c.status, keys, err, r)
		}
	}
}

func TestWaitsThatUpstreamsAskFor(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, c := range []struct {
		spec     string
		provider string
		alpha    int // Alpha counts the attempts on alpha.
		least    time.Duration
	}{
		{"status=503;retry-after=0.1;times=1", "alpha", 2, 100 * time.Millisecond},
		{"status=429;retry-after=30", "beta", 1, 0},
		{"status=429;retry-date=30", "beta", 1, 0},
		{"status=503;retry-date=30", "beta", 1, 0},
		{"status=408;times=1", "alpha", 2, 0},
		{"status=529;times=1", "alpha", 2, 0},
		{"status=502", "beta", 2, 0},
	} {
		b := all.fresh(t)
		b.fault("alpha", c.spec)
		r, _, err := b.generate(b.call("test/two", "count to 3", ""))
		must(t, err)
		if r.Provider != c.provider || b.asked("alpha") != c.alpha || r.Duration < c.least || r.Duration > 2*time.Second {
			t.Errorf("%s: alpha was asked %d times, report %+v", c.spec, b.asked("alpha"), r)
		}
		b.settled(r.Cost)
	}
}

func TestRefusalsAreNeitherTriedAgainNorElsewhereNorFailures(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, spec := range []string{"status=422", "status=400", "status=413", "content-filter", "error-in-200;status=400;code=content_filter"} {
		b, m := all.fresh(t).watched()
		b.fault("alpha", spec)
		const calls = 6 // As many failures would eject the route.
		for range calls {
			_, _, err := b.generate(b.call("test/two", "count to 3", streamed))
			if e := app.AsError(err); e == nil || e.Status < 400 || e.Status > 499 {
				t.Fatalf("%s: %v", spec, err)
			}
		}
		if b.asked("alpha") != calls || b.asked("beta") != 0 {
			t.Errorf("%s: alpha was asked %d times, beta %d", spec, b.asked("alpha"), b.asked("beta"))
		}
		if up := m.Report().Upstreams[0]; up.State != health.StateClosed || up.FailuresMinute != 0 {
			t.Errorf("%s: %+v", spec, up)
		}
	}
}

func TestAFilteredAnswerIsPassedOn(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	r, s, err := b.generate(b.call("test/two", "refuse: this", ""))
	must(t, err)
	if !strings.Contains(s.text(), `"finish_reason":"content_filter"`) || r.Attempts != 1 || b.asked("beta") != 0 {
		t.Errorf("report %+v: %s", r, s.text())
	}
}

func TestAWholeCallHasOneDeadlineOverAllItsAttempts(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, c := range []struct {
		beta, provider string
		code           string
	}{
		{"", "beta", ""}, // The timeout of the first route ends, but not that of the call.
		{"stall", "beta", "upstream_timeout"},
	} {
		b := all.fresh(t)
		b.fault("gamma", "stall")
		if c.beta != "" {
			b.fault("beta", c.beta)
		}
		r, _, err := b.generate(b.call("test/brief", "count to 3", ""))
		if e := app.AsError(err); c.code == "" && err != nil || c.code != "" && (e == nil || e.Code != c.code || e.Kind != app.Timeout) {
			t.Error(err)
		}
		if r.Attempts != 2 || r.Provider != c.provider || r.Duration < 100*time.Millisecond || r.Duration > time.Second || c.code != "" && r.Duration < 300*time.Millisecond {
			t.Errorf("report %+v", r)
		}
		b.settled(r.Cost)
	}
}

func TestPausedModelsAndProvidersAreNotAsked(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	pause := func(kind, id, reason string) {
		must(t, m.Pause(t.Context(), health.Pause{Kind: kind, ID: id, Reason: reason, By: "op@example.com"}))
	}
	refused := func(model, reason string) {
		t.Helper()
		r, s, err := b.generate(b.call(model, "hi", ""))
		e := app.AsError(err)
		if e == nil || e.Kind != app.Unavailable || e.Code != "model_temporarily_unavailable" || !strings.Contains(e.Message, reason) ||
			e.RetryAfter <= 0 || r.Attempts != 0 || s.status != 0 {
			t.Errorf("%s: %v", model, err)
		}
	}
	pause(health.KindModel, "test/one", "it is being moved.")
	refused("test/one", "it is being moved. Try again")
	if r, _, err := b.generate(b.call("test/two", "hi", "")); err != nil || r.Provider != "alpha" {
		t.Errorf("another model: %v, %+v", err, r)
	}
	must(t, m.Resume(t.Context(), health.KindModel, "test/one", "op@example.com"))
	pause(health.KindProvider, "alpha", "")
	before := b.asked("alpha")
	refused("test/one", "platform traffic control")
	if r, _, err := b.generate(b.call("test/two", "hi", "")); err != nil || r.Provider != "beta" || b.asked("alpha") != before {
		t.Errorf("a paused provider: %v, %+v", err, r)
	}
	must(t, m.Resume(t.Context(), health.KindProvider, "alpha", "op@example.com"))
	if r, _, err := b.generate(b.call("test/one", "hi", "")); err != nil || r.Provider != "alpha" {
		t.Errorf("a resumed provider: %v, %+v", err, r)
	}
	idle(t, m)
}

func TestAProvidersOwnLimitsAreKept(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.fault("narrow", "hold")
	held := make(chan error, 1)
	go func() {
		_, err := b.gateway.Generate(context.WithoutCancel(t.Context()), b.call("test/narrow", "hi", ""), &sink{})
		held <- err
	}()
	b.control(http.MethodGet, "waiting?at_least=1&timeout=5s", nil)
	if r, _, err := b.generate(b.call("test/narrow", "hi", "")); err != nil || r.Provider != "beta" {
		t.Errorf("%v, %+v", err, r)
	}
	_, _, err := b.generate(b.call("test/narrow-only", "hi", ""))
	if e := app.AsError(err); e == nil || e.Kind != app.Unavailable || e.Code != "no_available_provider" || e.RetryAfter <= 0 {
		t.Errorf("%v", err)
	}
	if b.asked("narrow") != 1 {
		t.Errorf("narrow was asked %d times", b.asked("narrow"))
	}
	b.control(http.MethodPost, "release", nil)
	must(t, <-held)
	idle(t, m)
}

func TestAttemptsEndHoweverTheirCallDoes(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, spec := range []string{"", "cut-after=5t", "truncated-json", "status=503", "pace=5ms"} {
		b, m := all.fresh(t).watched()
		if spec != "" {
			b.fault("alpha", spec)
		}
		for _, more := range []string{"", streamed} {
			_, _, _ = b.generate(b.call("test/one", "count to 20", more))
		}
		ctx, leave := context.WithCancel(t.Context())
		s := &sink{hook: func([]byte) error { leave(); return nil }}
		_, _ = b.gateway.Generate(ctx, b.call("test/one", "count to 200", streamed), s)
		leave()
		idle(t, m)
	}
}

func TestFailedAttemptsAreNeverBilled(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, spec := range []string{"status=500", "cut-after=1", "truncated-json", "auth", "html"} {
		b := all.fresh(t)
		b.fault("alpha", spec)
		r, _, err := b.generate(b.call("test/two", "count to 20", ""))
		must(t, err)
		if r.Cost != cost(r.Usage[meter.InputTokens], 20) || r.Provider != "beta" {
			t.Errorf("%s: report %+v", spec, r)
		}
		b.settled(r.Cost)
	}
}
