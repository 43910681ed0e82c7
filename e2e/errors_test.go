package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// failure is the error layout of the chat route.
type failure struct {
	Code  int `json:"code"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Type    string `json:"type"`
		Param   string `json:"param"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func decodeFailure(t *testing.T, body string) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if f.Code == 0 || f.Error.Code == "" || f.Error.Message == "" || f.Error.Type == "" || f.RequestID == "" {
		t.Fatalf("not the chat error layout: %s", body)
	}
	return f
}

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
	{"empty model", ask("", "x"), 400, "invalid_request_error", "invalid_request_error", "model", "model"},
	{"model of the wrong type", `{"model":7,"messages":[]}`, 400, "invalid_request_error", "invalid_request_error", "model", "string"},
	{"unknown model", ask("nobody/nothing", "x"), 404, "model_not_found", "invalid_request_error", "model", "nobody/nothing"},
	{"invalid JSON", `{"model":"a",`, 400, "invalid_json", "invalid_request_error", "", "13"},
	{"trailing garbage", ask(cheapModel, "x") + "}", 400, "invalid_json", "invalid_request_error", "", ""},
	{"empty body", ``, 400, "invalid_json", "invalid_request_error", "", ""},
	{"not an object", `[1]`, 400, "invalid_json", "invalid_request_error", "", "object"},
	{"invalid UTF-8", ask(cheapModel, "x", "\"user\":\"\xff\""), 400, "invalid_json", "invalid_request_error", "", ""},
	{"missing messages", `{"model":"` + cheapModel + `"}`, 400, "invalid_request_error", "invalid_request_error", "messages", "messages"},
	{"empty messages", `{"model":"` + cheapModel + `","messages":[]}`, 400, "invalid_request_error", "invalid_request_error", "messages", ""},
	{"message without role", `{"model":"` + cheapModel + `","messages":[{"content":"x"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].role", "role"},
	{"message without content", `{"model":"` + cheapModel + `","messages":[{"role":"user"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].content", "content"},
	{"unknown role", `{"model":"` + cheapModel + `","messages":[{"role":"robot","content":"x"}]}`, 400,
		"invalid_request_error", "invalid_request_error", "messages[0].role", "assistant"},
	{"duplicate model", `{"model":"` + cheapModel + `","model":"x","messages":[]}`, 400,
		"invalid_request_error", "invalid_request_error", "model", "model"},
	{"duplicate max_tokens", ask(cheapModel, "x", `"max_tokens":1`, `"max_tokens":100000`), 400,
		"invalid_request_error", "invalid_request_error", "max_tokens", "max_tokens"},
	{"case variant of a member", ask(cheapModel, "x", `"Max_Tokens":5`), 400,
		"invalid_request_error", "invalid_request_error", "Max_Tokens", "max_tokens"},
	{"temperature out of range", ask(cheapModel, "x", `"temperature":2.5`), 400,
		"invalid_request_error", "invalid_request_error", "temperature", "2"},
	{"temperature of the wrong type", ask(cheapModel, "x", `"temperature":"hot"`), 400,
		"invalid_request_error", "invalid_request_error", "temperature", "number"},
	{"stream of the wrong type", ask(cheapModel, "x", `"stream":"true"`), 400,
		"invalid_request_error", "invalid_request_error", "stream", "boolean"},
	{"max_tokens negative", ask(cheapModel, "x", `"max_tokens":-1`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens zero", ask(cheapModel, "x", `"max_tokens":0`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens fractional", ask(cheapModel, "x", `"max_tokens":1.5`), 400, "invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"max_tokens huge", ask(cheapModel, "x", `"max_tokens":9223372036854775808`), 400,
		"invalid_request_error", "invalid_request_error", "max_tokens", ""},
	{"n too large", ask(cheapModel, "x", `"n":1000`), 400, "invalid_request_error", "invalid_request_error", "n", ""},
	{"too deep", `{"model":"` + cheapModel + `","messages":[],"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, 400,
		"", "invalid_request_error", "", ""},
}

// TestAPIChatErrors goes through the table in both error-status modes, as JSON and as a stream.
func TestAPIChatErrors(t *testing.T) {
	t.Parallel()
	// No other test changes the balance of this account.
	g := running(t).newCustomer(t, "mistakes")
	before := g.balanceOf(t, g.accountID)
	for _, c := range chatFailures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			documented := g.call(t, "POST", "/v1/chat/completions", c.body, "X-Error-Status", "documented")
			if documented.status != http.StatusOK {
				t.Errorf("documented mode: status %d", documented.status)
			}
			f := decodeFailure(t, documented.body)
			if f.Code != c.code || (c.errCode != "" && f.Error.Code != c.errCode) || f.Error.Type != c.errType || f.Error.Param != c.param {
				t.Errorf("got code %d %s %s param %q: %s", f.Code, f.Error.Code, f.Error.Type, f.Error.Param, f.Error.Message)
			}
			if !strings.Contains(f.Error.Message, c.says) {
				t.Errorf("the message does not say %q: %s", c.says, f.Error.Message)
			}
			if documented.header.Get("X-Error-Code") != f.Error.Code || documented.header.Get("X-Request-Id") != f.RequestID {
				t.Errorf("headers do not repeat code and request id: %v", documented.header)
			}
			standard := g.call(t, "POST", "/v1/chat/completions", c.body, "X-Error-Status", "standard")
			if standard.status != c.code || decodeFailure(t, standard.body).Code != c.code {
				t.Errorf("standard mode: status %d: %s", standard.status, standard.body)
			}
		})
	}
	t.Run("nothing was charged", func(t *testing.T) {
		if after := g.balanceOf(t, g.accountID); after != before {
			t.Errorf("the balance went from %+v to %+v", before, after)
		}
	})
}

func TestAPIChatErrorBeforeAStream(t *testing.T) {
	t.Parallel()
	g := running(t)
	body := ask("nobody/nothing", "x", `"stream":true`)
	documented := g.call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "documented")
	all := events(t, documented.body)
	if documented.status != http.StatusOK || !strings.HasPrefix(documented.header.Get("Content-Type"), "text/event-stream") ||
		len(all) != 2 || all[1] != "[DONE]" {
		t.Fatalf("status %d, %s", documented.status, documented.body)
	}
	if f := decodeFailure(t, all[0]); f.Code != 404 || f.Error.Code != "model_not_found" {
		t.Errorf("got %+v", f)
	}
	standard := g.call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
	if standard.status != http.StatusNotFound || !strings.HasPrefix(standard.header.Get("Content-Type"), "application/json") {
		t.Errorf("status %d, %s", standard.status, standard.body)
	}
}

// TestAPITrueStatuses lists the failures whose status is true in both modes.
func TestAPITrueStatuses(t *testing.T) {
	t.Parallel()
	g := running(t)
	body := ask(cheapModel, "x")
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
		{"too large", "POST", ask(cheapModel, strings.Repeat("x", 33<<20)), nil, 413, "request_too_large"},
	}
	for _, c := range cases {
		for _, mode := range []string{"documented", "standard"} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				a := g.call(t, c.method, "/v1/chat/completions", c.body, append([]string{"X-Error-Status", mode}, c.headers...)...)
				if f := decodeFailure(t, a.body); a.status != c.status || f.Code != c.status || f.Error.Code != c.code {
					t.Errorf("status %d, %+v", a.status, f)
				}
				switch c.status {
				case http.StatusUnauthorized:
					if a.header.Get("Www-Authenticate") != "Bearer" {
						t.Errorf("WWW-Authenticate is %q", a.header.Get("Www-Authenticate"))
					}
				case http.StatusMethodNotAllowed:
					if !strings.Contains(a.header.Get("Allow"), "POST") {
						t.Errorf("Allow is %q", a.header.Get("Allow"))
					}
				}
			})
		}
	}
}

func TestAPIMediaTypeWithCharset(t *testing.T) {
	t.Parallel()
	g := running(t)
	decodeCompletion(t, g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: x"), "Content-Type", "application/json; charset=utf-8"))
}

// TestAPIUnknownPaths answers JSON for every path that belongs to programs.
func TestAPIUnknownPaths(t *testing.T) {
	t.Parallel()
	g := running(t)
	for _, path := range []string{
		"/v1/nothing", "/v1/images/generations", "/v1/audio/speech", "/v1/", "/v1/chat/completions/", "/v1/embeddings",
	} {
		a := g.call(t, "POST", path, `{}`)
		var f struct {
			Error struct{ Code, Message string } `json:"error"`
		}
		if err := json.Unmarshal([]byte(a.body), &f); err != nil || a.status != http.StatusNotFound || f.Error.Code != "not_found" {
			t.Errorf("%s: status %d %v: %s", path, a.status, err, a.body)
		}
	}
}

// TestAPIUnknownNativePath answers in the native layout, whose code is a number.
func TestAPIUnknownNativePath(t *testing.T) {
	t.Parallel()
	a := running(t).call(t, "POST", "/vendorc/other", `{}`)
	if a.status != http.StatusNotFound || !strings.Contains(a.body, `"code":404`) || !strings.Contains(a.body, `"status":"NOT_FOUND"`) {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestAPICrossOriginCalls(t *testing.T) {
	t.Parallel()
	g := running(t)
	a := g.call(t, http.MethodOptions, "/v1/chat/completions", "", "Authorization", "", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "x-stainless-os") {
		t.Errorf("preflight: %d %v", a.status, a.header)
	}
	a = g.call(t, "POST", "/v1/chat/completions", ask(cheapModel, "echo: x"), "Origin", "https://app.example")
	if a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(strings.ToLower(a.header.Get("Access-Control-Expose-Headers")), "x-request-id") {
		t.Errorf("call: %v", a.header)
	}
}

func TestAPIModels(t *testing.T) {
	t.Parallel()
	g := running(t)
	a := g.call(t, "GET", "/v1/models", "")
	var list struct {
		Object  string           `json:"object"`
		Data    []map[string]any `json:"data"`
		FirstID string           `json:"first_id"`
		LastID  string           `json:"last_id"`
		HasMore *bool            `json:"has_more"`
	}
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || list.Object != "list" || len(list.Data) < 14 || list.HasMore == nil {
		t.Fatalf("%v: %s", err, a.body)
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
	etag := a.header.Get("Etag")
	if again := g.call(t, "GET", "/v1/models", "", "If-None-Match", etag); etag == "" || again.status != http.StatusNotModified {
		t.Errorf("ETag %q, then status %d", etag, again.status)
	}
	if head := g.call(t, "HEAD", "/v1/models", ""); head.status != http.StatusOK || head.body != "" {
		t.Errorf("HEAD: %d", head.status)
	}
	for _, path := range []string{"/v1/models/" + cheapModel, "/v1/models/" + strings.Replace(cheapModel, "/", "%2F", 1)} {
		one := g.call(t, "GET", path, "")
		if one.status != http.StatusOK || !strings.Contains(one.body, fmt.Sprintf(`"id":%q`, cheapModel)) {
			t.Errorf("%s: %d %s", path, one.status, one.body)
		}
	}
	if one := g.call(t, "GET", "/v1/models/nobody%2Fnothing", ""); one.status != http.StatusNotFound || !strings.Contains(one.body, "model_not_found") {
		t.Errorf("unknown model: %d %s", one.status, one.body)
	}
	if no := g.call(t, "GET", "/v1/models", "", "Authorization", ""); no.status != http.StatusUnauthorized || !strings.Contains(no.body, "authentication_error") {
		t.Errorf("no key: %d %s", no.status, no.body)
	}
}
