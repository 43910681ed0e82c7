package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	replicas = 3
	// healthEvery is the balancer's interval between two requests of /readyz.
	healthEvery   = 20 * time.Millisecond
	lameDuck      = "500ms"
	rolledStreams = 300
	// rolledTokens are the tokens of a stream, 100 ms apart.
	rolledTokens = 12
	coldKeys     = 60
	coldClients  = 48
	coldTime     = 2 * time.Second
	// coldWaitMax is the limit for answers in the second half of that time, at the 99th percentile.
	coldWaitMax = time.Second
	// heardMax is the time until a revoked key is refused by all replicas, at the 99th percentile.
	heardMax = time.Second
)

// seat is a place behind a balancer, in which one replica after the other sits.
type seat struct {
	harness.Replica

	data  string
	ready atomic.Bool
}

// balancer sends calls to the replicas that say they are ready, in turn, and tries nothing twice.
type balancer struct {
	seats []*seat
	// mu guards the replicas in the seats.
	mu   sync.RWMutex
	turn atomic.Int64
	// lost counts calls that no replica answered.
	lost  atomic.Int64
	front *httptest.Server
}

func newBalancer(t *testing.T, seats []*seat) *balancer {
	t.Helper()
	b := &balancer{seats: seats}
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.next()) }, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				b.lost.Add(1)
				t.Errorf("a call was lost: %v", err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	b.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The proxy reads the body first. A body tied to the client's connection loses streams of an upstream that answers at once.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	ctx, stop := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	for _, s := range seats {
		looking.Go(func() { b.watch(ctx, s) })
	}
	t.Cleanup(func() {
		stop()
		looking.Wait()
		b.front.Close()
		transport.CloseIdleConnections()
	})
	return b
}

// watch asks a replica whether it is ready until ctx ends.
func (b *balancer) watch(ctx context.Context, s *seat) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		b.mu.RLock()
		ops := s.OpsURL
		b.mu.RUnlock()
		resp, err := harness.HTTPClient.Get(ops + "/readyz")
		s.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
		if err == nil {
			_ = resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// next is where a call goes; with no replica ready it goes to any.
func (b *balancer) next() *url.URL {
	b.mu.RLock()
	defer b.mu.RUnlock()
	n := int(b.turn.Add(1))
	at := b.seats[n%len(b.seats)]
	for i := range b.seats {
		if s := b.seats[(n+i)%len(b.seats)]; s.ready.Load() {
			at = s
			break
		}
	}
	u, _ := url.Parse(strings.TrimSuffix(at.BaseURL, "/v1"))
	return u
}

// sit puts a fresh replica into a seat and returns when the balancer has seen it.
func (b *balancer) sit(t *testing.T, s *seat, p harness.Replica) {
	t.Helper()
	b.mu.Lock()
	s.Replica = p
	b.mu.Unlock()
	for deadline := time.Now().Add(harness.StartTimeMax); !s.ready.Load(); time.Sleep(healthEvery) {
		if time.Now().After(deadline) {
			t.Fatal("the replica does not become ready")
		}
	}
}

// TestFaultFleet walks three replicas through what a fleet goes through: all start at once with cold caches under full load,
// a key is revoked at one and refused by all, and they are replaced one after the other under running streams.
func TestFaultFleet(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	slow := harness.UniqueName("test/rolled")
	g.AddModels(t, harness.Model{ID: slow, UpstreamModel: "sim+pace=100ms", Provider: "meridian"})
	manager := harness.NewConsoleClient(t, g)
	manager.SignIn(t, g.Email, g.Password)
	f := &fleet{Gateway: g, manager: manager.CreateManagementKey(t), args: []string{"--drain-timeout", "30s", "--lame-duck", lameDuck}}
	f.makeKeys(t, coldKeys)
	f.startsCold(t)
	t.Run("revocation", f.revokes)
	t.Run("rolling restart", func(t *testing.T) { f.rolls(t, slow, rolledStreams, 1) })
	for _, s := range f.seats {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	g.CheckLedger(t)
}

// fleet is three replicas on one database, and keys that they know nothing of yet.
type fleet struct {
	*harness.Gateway

	seats   []*seat
	manager string
	args    []string
	keys    []fleetKey
}

type fleetKey struct{ ID, Secret string }

func (f *fleet) makeKeys(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		var k fleetKey
		a := f.Call(t, "POST", "/v1/keys", fmt.Sprintf(`{"name":"fleet %d"}`, i), harness.BearerHeader(f.manager)...)
		if err := json.Unmarshal([]byte(a.Body), &k); err != nil || k.Secret == "" {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		f.keys = append(f.keys, k)
	}
}

// startsCold starts all replicas at once, and each gets calls of all clients as soon as it is ready. No call is refused
// for an unknown key, and no call fails otherwise.
func (f *fleet) startsCold(t *testing.T) {
	t.Helper()
	f.seats = make([]*seat, replicas)
	var all sync.WaitGroup
	for i := range f.seats {
		s := &seat{data: harness.DataDir(t)}
		f.seats[i] = s
		all.Go(func() {
			p, err := harness.TryReplica(f.DatabaseURL(t), f.Gateway, append([]string{"--data", s.data}, f.args...)...)
			if err != nil {
				t.Error(err)
				return
			}
			s.Replica = p
			f.floods(t, p)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// floods calls a replica that has just opened, with every key, and judges every answer.
func (f *fleet) floods(t *testing.T, p harness.Replica) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), coldTime)
	defer cancel()
	opened := time.Now()
	var all sync.WaitGroup
	var calls, denied, failed atomic.Int64
	var mu sync.Mutex
	var waits []time.Duration
	for i := range coldClients {
		all.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				from := time.Now()
				a, err := p.TryCall(context.Background(), "GET", "/v1/models", "", harness.BearerHeader(f.keys[n%len(f.keys)].Secret)...)
				calls.Add(1)
				if from.Sub(opened) > coldTime/2 {
					mu.Lock()
					waits = append(waits, time.Since(from))
					mu.Unlock()
				}
				switch {
				case err != nil || a.Status >= http.StatusInternalServerError:
					if failed.Add(1) == 1 {
						_, why, _ := strings.Cut(p.Log.String(), `"cause":`)
						t.Logf("the first failure: %v %d %s: %s", err, a.Status, a.Body, why[:min(len(why), 300)])
					}
				case a.Status != http.StatusOK:
					denied.Add(1)
				}
			}
		})
	}
	all.Wait()
	slices.Sort(waits)
	p99 := time.Duration(0)
	if len(waits) > 0 {
		p99 = waits[len(waits)*99/100]
	}
	t.Logf("cold start: %d calls, %d denied, %d failed, p99 of the second half %v", calls.Load(), denied.Load(), failed.Load(), p99)
	if denied.Load() > 0 || failed.Load() > 0 || calls.Load() < coldKeys || p99 > coldWaitMax {
		t.Error("a cold start was noticed")
	}
}

// revokes deletes keys and disables others at one replica, and measures until every replica refuses each.
func (f *fleet) revokes(t *testing.T) {
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	turns := make(chan fleetKey)
	for range 4 {
		all.Go(func() {
			for k := range turns {
				// Every replica must know the key.
				for _, s := range f.seats {
					if a := s.Call(t, "GET", "/v1/models", "", harness.BearerHeader(k.Secret)...); a.Status != http.StatusOK {
						t.Errorf("%d %s", a.Status, a.Body)
					}
				}
				if a := f.seats[0].Call(t, "DELETE", "/v1/keys/"+k.ID, "", harness.BearerHeader(f.manager)...); a.Status != http.StatusOK && a.Status != http.StatusNoContent {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				from := time.Now()
				for _, s := range f.seats {
					for s.Call(t, "GET", "/v1/models", "", harness.BearerHeader(k.Secret)...).Status != http.StatusUnauthorized && time.Since(from) < harness.CallTimeMax {
						time.Sleep(time.Millisecond)
					}
				}
				mu.Lock()
				took = append(took, time.Since(from))
				mu.Unlock()
			}
		})
	}
	for _, k := range f.keys {
		turns <- k
	}
	close(turns)
	all.Wait()
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 > heardMax {
		t.Errorf("revoked keys are refused everywhere after %v (p99) and %v (p50)", p99, took[len(took)/2])
	}
	t.Logf("revocation of %d keys at %d replicas: p50 %v, p99 %v", len(took), replicas, took[len(took)/2], took[len(took)*99/100])
}

// rolls keeps streams running through a balancer while every replica is replaced, some times over. None is cut, none fails.
func (f *fleet) rolls(t *testing.T, model string, streams, rounds int) {
	for _, s := range f.seats {
		s.ready.Store(false)
	}
	b := newBalancer(t, f.seats)
	for _, s := range f.seats {
		b.sit(t, s, s.Replica)
	}
	through := *f.Gateway
	through.BaseURL = b.front.URL + "/v1"
	var done atomic.Bool
	var ended atomic.Int64
	var clients sync.WaitGroup
	begun := make(chan struct{}, streams)
	body := harness.ChatRequest(model, fmt.Sprintf("count to %d", rolledTokens), `"stream":true`)
	var broken atomic.Int64
	for range streams {
		clients.Go(func() {
			for first := true; first || !done.Load(); first = false {
				if err := wholeStream(&through, body, begun); err != nil {
					broken.Add(1)
					t.Errorf("a stream: %v", err)
					// The stream may not have begun.
					select {
					case begun <- struct{}{}:
					default:
					}
					return
				}
				ended.Add(1)
			}
		})
	}
	for range streams {
		<-begun
	}
	for range rounds {
		for _, s := range b.seats {
			if err := s.Command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-s.Exited; err != nil {
				t.Errorf("exit: %v\n%s", err, s.Log)
			}
			b.sit(t, s, replicaOn(t, f.Gateway, s.data, f.args...))
		}
	}
	done.Store(true)
	clients.Wait()
	t.Logf("%d replicas replaced under %d streams: %d streams ended well, %d were cut or refused, %d calls found no replica",
		rounds*len(b.seats), streams, ended.Load(), broken.Load(), b.lost.Load())
	if b.lost.Load() > 0 || broken.Load() > 0 || ended.Load() < int64(streams) {
		t.Error("a restart was noticed")
	}
}

// wholeStream reads a stream to its end, tells begun of its first byte, and says what is wrong with it.
func wholeStream(g *harness.Gateway, body string, begun chan<- struct{}) error {
	req, err := g.NewRequest(context.Background(), "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
	if err != nil {
		return err
	}
	resp, err := harness.HTTPClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	select {
	case begun <- struct{}{}:
	default:
	}
	text, err := io.ReadAll(resp.Body)
	switch whole := string(text); {
	case err != nil:
		return fmt.Errorf("cut after %d bytes: %w", len(whole), err)
	case resp.StatusCode != http.StatusOK || strings.Contains(whole, `"error"`):
		return fmt.Errorf("%d %s", resp.StatusCode, whole)
	case !strings.HasSuffix(whole, "data: [DONE]\n\n") || !strings.Contains(whole, fmt.Sprintf(`" %d"`, rolledTokens)):
		return fmt.Errorf("not whole: %s", whole)
	}
	return nil
}
