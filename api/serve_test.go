package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/api"
	"umg/app/apikey"
)

// samples are a path for every route that ends in a wildcard.
var samples = map[string]string{"/v1/models/*": "/v1/models/test/plain", "/v1beta/models/*": "/v1beta/models/test/plain"}

func TestEveryRouteWithoutAKeyAnswers401InItsLayout(t *testing.T) {
	t.Parallel()
	h := setup(t)
	gone, goneSecret := h.key(apikey.Spec{})
	must(t, h.apiKeys.Delete(t.Context(), h.owner.Principal(), gone.ID))
	off, offSecret := h.key(apikey.Spec{})
	must(t, h.apiKeys.Disable(t.Context(), h.owner.Principal(), off.ID, true))
	good := h.secret()
	unknown := "sk-umg-0123456789ABCDEFGHIJKLMNOPQRSTUV" // A checksum that does not match is added below.
	for _, r := range api.Routes() {
		path := r.Path
		if r.Open && slices.Contains([]string{"/callbacks/videos/:token", "/webhooks/payments", "/webhooks/key_leaks"}, path) {
			continue // The path, the signature or the body authenticates these requests.
		}
		if strings.HasSuffix(path, "*") {
			path = samples[path]
		}
		methods := []string{r.Method}
		if r.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for name, headers := range map[string][]string{
			"none": nil, "empty": {"Authorization", " "}, "basic": {"Authorization", "Basic Zm9vOmJhcg=="}, "malformed": bearer("sk-umg-short"),
			"wrong checksum": bearer(unknown + "000000"), "deleted": bearer(goneSecret), "disabled": bearer(offSecret),
			"a good one with more behind it": bearer(good + "x"), "twice in one header": bearer(good + ", Bearer " + good),
			"alias beside a broken header": {"Authorization", "Basic x", "X-Api-Key", good}, "cookie": {"Cookie", "Authorization=Bearer " + good},
			"another header": {"Api-Key", good},
		} {
			for _, method := range methods {
				a := h.call(method, path+"?key="+good+"&api_key="+good, ask("test/plain", ""), headers...)
				check401(t, fmt.Sprintf("%s %s, %s", method, path, name), r.Family, method, a)
			}
		}
	}
	a, b := h.call("GET", "/v1/models", "", bearer(goneSecret)...), h.call("GET", "/v1/models", "", bearer(foreignSecret)...)
	if a.body != b.body || a.header.Get("X-Error-Code") != b.header.Get("X-Error-Code") {
		t.Errorf("a deleted key and an unknown one are told apart:\n%s\n%s", a.body, b.body)
	}
	if r := h.call("GET", "/v1/models", "", bearer(good)...); r.status != http.StatusOK {
		t.Errorf("the good key: %d %s", r.status, r.body)
	}
}

func check401(t *testing.T, what string, family api.ErrorFormat, method string, a reply) {
	t.Helper()
	if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") != "Bearer" || a.header.Get("X-Request-Id") == "" ||
		a.header.Get("Request-Id") != a.header.Get("X-Request-Id") || a.header.Get("X-Error-Code") == "" {
		t.Errorf("%s: %d %v", what, a.status, a.header)
	}
	if method == http.MethodHead {
		return
	}
	var body struct {
		Code  int `json:"code"`
		Error struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
			Code    any    `json:"code"`
			Details any    `json:"details"`
		} `json:"error"`
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("%s: %v: %s", what, err, a.body)
	}
	code, good := a.header.Get("X-Error-Code"), body.Error.Type == "authentication_error"
	switch family {
	case api.NativeFamily:
		good = body.Error.Status == "UNAUTHENTICATED" && body.Error.Code == 401.0
	case api.MessagesFamily:
		details, _ := body.Error.Details.(map[string]any)
		good = good && details["error_code"] == code && body.ID == a.header.Get("X-Request-Id")
	case api.ChatFamily:
		good = good && body.Error.Code == code && body.Code == http.StatusUnauthorized && body.ID == a.header.Get("X-Request-Id")
	default:
		good = good && body.Error.Code == code
	}
	if !good || body.Error.Message == "" || !strings.Contains(a.body, code) {
		t.Errorf("%s: %s", what, a.body)
	}
}

func TestAKeyMayComeInAConfiguredAlias(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key"} {
		if a := h.call("GET", "/v1/models", "", name, secret); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// TestTheStoreAwayIsNeverAWrongKey gives the ring a store that refuses connections.
func TestTheStoreAwayIsNeverAWrongKey(t *testing.T) {
	t.Parallel()
	dead, err := sqlx.Open("postgres", "host=127.0.0.1 port=1 user=unknown sslmode=disable connect_timeout=1")
	must(t, err)
	t.Cleanup(func() { _ = dead.Close() })
	h := setup(t, func(p *plan) {
		p.keys = apikey.NewCache(dead, apikey.CacheOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	})
	secret := h.secret()
	for _, mode := range []string{"", "documented", "standard"} {
		a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), append(bearer(secret), "X-Error-Status", mode)...)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || a.header.Get("X-Error-Code") != "service_unavailable" {
			t.Errorf("mode %q: %d %v %s", mode, a.status, a.header, a.body)
		}
	}
	if a := h.call("GET", "/v1/models", "", bearer("sk-umg-short")...); a.status != http.StatusUnauthorized {
		t.Errorf("a malformed key needs no store: %d", a.status)
	}
	if line := h.line(h.call("GET", "/v1/models", "", bearer(secret)...).header.Get("X-Request-Id")); line["cause"] == nil || line["level"] != "ERROR" {
		t.Errorf("the operator is not told why: %v", line)
	}
}

func TestChatAnswersAsJSONAndAsAStream(t *testing.T) {
	t.Parallel()
	h := setup(t)
	key, secret := h.key(apikey.Spec{})
	for _, more := range []string{"", `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`} {
		a := h.call("POST", "/v1/chat/completions", ask("test/plain", more), append(bearer(secret), "X-Client-Request-Id", "mine")...)
		if a.status != http.StatusOK || !strings.Contains(a.body, "hello") {
			t.Fatalf("%s: %d %s", more, a.status, a.body)
		}
		id := a.header.Get("X-Request-Id")
		for name, want := range map[string]string{
			"Request-Id": id, "X-Generation-Id": id, "X-Content-Type-Options": "nosniff", "X-Ratelimit-Limit-Requests": "60", "X-Error-Code": "",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", more, name, got, want)
			}
		}
		if said := a.header.Get("Server-Timing"); !strings.HasPrefix(said, "gateway;dur=") || !strings.Contains(said, ", upstream;dur=") {
			t.Errorf("%s: Server-Timing is %q", more, a.header.Get("Server-Timing"))
		}
		kind, cache := "application/json", "no-store"
		if more != "" {
			kind, cache = "text/event-stream; charset=utf-8", "no-cache, no-transform"
			if !strings.HasSuffix(a.body, "\n\ndata: [DONE]\n\n") || a.header.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%s: %v %s", more, a.header, a.body)
			}
		} else if a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("Content-Length is %q", a.header.Get("Content-Length"))
		}
		if a.header.Get("Content-Type") != kind || a.header.Get("Cache-Control") != cache {
			t.Errorf("%s: %v", more, a.header)
		}
		if strings.Contains(more, "usage") || more == "" {
			if !strings.Contains(a.body, `"cost":0.0`) {
				t.Errorf("%s: no cost in %s", more, a.body)
			}
		}
		line := h.line(id)
		for name, want := range map[string]any{
			"account_id": h.owner.AccountID, "key_id": key.ID, "style": "chat", "model": "test/plain", "provider": "up", "status": float64(200),
			"outcome": "succeeded", "client_request_id": "mine", "route": "/v1/chat/completions", "error_kind": nil,
		} {
			if line[name] != want {
				t.Errorf("%s: the line's %s is %v, want %v", more, name, line[name], want)
			}
		}
		for _, name := range []string{"duration_ms", "first_byte_ms", "input_tokens", "output_tokens", "cost_nanos"} {
			if n, ok := line[name].(float64); !ok || n <= 0 {
				t.Errorf("%s: the line's %s is %v", more, name, line[name])
			}
		}
	}
	text, _ := h.log.read()
	if strings.Contains(text, "hello") || strings.Contains(text, secret) {
		t.Error("the log holds a prompt or a key")
	}
}

// TestChatFailuresThroughTheWholeHouse lets every room fail that can, in both modes, as JSON and as a stream.
func TestChatFailuresThroughTheWholeHouse(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	_, narrow := h.key(apikey.Spec{Models: []string{"test/failing"}})
	if a := h.call("POST", "/v1/chat/completions", ask("test/rare", ""), bearer(secret)...); a.status != http.StatusOK {
		t.Fatalf("the one call a minute: %d %s", a.status, a.body)
	}
	for _, c := range []struct {
		name, body, key string
		code            int
		errCode, kind   string
	}{
		{"missing model", `{"messages":[]STREAM}`, secret, 400, "invalid_request_error", "invalid_request_error"},
		{"empty model", ask("", "STREAM"), secret, 400, "invalid_request_error", "invalid_request_error"},
		{"contract", ask("test/plain", `,"temperature":9STREAM`), secret, 400, "invalid_request_error", "invalid_request_error"},
		{"duplicate", ask("test/plain", `,"model":"x"STREAM`), secret, 400, "invalid_request_error", "invalid_request_error"},
		{"unknown model", ask("test/nothing", "STREAM"), secret, 404, "model_not_found", "invalid_request_error"},
		{"coming model", ask("test/coming", "STREAM"), secret, 404, "model_not_found", "invalid_request_error"},
		{"model of others", ask("test/plain", "STREAM"), narrow, 403, "model_not_allowed", "permission_error"},
		{"paused", ask("test/paused", "STREAM"), secret, 503, "model_temporarily_unavailable", "server_error"},
		{"no provider", ask("test/nowhere", "STREAM"), secret, 503, "no_available_provider", "server_error"},
		{"upstream refuses", ask("test/refusing", "STREAM"), secret, 422, "", "invalid_request_error"},
		{"upstream fails", ask("test/failing", "STREAM"), secret, 502, "upstream_error", "server_error"},
		{"upstream is late", ask("test/late", "STREAM"), secret, 504, "upstream_timeout", "server_error"},
		{"no credit", ask("test/dear", "STREAM"), secret, 402, "insufficient_quota", "insufficient_quota"},
		{"rate", ask("test/rare", "STREAM"), secret, 429, "rate_limit_exceeded", "rate_limit_error"},
		{"broken JSON", `{"model":"test/plain",`, secret, 400, "invalid_json", "invalid_request_error"},
	} {
		for _, streams := range []bool{false, true} {
			for _, mode := range []string{"", "documented", "standard"} {
				t.Run(fmt.Sprintf("%s/stream=%v/%s", c.name, streams, mode), func(t *testing.T) {
					t.Parallel()
					if c.name == "rate" { // The limit may have been reset, as it lasts a minute.
						h.call("POST", "/v1/chat/completions", ask("test/rare", ""), bearer(secret)...)
					}
					body := strings.Replace(c.body, "STREAM", map[bool]string{true: `,"stream":true`}[streams], 1)
					a := h.call("POST", "/v1/chat/completions", body, append(bearer(c.key), "X-Error-Status", mode)...)
					readable := strings.Contains(c.body, "STREAM")
					checkFailure(t, a, mode == "standard", streams && readable, c.code, c.errCode, c.kind)
				})
			}
		}
	}
}

func checkFailure(t *testing.T, a reply, standard, streams bool, code int, errCode, kind string) {
	t.Helper()
	status, contentType, body := http.StatusOK, "application/json", a.body
	if standard {
		status = code
	} else if streams {
		contentType = "text/event-stream; charset=utf-8"
		one, ok := strings.CutSuffix(strings.TrimPrefix(body, "data: "), "\n\ndata: [DONE]\n\n")
		if !ok {
			t.Fatalf("not one block and the end: %q", body)
		}
		body = one
	}
	if a.status != status || a.header.Get("Content-Type") != contentType {
		t.Errorf("status %d %s, want %d %s: %s", a.status, a.header.Get("Content-Type"), status, contentType, a.body)
	}
	var f struct {
		Code  int `json:"code"`
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Type    string `json:"type"`
			DocURL  string `json:"doc_url"`
		} `json:"error"`
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if f.Code != code || errCode != "" && f.Error.Code != errCode || f.Error.Type != kind || f.Error.Message == "" || f.ID != a.header.Get("X-Request-Id") {
		t.Errorf("got %s", body)
	}
	if code == http.StatusPaymentRequired && a.header.Get("X-Should-Retry") != "false" {
		t.Error("clients are not told that retrying does not help")
	}
	if code == http.StatusTooManyRequests && (a.header.Get("Retry-After") == "" || a.header.Get("Retry-After-Ms") == "") {
		t.Error("clients are not told when to come back")
	}
	if f.Error.DocURL != "" && !strings.HasPrefix(f.Error.DocURL, "https://gateway.example/") {
		t.Errorf("doc_url is %q", f.Error.DocURL)
	}
}

func TestTheKeysModeDecidesAndTheHeaderOverrides(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for mode, statuses := range map[apikey.ErrorMode]map[string]int{
		apikey.Documented: {"": 200, "documented": 200, "standard": 404, "nonsense": 200},
		apikey.Standard:   {"": 404, "documented": 200, "standard": 404, "nonsense": 404},
	} {
		_, secret := h.key(apikey.Spec{ErrorMode: mode})
		for header, want := range statuses {
			a := h.call("POST", "/v1/chat/completions", ask("test/nothing", ""), append(bearer(secret), "X-Error-Status", header)...)
			if a.status != want {
				t.Errorf("key %s, header %q: %d", mode, header, a.status)
			}
		}
	}
}

func TestBodiesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	h := setup(t, func(p *plan) { p.api.BodyBytesMax = 1 << 10 })
	secret := h.secret()
	big := ask("test/plain", `,"x":"`+strings.Repeat("y", 2<<10)+`"`)
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"too large":             {big, nil, 413, "request_too_large"},
		"far too large":         {strings.Repeat(" ", 16<<20) + big, nil, 413, "request_too_large"},
		"endless":               {strings.Repeat(" ", 16<<20) + big, []string{"X-Chunked", "yes"}, 413, "request_too_large"},
		"too large and chunked": {big, []string{"X-Chunked", "yes"}, 413, "request_too_large"},
		"plain text":            {"{}", []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		"form":                  {"a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		"no type":               {"{}", []string{"Content-Type", ""}, 415, "unsupported_media_type"},
		"compressed":            {"{}", []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		"empty":                 {"", []string{"X-Error-Status", "standard"}, 400, "invalid_json"},
	} {
		for _, mode := range []string{"documented", "standard"} {
			body := io.Reader(strings.NewReader(c.body))
			if slices.Contains(c.headers, "X-Chunked") {
				body = struct{ io.Reader }{body}
			}
			req, err := http.NewRequest(http.MethodPost, h.url+"/v1/chat/completions", body)
			must(t, err)
			req.Header.Set("Authorization", "Bearer "+secret)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Error-Status", mode)
			for i := 0; i < len(c.headers); i += 2 {
				req.Header.Set(c.headers[i], c.headers[i+1])
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			must(t, err)
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != c.status || resp.Header.Get("X-Error-Code") != c.code || !strings.Contains(string(text), fmt.Sprintf(`{"code":%d,`, c.status)) {
				t.Errorf("%s, %s: %d %s", name, mode, resp.StatusCode, text)
			}
		}
	}
}

func TestMethodsAndUnknownPaths(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, c := range []struct {
		method, path string
		status       int
		allow, says  string
	}{
		{"GET", "/v1/chat/completions", 405, "POST", `{"code":405,"error":{"code":"method_not_allowed"`},
		{"DELETE", "/v1/chat/completions", 405, "POST", "method_not_allowed"},
		{"POST", "/v1/models", 405, "GET", `{"error":{"message":`},
		{"PUT", "/v1/models/test/plain", 405, "GET", "method_not_allowed"},
		{"POST", "/v1/nothing", 404, "", `{"error":{"message":`},
		{"GET", "/v1", 404, "", "not_found"},
		{"GET", "/v1/", 404, "", "not_found"},
		{"POST", "/v1/chat/completions/", 404, "", `{"code":404,"error":{"code":"not_found"`},
		{"POST", "/v1/messages/x", 404, "", `{"type":"error","error":{"type":"not_found_error"`},
		{"POST", "/vendorc/other", 404, "", `"status":"NOT_FOUND"`},
		{"PUT", "/videos", 405, "POST", "method_not_allowed"}, // The guide spells the path this way.
		{"POST", "/chat/completions", 404, "", "Add /v1"},
		{"POST", "/v1/v1/chat/completions", 404, "", "repeats /v1"},
	} {
		a := h.call(c.method, c.path, "{}")
		if a.status != c.status || !strings.Contains(a.body, c.says) || !strings.Contains(a.header.Get("Allow"), c.allow) ||
			a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" || a.header.Get("Request-Id") != a.header.Get("X-Request-Id") {
			t.Errorf("%s %s: %d, Allow %q: %s", c.method, c.path, a.status, a.header.Get("Allow"), a.body)
		}
	}
}

func TestBrowsersOfAnyOriginMayCall(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, path := range []string{"/v1/chat/completions", "/v1/models", "/v1/models/a%2Fb", "/v1/nothing"} {
		a := h.call("OPTIONS", path, "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,x-stainless-os")
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" ||
			a.header.Get("Access-Control-Allow-Headers") != "authorization,x-stainless-os" || a.header.Get("Access-Control-Max-Age") != "86400" ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "POST") || a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: %d %v", path, a.status, a.header)
		}
	}
	a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), append(bearer(h.secret()), "Origin", "https://app.example")...)
	if a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "x-request-id") {
		t.Errorf("a call: %v", a.header)
	}
	if a := h.call("POST", "/v1/chat/completions", "{}", "Origin", "https://app.example"); a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a page cannot read why its call failed: %v", a.header)
	}
}
