package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	floodClients = 8
	slowTime     = 100 * time.Millisecond
)

// moody answers three attempts of ten badly, each tenth in another way.
func moody(attempts *atomic.Int64) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		switch n := attempts.Add(1); n % 20 {
		case 1, 11:
			http.Error(w, "not now", http.StatusInternalServerError)
		case 4:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 7, 17:
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				conn.Close()
			}
		case 14:
			// The receiver answers slowly, and then with an error.
			time.Sleep(slowTime)
			w.WriteHeader(http.StatusServiceUnavailable)
		case 0:
			time.Sleep(slowTime)
			w.WriteHeader(http.StatusOK)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

// TestFaultWebhookFlood ends hundreds of jobs while their receiver refuses three attempts of ten, and kills the gateway in
// the middle: each event arrives, always under one id, and none is invented.
func TestFaultWebhookFlood(t *testing.T) {
	t.Parallel()
	flood(t, floodEvents, func(m *mortal) []string { return m.fail(t, floodEvents) })
}

// fail makes jobs that fail at once at their provider, and returns the ids.
func (m *mortal) fail(t *testing.T, jobs int) []string {
	t.Helper()
	ids := make([]string, jobs)
	var all sync.WaitGroup
	var again atomic.Int64
	for worker := range floodClients {
		all.Go(func() {
			for i := worker; i < jobs && !t.Failed(); i += floodClients {
				ids[i] = m.insist(t, fmt.Sprintf("simulate: fail=server_error;render=0s\nevent %06d.", i), &again)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if n := again.Load(); n > 0 {
		t.Logf("%d creates were answered 503 by the busy store, and were sent again", n)
	}
	return ids
}

// insist makes a job as a careful client does: under a key of its own, and once more when the service is too busy.
func (m *mortal) insist(t *testing.T, prompt string, again *atomic.Int64) string {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	for {
		a, err := m.tryCall(ctx, http.MethodPost, videosPath, videoBody(fastModel, prompt), "Idempotency-Key", prompt[len(prompt)-10:])
		switch {
		case err == nil && a.status == http.StatusOK:
			return textAt(object(t, a.body), "id")
		case err != nil || a.status != http.StatusServiceUnavailable && a.status != http.StatusConflict:
			t.Errorf("%d %s %v", a.status, a.body, err)
			return ""
		}
		again.Add(1)
		time.Sleep(slowTime)
	}
}

// closedUntil keeps a receiver from answering until it opens, so that the flood comes at once.
func closedUntil(open <-chan struct{}, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			then(w, r)
		case <-r.Context().Done():
		}
	}
}

// flood lets events be made, kills the gateway when some hundreds have arrived, and waits for the rest.
func flood(t *testing.T, events int, produce func(*mortal) []string) {
	t.Helper()
	m := newMortal(t, "flood", "--video-poll-interval", "50ms")
	before := m.money(t)
	var attempts atomic.Int64
	open := make(chan struct{})
	to := newReceiver(t)
	to.answers(closedUntil(open, moody(&attempts)))
	m.listens(t, to)
	ids := produce(m)
	db := m.db(t)
	until(t, "all jobs have ended", func() bool {
		var n int
		err := db.Get(&n, `select count(*) from webhook_events where account_id = $1`, m.accountID)
		return err == nil && n == events
	})
	began := time.Now()
	close(open)
	until(t, "some hundreds of events have arrived", func() bool { return attempts.Load() > floodEvents/3 })
	m.kill(t)
	m.rise(t)
	m.settle(t)
	took := time.Since(began)
	sameOnEachTry(t, to.hits())
	about := map[string]int{}
	for _, h := range to.hits() {
		about[textAt(h.event(t), "data", "id")]++
	}
	lost, again := 0, 0
	for _, id := range ids {
		switch n := about[id]; {
		case n == 0:
			lost++
		case n > 1:
			again++
		}
	}
	if lost > 0 || len(about) != len(ids) {
		t.Errorf("%d of %d events are lost, %d objects were told of", lost, len(ids), len(about))
	}
	t.Logf("%d events, %d attempts, %d told more than once", len(about), len(to.hits()), again)
	t.Logf("the events arrived within %s, with a kill in the middle", took.Round(10*time.Millisecond))
	m.deliveriesAgree(t, to, len(ids))
	m.audit(t, before)
}

// deliveriesAgree compares what the console shows of attempts with what the receiver counted: it shows no attempt that did not
// happen, and only attempts that the kill cut may be missing.
func (m *mortal) deliveriesAgree(t *testing.T, to *receiver, events int) {
	t.Helper()
	var told struct {
		Deliveries, Delivered, Attempts, Succeeded int
	}
	if err := m.db(t).Get(&told, `
		select count(*) as deliveries, count(*) filter (where d.state = 'delivered') as delivered, sum(d.attempts) as attempts,
			(select count(*) from webhook_attempts a where a.account_id = $1 and a.url = $2 and a.succeeded) as succeeded
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.account_id = $1 and e.url = $2`,
		m.accountID, to.url); err != nil {
		t.Fatal(err)
	}
	// cutMax is the number of attempts to one endpoint that a kill may cut, requests and answers.
	const cutMax = 8
	came := len(to.hits())
	if told.Deliveries != events || told.Delivered != events || told.Succeeded != events || told.Attempts > came || told.Attempts < came-cutMax {
		t.Errorf("%d attempts came, the tables say %+v", came, told)
	}
}
