package api_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app"
	"umg/app/apikey"
	"umg/app/refusal"
	"umg/app/server"
	"umg/billing"
	"umg/billing/usage"
)

// refusals is a log that runs until the test ends, and a reader of it.
type refusals struct {
	*refusal.Log

	db      *sqlx.DB
	reports *usage.Reports
}

// recording gives the API a log of refusals.
func recording(t testing.TB, r *refusals) func(*plan) {
	return func(p *plan) {
		r.db = p.db
		r.Log = refusal.New(p.db, refusal.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Owner: p.keys.Owner})
		r.reports = usage.NewReports(p.db, usage.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		// goroutine: the test owns it and waits for it; it ends when the test does.
		go func() { done <- r.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			must(t, <-done)
		})
		p.api.Refusals = r.Log
	}
}

// await finds a refusal by the beginning of its id, within the two seconds that the console promises.
func (r *refusals) await(t *testing.T, account, id string) usage.Request {
	t.Helper()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		found, err := r.reports.RequestLog(t.Context(), usage.RecordQuery{AccountID: account, Search: id[:len(id)-1], Limit: 5})
		must(t, err)
		if len(found.Requests) == 1 && found.Requests[0].RequestID == id {
			return found.Requests[0]
		}
	}
	t.Fatalf("no request %s within two seconds, %+v", id, r.Stats())
	return usage.Request{}
}

const (
	refusedPath = "/v1/chat/completions"
	refusedBody = `{"model":"test/plain","messages":[{"role":"user","content":"my secret prompt"}]}`
)

// refusedRequest is a request that is refused, and what its record says.
type refusedRequest struct {
	name, method, path, body string
	secret                   func() string
	times, status            int
	code, param, model       string
	unknown                  string // Unknown is the name of a model that the catalog does not have.
	headers                  []string
}

// refusedRequests are one request of each kind. Changed makes a key that is changed in the store before its first use.
func refusedRequests(changed func(string) func() string) []refusedRequest {
	const plain = refusedBody
	return []refusedRequest{
		{name: "400", body: strings.Replace(plain, "{", `{"temperature":"my secret prompt",`, 1), status: 400, code: "invalid_request_error",
			param: "temperature", model: "test/plain"},
		{name: "401 disabled", body: plain, secret: changed("disabled_at = now()"), status: 401, code: "key_disabled"},
		{name: "401 expired", body: plain, secret: changed("expires_at = now() - interval '1 minute'"), status: 401, code: "key_expired"},
		{name: "402", body: strings.Replace(plain, "plain", "dear", 1), status: 402, code: "insufficient_quota", model: "test/dear"},
		{name: "403 network", body: plain, secret: changed("addresses = '{203.0.113.0/24}'"), status: 403, code: "address_not_allowed"},
		{name: "403 model", body: plain, secret: changed("models = '{test/slow}'"), status: 403, code: "model_not_allowed", param: "model"},
		{name: "403 scope", body: plain, secret: changed("scopes = '{videos}'"), status: 403, code: "insufficient_scope"},
		{name: "404 model", body: strings.Replace(plain, "test/plain", "test/plane", 1), status: 404, code: "model_not_found", param: "model", unknown: "test/plane"},
		{name: "404 model's page", method: http.MethodGet, path: "/v1/models/test/plane", status: 404, code: "model_not_found", param: "model",
			unknown: "test/plane"},
		{name: "404 path", path: "/v1/chat/complete", body: plain, status: 404, code: "not_found"},
		{name: "405", method: http.MethodPut, body: plain, status: 405, code: "method_not_allowed"},
		{name: "413", body: strings.Repeat(" ", 1<<16) + plain, status: 413, code: "request_too_large"},
		{name: "415", body: plain, headers: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		{name: "429", body: strings.Replace(plain, "plain", "rare", 1), times: 2, status: 429, code: "rate_limit_exceeded"},
		{name: "503", body: strings.Replace(plain, "plain", "paused", 1), status: 503, code: "model_temporarily_unavailable", param: "model"},
		{name: "503 no provider", body: strings.Replace(plain, "plain", "nowhere", 1), status: 503, code: "no_available_provider"},
		{name: "a report", method: http.MethodGet, path: "/v1/usage?group_by=colour", status: 400, code: "invalid_value", param: "group_by"},
	}
}

func TestEveryRefusalOfAKnownKeyIsRecorded(t *testing.T) {
	t.Parallel()
	var r refusals
	h := setup(t, recording(t, &r), func(p *plan) { p.api.BodyBytesMax = 1 << 16 })
	changed := func(change string) func() string {
		return func() string {
			k, secret := h.key(apikey.Spec{})
			_, err := h.db.Exec(`update api_keys set `+change+` where id = $1`, k.ID)
			must(t, err)
			return secret
		}
	}
	usual := h.secret()
	for _, c := range refusedRequests(changed) {
		t.Run(c.name, func(t *testing.T) {
			secret := usual
			if c.secret != nil {
				secret = c.secret()
			}
			method, path := c.method, c.path
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = refusedPath
			}
			var a reply
			for range max(c.times, 1) {
				a = h.call(method, path, c.body, append([]string{"Authorization", "Bearer " + secret, "X-Error-Status", "standard"}, c.headers...)...)
			}
			if a.status != c.status || a.header.Get("X-Error-Code") != c.code {
				t.Fatalf("%d %s", a.status, a.body)
			}
			id := a.header.Get("X-Request-Id")
			got := r.await(t, h.owner.AccountID, id)
			if got.Outcome != usage.OutcomeRefused || got.ErrorCode != c.code || got.Cost != 0 || got.KeyID == "" || got.StartedAt.IsZero() ||
				got.Refusal == nil || got.Refusal.Status != c.status || got.Refusal.Param != c.param || got.Refusal.Message == "" {
				t.Errorf("%+v %+v", got, got.Refusal)
			}
			if got.Refusal.UnknownModel != c.unknown || c.unknown != "" && (got.Model != "" || !strings.Contains(got.Refusal.Message, c.unknown)) {
				t.Errorf("the unknown model is %q of %q: %s", got.Refusal.UnknownModel, got.Model, got.Refusal.Message)
			}
			if c.model != "" && got.Model != c.model {
				t.Errorf("the model is %q, want %q", got.Model, c.model)
			}
			if text := fmt.Sprintf("%+v %+v", got, got.Refusal); strings.Contains(text, "my secret prompt") || strings.Contains(text, secret) {
				t.Errorf("it repeats the request: %s", text)
			}
			if _, err := r.reports.Request(t.Context(), "acc_other", id); err == nil {
				t.Error("another account finds it")
			}
		})
	}
	r.checkRest(t, h, usual)
}

// checkRest checks what is not recorded, the ledger, and the report of the account.
func (r *refusals) checkRest(t *testing.T, h *house, usual string) {
	t.Helper()
	before := r.Stats()
	h.call(http.MethodPost, refusedPath, refusedBody, "Authorization", "Bearer sk-umg-unknown")
	h.call(http.MethodPost, refusedPath, refusedBody)
	h.call(http.MethodPost, refusedPath, refusedBody, "Authorization", "Bearer "+usual)
	var rows, recorded int
	must(t, h.db.QueryRow(`select (select count(*) from refusals where key_id = ''), (select count(*) from usage_records u join refusals r
		on r.request_id = u.request_id)`).Scan(&rows, &recorded))
	if rows != 0 || recorded != 0 || r.Stats().Dropped != before.Dropped {
		t.Errorf("%d refusals of unknown keys, %d requests are in both tables", rows, recorded)
	}
	checks, err := billing.Books(t.Context(), h.db)
	must(t, err)
	for _, check := range checks {
		if !check.Holds {
			t.Errorf("%s: %s", check.Name, check.Detail)
		}
	}
	report := h.call(http.MethodGet, "/v1/usage", "", "Authorization", "Bearer "+usual)
	var sum struct {
		Total struct {
			Refused     int64 `json:"refused_requests"`
			RateLimited int64 `json:"rate_limited_requests"`
		} `json:"total"`
	}
	if err := json.Unmarshal([]byte(report.body), &sum); err != nil || sum.Total.Refused < 15 || sum.Total.RateLimited != 1 {
		t.Errorf("%v %s", err, report.body)
	}
}

// TestRecordingARefusalAddsNoLatency sends a flood of refusals with and without a log, and compares the times of the answers.
func TestRecordingARefusalAddsNoLatency(t *testing.T) {
	t.Parallel()
	var r refusals
	var parts *plan
	h, s := build(t, recording(t, &r), func(p *plan) { parts = p })
	without := parts.api
	without.Refusals = nil
	bare := server.New(server.Options{
		API: api.New(without), IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Now: time.Now, Log: slog.New(slog.NewJSONHandler(h.log, nil)),
	})
	_, secret := h.key(apikey.Spec{})
	const calls = 10_000
	body := `{"model":"test/unknown","messages":[]}`
	send := func(handler http.Handler) time.Duration {
		req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		begin := time.Now()
		handler.ServeHTTP(httptest.NewRecorder(), req)
		return time.Since(begin)
	}
	times := map[string][]time.Duration{}
	for i := range 2 * calls { // The order is with, without, without, with.
		if i%4 == 0 || i%4 == 3 {
			times["with"] = append(times["with"], send(s.Handler()))
		} else {
			times["without"] = append(times["without"], send(bare.Handler()))
		}
	}
	quantile := func(name string, percent int) time.Duration { return times[name][calls*percent/100] }
	for name := range times {
		slices.Sort(times[name])
		t.Logf("%s recording: p50 %s, p99 %s", name, quantile(name, 50), quantile(name, 99))
	}
	if with, without := quantile("with", 50), quantile("without", 50); with > without*3/2+100*time.Microsecond {
		t.Errorf("a refusal takes %s with recording and %s without", with, without)
	}
	var rows int
	must(t, h.db.Get(&rows, `select coalesce(max(n), 0) from (select count(*) as n from refusals group by code, date_trunc('minute', at)) m`))
	t.Logf("at most %d rows of a code in a minute, %+v", rows, r.Stats())
	if rows == 0 || rows > 100 {
		t.Errorf("%d rows", rows)
	}
}
