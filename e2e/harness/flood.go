package harness

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// FloodClients is the number of clients that create jobs at the same time.
	FloodClients   = 8
	slowAnswerTime = 100 * time.Millisecond
)

// unreliableReceiver answers three attempts of ten badly, each tenth in another way.
func unreliableReceiver(attempts *atomic.Int64) func(http.ResponseWriter, *http.Request) {
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
			time.Sleep(slowAnswerTime)
			w.WriteHeader(http.StatusServiceUnavailable)
		case 0:
			time.Sleep(slowAnswerTime)
			w.WriteHeader(http.StatusOK)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

// CreateWithRetries makes a job as a careful client does: under a key of its own, and once more when the service is too busy.
func (m *RestartingDemo) CreateWithRetries(t *testing.T, prompt string, again *atomic.Int64) string {
	ctx, cancel := context.WithTimeout(context.Background(), CallTimeMax)
	defer cancel()
	for {
		a, err := m.TryCall(ctx, http.MethodPost, VideosPath, VideoBody(OperationsModel, prompt), "Idempotency-Key", prompt[len(prompt)-10:])
		switch {
		case err == nil && a.Status == http.StatusOK:
			return TextMember(DecodeObject(t, a.Body), "id")
		case err != nil || a.Status != http.StatusServiceUnavailable && a.Status != http.StatusConflict:
			t.Errorf("%d %s %v", a.Status, a.Body, err)
			return ""
		}
		again.Add(1)
		time.Sleep(slowAnswerTime)
	}
}

// rejectUntil keeps a receiver from answering until it opens, so that the flood comes at once.
func rejectUntil(open <-chan struct{}, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			then(w, r)
		case <-r.Context().Done():
		}
	}
}

// FloodWebhooks lets events be made, kills the gateway when some hundreds have arrived, and waits for the rest.
func FloodWebhooks(t *testing.T, events int, produce func(*RestartingDemo) []string) {
	t.Helper()
	m := NewRestartingDemo(t, "flood", "--video-poll-interval", "50ms")
	before := m.Balance(t)
	var attempts atomic.Int64
	open := make(chan struct{})
	to := NewWebhookReceiver(t)
	to.AnswerWith(rejectUntil(open, unreliableReceiver(&attempts)))
	m.AddWebhook(t, to)
	ids := produce(m)
	db := m.DB(t)
	WaitUntil(t, "all jobs have ended", func() bool {
		var n int
		err := db.Get(&n, `select count(*) from webhook_events where account_id = $1`, m.AccountID)
		return err == nil && n == events
	})
	began := time.Now()
	close(open)
	WaitUntil(t, "some hundreds of events have arrived", func() bool { return attempts.Load() > FloodEvents/3 })
	m.Kill(t)
	m.Restart(t)
	m.FinishJobs(t)
	took := time.Since(began)
	CheckRetriesEqual(t, to.Received())
	about := map[string]int{}
	for _, h := range to.Received() {
		about[TextMember(h.Event(t), "data", "id")]++
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
	t.Logf("%d events, %d attempts, %d told more than once", len(about), len(to.Received()), again)
	t.Logf("the events arrived within %s, with a kill in the middle", took.Round(10*time.Millisecond))
	m.checkDeliveries(t, to, len(ids))
	m.CheckJobs(t, before)
}

// checkDeliveries compares what the console shows of attempts with what the receiver counted: it shows no attempt that did not
// happen, and only attempts that the kill cut may be missing.
func (m *RestartingDemo) checkDeliveries(t *testing.T, to *WebhookReceiver, events int) {
	t.Helper()
	var told struct {
		Deliveries, Delivered, Attempts, Succeeded int
	}
	if err := m.DB(t).Get(&told, `
		select count(*) as deliveries, count(*) filter (where d.state = 'delivered') as delivered, sum(d.attempts) as attempts,
			(select count(*) from webhook_attempts a where a.account_id = $1 and a.url = $2 and a.succeeded) as succeeded
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.account_id = $1 and e.url = $2`,
		m.AccountID, to.URL); err != nil {
		t.Fatal(err)
	}
	// cutMax is the number of attempts to one endpoint that a kill may cut, requests and answers.
	const cutMax = 8
	came := len(to.Received())
	if told.Deliveries != events || told.Delivered != events || told.Succeeded != events || told.Attempts > came ||
		told.Attempts < came-cutMax {
		t.Errorf("%d attempts came, the tables say %+v", came, told)
	}
}
