package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// chatFailure is a request that must fail, and how: the rows of the chat route's error table.
type chatFailure struct {
	name    string
	body    string
	code    int
	errCode string
	errType string
	// The message must also name param.
	param string
	says  string
}

var chatFailures = []chatFailure{
	{"missing model", `{"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "invalid_request_error", "model", "model"},
	{"empty model", harness.ChatRequest("", "x"), 400, "invalid_request_error", "invalid_request_error", "model", "model"},
	{"model of the wrong type", `{"model":7,"messages":[]}`, 400, "invalid_request_error", "invalid_request_error", "model", "string"},
	{"unknown model", harness.ChatRequest("unknown/nothing", "x"), 404, "model_not_found", "invalid_request_error", "model", "unknown/nothing"},
	{"invalid JSON", `{"model":"a",`, 400, "invalid_json", "invalid_request_error", "", "13"},
	{"trailing garbage", harness.ChatRequest(harness.CheapModel, "x") + "}", 400, "invalid_json", "invalid_request_error", "", ""},
	{"empty body", ``, 400, "invalid_json", "invalid_request_error", "", ""},
	{"not an object", `[1]`, 400, "invalid_json", "invalid_request_error", "", "object"},
	{"invalid UTF-8", harness.ChatRequest(harness.CheapModel, "x", "\"user\":\"\xff\""), 400, "invalid_json", "invalid_request_error", "", ""},
	{"missing messages", `{"model":"` + harness.CheapModel + `"}`, 400, "invalid_request_error", "invalid_request_error", "messages", "messages"},
	{"empty messages", `{"model":"` + harness.CheapModel + `","messages":[]}`, 400, "invalid_request_error", "invalid_request_error", "messages", ""},
	{"message without role", `{"model":"` + harness.CheapModel + `","messages":[{"content":"x"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].role", "role"},
	{"message without content", `{"model":"` + harness.CheapModel + `","messages":[{"role":"user"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].content", "content"},
	{"unknown role", `{"model":"` + harness.CheapModel + `","messages":[{"role":"robot","content":"x"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].role", "assistant"},
	{"duplicate model", `{"model":"` + harness.CheapModel + `","model":"x","messages":[]}`, 400,
		"invalid_request_error", "invalid_request_error", "model", "model"},
	{"duplicate max_tokens", harness.ChatRequest(harness.CheapModel, "x", `"max_tokens":1`, `"max_tokens":100000`), 400,
		"invalid_request_error", "invalid_request_error", "max_tokens", "max_tokens"},
	{"case variant of a member", harness.ChatRequest(harness.CheapModel, "x", `"Max_Tokens":5`), 400,
		"invalid_request_error", "invalid_request_error", "Max_Tokens", "max_tokens"},
	{"temperature out of range", harness.ChatRequest(harness.CheapModel, "x", `"temperature":2.5`), 400,
		"invalid_request_error", "invalid_request_error", "temperature", "2"},
	{"temperature of the wrong type", harness.ChatRequest(harness.CheapModel, "x", `"temperature":"hot"`), 400,
		"invalid_request_error", "invalid_request_error", "temperature", "number"},
	{"stream of the wrong type", harness.ChatRequest(harness.CheapModel, "x", `"stream":"true"`), 400,
		"invalid_request_error", "invalid_request_error", "stream", "boolean"},
	{"max_tokens negative", harness.ChatRequest(harness.CheapModel, "x", `"max_tokens":-1`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens zero", harness.ChatRequest(harness.CheapModel, "x", `"max_tokens":0`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens fractional", harness.ChatRequest(harness.CheapModel, "x", `"max_tokens":1.5`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens huge", harness.ChatRequest(harness.CheapModel, "x", `"max_tokens":9223372036854775808`), 400,
		"invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"n too large", harness.ChatRequest(harness.CheapModel, "x", `"n":1000`), 400, "invalid_request_error", "invalid_request_error", "n", ""},
	{"too deep", `{"model":"` + harness.CheapModel + `","messages":[],"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, 400,
		"", "invalid_request_error", "", ""},
}

// TestAPIChatErrors goes through the table in both error-status modes, as JSON and as a stream.
func TestAPIChatErrors(t *testing.T) {
	t.Parallel()
	// No other test changes the balance of this account.
	g := harness.SharedDemo(t).NewCustomer(t, "mistakes")
	before := g.SettledBalance(t, g.AccountID)
	for _, c := range chatFailures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			documented := g.Call(t, "POST", "/v1/chat/completions", c.body, "X-Error-Status", "documented")
			if documented.Status != http.StatusOK {
				t.Errorf("documented mode: status %d", documented.Status)
			}
			f := harness.DecodeChatError(t, documented.Body)
			if f.Code != c.code || (c.errCode != "" && f.Error.Code != c.errCode) || f.Error.Type != c.errType || f.Error.Param != c.param {
				t.Errorf("got code %d %s %s param %q: %s", f.Code, f.Error.Code, f.Error.Type, f.Error.Param, f.Error.Message)
			}
			if !strings.Contains(f.Error.Message, c.says) {
				t.Errorf("the message does not say %q: %s", c.says, f.Error.Message)
			}
			if documented.Header.Get("X-Error-Code") != f.Error.Code || documented.Header.Get("X-Request-Id") != f.RequestID {
				t.Errorf("headers do not repeat code and request id: %v", documented.Header)
			}
			standard := g.Call(t, "POST", "/v1/chat/completions", c.body, "X-Error-Status", "standard")
			if standard.Status != c.code || harness.DecodeChatError(t, standard.Body).Code != c.code {
				t.Errorf("standard mode: status %d: %s", standard.Status, standard.Body)
			}
		})
	}
	t.Run("nothing was charged", func(t *testing.T) {
		if after := g.SettledBalance(t, g.AccountID); after != before {
			t.Errorf("the balance went from %+v to %+v", before, after)
		}
	})
}

func TestAPIChatErrorBeforeAStream(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	body := harness.ChatRequest("unknown/nothing", "x", `"stream":true`)
	documented := g.Call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "documented")
	all := harness.StreamData(t, documented.Body)
	if documented.Status != http.StatusOK || !strings.HasPrefix(documented.Header.Get("Content-Type"), "text/event-stream") ||
		len(all) != 2 || all[1] != "[DONE]" {
		t.Fatalf("status %d, %s", documented.Status, documented.Body)
	}
	if f := harness.DecodeChatError(t, all[0]); f.Code != 404 || f.Error.Code != "model_not_found" {
		t.Errorf("got %+v", f)
	}
	standard := g.Call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
	if standard.Status != http.StatusNotFound || !strings.HasPrefix(standard.Header.Get("Content-Type"), "application/json") {
		t.Errorf("status %d, %s", standard.Status, standard.Body)
	}
}

// TestAPITrueStatuses lists the failures whose status is true in both modes.
func TestAPITrueStatuses(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	body := harness.ChatRequest(harness.CheapModel, "x")
	cases := []struct {
		name    string
		method  string
		body    string
		headers []string
		status  int
		code    string
	}{
		{"no key", "POST", body, []string{"Authorization", ""}, 401, "invalid_api_key"},
		{"no bearer", "POST", body, []string{"Authorization", "Basic Zm9vOmJhcg=="}, 401, "invalid_api_key"},
		{"malformed key", "POST", body, []string{"Authorization", "Bearer sk-umg-short"}, 401, "invalid_api_key"},
		{"wrong checksum", "POST", body, []string{"Authorization", "Bearer " + g.APIKey[:len(g.APIKey)-1] + "~"}, 401, "invalid_api_key"},
		{"injection", "POST", body, []string{"Authorization", "Bearer ' or pg_sleep(8)--"}, 401, "invalid_api_key"},
		{"wrong media type", "POST", body, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		{"no media type", "POST", body, []string{"Content-Type", ""}, 415, "unsupported_media_type"},
		{"encoded body", "POST", body, []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"wrong method", "GET", "", nil, 405, "method_not_allowed"},
		{"too large", "POST", harness.ChatRequest(harness.CheapModel, strings.Repeat("x", 33<<20)), nil, 413, "request_too_large"},
	}
	for _, c := range cases {
		for _, mode := range []string{"documented", "standard"} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				a := g.Call(t, c.method, "/v1/chat/completions", c.body, append([]string{"X-Error-Status", mode}, c.headers...)...)
				if f := harness.DecodeChatError(t, a.Body); a.Status != c.status || f.Code != c.status || f.Error.Code != c.code {
					t.Errorf("status %d, %+v", a.Status, f)
				}
				switch c.status {
				case http.StatusUnauthorized:
					if a.Header.Get("Www-Authenticate") != "Bearer" {
						t.Errorf("WWW-Authenticate is %q", a.Header.Get("Www-Authenticate"))
					}
				case http.StatusMethodNotAllowed:
					if !strings.Contains(a.Header.Get("Allow"), "POST") {
						t.Errorf("Allow is %q", a.Header.Get("Allow"))
					}
				}
			})
		}
	}
}

func TestAPIMediaTypeWithCharset(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	harness.DecodeCompletion(t, g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "Content-Type", "application/json; charset=utf-8"))
}

// TestAPIUnknownPaths answers JSON for every path that belongs to programs.
func TestAPIUnknownPaths(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	for _, path := range []string{
		"/v1/nothing", "/v1/images/generations", "/v1/audio/speech", "/v1/", "/v1/chat/completions/", "/v1/embeddings",
	} {
		a := g.Call(t, "POST", path, `{}`)
		var f struct {
			Error struct{ Code, Message string } `json:"error"`
		}
		if err := json.Unmarshal([]byte(a.Body), &f); err != nil || a.Status != http.StatusNotFound || f.Error.Code != "not_found" {
			t.Errorf("%s: status %d %v: %s", path, a.Status, err, a.Body)
		}
	}
}

// TestAPIUnknownNativePath answers in the native layout, whose code is a number.
func TestAPIUnknownNativePath(t *testing.T) {
	t.Parallel()
	a := harness.SharedDemo(t).Call(t, "POST", "/vendorc/other", `{}`)
	if a.Status != http.StatusNotFound || !strings.Contains(a.Body, `"code":404`) || !strings.Contains(a.Body, `"status":"NOT_FOUND"`) {
		t.Errorf("status %d: %s", a.Status, a.Body)
	}
}

func TestAPICrossOriginCalls(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, http.MethodOptions, "/v1/chat/completions", "", "Authorization", "", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
	if a.Status != http.StatusNoContent || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(a.Header.Get("Access-Control-Allow-Headers"), "x-stainless-os") {
		t.Errorf("preflight: %d %v", a.Status, a.Header)
	}
	a = g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: x"), "Origin", "https://app.example")
	if a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")), "x-request-id") {
		t.Errorf("call: %v", a.Header)
	}
}

func TestAPIModels(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	a := g.Call(t, "GET", "/v1/models", "")
	var list struct {
		Object  string           `json:"object"`
		Data    []map[string]any `json:"data"`
		FirstID string           `json:"first_id"`
		LastID  string           `json:"last_id"`
		HasMore *bool            `json:"has_more"`
	}
	if err := json.Unmarshal([]byte(a.Body), &list); err != nil || list.Object != "list" || len(list.Data) < 14 || list.HasMore == nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	if list.FirstID != list.Data[0]["id"] || list.LastID != list.Data[len(list.Data)-1]["id"] {
		t.Errorf("first_id and last_id are %s and %s", list.FirstID, list.LastID)
	}
	for _, m := range list.Data {
		for _, field := range []string{
			"id", "object", "type", "created", "created_at", "owned_by", "name", "display_name", "description", "context_length",
			"max_output_tokens", "architecture", "capabilities", "protocols", "pricing", "supported_parameters", "rate_limits",
		} {
			if _, ok := m[field]; !ok {
				t.Errorf("%v lacks %s", m["id"], field)
			}
		}
	}
	etag := a.Header.Get("Etag")
	if again := g.Call(t, "GET", "/v1/models", "", "If-None-Match", etag); etag == "" || again.Status != http.StatusNotModified {
		t.Errorf("ETag %q, then status %d", etag, again.Status)
	}
	if head := g.Call(t, "HEAD", "/v1/models", ""); head.Status != http.StatusOK || head.Body != "" {
		t.Errorf("HEAD: %d", head.Status)
	}
	for _, path := range []string{"/v1/models/" + harness.CheapModel, "/v1/models/" + strings.Replace(harness.CheapModel, "/", "%2F", 1)} {
		one := g.Call(t, "GET", path, "")
		if one.Status != http.StatusOK || !strings.Contains(one.Body, fmt.Sprintf(`"id":%q`, harness.CheapModel)) {
			t.Errorf("%s: %d %s", path, one.Status, one.Body)
		}
	}
	if one := g.Call(t, "GET", "/v1/models/unknown%2Fnothing", ""); one.Status != http.StatusNotFound || !strings.Contains(one.Body, "model_not_found") {
		t.Errorf("unknown model: %d %s", one.Status, one.Body)
	}
	if no := g.Call(t, "GET", "/v1/models", "", "Authorization", ""); no.Status != http.StatusUnauthorized || !strings.Contains(no.Body, "authentication_error") {
		t.Errorf("no key: %d %s", no.Status, no.Body)
	}
}
