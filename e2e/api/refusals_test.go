package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// foundMax is how long after its answer a refusal may still be missing in the console.
const foundMax = 2 * time.Second

// refusedCall is a request of an account that the gateway refuses before any provider gets it.
type refusedCall struct {
	name         string
	method, path string
	body         string
	headers      []string
	status       int
	code, param  string
	// secret returns the key of the request. Without it the customer's key is used.
	secret func(*testing.T, harness.Customer, *harness.ConsoleClient) string
	// twice means that the second request is the one that is refused.
	twice bool
}

// keyWith is a fresh key of the customer, changed in the store before its first use.
func keyWith(change string) func(*testing.T, harness.Customer, *harness.ConsoleClient) string {
	return func(t *testing.T, c harness.Customer, p *harness.ConsoleClient) string {
		t.Helper()
		name := harness.UniqueName("refused")
		secret := p.CreateKey(t, name)
		if _, err := c.DB(t).Exec(`update api_keys set `+change+` where account_id = $1 and name = $2`, c.AccountID, name); err != nil {
			t.Fatal(err)
		}
		return secret
	}
}

func refusedCalls(paused string) []refusedCall {
	const chat, post = "/v1/chat/completions", http.MethodPost
	plain := harness.ChatRequest(harness.CheapModel, privateText)
	return []refusedCall{
		{name: "400", method: post, path: chat, body: harness.ChatRequest(harness.CheapModel, privateText, `"temperature":"hot"`), status: 400,
			code: "invalid_request_error", param: "temperature"},
		{name: "401 disabled", method: post, path: chat, body: plain, status: 401, code: "key_disabled", secret: keyWith("disabled_at = now()")},
		{name: "401 expired", method: post, path: chat, body: plain, status: 401, code: "key_expired",
			secret: keyWith("expires_at = now() - interval '1 minute'")},
		{name: "402", method: post, path: chat, body: plain, status: 402, code: "insufficient_quota"},
		{name: "403 network", method: post, path: chat, body: plain, status: 403, code: "address_not_allowed",
			secret: keyWith("addresses = '{203.0.113.0/24}'")},
		{name: "403 model", method: post, path: chat, body: plain, status: 403, code: "model_not_allowed", param: "model",
			secret: keyWith("models = '{unknown/nothing}'")},
		{name: "404 model", method: post, path: chat, body: harness.ChatRequest(unknownModel, privateText), status: 404,
			code: "model_not_found", param: "model"},
		{name: "404 path", method: post, path: "/v1/chat/complete", body: plain, status: 404, code: "not_found"},
		{name: "405", method: http.MethodPut, path: chat, body: plain, status: 405, code: "method_not_allowed"},
		{name: "413", method: post, path: chat, body: strings.Repeat(" ", 33<<20), status: 413, code: "request_too_large"},
		{name: "415", method: post, path: chat, body: plain, headers: []string{"Content-Type", "text/plain"}, status: 415,
			code: "unsupported_media_type"},
		{name: "422", method: post, path: "/v1/responses", body: `{"model":"` + harness.CheapModel + `","input":"hello"}`,
			headers: []string{"Idempotency-Key", "one"}, status: 422, code: "idempotency_error", twice: true},
		{name: "429", method: post, path: chat, body: plain, status: 429, code: "rate_limit_exceeded",
			secret: keyWith("requests_per_minute = 1"), twice: true},
		{name: "503", method: post, path: chat, body: harness.ChatRequest(paused, privateText), status: 503, code: "model_temporarily_unavailable",
			param: "model"},
		{name: "a video", method: post, path: "/v1/videos", body: `{"model":"` + unknownModel + `","prompt":"` + privateText + `"}`, status: 404,
			code: "model_not_found", param: "model"},
		{name: "an asset", method: post, path: harness.AssetsPath, body: `{"asset_type":"Tape","url":"https://example.com/x.png"}`, status: 400,
			code: "invalid_value", param: "asset_type"},
	}
}

// send makes the request and returns the id of the refusal.
func (r refusedCall) send(t *testing.T, c harness.Customer, p *harness.ConsoleClient) string {
	t.Helper()
	key := c.APIKey
	if r.secret != nil {
		key = r.secret(t, c, p)
	}
	headers := append([]string{"Authorization", "Bearer " + key, "X-Error-Status", "standard"}, r.headers...)
	if r.twice {
		c.Call(t, r.method, r.path, r.body, headers...)
		r.body = strings.Replace(r.body, "hello", "good morning", 1)
	}
	a := c.Call(t, r.method, r.path, r.body, headers...)
	if a.Status != r.status || a.Header.Get("X-Error-Code") != r.code {
		t.Fatalf("%d %s %s", a.Status, a.Header.Get("X-Error-Code"), a.Body)
	}
	return a.Header.Get("X-Request-Id")
}

// waitForPage visits a page until it has the text, for as long as a refusal may be missing.
func waitForPage(t *testing.T, p *harness.ConsoleClient, path, text string) string {
	t.Helper()
	var got harness.Response
	for end := time.Now().Add(foundMax); time.Now().Before(end); {
		if got = p.Visit(t, path, nil); strings.Contains(got.Body, text) {
			return got.Body
		}
	}
	t.Fatalf("%s does not show %s: %d", path, text, got.Status)
	return ""
}

// These are in the request for a model that the catalog does not have. Its name helps the caller to find a mistyped one, so it is kept.
const (
	unknownModel = "unknown/misspelt-name"
	privateText  = "a private question"
)

// TestEveryRefusalOfAnAccountIsFoundInTheConsole sends each kind of refused request and looks for it by its id, as its own account
// and as another one.
func TestEveryRefusalOfAnAccountIsFoundInTheConsole(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	paused := harness.UniqueName("test/paused")
	g.AddModels(t, harness.Model{ID: paused, UpstreamModel: "sim", Paused: true})
	rich, poor := g.NewCustomer(t, "refusals"), g.NewCustomerWithoutCredit(t, "poor")
	stranger := g.NewCustomer(t, "stranger").SignInToConsole(t)
	consoles := map[string]*harness.ConsoleClient{rich.AccountID: rich.SignInToConsole(t), poor.AccountID: poor.SignInToConsole(t)}
	for _, r := range refusedCalls(paused) {
		t.Run(r.name, func(t *testing.T) {
			c := rich
			if r.status == http.StatusPaymentRequired {
				c = poor
			}
			p := consoles[c.AccountID]
			id := r.send(t, c, p)
			waitForPage(t, p, "/console/search?q="+id, "/console/requests/"+id)
			list := p.Visit(t, "/console/requests?outcome=refused&q="+id, nil)
			if !strings.Contains(list.Body, "row-"+id) {
				t.Errorf("the list lacks it: %d", list.Status)
			}
			page := p.Visit(t, "/console/requests/"+id, nil)
			for _, want := range []string{"Refused: " + strings.ReplaceAll(r.code, "_", " "), r.code, r.param} {
				if page.Status != http.StatusOK || !strings.Contains(page.Body, want) {
					t.Errorf("its page does not say %q: %d", want, page.Status)
				}
			}
			if strings.Contains(page.Body, privateText) {
				t.Error("its page repeats the content of the request")
			}
			if named := strings.Contains(page.Body, unknownModel); named != strings.Contains(r.body, unknownModel) {
				t.Errorf("its page names the unknown model: %v", named)
			}
			if other := stranger.Visit(t, "/console/requests/"+id, nil); other.Status != http.StatusNotFound {
				t.Errorf("another account gets %d", other.Status)
			}
			for _, path := range []string{"/console/search?q=" + id, "/console/requests?q=" + id} {
				if other := stranger.Visit(t, path, nil); strings.Contains(other.Body, "/console/requests/"+id) {
					t.Errorf("another account finds it with %s", path)
				}
			}
		})
	}
}
