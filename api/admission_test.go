package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/app/gateway"
	"umg/app/ratelimit"
	"umg/billing"
)

const (
	mebibyte         = 1 << 20
	declaringConns   = 100
	declaredBytes    = 32 * mebibyte
	declaredGrowth   = 256 * mebibyte // The heap may grow by this while other tests run at the same time.
	connectionsDelay = 20 * time.Second
)

// caller is a connection whose client sends what it wants when it wants.
type caller struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (h *house) dial(t *testing.T) caller {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(connectionsDelay)))
	return caller{t, conn, bufio.NewReader(conn)}
}

// announce sends the head of a call whose body waits to be asked for.
func (c caller) announce(path, secret string, length int, headers ...string) {
	c.t.Helper()
	head := "POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret + "\r\nContent-Type: application/json\r\n" +
		"Expect: 100-continue\r\nContent-Length: " + strconv.Itoa(length) + "\r\n"
	for i := 0; i < len(headers); i += 2 {
		head += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	_, err := io.WriteString(c, head+"\r\n")
	must(c.t, err)
}

// answer reads the next answer; 100 says that the server reads the body.
func (c caller) answer() reply {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	must(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusContinue {
		return reply{status: resp.StatusCode}
	}
	text, err := io.ReadAll(resp.Body)
	must(c.t, err)
	if resp.Close {
		resp.Header.Set("Connection", "close")
	}
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// large is a call whose body has so many bytes.
func large(model string, size int) string {
	body := `{"model":"` + model + `","messages":[{"role":"user","content":"`
	return body + strings.Repeat("word ", (size-len(body))/5) + `"}]}`
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestDeclaredBodiesTakeNoMemory has connections declare 3 GiB together and send 20 KB.
// It does not run in parallel, because the memory of other tests would count as well.
func TestDeclaredBodiesTakeNoMemory(t *testing.T) {
	h := setup(t, func(p *plan) {
		p.api.Gate = admission.New(admission.Options{AccountBytesMax: declaringConns * 2 * declaredBytes})
	})
	must(t, h.accounts.SetLimitFactor(t.Context(), h.owner.Principal(), declaringConns))
	_, secret := h.key(apikey.Spec{})
	before := heap()
	for range declaringConns {
		c := h.dial(t)
		c.announce("/v1/chat/completions", secret, declaredBytes)
		if a := c.answer(); a.status != http.StatusContinue {
			t.Fatalf("the body is not read: %d %s", a.status, a.body)
		}
		_, err := io.WriteString(c, large("test/plain", 200))
		must(t, err)
	}
	if after := heap(); after > before+declaredGrowth {
		t.Errorf("the heap grew from %d to %d MiB for %d KiB of bodies", before>>20, after>>20, declaringConns*200>>10)
	}
}

// TestMoreCallsThanPlacesAreRefusedBeforeTheirBodies opens more calls than an account may run.
func TestMoreCallsThanPlacesAreRefusedBeforeTheirBodies(t *testing.T) {
	t.Parallel()
	h := setup(t)
	_, secret := h.key(apikey.Spec{})
	for i := range ratelimit.ConcurrencyStandard + 3 {
		c := h.dial(t)
		c.announce("/v1/chat/completions", secret, mebibyte)
		a := c.answer()
		if i < ratelimit.ConcurrencyStandard {
			if a.status != http.StatusContinue {
				t.Fatalf("call %d: %d %s", i, a.status, a.body)
			}
			continue
		}
		if a.status != http.StatusTooManyRequests || a.header.Get("X-Error-Code") != "max_concurrency_exceeded" ||
			a.header.Get("Retry-After") == "" || a.header.Get("Connection") != "close" {
			t.Errorf("call %d: %d %v %s", i, a.status, a.header, a.body)
		}
	}
}

// TestBodiesThatDoNotFitTogetherAreRefusedUnread declares more than an account may hold: what would be refused in part is not read.
func TestBodiesThatDoNotFitTogetherAreRefusedUnread(t *testing.T) {
	t.Parallel()
	h := setup(t)
	_, secret := h.key(apikey.Spec{})
	for i := range 3 {
		c := h.dial(t)
		c.announce("/v1/chat/completions", secret, declaredBytes)
		a := c.answer()
		if i < 2 && a.status != http.StatusContinue || i == 2 && (a.status != http.StatusTooManyRequests ||
			a.header.Get("X-Error-Code") != "body_bytes_exceeded" || a.header.Get("Connection") != "close") {
			t.Errorf("body %d: %d %v %s", i, a.status, a.header, a.body)
		}
	}
}

// broke takes all credit of the owner's account.
func (h *house) broke(t *testing.T) {
	t.Helper()
	must(t, h.ledger().Adjust(t.Context(), h.db, billing.Correction{
		AccountID: h.owner.AccountID, Amount: -5 * app.Dollar, Source: "taken", Reason: "a test", Operator: "test",
	}))
}

// TestAnAccountWithoutCreditIsRefusedBeforeItsBody declares bodies for an account that can pay for nothing.
func TestAnAccountWithoutCreditIsRefusedBeforeItsBody(t *testing.T) {
	t.Parallel()
	h := setup(t)
	_, secret := h.key(apikey.Spec{})
	h.broke(t)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/vendorc/native"} {
		c := h.dial(t)
		c.announce(path, secret, declaredBytes)
		a := c.answer()
		if a.status != http.StatusPaymentRequired || a.header.Get("X-Error-Code") != "insufficient_quota" || a.header.Get("Connection") != "close" {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
	for stream, want := range map[string]string{"": `{"code":402`, `,"stream":true`: `data: {"code":402`} {
		a := h.call("POST", "/v1/chat/completions", ask("test/plain", stream), bearer(secret)...)
		if a.status != http.StatusOK || !strings.HasPrefix(a.body, want) || strings.HasPrefix(a.body, "data:") != strings.HasSuffix(a.body, "data: [DONE]\n\n") {
			t.Errorf("in the documented form: %d %q", a.status, a.body)
		}
	}
	a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), append(bearer(secret), "X-Dry-Run", "1")...)
	if a.status != http.StatusOK || !strings.Contains(a.body, `"funded":false`) {
		t.Errorf("a dry run: %d %s", a.status, a.body)
	}
	must(t, h.ledger().Grant(t.Context(), h.db, billing.Grant{
		AccountID: h.owner.AccountID, Kind: billing.Purchased, Amount: app.Dollar, Source: "paid",
	}))
	if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(secret)...); a.status != http.StatusOK || !strings.Contains(a.body, "hello") {
		t.Errorf("with new credit: %d %s", a.status, a.body)
	}
}

// TestThePlaceOfACallIsGivenBackOnEveryPath calls with a key of one place: what the call before kept would refuse the next.
func TestThePlaceOfACallIsGivenBackOnEveryPath(t *testing.T) {
	t.Parallel()
	var limits *ratelimit.Limiter
	h := setup(t, func(p *plan) { limits = p.text.Limits })
	_, secret := h.key(apikey.Spec{Concurrency: 1})
	good := ask("test/plain", "")
	must(t, func() error { // The first call loads the account from the ledger, so that the calls below do not wait for it.
		h.call("POST", "/v1/chat/completions", good, bearer(secret)...)
		return nil
	}())
	for what, c := range map[string]struct {
		path, body string
		headers    []string
	}{
		"success":          {body: good},
		"a stream":         {body: ask("test/plain", `,"stream":true`)},
		"broken JSON":      {body: "{"},
		"no JSON":          {body: good, headers: []string{"Content-Type", "text/plain"}},
		"an unknown model": {body: ask("test/none", "")},
		"the contract":     {body: ask("test/plain", `,"temperature":9`)},
		"no provider":      {body: ask("test/nowhere", "")},
		"a paused model":   {body: ask("test/paused", "")},
		"a failure":        {body: ask("test/failing", "")},
		"a refusal":        {body: ask("test/refusing", "")},
		"too dear":         {body: ask("test/dear", "")},
		"a dry run":        {body: good, headers: []string{"X-Dry-Run", "1"}},
		"a bad dry run":    {body: good, headers: []string{"X-Dry-Run", "perhaps"}},
		"a count":          {path: "/v1/messages/count_tokens", body: good},
		"too large":        {body: good + strings.Repeat(" ", declaredBytes)},
	} {
		path := c.path
		if path == "" {
			path = "/v1/chat/completions"
		}
		h.call("POST", path, c.body, append(bearer(secret), c.headers...)...)
		h.free(t, limits, what)
	}
	c := h.dial(t)
	c.announce("/v1/chat/completions", secret, 1000)
	if a := c.answer(); a.status != http.StatusContinue {
		t.Fatalf("the body is not read: %d %s", a.status, a.body)
	}
	if a := h.call("POST", "/v1/messages", good, bearer(secret)...); a.status != http.StatusTooManyRequests {
		t.Errorf("beside a body that comes, for a key of one place: %d %s", a.status, a.body)
	}
	_ = c.Close()
	h.free(t, limits, "a client that leaves in its body")
	if a := h.call("POST", "/v1/chat/completions", good, bearer(secret)...); a.status != http.StatusOK || !strings.Contains(a.body, "hello") {
		t.Errorf("at the end: %d %s", a.status, a.body)
	}
}

// free waits until all places of the owner's account are free: an answer is there a moment before.
func (h *house) free(t *testing.T, limits *ratelimit.Limiter, what string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		left := limits.Peek([]ratelimit.Request{{AccountID: h.owner.AccountID, Model: "test/plain"}})[0].Account.Places
		if left.Remaining == ratelimit.ConcurrencyStandard {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s %d of %d places are free", what, left.Remaining, left.Limit)
		}
	}
}

// TestACallIsCountedOnce makes calls until the requests of the account are used up.
func TestACallIsCountedOnce(t *testing.T) {
	t.Parallel()
	const requests = 5
	h := setup(t, func(p *plan) {
		p.text.Limits = ratelimit.New(ratelimit.Options{Now: standing(), Account: ratelimit.Account{RequestsPerMinute: requests}})
	})
	_, secret := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	for i := range requests {
		body := ask("test/plain", "")
		if i == 2 {
			body = "{" // A request that is refused later counts as a request too.
		}
		a := h.call("POST", "/v1/messages", strings.Replace(body, `"messages"`, `"max_tokens":9,"messages"`, 1), bearer(secret)...)
		if left := a.header.Get("X-Ratelimit-Remaining-Requests"); i != 2 && (a.status != http.StatusOK || left != strconv.Itoa(requests-1-i)) {
			t.Errorf("call %d: %d, %s left, %s", i, a.status, left, a.body)
		}
	}
	c := h.dial(t)
	c.announce("/v1/chat/completions", secret, declaredBytes)
	a := c.answer()
	if a.status != http.StatusTooManyRequests || a.header.Get("X-Error-Code") != "rate_limit_exceeded" || a.header.Get("Retry-After") != "12" ||
		a.header.Get("X-Ratelimit-Limit-Requests") != strconv.Itoa(requests) || a.header.Get("X-Ratelimit-Remaining-Requests") != "0" {
		t.Errorf("the next: %d %v %s", a.status, a.header, a.body)
	}
}

// standing is a clock that stands still.
func standing() func() time.Time {
	now := time.Now()
	return func() time.Time { return now }
}

// TestBodiesHoldNoMoreThanTheirBounds holds one large call at the upstream and sends another.
func TestBodiesHoldNoMoreThanTheirBounds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		gate   admission.Options
		status int
		code   string
	}{
		"of an account": {admission.Options{AccountBytesMax: mebibyte}, 429, "body_bytes_exceeded"},
		"of a replica":  {admission.Options{BodyBytesMax: mebibyte, AccountBytesMax: 2 * mebibyte}, 503, "overloaded"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			gate := admission.New(c.gate)
			h := setup(t, func(p *plan) { p.api.Gate = gate })
			secret, body := h.secret(), large("test/slow", 600<<10)
			first := make(chan reply, 1)
			go func() { first <- h.call("POST", "/v1/chat/completions", body, bearer(secret)...) }()
			h.waiting("1")
			if held := gate.BodyBytes(); held < 600<<10 || held > mebibyte {
				t.Errorf("a body of 600 KiB is counted as %d bytes", held)
			}
			other := h.call("POST", "/v1/chat/completions", body, bearer(secret)...)
			if other.status != c.status || other.header.Get("X-Error-Code") != c.code || other.header.Get("Retry-After") == "" {
				t.Errorf("the second: %d %v %s", other.status, other.header, other.body)
			}
			if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(secret)...); a.status != http.StatusOK {
				t.Errorf("a small one: %d %s", a.status, a.body)
			}
			h.release()
			if a := <-first; a.status != http.StatusOK {
				t.Errorf("the first: %d %s", a.status, a.body)
			}
			h.control("faults", map[string]string{"model": "slow", "spec": ""})
			if a := h.call("POST", "/v1/chat/completions", body, bearer(secret)...); a.status != http.StatusOK {
				t.Errorf("when the first has ended: %d %s", a.status, a.body)
			}
			for deadline := time.Now().Add(10 * time.Second); gate.BodyBytes() != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d bytes stay counted", gate.BodyBytes())
				}
			}
		})
	}
}

// TestReadsChangesAndDryRunsHaveRatesOfTheirOwn uses each rate up. None refuses a call or another rate's requests.
func TestReadsChangesAndDryRunsHaveRatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	const requests = 3
	h := setup(t, func(p *plan) {
		p.text.Limits = ratelimit.New(ratelimit.Options{Now: standing()})
		p.text.Rates = gateway.StandardRates(0, requests, requests, requests)
	})
	_, secret := h.key(apikey.Spec{ErrorMode: apikey.Standard})
	dry := append(bearer(secret), "X-Dry-Run", "1")
	for what, c := range map[string]func() reply{
		"reads":          func() reply { return h.call("GET", "/v1/models", "", bearer(secret)...) },
		"dry runs":       func() reply { return h.call("POST", "/v1/chat/completions", ask("test/plain", ""), dry...) },
		"other requests": func() reply { return h.call("POST", "/v1/webhook_endpoints", "{}", bearer(secret)...) },
	} {
		for i := range requests {
			if a := c(); a.status == http.StatusTooManyRequests {
				t.Fatalf("%s, number %d: %s", what, i, a.body)
			}
		}
		a := c()
		if a.status != http.StatusTooManyRequests || a.header.Get("X-Error-Code") != "rate_limit_exceeded" || a.header.Get("Retry-After") != "20" ||
			a.header.Get("X-Ratelimit-Limit-Requests") != fmt.Sprint(requests) || a.header.Get("X-Ratelimit-Remaining-Requests") != "0" {
			t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
		}
	}
	if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(secret)...); a.status != http.StatusOK {
		t.Errorf("a call: %d %s", a.status, a.body)
	}
}

// TestLargeDryRunsAreBoundByTheirBytes declares dry runs of 10 MiB, of which a minute has room for one.
func TestLargeDryRunsAreBoundByTheirBytes(t *testing.T) {
	t.Parallel()
	h := setup(t, func(p *plan) {
		p.text.Limits = ratelimit.New(ratelimit.Options{Now: standing()})
		p.text.Rates = gateway.StandardRates(0, 0, 0, 0)
	})
	_, secret := h.key(apikey.Spec{})
	first := h.dial(t)
	first.announce("/v1/chat/completions", secret, 10*mebibyte, "X-Dry-Run", "1")
	if a := first.answer(); a.status != http.StatusContinue {
		t.Fatalf("the first: %d %s", a.status, a.body)
	}
	second := h.dial(t)
	second.announce("/v1/chat/completions", secret, 10*mebibyte, "X-Dry-Run", "1")
	if a := second.answer(); a.status != http.StatusTooManyRequests || !strings.Contains(a.body, "16 MiB of the bodies") {
		t.Errorf("the second: %d %s", a.status, a.body)
	}
	_ = first.Close() // The server has received nothing of its body.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		c := h.dial(t)
		c.announce("/v1/chat/completions", secret, 10*mebibyte, "X-Dry-Run", "1")
		if a := c.answer(); a.status == http.StatusContinue {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("after the first has left: %d %s", a.status, a.body)
		}
	}
}

// TestManyRefusalsAreAnsweredLate refuses one account again and again: its answers wait, and those of another account do not.
func TestManyRefusalsAreAnsweredLate(t *testing.T) {
	t.Parallel()
	const inTime, delay = 100, 250 * time.Millisecond // A later refusal waits at least this delay.
	h := setup(t, func(p *plan) {
		p.text.Limits = ratelimit.New(ratelimit.Options{Now: standing()})
		p.text.Rates = gateway.StandardRates(0, 1, 0, 0)
	})
	_, secret := h.key(apikey.Spec{})
	other, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "other@example.com", Password: "a long enough passphrase", IP: "192.0.2.1"})
	must(t, err)
	_, others, err := h.apiKeys.Create(t.Context(), other.Principal(), apikey.Spec{Name: "other"})
	must(t, err)
	for range 1 + inTime {
		h.call("GET", "/v1/models", "", bearer(secret)...)
	}
	began := time.Now()
	if a := h.call("GET", "/v1/models", "", bearer(secret)...); a.status != http.StatusTooManyRequests || time.Since(began) < delay {
		t.Errorf("refusal %d comes after %s: %d", inTime+1, time.Since(began), a.status)
	}
	if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(secret)...); a.status != http.StatusOK {
		t.Errorf("a call that is within the limits: %d %s", a.status, a.body)
	}
	if a := h.call("GET", "/v1/models", "", bearer(others)...); a.status != http.StatusOK {
		t.Errorf("another account: %d %s", a.status, a.body)
	}
}
