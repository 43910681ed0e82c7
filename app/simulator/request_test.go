package simulator

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestTokensMakeUpTheText proves the law that accounting of delivered text stands on.
func TestTokensMakeUpTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var joined strings.Builder
		n := int64(0)
		for piece := range pieces(text) {
			if piece == "" {
				t.Fatal("an empty token")
			}
			joined.WriteString(piece)
			n++
		}
		if joined.String() != text || n != countTokens(text) {
			t.Fatalf("%q: %d tokens, counted %d, together %q", text, n, countTokens(text), joined.String())
		}
		limit := rapid.Int64Range(0, 20).Draw(t, "limit")
		cut, used := firstTokens(text, limit)
		if !strings.HasPrefix(text, cut) || used != min(n, limit) || countTokens(cut) != used {
			t.Fatalf("%q cut at %d: %q, %d tokens", text, limit, cut, used)
		}
	})
}

func TestTokensAreWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"": 0, " ": 1, "a": 1, "one two": 2, "  one\n\ntwo ": 3, "exactlytwelv": 1, "exactlytwelve": 2,
		"größer": 1, "世界世界世界世界世界世界世": 2, "a\u00a0b": 2} {
		if got := countTokens(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
	for _, n := range []int{1, 7, 1000} {
		if countTokens(counting(n)) != int64(n) || countTokens(saying(n)) != int64(n) {
			t.Errorf("%d", n)
		}
	}
}

// TestStringsAreJSON proves the one piece of JSON writing that could go wrong.
func TestStringsAreJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var b buffer
		var got string
		if err := json.Unmarshal(b.str(s).b, &got); err != nil || got != s {
			t.Fatalf("%q became %q, %v", s, b.b, err)
		}
	})
}

func TestEveryKeyHeaderIsAcceptedAndAWrongKeyRefused(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{Key: "right"})
		path, body := forms[style](ask{model: "m", text: "echo: x"})
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			scheme := map[string]string{"Authorization": "Bearer "}[header]
			if res := u.do("POST", path, raw, map[string]string{header: scheme + "right"}); res.status != 200 {
				t.Errorf("%s: %d", header, res.status)
			}
			if res := u.do("POST", path, raw, map[string]string{header: scheme + "wrong"}); res.status != 401 {
				t.Errorf("%s: %d", header, res.status)
			}
		}
		res := u.do("POST", path, raw, nil)
		if res.status != 401 {
			t.Errorf("no key: %d", res.status)
		}
		switch style {
		case "messages":
			schemas.fits(t, "messages#/definitions/ErrorResponse", res.body)
			if res.header.Get("Request-Id") == "" {
				t.Error("no request id")
			}
		case "native":
			if want := `{"error":{"code":401,"message":"Incorrect API key provided.","status":"UNAUTHENTICATED"}}`; string(res.body) != want {
				t.Errorf("%s", res.body)
			}
		default:
			schemas.fits(t, "open#/components/schemas/ErrorResponse", res.body)
		}
	})
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	const chat, messages, responses, native = "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"
	for _, c := range []struct{ path, body, names string }{
		{chat, `{`, "JSON"},
		{chat, ``, "JSON"},
		{chat, `{"messages":[{"role":"user","content":"x"}]}`, "model"},
		{chat, `{"model":"m","messages":[]}`, "messages"},
		{chat, `{"model":"m","messages":[{"role":"king","content":"x"}]}`, "king"},
		{chat, `{"model":"m","messages":"x"}`, "JSON"},
		{chat, `{"model":"m","n":0,"messages":[{"role":"user","content":"x"}]}`, "choices"},
		{chat, `{"model":"m","n":129,"messages":[{"role":"user","content":"x"}]}`, "choices"},
		{chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"none","content":"x"}]}`, "tool"},
		{messages, `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":"x"}]}`, "first message"},
		{messages, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		{messages, `{"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, "model"},
		{messages, `{"model":"m","max_tokens":9,"messages":[]}`, "messages"},
		{messages, `{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":9},"messages":[{"role":"user",` +
			`"content":"x"}]}`, "budget"},
		{messages, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user",` +
			`"content":"x"}]}`, "budget"},
		{messages, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result",` +
			`"tool_use_id":"no"}]}]}`, "tool_use_id"},
		{messages, `{"model":"m","max_tokens":9,"messages":[{"role":"tool","content":"x"}]}`, "role"},
		{responses, `{"input":"x"}`, "model"},
		{responses, `{"model":"m"}`, "input"},
		{responses, `{"model":"m","input":"x","max_output_tokens":15}`, "max_output_tokens"},
		{responses, `{"model":"m","input":"x","previous_response_id":"resp_1"}`, "previous_response_not_found"},
		{responses, `{"model":"m","input":[{"type":"function_call_output","call_id":"no","output":"x"}]}`, "call_id"},
		{responses, `{"model":"m","input":[{"role":"tool","content":"x"}]}`, "role"},
		{responses, `{"model":"m","input":"x","tool_choice":5}`, "tool_choice"},
		{responses, `{"model":"m","input":"x","text":{"format":5}}`, "text.format"},
		{native, `{"contents":[]}`, "contents"},
		{native, `{"contents":[{"role":"king","parts":[{"text":"x"}]}]}`, "role"},
		{native, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"candidateCount":9}}`, "candidateCount"},
		{native, `{"contents":[{"parts":[{"functionResponse":{"name":"no"}}]}]}`, "function"},
		{native, `[]`, "JSON"},
		{"/v1beta/models/:generateContent", `{"contents":[{"parts":[{"text":"x"}]}]}`, "model"},
	} {
		res := u.do("POST", c.path, []byte(c.body), nil)
		if res.status != 400 || !strings.Contains(string(res.body), c.names) || !json.Valid(res.body) {
			t.Errorf("%s %s: %d %s", c.path, c.body, res.status, res.body)
		}
	}
	if res := u.do("POST", messages, []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`),
		map[string]string{"Anthropic-Version": ""}); res.status != 400 || !strings.Contains(string(res.body), "version") {
		t.Errorf("no version: %d %s", res.status, res.body)
	}
	if res := u.do("POST", chat, []byte(`{}`), map[string]string{"Content-Type": "text/plain"}); res.status != 415 {
		t.Errorf("wrong media type: %d", res.status)
	}
	if res := u.do("GET", chat, nil, nil); res.status != 405 || res.header.Get("Allow") != "POST" {
		t.Errorf("wrong method: %d", res.status)
	}
	for _, path := range []string{"/", "/v1/embeddings", "/a/b/v1/messages", "/v1/messages/", "//v1/messages", "/v1beta/models/m"} {
		if res := u.do("POST", path, []byte(`{}`), nil); res.status != 404 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
}

func TestABodyBeyondTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	body := io.MultiReader(strings.NewReader(`{"model":"`), &endless{left: bodyBytesMax})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.url+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := u.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("%d", res.StatusCode)
	}
}

// endless is a long run of letters.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// FuzzRequests proves that no body makes the simulator fail otherwise than by a refusal.
func FuzzRequests(f *testing.F) {
	for i, style := range styleNames {
		for _, a := range []ask{{text: "echo: x", system: "s"}, {text: "both", tools: true, image: png}, {text: "t", tools: true, results: true},
			{text: "t", schema: placeSchema, thinking: true}} {
			a.model = "m"
			_, body := forms[style](a)
			raw, err := json.Marshal(body)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(i, raw)
		}
	}
	sim := New(Options{})
	paths := []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"}
	f.Fuzz(func(t *testing.T, style int, body []byte) {
		path := paths[uint(style)%uint(len(paths))]
		if bytes.Contains(body, []byte("simulate")) || bytes.Contains(body, []byte("+")) || bytes.Contains(body, []byte("fault")) ||
			bytes.Contains(body, []byte(`\u`)) || bytes.Contains(body, []byte("000")) {
			return // Faults may wait or break off, and long answers only take time.
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		sim.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("not JSON: %s", w.Body)
		}
	})
}
