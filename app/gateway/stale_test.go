package gateway_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// staleServer answers the first request of each connection, once as many have come as are to be pooled, and closes a
// connection that brings a second one.
type staleServer struct {
	t       *testing.T
	next    http.Handler
	mu      sync.Mutex
	seen    map[string]bool // Seen holds remote addresses.
	waiting sync.WaitGroup
	pooled  int
}

func (s *staleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	again := s.seen[r.RemoteAddr]
	s.seen[r.RemoteAddr] = true
	waits := !again && s.pooled > 0
	if waits {
		s.pooled--
	}
	s.mu.Unlock()
	if again {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			s.t.Error(err)
			return
		}
		_ = conn.Close()
		return
	}
	if waits { // Each of these calls has its own connection.
		s.waiting.Done()
		s.waiting.Wait()
	}
	s.next.ServeHTTP(w, r)
}

func TestStaleConnectionsAreNoFailuresOfTheirProvider(t *testing.T) {
	t.Parallel()
	const pooled = 3
	for _, stream := range []bool{false, true} {
		b := setup(t, startMoney)
		s := &staleServer{t: t, next: b.sim, seen: map[string]bool{}, pooled: pooled}
		s.waiting.Add(pooled)
		b.answerWith(s)
		first := make([]gateway.Call, pooled)
		for i := range first {
			first[i] = b.styledCall(llm.Chat, "test/one", asked{prompt: "count to 3", stream: stream})
		}
		var calls sync.WaitGroup
		for _, c := range first {
			calls.Go(func() {
				if _, _, err := b.generate(c); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		for i := range pooled {
			r, _, err := b.generate(b.styledCall(llm.Chat, "test/one", asked{prompt: "count to 3", stream: stream}))
			if err != nil || r.Attempts != 1 || r.Fault != "" || r.Outcome != "succeeded" {
				t.Errorf("stream %t, call %d: %v, %d attempts, fault %q", stream, i, err, r.Attempts, r.Fault)
			}
		}
	}
}

func TestEveryStyleKeepsTheStatusOfAnErrorWhoseBodyNeverEnds(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyleBothForms(t, 0, all, func(b *bench, client, upstream llm.Style, stream bool) { // A translation makes no difference here.
		b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"slow down`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		defer b.answerWith(b.sim)
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "hi", stream: stream}))
		e := app.AsError(err)
		if e == nil || e.Kind != app.Exhausted || e.RetryAfter != 30*time.Second || s.status != 0 || r.Cost != 0 || r.Duration > 5*time.Second {
			b.t.Errorf("%v, status %d, report %+v", err, s.status, r)
		}
		b.settled(0)
	})
}
