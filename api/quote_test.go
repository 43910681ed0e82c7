package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestADryRunAnswersTheBoundsAndSpendsNothing(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	dry := append(bearer(secret), "X-Dry-Run", "1")
	for path, body := range map[string]string{
		"/v1/chat/completions": ask("test/plain", `,"max_tokens":100`),
		"/v1/messages":         `{"model":"test/plain","max_tokens":100,"messages":[{"role":"user","content":"echo: hello"}]}`,
		"/v1/responses":        `{"model":"test/plain","max_output_tokens":100,"input":"echo: hello"}`,
		"/vendorc/native":      `{"model":"test/plain","contents":[{"parts":[{"text":"echo: hello"}]}],"generationConfig":{"maxOutputTokens":100}}`,
	} {
		a := h.call("POST", path, body, dry...)
		var q struct {
			Object, Model, Currency string
			InputTokens             struct{ Estimate, Max int64 } `json:"input_tokens"`
			MaxOutputTokens         int64                         `json:"max_output_tokens"`
			CostMin                 json.Number                   `json:"cost_min"`
			CostMax                 json.Number                   `json:"cost_max"`
			Reserve, Available      json.Number
			Funded                  bool
			RateCard                string `json:"rate_card"`
		}
		if err := json.Unmarshal([]byte(a.body), &q); err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %d %v: %s", path, a.status, err, a.body)
		}
		if q.Object != "text.quote" || q.Model != "test/plain" || q.MaxOutputTokens != 100 || q.InputTokens.Estimate < 1 || q.InputTokens.Max <= q.InputTokens.Estimate ||
			q.CostMax != q.Reserve || !strings.HasPrefix(q.CostMax.String(), "0.001") || q.CostMin == "0" || q.Available != "5" || !q.Funded || q.RateCard == "" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	stream := h.call("POST", "/v1/chat/completions", ask("test/plain", `,"stream":true`), dry...)
	if !strings.Contains(stream.body, `"max_output_tokens":4096`) || strings.Contains(stream.body, "data:") {
		t.Errorf("a stream: %s", stream.body)
	}
	if a := h.call("POST", "/v1/chat/completions", ask("test/dear", ""), dry...); a.status != http.StatusOK || !strings.Contains(a.body, `"funded":false`) {
		t.Errorf("what cannot be paid for: %d %s", a.status, a.body)
	}
	if a := h.call("POST", "/v1/messages", ask("test/none", `,"max_tokens":1`), dry...); a.status != http.StatusNotFound {
		t.Errorf("an unknown model: %d %s", a.status, a.body)
	}
	if a := h.call("POST", "/v1/messages", ask("test/plain", `,"max_tokens":1`), append(bearer(secret), "X-Dry-Run", "perhaps")...); a.status != http.StatusBadRequest {
		t.Errorf("neither wet nor dry: %d %s", a.status, a.body)
	}
	var records, held int64
	must(t, h.db.Get(&records, `select count(*) from usage_records`))
	must(t, h.db.Get(&held, `select coalesce(sum(held_nanos), 0) from credit_accounts`))
	if records != 0 || held != 0 {
		t.Errorf("%d records, %d held", records, held)
	}
	for range 3 {
		if a := h.call("POST", "/v1/chat/completions", ask("test/rare", ""), dry...); a.status != http.StatusOK || !strings.Contains(a.body, "text.quote") {
			t.Errorf("a limit of calls was used up: %s", a.body)
		}
	}
}

func TestWhatIsLeftOutOfARequestIsListedAlsoBeforeItIsSent(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := bearer(h.secret())
	const body = `{"model":"test/plain","max_tokens":100,"messages":[{"role":"user","content":"echo: hello"}],"service_tier":"auto","fallbacks":["dear"]}`
	for name, a := range map[string]reply{
		"quote": h.call("POST", "/v1/messages", body, append(secret, "X-Dry-Run", "1")...),
		"count": h.call("POST", "/v1/messages/count_tokens", body, secret...),
		"call":  h.call("POST", "/v1/messages", body, secret...),
	} {
		if list := a.header.Get("X-Gateway-Dropped"); a.status != http.StatusOK || list != "fallbacks,service_tier" {
			t.Errorf("%s: %d %q %s", name, a.status, list, a.body)
		}
	}
	const needs = `{"model":"test/plain","messages":[{"role":"user","content":"echo: hello"}],"plugins":[{"id":"web"}]}`
	for _, dry := range [][]string{nil, {"X-Dry-Run", "1"}} {
		a := h.call("POST", "/v1/chat/completions", needs, slices.Concat(secret, dry, []string{"X-Error-Status", "standard"})...)
		if a.status != http.StatusBadRequest || a.header.Get("X-Error-Code") != "unsupported_parameter" || !strings.Contains(a.body, `"param":"plugins"`) {
			t.Errorf("%v: %d %s", dry, a.status, a.body)
		}
	}
}
