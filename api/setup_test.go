package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/app/server"
	"umg/app/simulator"
	"umg/app/trial"
	"umg/billing"
	"umg/billing/usage"
)

// client makes a connection for each request. A test server that closes also closes the idle connections of the default
// transport, which would break the request of another test that runs beside it.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// tests closes the connections that clients keep for the next call, so that what is left is a leak.
type tests struct{ m *testing.M }

func (t tests) Run() int {
	code := t.m.Run()
	http.DefaultClient.CloseIdleConnections()
	return code
}

func TestMain(m *testing.M) {
	apptest.VerifyNoLeaks(tests{m})
}

// models is a catalog over the simulator. A model behaves as its name says when its provider follows the fault in the
// prompt.
const models = `
aliases:
  headers: {x-api-key: authorization, x-goog-api-key: authorization}
providers:
  - {id: up, name: Up, base_url: "${SIM}/up/v1", timeouts: {first_byte: 1s, idle: 2s, total: 20s}}
  - {id: patient, name: Patient, base_url: "${SIM}/patient/v1"}
  - {id: unset, name: Unset, base_url: "${UNSET}/v1"}
models:
  - {id: test/plain, ROUTES [{provider: up, model: plain, style: chat}]}
  - {id: test/slow, ROUTES [{provider: patient, model: slow, style: chat}]}
  - {id: test/refusing, ROUTES [{provider: up, model: refusing, style: chat}]}
  - {id: test/failing, ROUTES [{provider: up, model: failing, style: chat}]}
  - {id: test/late, ROUTES [{provider: up, model: late, style: chat}]}
  - {id: test/falls, fallbacks: [test/plain], ROUTES [{provider: unset, model: x, style: chat}]}
  - {id: test/nowhere, ROUTES [{provider: unset, model: x, style: chat}]}
  - {id: test/paused, paused: true, ROUTES [{provider: up, model: x, style: chat}]}
  - {id: test/coming, availability: coming, ROUTES [{provider: up, model: x, style: chat}]}
  - {id: test/dear, DEAR [{provider: up, model: x, style: chat}]}
  - {id: test/rare, limits: {requests_per_minute: 1}, ROUTES [{provider: up, model: x, style: chat}]}
`

const common = `name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 128000,
     max_output_tokens: 4096, parameters: [temperature], released: 2026-01-01, rates: `

const (
	cheap = common + `{input_tokens: 3 per 1M, output_tokens: 15 per 1M}, routes:`
	dear  = common + `{input_tokens: 90000 per 1M, output_tokens: 90000 per 1M}, routes:`
)

// faults is what the simulator does to some models.
var faults = map[string]string{"refusing": "status=422", "failing": "status=500", "late": "stall", "slow": "hold"}

// house is the machine's face on a real listener, over a store and an upstream of its own.
type house struct {
	t        testing.TB
	db       *sqlx.DB
	accounts *account.Service
	apiKeys  *apikey.Service
	owner    account.User
	upstream string
	url, ops string
	log      *journal
	stop     func() error
}

type plan struct {
	api  api.Options
	text gateway.Options // The gateway of the API is made with these options.
	keys *apikey.Cache   // A nil keys means a cache on the store of the test.
	db   *sqlx.DB        // Db is the database of the test.
	sim  string          // Sim is the address of the simulated upstream.
}

func setup(t *testing.T, change ...func(*plan)) *house {
	t.Helper()
	h, s := build(t, change...)
	h.serve(s)
	return h
}

// build is setup without a listener.
func build(t testing.TB, change ...func(*plan)) (*house, *server.Server) {
	t.Helper()
	h := &house{t: t, db: pgtest.New(t), log: &journal{}}
	ids, log := app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.NewJSONHandler(h.log, nil))
	h.startUpstream()
	ledger := billing.NewLedger(h.db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	h.accounts = account.New(h.db, ledger, account.Options{
		PasswordMemoryKiB: apptest.PasswordMemoryKiB,
		Now:               time.Now, IDs: ids, Random: rand.Reader, Log: log, Trial: trial.Policy{Amount: 5 * app.Dollar, Days: 30},
	})
	h.apiKeys = keyService(h.db, h.accounts, ledger)
	var err error
	h.owner, err = h.accounts.SignUp(t.Context(), account.SignUp{Email: "owner@example.com", Password: "a long enough passphrase", IP: "192.0.2.1"})
	must(t, err)
	catalogue := h.openCatalog(log)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	p := plan{db: h.db, sim: h.upstream, keys: apikey.NewCache(h.db, apikey.CacheOptions{Now: time.Now, Log: log})}
	p.api = api.Options{
		Catalog: catalogue, Now: time.Now, BaseURL: "https://gateway.example", Ledger: ledger,
		Reports: usage.NewReports(h.db, usage.Options{Now: time.Now, Log: log}),
	}
	manager := openManager(t, h.db, ids, ledger)
	p.text = gateway.Options{
		CreditManager: manager, Credit: manager.CheckCredit, Balance: ledger.Balance, Snapshot: catalogue.Snapshot,
		Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Providers: providers, Now: time.Now, Random: mathrand.IntN, RetryWait: time.Millisecond,
	}
	for _, f := range change {
		f(&p)
	}
	if p.api.Accounts != nil {
		p.api.APIKeys = keyService(h.db, p.api.Accounts, ledger)
	}
	p.api.Keys, p.api.Gateway = p.keys, gateway.New(p.text)
	return h, server.New(server.Options{
		API: api.New(p.api), IDs: ids, Now: time.Now, Log: log, DrainTimeout: 100 * time.Millisecond,
	})
}

func (h *house) startUpstream() {
	sim := httptest.NewServer(simulator.New(simulator.Options{Control: true, StallMax: 10 * time.Second}))
	h.t.Cleanup(sim.Close)
	h.upstream = sim.URL
	for model, spec := range faults {
		h.control("faults", map[string]string{"model": model, "spec": spec})
	}
}

// control tells the simulator something.
func (h *house) control(what string, v any) {
	h.t.Helper()
	body, _ := json.Marshal(v)
	req, err := http.NewRequest(http.MethodPut, h.upstream+"/_control/"+what, bytes.NewReader(body))
	must(h.t, err)
	resp, err := client.Do(req)
	must(h.t, err)
	defer func() { _ = resp.Body.Close() }()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 300 {
		h.t.Fatalf("simulator: %s: %d %s", body, resp.StatusCode, text)
	}
}

func (h *house) openCatalog(log *slog.Logger) *catalog.Catalog {
	f, err := catalog.ParseFile([]byte(strings.NewReplacer("ROUTES", cheap, "DEAR", dear).Replace(models)))
	must(h.t, err)
	must(h.t, catalog.Apply(h.t.Context(), h.db, f))
	c, err := catalog.Open(h.t.Context(), h.db, catalog.Options{Now: time.Now, Log: log, Secrets: func(name string) (string, bool) {
		return h.upstream, name == "SIM"
	}})
	must(h.t, err)
	return c
}

func (h *house) serve(s *server.Server) {
	public, err := net.Listen("tcp", "127.0.0.1:0")
	must(h.t, err)
	ops, err := net.Listen("tcp", "127.0.0.1:0")
	must(h.t, err)
	h.url, h.ops = "http://"+public.Addr().String(), "http://"+ops.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, public, ops) }()
	h.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	h.t.Cleanup(func() { must(h.t, h.stop()) })
}

// key makes a key and returns it with its secret.
func (h *house) key(spec apikey.Spec) (apikey.Key, string) {
	h.t.Helper()
	spec.Name = "test"
	k, secret, err := h.apiKeys.Create(h.t.Context(), h.owner.Principal(), spec)
	must(h.t, err)
	return k, secret
}

// secret is a key in documented mode without limits of its own.
func (h *house) secret() string {
	_, s := h.key(apikey.Spec{Concurrency: 100})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

// call sends a request; headers are pairs, and an empty value removes a header.
func (h *house) call(method, path, body string, headers ...string) reply {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	must(h.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	must(h.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return reply{resp.StatusCode, resp.Header, string(text)}
}

func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

func ask(model, more string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"echo: hello"}]` + more + `}`
}

// journal is the server's log.
type journal struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{} // Write closes changed at the next line.
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	return j.b.Write(p)
}

func (j *journal) read() (string, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.b.String(), j.changed
}

// line is the one line about a request.
func (h *house) line(requestID string) map[string]any {
	h.t.Helper()
	return h.lineWith("request_id", requestID)
}

// lineWith waits for the line of a request: the server may write it just after the client has the answer.
func (h *house) lineWith(name, value string) map[string]any {
	h.t.Helper()
	for {
		text, changed := h.log.read()
		for l := range strings.Lines(text) {
			var m map[string]any
			if json.Unmarshal([]byte(l), &m) == nil && m["msg"] == "request" && m[name] == value {
				return m
			}
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			h.t.Fatalf("no line about %s in %s", value, text)
		}
	}
}

func (r reply) message(t *testing.T) string { return r.failure(t).Error.Message }

func (r reply) param(t *testing.T) string { return r.failure(t).Error.Param }

// failure is what every layout of an error has in common.
func (r reply) failure(t *testing.T) (f struct {
	Error struct{ Message, Param string }
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &f); err != nil {
		t.Errorf("%v in %s", err, r.body)
	}
	return f
}

// keyService manages the keys of accounts, without mail.
func keyService(db *sqlx.DB, accounts *account.Service, ledger *billing.Ledger) *apikey.Service {
	return apikey.New(db, apikey.Options{
		Accounts: accounts, Ledger: ledger, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Random: rand.Reader,
		Log: slog.New(slog.DiscardHandler),
	})
}
