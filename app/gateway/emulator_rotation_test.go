package gateway_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/simulator/emulator"
)

// The calls while credentials rotate. The clock of tokens moves with each call.
const (
	rotationWorkers  = 8
	rotationCalls    = 1000
	rotationStep     = 2 * time.Second
	rotationLifetime = 5 * time.Minute
	sessionCalls     = 50 // SessionCalls is how many calls are made with a session, about.
)

// rotation is a bench whose sessions and tokens end while calls run.
type rotation struct {
	*emulatedBench
	ahead    atomic.Int64 // Ahead is how far the clock of tokens is ahead of that of the machine.
	snapshot atomic.Pointer[catalog.Snapshot]
	file     catalog.File
	sessions int
	mu       sync.Mutex
}

func (r *rotation) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// rotate puts a new session into the catalog. The session before the last one ends, since calls may still use the last one.
func (r *rotation) rotate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := func(i int) string { return fmt.Sprintf("emulated-session-%d==", i) }
	r.sessions++
	r.emulator.SetSession(name(r.sessions), time.Time{})
	session := emulator.SessionKeyID + ":" + emulator.SessionSecret + ":" + name(r.sessions)
	next, err := catalog.NewSnapshot(r.file, catalog.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows,
		Secrets: func(name string) (string, bool) {
			if name == "AWS_SESSION" {
				return session, true
			}
			return r.secret(name)
		},
	})
	if err != nil {
		r.t.Error(err)
		return
	}
	r.snapshot.Store(next)
	r.emulator.SetSession(name(r.sessions-2), r.now())
}

// setupRotation is a bench with three ways whose credentials rotate: tokens of Google and of Entra, and sessions of AWS.
func setupRotation(t *testing.T) (r *rotation, models []string) {
	t.Helper()
	r = &rotation{}
	e := emulator.New(emulator.Options{Now: r.now, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	e.SetTokenLifetime(rotationLifetime)
	e.SetSession(emulator.SessionToken, time.Now().Add(-time.Hour))
	for _, endpoint := range []string{"google", "entra"} {
		e.Add(emulator.Rule{Provider: endpoint, Fault: "server", Spared: 3})
	}
	text, list := "providers:\n", ""
	for i := range emulatedWays {
		w := &emulatedWays[i]
		if w.name == "vertex-open" || w.name == "azure-entra" || w.name == "bedrock-claude" {
			p, m := w.catalogOf()
			text, list, models = text+p, list+m, append(models, "test/"+w.name)
		}
	}
	f, err := catalog.ParseFile([]byte(strings.ReplaceAll(text+"models:\n"+list, "SIM_ORIGIN", s.URL)))
	must(t, err)
	r.file = f
	r.emulatedBench = &emulatedBench{bench: setup(t, startMoney), emulator: e, secrets: map[string]string{
		"SIM": s.URL, "GOOGLE_USER": e.AuthorizedUser(s.URL), "ENTRA": emulator.ClientSecret,
	}}
	r.rotate()
	p := provider.New(provider.Options{Now: r.now})
	t.Cleanup(p.Close)
	r.options.Providers, r.options.Snapshot = p, r.snapshot.Load
	r.gateway = gateway.New(r.options)
	return r, models
}

// TestNoEmulatedCallFailsWhileCredentialsRotate makes calls while sessions are replaced, and while two of three renewals of tokens fail.
func TestNoEmulatedCallFailsWhileCredentialsRotate(t *testing.T) {
	t.Parallel()
	r, models := setupRotation(t)
	var number atomic.Int64
	var all sync.WaitGroup
	started := time.Now()
	for range rotationWorkers {
		own := *r.bench // Each worker has an account, so that the calls do not wait for the credit of one.
		own.open(startMoney)
		// goroutine: the test owns it, and it ends with the calls.
		all.Go(func() {
			for n := number.Add(1); n <= rotationCalls && !t.Failed(); n = number.Add(1) {
				r.ahead.Add(int64(rotationStep))
				if n%sessionCalls == 0 {
					r.rotate()
				}
				call := own.styledCall(llm.Chat, models[n%int64(len(models))], asked{prompt: "Say hello", bound: 50})
				report, _, err := own.generate(call)
				if err != nil || report.Attempts != 1 {
					t.Errorf("call %d: %v, %d attempts by %s", n, err, report.Attempts, report.Provider)
				}
			}
		})
	}
	all.Wait()
	refused := 0
	for _, record := range r.emulator.Records("") {
		if record.Refused != "" && record.Refused != "server" {
			refused++
		}
	}
	requests, most := r.emulator.TokenRequests()
	if refused != 0 || requests < rotationCalls/40 || most > 2 || r.sessions < rotationCalls/sessionCalls {
		t.Errorf("%d calls were refused; %d requests for tokens, %d at once for two credentials; %d sessions", refused, requests, most, r.sessions)
	}
	t.Logf("%d calls in %s, %d requests for tokens, %d sessions", rotationCalls, time.Since(started).Round(time.Millisecond), requests, r.sessions)
}
