package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/dialect"
)

// failed answers a failure as a route of the path's family would, for a caller in the given mode.
func failed(t *testing.T, path string, mode apikey.ErrorMode, override string, streams bool, err error) *httptest.ResponseRecorder {
	t.Helper()
	a := &API{now: time.Now, o: Options{BaseURL: "https://gateway.example"}}
	r := httptest.NewRequest(http.MethodPost, path, nil)
	if override != "" {
		r.Header.Set(errorStatusHeader, override)
	}
	w := httptest.NewRecorder()
	l := &RequestLog{RequestID: "req_1", mode: mode, known: mode != "", streams: streams}
	if err := a.writeError(newExchange(w, r), l, err); err != nil {
		t.Fatal(err)
	}
	return w
}

// chatRows are the rows of the chat route's error table.
var chatRows = []struct {
	name       string
	err        *app.Error
	code       int
	kind       string
	alwaysTrue bool
}{
	{"missing model", app.Errorf(app.Invalid, "invalid_request_error", "m").At("model"), 400, "invalid_request_error", false},
	{"invalid JSON", app.Errorf(app.Invalid, "invalid_json", "m"), 400, "invalid_request_error", false},
	{"model not found", app.Errorf(app.NotFound, "model_not_found", "m"), 404, "invalid_request_error", false},
	{"model not allowed", app.Errorf(app.Forbidden, "model_not_allowed", "m"), 403, "permission_error", false},
	{"concurrency", app.Errorf(app.Exhausted, "max_concurrency_exceeded", "m").After(time.Second), 429, "rate_limit_error", false},
	{"rate", app.Errorf(app.Exhausted, "rate_limit_exceeded", "m"), 429, "rate_limit_error", false},
	{"no credit", app.Errorf(app.Unfunded, "insufficient_quota", "m").Final(), 402, "insufficient_quota", false},
	{"no provider", app.Errorf(app.Unavailable, "no_available_provider", "m"), 503, "server_error", false},
	{"paused", app.Errorf(app.Unavailable, "model_temporarily_unavailable", "m"), 503, "server_error", false},
	{"upstream refused", &app.Error{Kind: app.Upstream, Code: "their_code", Message: "m", Status: 422}, 422, "invalid_request_error", false},
	{"upstream failed", app.Errorf(app.Upstream, "upstream_error", "m"), 502, "server_error", false},
	{"upstream late", app.Errorf(app.Timeout, "upstream_timeout", "m"), 504, "server_error", false},
	{"store away", app.ErrStore(errors.New("dial tcp: secret")), 503, "server_error", false},
	{"own fault", app.AsError(errors.New("password=hunter2")), 500, "server_error", false},
	{"bad key", app.Errorf(app.Unauthenticated, "invalid_api_key", "m"), 401, "authentication_error", true},
	{"too large", app.Errorf(app.TooLarge, "request_too_large", "m"), 413, "invalid_request_error", true},
	{"wrong method", app.Errorf(app.MethodNotAllowed, "method_not_allowed", "m"), 405, "invalid_request_error", true},
	{"wrong media type", app.Errorf(app.MediaType, "unsupported_media_type", "m"), 415, "invalid_request_error", true},
}

func TestChatErrorsInEveryMode(t *testing.T) {
	t.Parallel()
	for _, row := range chatRows {
		for _, streams := range []bool{false, true} {
			for _, m := range []struct {
				key      apikey.ErrorMode
				override string
				trueOnes bool
			}{
				{apikey.Documented, "", false}, {apikey.Standard, "", true}, {apikey.Documented, "standard", true},
				{apikey.Standard, "documented", false}, {"", "", true}, {"", "documented", true}, {apikey.Documented, "nonsense", false},
			} {
				t.Run(fmt.Sprintf("%s/stream=%v/key=%s/header=%s", row.name, streams, m.key, m.override), func(t *testing.T) {
					t.Parallel()
					w := failed(t, "/v1/chat/completions", m.key, m.override, streams, row.err)
					status, asStream := row.code, false
					if !m.trueOnes && !row.alwaysTrue {
						status, asStream = http.StatusOK, streams
					}
					if w.Code != status {
						t.Errorf("status %d, want %d", w.Code, status)
					}
					checkChatBody(t, w, asStream, row.err, row.code, row.kind)
				})
			}
		}
	}
}

func checkChatBody(t *testing.T, w *httptest.ResponseRecorder, asStream bool, e *app.Error, code int, kind string) {
	t.Helper()
	body, wantType := w.Body.String(), jsonType
	if asStream {
		wantType = eventStream
		rest, begins := strings.CutPrefix(body, "data: ")
		one, ends := strings.CutSuffix(rest, "\n\ndata: [DONE]\n\n")
		if !begins || !ends || strings.Contains(one, "\n") {
			t.Fatalf("not one block and the end: %q", body)
		}
		body = one
	}
	if got := w.Header().Get("Content-Type"); got != wantType {
		t.Errorf("Content-Type %q, want %q", got, wantType)
	}
	var got struct {
		Code  int `json:"code"`
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Type    string `json:"type"`
			Param   string `json:"param"`
		} `json:"error"`
		ID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if got.Code != code || got.Error.Code != e.Code || got.Error.Type != kind || got.Error.Param != e.Param || got.ID != "req_1" ||
		got.Error.Message == "" {
		t.Errorf("got %+v", got)
	}
	if w.Header().Get("X-Error-Code") != e.Code {
		t.Errorf("x-error-code is %q", w.Header().Get("X-Error-Code"))
	}
	if strings.Contains(body, "hunter2") || strings.Contains(body, "secret") {
		t.Errorf("the cause leaks: %s", body)
	}
}

func TestErrorHeaders(t *testing.T) {
	t.Parallel()
	e := app.Errorf(app.Unfunded, "insufficient_quota", "m").Final().After(1500 * time.Millisecond)
	h := failed(t, "/v1/chat/completions", apikey.Documented, "", false, e).Header()
	if h.Get("X-Should-Retry") != "false" || h.Get("Retry-After") != "2" || h.Get("Retry-After-Ms") != "1500" {
		t.Errorf("got %v", h)
	}
	h = failed(t, "/v1/models", "", "", false, app.Errorf(app.Exhausted, "rate_limit_exceeded", "m").After(3*time.Hour)).Header()
	if h.Get("Retry-After") != "59" || h.Get("Retry-After-Ms") != "59000" || h.Get("X-Should-Retry") != "" {
		t.Errorf("clients would sleep for hours: %v", h)
	}
	h = failed(t, "/v1/models", "", "", false, unauthenticated(app.ReasonKeyHeader, "m")).Header()
	if h.Get("WWW-Authenticate") != "Bearer" || h.Get("Retry-After") != "" {
		t.Errorf("got %v", h)
	}
	for _, code := range []string{"", "a b", "a\r\nX: y", "ü", strings.Repeat("x", 65)} {
		if got := failed(t, "/v1/models", "", "", false, app.Errorf(app.Upstream, code, "m")).Header().Get("X-Error-Code"); got != "error" {
			t.Errorf("code %q became the header %q", code, got)
		}
	}
}

// TestEveryRouteSaysWhenToTryAgain fails every route as what is away and what is limited do, with waits that are missing, tiny
// and far too long.
func TestEveryRouteSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	delay := regexp.MustCompile(`"retryDelay":"(\d+)s"`)
	families := map[ErrorFormat]int{}
	for _, route := range Routes() {
		for _, mode := range []apikey.ErrorMode{apikey.Documented, apikey.Standard, ""} {
			for _, wait := range []time.Duration{0, 1, 2500 * time.Millisecond, 59 * time.Second, time.Minute, 3 * time.Hour} {
				for _, kind := range []app.Kind{app.Unavailable, app.Exhausted} {
					w := failed(t, route.Path, mode, "", true, app.Errorf(kind, "code", "m").After(wait))
					said := w.Header().Get("Retry-After")
					if kind == app.Exhausted && wait == 0 {
						if said != "" {
							t.Errorf("%s: a limit that names no time says %s", route.Path, said)
						}
						continue
					}
					seconds, err := strconv.Atoi(said)
					ms, errMs := strconv.Atoi(w.Header().Get("Retry-After-Ms"))
					if err != nil || errMs != nil || seconds < 1 || seconds > 59 || ms < 1 || ms > 59_000 {
						t.Errorf("%s %s after %s, mode %q: %v", route.Method, route.Path, wait, mode, w.Header())
					}
					if route.Family == NativeFamily {
						if in := delay.FindStringSubmatch(w.Body.String()); in == nil || in[1] != said {
							t.Errorf("%s after %s: the body says %v, the header %s", route.Path, wait, in, said)
						}
					}
					families[route.Family]++
				}
			}
		}
	}
	if len(families) != len(layouts) {
		t.Errorf("only these families were seen: %v", families)
	}
}

func TestErrorsNameTheirPage(t *testing.T) {
	t.Parallel()
	e := app.Errorf(app.Invalid, "invalid_request_error", "n is wrong.").At("n")
	e.Doc = "/v1/model/openapi.json?model=a/b&x=1"
	for path, want := range map[string]string{
		"/v1/chat/completions": `{"code":400,"error":{"code":"invalid_request_error","message":"n is wrong.","type":"invalid_request_error","param":"n",` +
			`"doc_url":"https://gateway.example/v1/model/openapi.json?model=a/b&x=1"},"request_id":"req_1"}`,
		"/v1/models": `{"error":{"message":"n is wrong.","type":"invalid_request_error","param":"n","code":"invalid_value",` +
			`"doc_url":"https://gateway.example/v1/model/openapi.json?model=a/b&x=1"}}`,
	} {
		if got := failed(t, path, apikey.Standard, "", false, e).Body.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}

func TestEveryFamilyHasItsLayout(t *testing.T) {
	t.Parallel()
	const help = "https://gateway.example/console/docs/errors#model_not_found"
	const doc = `,"doc_url":"` + help + `"`
	for path, want := range map[string]string{
		"/v1/chat/completions": `{"code":404,"error":{"code":"model_not_found","message":"m","type":"invalid_request_error"` + doc + `},"request_id":"req_1"}`,
		"/v1/models":           `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"model_not_found"` + doc + `}}`,
		"/v1/videos/x":         `{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"model_not_found"` + doc + `}}`,
		"/v1/messages": `{"type":"error","error":{"type":"not_found_error","message":"m","details":{"error_code":"model_not_found"}` + doc + `},` +
			`"request_id":"req_1"}`,
		"/vendorc/native": `{"error":{"code":404,"message":"m","status":"NOT_FOUND",` +
			`"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"MODEL_NOT_FOUND","domain":"gateway",` +
			`"metadata":{"code":"model_not_found"}},{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"req_1"}]}}`,
	} {
		w := failed(t, path, "", "", false, app.Errorf(app.NotFound, "model_not_found", "m"))
		if w.Code != http.StatusNotFound || w.Body.String() != want {
			t.Errorf("%s: %d\n got %s\nwant %s", path, w.Code, w.Body, want)
		}
		if got := w.Header().Get("Link"); got != "<"+help+`>; rel="help"` {
			t.Errorf("%s links to %q", path, got)
		}
	}
}

func TestEveryKindHasAStanding(t *testing.T) {
	t.Parallel()
	for kind := app.Internal; kind <= app.Canceled; kind++ {
		for family, as := range layouts {
			e := app.Errorf(kind, "x", "m")
			status, body := dialect.Error(as.style, e, "req_1")
			if status < 400 || status > 599 || !json.Valid(body) || KindWord(kind) == "" {
				t.Errorf("%s, kind %d: %d %q", family, kind, status, KindWord(kind))
			}
		}
	}
	for family, as := range layouts {
		status, _ := dialect.Error(as.style, app.Errorf(app.Canceled+1, "x", "m"), "req_1")
		if status != http.StatusInternalServerError || KindWord(200) != "internal" {
			t.Errorf("%s: an unknown kind is not our own fault", family)
		}
	}
}

func TestPathsBelongToFamilies(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]ErrorFormat{
		"/v1": OpenAIFamily, "/v1/": OpenAIFamily, "/v1/nothing": OpenAIFamily, "/v1/../x": OpenAIFamily, "/v1/chat/completions": ChatFamily,
		"/v1/chat": ChatFamily, "/v1/messages": MessagesFamily, "/v1/messages/count_tokens": MessagesFamily, "/vendorc/native": NativeFamily,
		"/v1beta/models/x:generateContent": NativeFamily, "/videos": OpenAIFamily, "/videos/x/content": OpenAIFamily,
		"//v1/models": OpenAIFamily, "/chat/completions": ChatFamily,
	} {
		if got, ok := familyOf(path); !ok || got != want {
			t.Errorf("%s belongs to %q, %v", path, got, ok)
		}
	}
	for _, path := range []string{"/", "/console", "/console/v1", "/static/x", "/v10", "/v1x", "/V1/models", "/videosx", "", "/healthz"} {
		if Owns(path) {
			t.Errorf("%s belongs to the machine's face", path)
		}
	}
}

func TestUnknownPathsExplainTheUsualMistakes(t *testing.T) {
	t.Parallel()
	for path, hint := range map[string]string{
		"/chat/completions": "Add /v1", "/models": "Add /v1", "/v1/v1/models": "repeats /v1", "//v1/models": "two slashes",
		"/v1/chat/completions/": "slash at its end", "/v1/nothing": "There are POST",
	} {
		if e := notFound(path); e.Kind != app.NotFound || e.Code != "not_found" || !strings.Contains(e.Message, hint) {
			t.Errorf("%s: %s", path, e.Message)
		}
	}
	if e := notFound("/" + strings.Repeat("x", 10000)); len(e.Message) > 400 {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}

func TestStreamIsReadFromWholeBodiesOnly(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"stream":true}`: true, `{"a":{"stream":true}}`: false, `{"stream":false}`: false, `{"stream":"true"}`: false, `{"a":1,"stream":true}`: true,
		`{"stream":true`: false, `{"stream":true}x`: false, `[true]`: false, ``: false, `{"stream":true,"stream":true}`: true, `{"x":1,"x":2,"stream":true}`: true,
		`{"stre\u0061m": true }`: true, `{"stream":true,"x":}`: false, `"stream"`: false,
	} {
		if got := asksForStream([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	aliases := []string{"x-api-key", "x-goog-api-key"}
	for _, c := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{"bearer", http.Header{"Authorization": {"Bearer k"}}, "k"},
		{"any case", http.Header{"Authorization": {"bEARER  k "}}, "k"},
		{"alias", http.Header{"X-Api-Key": {"k"}}, "k"},
		{"other alias", http.Header{"X-Goog-Api-Key": {"k"}}, "k"},
		{"both aliases, one key", http.Header{"X-Api-Key": {"k"}, "X-Goog-Api-Key": {"k"}}, "k"},
		{"authorization wins", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"other"}}, "k"},
		{"broken authorization wins too", http.Header{"Authorization": {"Basic x"}, "X-Api-Key": {"k"}}, ""},
		{"empty authorization wins too", http.Header{"Authorization": {""}, "X-Api-Key": {"k"}}, ""},
		{"two different aliases", http.Header{"X-Api-Key": {"k"}, "X-Goog-Api-Key": {"j"}}, ""},
		{"two in one alias", http.Header{"X-Api-Key": {"k", "j"}}, ""},
		{"none", http.Header{}, ""},
		{"two headers", http.Header{"Authorization": {"Bearer k", "Bearer k"}}, ""},
		{"two keys in one header", http.Header{"Authorization": {"Bearer k, Bearer k"}}, ""},
		{"no secret", http.Header{"Authorization": {"Bearer "}}, ""},
		{"scheme only", http.Header{"Authorization": {"Bearer"}}, ""},
		{"secret only", http.Header{"Authorization": {"sk-umg-x"}}, ""},
	} {
		got, err := bearer(c.header, aliases)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if err != nil && (app.KindOf(err) != app.Unauthenticated || app.AsError(err).Code != "invalid_api_key") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := bearer(http.Header{"X-Api-Key": {"k"}}, nil); err == nil {
		t.Error("an alias counts though none is configured")
	}
}

func TestOnlyPlainJSONIsRead(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON;charset=UTF-8": true, "application/json; x=y": true,
		"application/json; charset=latin1": false, "text/plain": false, "": false, "application/jsonx": false, "application/x-ndjson": false,
		"application/json;": true, "application/json; charset": false, "multipart/form-data; boundary=x": false,
	} {
		if err := jsonBody(http.Header{"Content-Type": {value}}); (err == nil) != want {
			t.Errorf("%q: %v", value, err)
		}
	}
	for _, h := range []http.Header{
		{}, {"Content-Type": {"application/json", "application/json"}},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "br"}},
	} {
		if err := jsonBody(h); app.KindOf(err) != app.MediaType {
			t.Errorf("%v: %v", h, err)
		}
	}
	if err := jsonBody(http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}); err != nil {
		t.Error(err)
	}
}
