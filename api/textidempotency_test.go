package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app/account"
	"umg/app/apikey"
	"umg/app/idempotency"
	"umg/app/ratelimit"
)

// keyed is a face that honours Idempotency-Key on text calls, and how to make one in each style.
func keyed(t *testing.T) (*house, *idempotency.Service) {
	t.Helper()
	var repeats *idempotency.Service
	h := setup(t, func(p *plan) {
		repeats = idempotency.New(p.db, idempotency.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		p.api.Idempotency = repeats
	})
	return h, repeats
}

var keyedPaths = map[string]string{
	"/v1/chat/completions": `{"model":"%s","messages":[{"role":"user","content":"%s"}]%s}`,
	"/v1/messages":         `{"model":"%s","max_tokens":50,"messages":[{"role":"user","content":"%s"}]%s}`,
	"/v1/responses":        `{"model":"%s","input":"%s"%s}`,
	"/vendorc/native":      `{"model":"%s","contents":[{"role":"user","parts":[{"text":"%s"}]}]%s}`,
}

func (h *house) once(secret, key, path, model, prompt, more string) reply {
	return h.call(http.MethodPost, path, fmt.Sprintf(keyedPaths[path], model, prompt, more),
		"Authorization", "Bearer "+secret, "Idempotency-Key", key, "X-Error-Status", "standard")
}

// records waits until the books have so many records and returns what they cost together.
func (h *house) records(n int) (cost int64) {
	h.t.Helper()
	var got int
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		must(h.t, h.db.QueryRow(`select count(*), coalesce(sum(cost_nanos), 0)::bigint from usage_records where cost_nanos > 0`).Scan(&got, &cost))
		if got >= n {
			break
		}
	}
	if got != n {
		h.t.Errorf("%d calls were charged, not %d", got, n)
	}
	return cost
}

func TestATextCallIsMadeOnceForEachKey(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	for path := range keyedPaths {
		key := "k " + path
		first := h.once(secret, key, path, "test/plain", "echo: once", "")
		again := h.once(secret, key, path, "test/plain", "echo: once", "")
		if first.status != 200 || again.status != 200 || again.body != first.body || !strings.Contains(first.body, "once") {
			t.Fatalf("%s: %d %s, then %d %s", path, first.status, first.body, again.status, again.body)
		}
		if first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" ||
			again.header.Get("X-Generation-Id") != first.header.Get("X-Request-Id") || again.header.Get("X-Request-Id") == first.header.Get("X-Request-Id") {
			t.Errorf("%s: the repetition has the headers %v", path, again.header)
		}
		if other := h.once(secret, key, path, "test/plain", "echo: twice", ""); other.status != 422 || !strings.Contains(other.body, "dempotency") ||
			other.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: another body is answered %d %s", path, other.status, other.body)
		}
	}
	h.records(len(keyedPaths))
}

func TestOneOfManyCallsUnderAKeyReachesTheProvider(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	// The buffer has room for as many replies as the account may have calls at once.
	replies := make(chan reply, ratelimit.ConcurrencyStandard)
	var group sync.WaitGroup
	group.Go(func() { replies <- h.once(secret, "k", "/v1/chat/completions", "test/slow", "echo: held", "") })
	h.waiting("1")
	for range cap(replies) - 1 {
		group.Go(func() {
			r := h.once(secret, "k", "/v1/chat/completions", "test/slow", "echo: held", "")
			if r.status != 409 || !strings.Contains(r.body, "idempotency_in_progress") || r.header.Get("Retry-After") == "" {
				t.Errorf("while the first runs: %d %s", r.status, r.body)
			}
			replies <- r
		})
	}
	for range cap(replies) - 1 {
		<-replies
	}
	h.release()
	group.Wait()
	if first := <-replies; first.status != 200 || !strings.Contains(first.body, "held") {
		t.Errorf("the first: %d %s", first.status, first.body)
	}
	h.records(1)
}

func TestAStreamIsNotToldAgain(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	first := h.once(secret, "k", "/v1/chat/completions", "test/plain", "count to 5", `,"stream":true`)
	again := h.once(secret, "k", "/v1/chat/completions", "test/plain", "count to 5", `,"stream":true`)
	if !strings.HasSuffix(first.body, "data: [DONE]\n\n") || again.status != 422 || again.header.Get("X-Should-Retry") != "false" ||
		!strings.Contains(again.body, "idempotent_stream_completed") || !strings.Contains(again.body, first.header.Get("X-Request-Id")) {
		t.Errorf("first %s, then %d %s", first.body, again.status, again.body)
	}
	h.records(1)
}

func TestAFailedCallGivesItsKeyUp(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	for i, more := range []string{"", `,"stream":true`} {
		key := fmt.Sprint("k", i)
		for range 2 {
			r := h.once(secret, key, "/v1/chat/completions", "test/failing", "echo: x", more)
			if r.status != 502 || r.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("a failing call is answered %d %s", r.status, r.body)
			}
		}
		if r := h.once(secret, key, "/v1/chat/completions", "test/plain", "echo: x", ""); r.status != 200 {
			t.Errorf("then another body under the key: %d %s", r.status, r.body)
		}
	}
	if r := h.once(secret, "a\tb", "/v1/chat/completions", "test/plain", "x", ""); r.status != 400 || !strings.Contains(r.body, "Idempotency-Key") {
		t.Errorf("a key with a tab: %d %s", r.status, r.body)
	}
	h.records(2)
}

// TestACallThatItsClientLeftGivesItsKeyUp leaves while the provider works. The repetition is a call of its own, whose answer is then
// told again without a charge.
func TestACallThatItsClientLeftGivesItsKeyUp(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	const path = "/v1/chat/completions"
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+path, strings.NewReader(fmt.Sprintf(keyedPaths[path], "test/slow", "echo: once more", "")))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k")
	req.Header.Set("X-Client-Request-Id", "leaver")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("an answer came though the upstream holds it")
		}
	}()
	h.waiting("1")
	leave()
	<-gone
	h.lineWith("client_request_id", "leaver") // The call has ended, and its idempotency key is free.
	input := h.records(1)
	answered := make(chan reply, 1)
	go func() { answered <- h.once(secret, "k", path, "test/slow", "echo: once more", "") }()
	h.waiting("1")
	h.release()
	first := <-answered
	again := h.once(secret, "k", path, "test/slow", "echo: once more", "")
	if first.status != 200 || first.header.Get("Idempotency-Replayed") != "" || again.body != first.body || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repetition is answered %d %s, and then %d %s", first.status, first.body, again.status, again.body)
	}
	if both := h.records(2); input == 0 || both <= input {
		t.Errorf("leaving cost %d, and both calls %d", input, both)
	}
}

func TestKeysOfOneAccountSayNothingToAnother(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	h.once(secret, "k", "/v1/chat/completions", "test/plain", "echo: mine", "")
	stranger, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "other@example.com", Password: "a long enough passphrase", IP: "192.0.2.2"})
	must(t, err)
	_, theirs, err := h.apiKeys.Create(t.Context(), stranger.Principal(), apikey.Spec{Name: "theirs"})
	must(t, err)
	if r := h.once(theirs, "k", "/v1/chat/completions", "test/plain", "echo: theirs", ""); r.status != 200 || !strings.Contains(r.body, "theirs") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.once(secret, "k", "/v1/messages", "test/plain", "echo: other route", ""); r.status != 200 || !strings.Contains(r.body, "other route") {
		t.Errorf("another route: %d %s", r.status, r.body)
	}
}

func TestAKeyIsToldNoAnswerOfAModelItMayNotUse(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	h.once(secret, "k", "/v1/chat/completions", "test/plain", "echo: secret", "")
	_, bound := h.key(apikey.Spec{Models: []string{"test/slow"}})
	r := h.once(bound, "k", "/v1/chat/completions", "test/plain", "echo: secret", "")
	if r.status != http.StatusForbidden || strings.Contains(r.body, "secret") || !strings.Contains(r.body, "model_not_allowed") {
		t.Errorf("%d %s", r.status, r.body)
	}
	h.records(1)
}

func TestAnAnswerThatCannotBeKeptIsNotCharged(t *testing.T) {
	t.Parallel()
	h, _ := keyed(t)
	secret := h.secret()
	done := make(chan reply, 1)
	go func() { done <- h.once(secret, "k", "/v1/chat/completions", "test/slow", "echo: lost", "") }()
	h.waiting("1")
	// The key is gone, as after another request has taken it over.
	h.db.MustExec(`delete from idempotency_keys`)
	h.release()
	r := <-done
	var said struct{ Error struct{ Code string } }
	if err := json.Unmarshal([]byte(r.body), &said); err != nil || r.status != 503 || said.Error.Code != "service_unavailable" {
		t.Errorf("%d %s %v", r.status, r.body, errors.Join(err))
	}
	h.records(0)
}
