package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/app/requestbody"
	"umg/app/simulator"
	"umg/billing"
	"umg/billing/lease"
	"umg/billing/usage"
)

// file is a catalog with two upstreams, alpha before beta, that are the same simulator below two names.
const file = `
providers:
  - {id: alpha, name: Alpha, base_url: "${SIM}/alpha/v1", credential: "${SECRET}", timeouts: {first_byte: ALPHA_WAIT, idle: ALPHA_WAIT, content: ALPHA_WAIT, total: 60s}}
  - {id: beta, name: Beta, base_url: "${SIM}/beta/v1", credential: "${SECRET}", timeouts: {first_byte: 10s, idle: 10s, total: 60s}}
  - {id: gamma, name: Gamma, base_url: "${SIM}/gamma/v1", credential: "${SECRET}", prefill: [chat, messages, native], timeouts: {first_byte: 10s, idle: 10s}}
  - {id: delta, name: Delta, base_url: "${SIM}/delta/v1", credential: "${SECRET}", credentials: ["${SECOND}", "${THIRD}"], breaker: {failures: 10000, calls_min: 10000}}
  - {id: narrow, name: Narrow, base_url: "${SIM}/narrow/v1", credential: "${SECRET}", limits: {concurrency: 1}}
  - {id: nowhere, name: Nowhere, base_url: "${UNSET}/v1", credential: "${SECRET}"}
  - {id: mute, name: Mute, base_url: "${MUTE}/v1", credential: "${SECRET}"}
  - {id: refusing, name: Refusing, base_url: "http://127.0.0.1:1/v1", credential: "${SECRET}"}
  - {id: nameless, name: Nameless, base_url: "http://does-not-exist.invalid/v1", credential: "${SECRET}"}
  - {id: lasting, name: Lasting, base_url: "${SIM}/lasting/v1", credential: "${SECRET}", after_cancel: continues, timeouts: {first_byte: 10s, idle: 10s, total: 60s}}
  - {id: stating, name: Stating, base_url: "${SIM}/stating/v1", credential: "${SECRET}", usage: openrouter, provider_cost: price}
  - {id: cloud, preset: bedrock, with: {region: us-east-1, credential_type: api_key}, base_url: "${SIM}", credential: "${SECRET}"}
models:
  - {id: test/stated, ROUTES [{provider: stating, model: up-stated, style: chat,
     cost: {rates: {input_tokens: 2 per 1M, cache_read_tokens: 0.2 per 1M, output_tokens: 10 per 1M}}}]}
  - {id: test/lasting, ROUTES [{provider: lasting, model: up-lasting, style: chat}]}
  - {id: test/tiers, name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 1048576, max_output_tokens: 4096,
     rates: {input_tokens: 1.25 per 1M, cache_read_tokens: 0.125 per 1M, output_tokens: 10 per 1M},
     conditions: [{prompt_over: 200000, rates: {input_tokens: 2.5 per 1M, cache_read_tokens: 0.25 per 1M, output_tokens: 15 per 1M}}],
     released: 2026-01-01, routes: [{provider: alpha, model: up-tiers, style: native}]}
  - {id: test/two, ROUTES [{provider: alpha, model: up-two, style: chat, order: 1}, {provider: beta, model: up-two-b, style: chat, order: 2}]}
  - {id: test/two-cut, on_cut: error, ROUTES [{provider: alpha, model: up-two, style: chat, order: 1}, {provider: beta, model: up-two-b, style: chat, order: 2}]}
  - {id: test/one, ROUTES [{provider: alpha, model: up-one, style: chat}]}
  - {id: test/patient, ROUTES [{provider: beta, model: up-patient, style: chat}]}
  - {id: test/idle, ROUTES [{provider: nowhere, model: x, style: chat}]}
  - {id: test/refusing, ROUTES [{provider: refusing, model: x, style: chat}]}
  - {id: test/mute, ROUTES [{provider: mute, model: x, style: chat}]}
  - {id: test/nameless, ROUTES [{provider: nameless, model: x, style: chat}]}
  - {id: test/paused, paused: true, notice: back at noon, ROUTES [{provider: alpha, model: x, style: chat}]}
  - {id: test/coming, availability: coming, ROUTES [{provider: alpha, model: x, style: chat}]}
  - {id: test/other, styles: [chat, messages], ROUTES [{provider: alpha, model: x, style: messages}]}
  - {id: test/silent, styles: [messages], ROUTES [{provider: alpha, model: x, style: messages}]}
  - {id: test/fast, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, ROUTES [{provider: alpha, model: up, style: chat}]}
  - {id: test/daily, limits: {requests_per_minute: 60, requests_per_day: 2, concurrency: 3}, ROUTES [{provider: alpha, model: up, style: chat}]}
  - {id: test/on-chat, STYLED [{provider: alpha, model: up-chat, style: chat}]}
  - {id: test/on-messages, STYLED [{provider: alpha, model: up-messages, style: messages}]}
  - {id: test/on-responses, STYLED [{provider: alpha, model: up-responses, style: responses}]}
  - {id: test/on-native, STYLED [{provider: alpha, model: up-native, style: native}]}
  - {id: test/on-cloud, STYLED [{provider: cloud, model: "arn:aws:bedrock:a/b", style: messages}]}
  - {id: test/little-on-chat, SHORT [{provider: alpha, model: up-chat, style: chat}]}
  - {id: test/little-on-messages, SHORT [{provider: alpha, model: up-messages, style: messages}]}
  - {id: test/little-on-responses, SHORT [{provider: alpha, model: up-responses, style: responses}]}
  - {id: test/little-on-native, SHORT [{provider: alpha, model: up-native, style: native}]}
  - {id: test/over, STYLED [{provider: alpha, model: up-over, style: messages, order: 1}, {provider: beta, model: up-over-b, style: chat, order: 2}]}
  - {id: test/limited, limits: {requests_per_minute: 2, tokens_per_minute: 100000}, ROUTES [{provider: alpha, model: up, style: chat}]}
`

const common = `name: Test, owner: test, kind: text, capabilities: [text], input: [text, image], output: [text], context_tokens: 128000, max_output_tokens: 4096,
     parameters: [temperature, top_p, stop, seed, tools, logprobs],
     rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3 per 1M, output_tokens: 15 per 1M}, released: 2026-01-01, routes:`

// styled models are called in all four styles, and each meter has a price of its own.
const styled = `name: Test, owner: test, kind: text, capabilities: [text], input: [text, image], output: [text], context_tokens: 128000,
     max_output_tokens: 4096, parameters: [temperature, top_p, stop, seed, n, tools, tool_choice, reasoning_effort],
     rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3.75 per 1M, output_tokens: 15 per 1M,
     reasoning_tokens: 20 per 1M}, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, released: 2026-01-01, routes:`

var must = apptest.Must

// bench is one gateway on a bed of its own.
type bench struct {
	*bed
	t       testing.TB
	replica string
	ledger  *billing.Ledger
	reports *usage.Reports
	manager *lease.Manager
	limits  *ratelimit.Limiter
	gateway *gateway.Gateway
	options gateway.Options
	ids     app.IDs
	account string
}

// setup is a bench with patient upstreams.
func setup(t testing.TB, credit app.Amount, change ...func(*gateway.Options)) *bench {
	t.Helper()
	return build(t, credit, "10s", change...)
}

// hastyWait is how long a bench waits for alpha whose upstream will be silent. All have the same, as every other needs beds
// of its own.
const hastyWait = "300ms"

// build is a bench that waits so long for alpha.
func build(t testing.TB, credit app.Amount, alphaWait string, change ...func(*gateway.Options)) *bench {
	t.Helper()
	b := &bench{bed: takeBed(t, alphaWait), t: t, ids: apptest.IDs(time.Now)}
	b.replica = b.ids.New("replica")
	b.control(http.MethodDelete, "faults", nil)
	b.control(http.MethodPost, "release", nil)
	b.control(http.MethodDelete, "requests", nil)
	b.conns.Store(0)
	books := b.books
	b.ledger = apptest.NewLedger(books, time.Now)
	b.reports = usage.NewReports(books, usage.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	b.manager = apptest.RunLeaseManager(t, books, b.replica)
	b.open(credit)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	b.limits = ratelimit.New(ratelimit.Options{Now: time.Now})
	o := gateway.Options{
		CreditManager: b.manager, Snapshot: b.catalog.Snapshot, Limits: b.limits, Providers: providers, Now: time.Now, Random: mathrand.IntN,
		RetryWait: time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	b.options = o
	b.gateway = gateway.New(o)
	return b
}

// open makes an account with credit, which all calls from now on are made for.
func (b *bench) open(credit app.Amount) {
	b.t.Helper()
	b.account = b.ids.New("acc")
	apptest.Fund(b.t, b.db, b.ledger, b.account, billing.Trial, credit)
}

// fresh is the same bench for another case: with another account, and with an upstream and a gateway that forgot how the
// last one went.
func (b *bench) fresh(t *testing.T) *bench {
	t.Helper()
	next := *b
	next.t = t
	next.gateway = gateway.New(b.options)
	next.control(http.MethodDelete, "faults", nil)
	next.control(http.MethodDelete, "requests", nil)
	next.open(startMoney)
	return &next
}

// fault makes the upstream fail for all calls of a provider.
func (b *bench) fault(provider, spec string) {
	b.t.Helper()
	body, _ := json.Marshal(map[string]string{"provider": provider, "spec": spec})
	b.control(http.MethodPut, "faults", body)
}

// control speaks to the simulator.
func (b *bench) control(method, path string, body []byte) {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.sim.ServeHTTP(w, httptest.NewRequestWithContext(b.t.Context(), method, "/_control/"+path, bytes.NewReader(body)))
	if w.Code >= 300 {
		b.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

func (b *bench) balance() billing.Balance {
	b.t.Helper()
	got, err := b.ledger.Balance(context.WithoutCancel(b.t.Context()), b.account)
	must(b.t, err)
	return got
}

// reserved is what calls hold. What leases hold beside that comes back by itself.
func (b *bench) reserved() app.Amount { return b.manager.Stats().Reserved }

// record is the only usage record of the account.
func (b *bench) record() billing.UsageRecord {
	b.t.Helper()
	all, err := b.reports.Requests(context.WithoutCancel(b.t.Context()), b.account, 10)
	must(b.t, err)
	if len(all) != 1 {
		b.t.Fatalf("%d usage records, want one", len(all))
	}
	return all[0]
}

// finished waits until the upstream has n finished requests and returns them.
func (b *bench) finished(n int) []simulator.Request {
	b.t.Helper()
	b.control(http.MethodGet, fmt.Sprintf("requests?finished=%d&timeout=5s", n), nil)
	return b.sim.Requests()
}

// sink is a client that keeps what it was sent.
type sink struct {
	mu      sync.Mutex
	status  int
	kind    string
	header  http.Header
	got     bytes.Buffer
	flushes int
	hook    func(p []byte) error // Hook sees every write before the sink stores it.
}

func (s *sink) Begin(status int, kind string, h http.Header) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != 0 {
		return errors.New("begun twice")
	}
	s.status, s.kind, s.header = status, kind, h.Clone()
	return nil
}

func (s *sink) Write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != nil {
		if err := s.hook(p); err != nil {
			return err
		}
	}
	s.got.Write(p)
	return nil
}

func (s *sink) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	return nil
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// chunk is a chunk of a stream, as far as tests look into it.
type chunk struct {
	ID, Object, Model string
	Choices           []struct {
		Delta struct {
			Role      *string
			Content   string
			ToolCalls []struct {
				Index    int
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *usageMember
	Error *struct{ Code, Message, Type string }
	Code  int
}

type usageMember struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Cost       json.Number
}

func (u *usageMember) cost(t *testing.T) app.Amount {
	t.Helper()
	a, err := app.ParseAmount(u.Cost.String())
	must(t, err)
	return a
}

// answer is a stream, read.
type answer struct {
	text, finish string
	chunks       []chunk
	usage        *usageMember
	err          *chunk
	done         bool
	frames       int // Frames counts the frames with content.
	comments     int
}

func readStream(t *testing.T, text string) answer {
	t.Helper()
	var a answer
	for frame := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if strings.HasPrefix(frame, ":") {
			a.comments++
			continue
		}
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("not one data line: %q", frame)
		}
		if a.done {
			t.Fatalf("after the end: %q", frame)
		}
		if data == "[DONE]" {
			a.done = true
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		a.chunks = append(a.chunks, c)
		if c.Error != nil {
			a.err = &c
		}
		if c.Usage != nil {
			a.usage = c.Usage
		}
		for _, choice := range c.Choices {
			a.text += choice.Delta.Content
			if choice.Delta.Content != "" {
				a.frames++
			}
			if choice.FinishReason != nil {
				a.finish = *choice.FinishReason
			}
		}
	}
	return a
}

// call makes a call with a prompt; more are further members of the body, each with its comma before it.
func (b *bench) call(model, prompt, more string) gateway.Call {
	content, _ := json.Marshal(prompt)
	return gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Chat,
		Body: []byte(`{"model":"` + model + `","messages":[{"role":"user","content":` + string(content) + `}]` + more + `}`),
	}
}

const (
	streamed   = `,"stream":true`
	withUsage  = `,"stream":true,"stream_options":{"include_usage":true}`
	startMoney = 10 * app.Dollar
)

// overwritten are bodies that are overwritten when they are released.
var overwritten = func() *requestbody.Pool {
	p := requestbody.NewPool()
	p.Overwrite = true
	return p
}()

// hold gives a call a body that is overwritten as soon as the gateway has released it.
func (b *bench) hold(c *gateway.Call) {
	b.t.Helper()
	c.BodyMemory = &requestbody.Body{}
	c.BodyMemory.Begin(overwritten, nil)
	_, err := c.BodyMemory.Fill(bytes.NewReader(c.Body), int64(len(c.Body)))
	must(b.t, err)
	c.Body = c.BodyMemory.Bytes()
}

// generate makes a call and overwrites its body as soon as the gateway has released it.
func (b *bench) generate(c gateway.Call) (gateway.Report, *sink, error) {
	b.t.Helper()
	b.hold(&c)
	s := &sink{}
	r, err := b.gateway.Generate(b.t.Context(), c, s)
	return *r, s, err
}

// settled checks that the account paid exactly that and that nothing is reserved.
func (b *bench) settled(cost app.Amount) {
	b.t.Helper()
	if got := b.balance().Posted; got != startMoney-cost || b.reserved() != 0 {
		b.t.Errorf("posted %s and reserved %s, want %s and 0", got, b.reserved(), startMoney-cost)
	}
	if got := b.record(); got.Cost != cost {
		b.t.Errorf("the record says %s, want %s", got.Cost, cost)
	}
}

// cost is what the test models cost.
func cost(input, output int64) app.Amount { return app.Amount(input*3000 + output*15000) }
