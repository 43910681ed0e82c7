package simulator

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is what the clock says in every test that does not wait.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// upstream is a simulator behind a real socket.
type upstream struct {
	t      *testing.T
	sim    *Simulator
	url    string
	client *http.Client
}

func setup(t *testing.T, o Options) *upstream {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return noon }
	}
	sim := New(o)
	server := httptest.NewServer(sim)
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return &upstream{t: t, sim: sim, url: server.URL, client: client}
}

// answered is a response with its body read as far as it came.
type answered struct {
	status int
	header http.Header
	body   []byte
	err    error // Err is the error of reading the body.
	failed error // Failed is the error of a request without a response.
}

func (u *upstream) do(method, path string, body []byte, header map[string]string) answered {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.url+path, bytes.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	if method == http.MethodPost || method == http.MethodPut {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := u.client.Do(req)
	if err != nil {
		return answered{failed: err}
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answered{status: res.StatusCode, header: res.Header, body: got, err: err}
}

// ask is a request before a style gives it its form.
type ask struct {
	model     string
	system    string
	text      string
	image     string // Image is a data URL.
	tools     bool
	required  bool
	limit     int
	stop      string
	schema    string
	thinking  bool
	results   bool // The conversation continues after two tool calls.
	stream    bool
	noUsage   bool
	simulated string // Simulated is the X-Simulate header.
}

const weatherSchema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":2},` +
	`"unit":{"type":"string","enum":["celsius","fahrenheit"]},"note":{"type":"string"}},"required":["city","days","unit"]}`

const clockSchema = `{"type":"object","properties":{}}`

type object = map[string]any

// forms make the path and the body of a request in each style.
var forms = map[string]func(a ask) (string, object){
	"chat":      chatForm,
	"messages":  messagesForm,
	"responses": responsesForm,
	"native":    nativeForm,
}

func (u *upstream) post(style string, a ask) answered {
	u.t.Helper()
	if a.model == "" {
		a.model = "sim-small"
	}
	path, body := forms[style](a)
	raw, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	header := map[string]string{}
	if a.simulated != "" {
		header["X-Simulate"] = a.simulated
	}
	return u.do(http.MethodPost, path, raw, header)
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func chatForm(a ask) (string, object) {
	var turns []any
	if a.system != "" {
		turns = append(turns, object{"role": "system", "content": a.system})
	}
	if a.image != "" {
		turns = append(turns, object{"role": "user", "content": []any{object{"type": "text", "text": a.text},
			object{"type": "image_url", "image_url": object{"url": a.image}}}})
	} else {
		turns = append(turns, object{"role": "user", "content": a.text})
	}
	if a.results {
		turns = append(turns, object{"role": "assistant", "content": nil, "tool_calls": []any{
			object{"id": "get_weather", "type": "function", "function": object{"name": "get_weather", "arguments": `{"city":"Rome"}`}},
			object{"id": "get_time", "type": "function", "function": object{"name": "get_time", "arguments": `{}`}}}},
			object{"role": "tool", "tool_call_id": "get_weather", "content": "18 degrees"},
			object{"role": "tool", "tool_call_id": "get_time", "content": "noon"})
	}
	body := object{"model": a.model, "messages": turns}
	if a.tools {
		body["tools"] = []any{
			object{"type": "function", "function": object{"name": "get_weather", "description": "The weather", "parameters": raw(weatherSchema)}},
			object{"type": "function", "function": object{"name": "get_time", "description": "The time", "parameters": raw(clockSchema)}}}
	}
	if a.required {
		body["tool_choice"] = "required"
	}
	if a.limit > 0 {
		body["max_completion_tokens"] = a.limit
	}
	if a.stop != "" {
		body["stop"] = a.stop
	}
	if a.schema != "" {
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "made", "schema": raw(a.schema)}}
	}
	if a.thinking {
		body["reasoning_effort"] = "low"
	}
	if a.stream {
		body["stream"] = true
		if !a.noUsage {
			body["stream_options"] = object{"include_usage": true}
		}
	}
	return "/v1/chat/completions", body
}

func messagesForm(a ask) (string, object) {
	turns := []any{object{"role": "user", "content": a.text}}
	if a.image != "" {
		mime, data, _ := strings.Cut(strings.TrimPrefix(a.image, "data:"), ";base64,")
		turns = []any{object{"role": "user", "content": []any{object{"type": "text", "text": a.text},
			object{"type": "image", "source": object{"type": "base64", "media_type": mime, "data": data}}}}}
	}
	if a.results {
		turns = append(turns, object{"role": "assistant", "content": []any{
			object{"type": "tool_use", "id": "get_weather", "name": "get_weather", "input": object{"city": "Rome"}},
			object{"type": "tool_use", "id": "get_time", "name": "get_time", "input": object{}}}},
			object{"role": "user", "content": []any{
				object{"type": "tool_result", "tool_use_id": "get_weather", "content": "18 degrees"},
				object{"type": "tool_result", "tool_use_id": "get_time", "content": []any{object{"type": "text", "text": "noon"}}}}})
	}
	limit := 4096
	if a.limit > 0 {
		limit = a.limit
	}
	body := object{"model": a.model, "messages": turns, "max_tokens": limit}
	if a.system != "" {
		body["system"] = a.system
	}
	if a.tools {
		body["tools"] = []any{object{"name": "get_weather", "description": "The weather", "input_schema": raw(weatherSchema)},
			object{"name": "get_time", "description": "The time", "input_schema": raw(clockSchema)}}
	}
	if a.required {
		body["tool_choice"] = object{"type": "any"}
	}
	if a.stop != "" {
		body["stop_sequences"] = []string{a.stop}
	}
	if a.schema != "" {
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": raw(a.schema)}}
	}
	if a.thinking {
		body["thinking"] = object{"type": "enabled", "budget_tokens": 1024}
	}
	if a.stream {
		body["stream"] = true
	}
	return "/v1/messages", body
}

func responsesForm(a ask) (string, object) {
	var input any = a.text
	if a.image != "" {
		input = []any{object{"role": "user", "content": []any{object{"type": "input_text", "text": a.text},
			object{"type": "input_image", "image_url": a.image, "detail": "auto"}}}}
	}
	if a.results {
		input = []any{object{"role": "user", "content": a.text},
			object{"type": "function_call", "call_id": "get_weather", "name": "get_weather", "arguments": `{"city":"Rome"}`},
			object{"type": "function_call", "call_id": "get_time", "name": "get_time", "arguments": `{}`},
			object{"type": "function_call_output", "call_id": "get_weather", "output": "18 degrees"},
			object{"type": "function_call_output", "call_id": "get_time", "output": "noon"}}
	}
	body := object{"model": a.model, "input": input}
	if a.system != "" {
		body["instructions"] = a.system
	}
	if a.tools {
		body["tools"] = []any{
			object{"type": "function", "name": "get_weather", "description": "The weather", "parameters": raw(weatherSchema), "strict": nil},
			object{"type": "function", "name": "get_time", "description": "The time", "parameters": raw(clockSchema), "strict": false}}
	}
	if a.required {
		body["tool_choice"] = "required"
	}
	if a.limit > 0 {
		body["max_output_tokens"] = max(a.limit, 16)
	}
	if a.schema != "" {
		body["text"] = object{"format": object{"type": "json_schema", "name": "made", "schema": raw(a.schema)}}
	}
	if a.thinking {
		body["reasoning"] = object{"effort": "low", "summary": "auto"}
	}
	if a.stream {
		body["stream"] = true
	}
	return "/v1/responses", body
}

func nativeForm(a ask) (string, object) {
	userParts := []any{object{"text": a.text}}
	if a.image != "" {
		mime, data, _ := strings.Cut(strings.TrimPrefix(a.image, "data:"), ";base64,")
		userParts = append(userParts, object{"inlineData": object{"mimeType": mime, "data": data}})
	}
	contents := []any{object{"role": "user", "parts": userParts}}
	if a.results {
		contents = append(contents, object{"role": "model", "parts": []any{
			object{"functionCall": object{"name": "get_weather", "args": object{"city": "Rome"}}},
			object{"functionCall": object{"name": "get_time", "args": object{}}}}},
			object{"role": "user", "parts": []any{
				object{"functionResponse": object{"name": "get_weather", "response": object{"output": "18 degrees"}}},
				object{"functionResponse": object{"name": "get_time", "response": object{"output": "noon"}}}}})
	}
	config := object{}
	body := object{"contents": contents, "generationConfig": config}
	if a.system != "" {
		body["system_instruction"] = object{"parts": []any{object{"text": a.system}}}
	}
	if a.tools {
		body["tools"] = []any{object{"functionDeclarations": []any{
			object{"name": "get_weather", "description": "The weather", "parametersJsonSchema": raw(weatherSchema)},
			object{"name": "get_time", "description": "The time", "parametersJsonSchema": raw(clockSchema)}}}}
	}
	if a.required {
		body["toolConfig"] = object{"functionCallingConfig": object{"mode": "ANY"}}
	}
	if a.limit > 0 {
		config["maxOutputTokens"] = a.limit
	}
	if a.stop != "" {
		config["stopSequences"] = []string{a.stop}
	}
	if a.schema != "" {
		config["responseMimeType"] = "application/json"
		config["responseJsonSchema"] = raw(a.schema)
	}
	if a.thinking {
		config["thinkingConfig"] = object{"includeThoughts": true, "thinkingBudget": 1024}
	}
	method := ":generateContent"
	if a.stream {
		method = ":streamGenerateContent?alt=sse"
	}
	return "/v1beta/models/" + a.model + method, body
}
