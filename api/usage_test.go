package api_test

import (
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/meter"
	"umg/billing"
)

// generationFields are the members that a widespread client library demands, with the kind of each.
var generationFields = map[string]string{
	"id": "string", "total_cost": "number", "upstream_inference_cost": "number", "usage": "number", "created_at": "string",
	"model": "string", "provider_name": "string", "is_byok": "bool", "streamed": "bool", "finish_reason": "string",
	"latency": "number", "generation_time": "number", "native_tokens_prompt": "number", "native_tokens_completion": "number",
	"native_tokens_reasoning": "number", "native_tokens_cached": "number", "native_tokens_cache_creation": "number",
	"billable_web_search_calls": "number", "provider_responses": "list",
}

// ask is one answered call; it returns the id of its usage record.
func (h *house) ask(secret, model string) string {
	h.t.Helper()
	r := h.call("POST", "/v1/chat/completions", ask(model, ""), bearer(secret)...)
	id := r.header.Get("X-Generation-Id")
	if r.status != http.StatusOK || id == "" || strings.Contains(r.body, `"error"`) {
		h.t.Fatalf("%d %s", r.status, r.body)
	}
	return id
}

// record charges a call that needs no upstream.
func (h *house) record(r billing.UsageRecord, cost app.Amount) {
	h.t.Helper()
	ledger := h.ledger()
	r.AccountID = h.owner.AccountID
	if r.StartedAt.IsZero() {
		r.StartedAt = time.Now()
	}
	hold, err := ledger.HoldFor(h.t.Context(), h.db, billing.HoldRequest{ID: r.RequestID, AccountID: r.AccountID, Want: cost}, time.Hour)
	must(h.t, err)
	must(h.t, ledger.SettleIn(h.t.Context(), h.db, hold, billing.Settlement{Cost: cost, Record: r, Delivered: true}))
}

func (h *house) ledger() *billing.Ledger {
	return billing.NewLedger(h.db, billing.Options{
		Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Log: slog.New(slog.DiscardHandler),
	})
}

type generationReply struct{ Data map[string]any }

func TestAGenerationHasEveryFieldRightAfterItsAnswer(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	id := h.ask(secret, "test/plain")
	g := decode[generationReply](t, h.call("GET", "/v1/generation?id="+id, "", bearer(secret)...), 200).Data
	if len(g) != len(generationFields) {
		t.Errorf("%d fields, want %d: %v", len(g), len(generationFields), g)
	}
	for name, kind := range generationFields {
		got := map[string]bool{}
		switch g[name].(type) {
		case string:
			got["string"] = true
		case float64:
			got["number"] = true
		case bool:
			got["bool"] = true
		case []any:
			got["list"] = true
		}
		if !got[kind] {
			t.Errorf("%s is %v, want a %s", name, g[name], kind)
		}
	}
	if g["id"] != id || g["model"] != "test/plain" || g["finish_reason"] != "stop" || g["total_cost"].(float64) <= 0 || g["usage"] != g["total_cost"] {
		t.Errorf("%v", g)
	}
	tries, _ := g["provider_responses"].([]any)
	try, _ := tries[0].(map[string]any)
	if len(tries) != 1 || try["provider_name"] != g["provider_name"] || try["status"] != 200.0 || try["error"] != nil || len(try) != 5 {
		t.Errorf("attempts %v", tries)
	}
}

func TestAGenerationIsFoundForAVideoAndByItsAccountOnly(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	upstream := 40 * app.Cent
	h.record(billing.UsageRecord{
		RequestID: "video_1", Model: "test/film", Style: "videos", Reason: "completed", Outcome: "succeeded",
		Costs: billing.Costs{UpstreamCost: &upstream},
		Usage: meter.Counts{
			meter.InputTokens: 1, meter.InputAudioTokens: 2, meter.CacheReadTokens: 4, meter.CacheReadImageTokens: 8, meter.CacheWriteTokens: 16,
			meter.CacheWriteHourTokens: 32, meter.OutputTokens: 64, meter.ReasoningTokens: 128, meter.OutputAudioTokens: 256, meter.WebSearches: 3,
		},
	}, app.Dollar)
	g := decode[generationReply](t, h.call("GET", "/v1/generation?id=video_1", "", bearer(secret)...), 200).Data
	for name, want := range map[string]any{
		"total_cost": 1.0, "upstream_inference_cost": 0.4, "native_tokens_prompt": 63.0, "native_tokens_completion": 448.0,
		"native_tokens_reasoning": 128.0, "native_tokens_cached": 12.0, "native_tokens_cache_creation": 48.0, "billable_web_search_calls": 3.0,
	} {
		if g[name] != want {
			t.Errorf("%s is %v, want %v", name, g[name], want)
		}
	}
	if further, _ := g["meters"].(map[string]any); len(further) != 5 || further["cache_write_1h_tokens"] != 32.0 || further["web_searches"] != 3.0 {
		t.Errorf("further meters %v", g["meters"])
	}
	stranger, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "eve@example.com", Password: "a long enough passphrase", IP: "198.51.100.1"})
	must(t, err)
	_, foreign, err := h.apiKeys.Create(t.Context(), stranger.Principal(), apikey.Spec{Name: "eve"})
	must(t, err)
	_, narrow := h.key(apikey.Spec{Models: []string{"test/plain"}})
	unknown := h.call("GET", "/v1/generation?id=video_2", "", bearer(foreign)...)
	for name, bearing := range map[string]string{"another account": foreign, "a key narrowed to models": narrow} {
		r := h.call("GET", "/v1/generation?id=video_1", "", bearer(bearing)...)
		want := strings.ReplaceAll(unknown.body, "video_2", "video_1")
		if r.status != http.StatusNotFound || withoutID(r) != withoutID(reply{header: unknown.header, body: want}) || r.param(t) != "id" {
			t.Errorf("%s: %d %s, and for an unknown one %s", name, r.status, r.body, want)
		}
	}
	if r := h.call("GET", "/v1/generation", "", bearer(secret)...); r.status != http.StatusBadRequest || r.param(t) != "id" ||
		r.header.Get("X-Error-Code") != "missing_required_parameter" {
		t.Errorf("without an id: %d %s", r.status, r.body)
	}
}

func withoutID(r reply) string { return strings.ReplaceAll(r.body, r.header.Get("X-Request-Id"), "") }

func TestAGenerationThatIsBeingWrittenIsWaitedFor(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	got := make(chan reply, 1)
	go func() { got <- h.call("GET", "/v1/generation?id=req_late", "", bearer(secret)...) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; !strings.Contains(h.metrics(), "umg_api_requests_in_flight 1") && tries < 1000; tries++ {
		<-tick.C
	}
	h.record(billing.UsageRecord{RequestID: "req_late", Model: "m", Reason: "completed", Outcome: "succeeded"}, app.Cent)
	if r := <-got; r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func (h *house) metrics() string {
	h.t.Helper()
	resp, err := client.Get(h.ops + "/metrics")
	must(h.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	must(h.t, err)
	return string(text)
}

type usageReply struct {
	From, To, TZ string
	GroupBy      []string `json:"group_by"`
	Data         []struct {
		Start, Model, Style, Reason string
		KeyID                       string `json:"key_id"`
		EndUser                     string `json:"end_user"`
		Requests                    int64
		Cost                        json.Number
	}
	Total struct {
		Requests int64
		Cost     json.Number
		Meters   map[string]json.Number
	}
}

func TestUsageAddsUpToTheLedger(t *testing.T) {
	t.Parallel()
	h := setup(t)
	wide, secret := h.key(apikey.Spec{})
	narrow, narrowed := h.key(apikey.Spec{Models: []string{"test/plain"}})
	for i, r := range []billing.UsageRecord{
		{
			KeyID: wide.ID, Model: "test/plain", Style: "chat", EndUser: "=cmd()",
			Usage: meter.Counts{meter.WebSearches: 2, meter.ContainerSeconds: 1_500},
		},
		{KeyID: wide.ID, Model: "test/film", Style: "videos"},
		{KeyID: narrow.ID, Model: "test/plain", Style: "messages"},
	} {
		r.RequestID, r.Reason, r.Outcome = fmt.Sprintf("req_%d", i), "completed", "succeeded"
		h.record(r, app.Amount(i+1)*100_000_001)
	}
	get := func(query string, key string) usageReply {
		return decode[usageReply](t, h.call("GET", "/v1/usage?"+query, "", bearer(key)...), 200)
	}
	whole, err := h.ledger().Reconcile(t.Context(), h.owner.AccountID)
	must(t, err)
	for query, lines := range map[string]int{
		"": 1, "group_by=model": 2, "group_by=key": 2, "group_by=style": 3, "group_by=reason": 1, "group_by=end_user": 2, "group_by=hour": 1,
		"group_by=day,model&tz=Asia/Kathmandu": 2, "from=2020-01-01": 1,
	} {
		u := get(query, secret)
		if u.Total.Cost.String() != whole.Charges.String() || u.Total.Requests != 3 || len(u.Data) != lines {
			t.Errorf("%s: %d lines, total %s for %d requests, and the ledger has %s", query, len(u.Data), u.Total.Cost, u.Total.Requests, whole.Charges)
		}
	}
	for query, cost := range map[string]string{
		"model=test/plain": "0.400000004", "key_id=" + wide.ID: "0.300000003", "style=videos": "0.200000002", "modality=text": "0.400000004",
		"end_user=%3Dcmd()": "0.100000001", "reason=upstream_failed": "0", "key_id=key_foreign": "0", "to=2020-01-01&from=2019-12-01": "0",
	} {
		if u := get(query, secret); u.Total.Cost.String() != cost {
			t.Errorf("%s: %s, want %s", query, u.Total.Cost, cost)
		}
	}
	if u := get("", secret); len(u.Total.Meters) != 2 || u.Total.Meters["web_searches"] != "2" || u.Total.Meters["container_seconds"] != "1.5" {
		t.Errorf("the further meters are %v", u.Total.Meters)
	}
	if u := get("", narrowed); u.Total.Meters != nil || u.Total.Cost.String() != "0.300000003" {
		t.Errorf("a key narrowed to models sees %s", u.Total.Cost)
	}
	if r := h.call("GET", "/v1/usage?key_id="+wide.ID, "", bearer(narrowed)...); r.status != http.StatusForbidden || r.param(t) != "key_id" {
		t.Errorf("a narrowed key asks for another: %d %s", r.status, r.body)
	}
	checkUsageTable(t, h, secret)
	checkCredits(t, h, secret, narrowed)
}

func checkUsageTable(t *testing.T, h *house, secret string) {
	t.Helper()
	r := h.call("GET", "/v1/usage?group_by=end_user", "", append(bearer(secret), "Accept", "text/csv, application/json;q=0.5")...)
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(rows) != 3 || !strings.HasPrefix(r.header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%d %v %s", r.status, err, r.body)
	}
	if i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == "'=cmd()" }); i < 1 || rows[i][12] != "0.100000001" ||
		rows[0][0] != "end_user" || rows[0][12] != "cost" || rows[i][13] != "web_searches=2 container_seconds=1.5" {
		t.Errorf("%v", rows)
	}
	if r := h.call("GET", "/v1/usage", "", append(bearer(secret), "Accept", "application/json, text/csv;q=0.1")...); !json.Valid([]byte(r.body)) {
		t.Errorf("JSON is preferred, and it is %s", r.body)
	}
}

func checkCredits(t *testing.T, h *house, secret, narrowed string) {
	t.Helper()
	type credits struct {
		Balance   string
		TotalUsed string `json:"total_used"`
		Data      struct {
			Credits json.Number `json:"total_credits"`
			Usage   json.Number `json:"total_usage"`
		}
	}
	c := decode[credits](t, h.call("GET", "/v1/credits", "", bearer(secret)...), 200)
	if c.Balance != "4.399999994" || c.TotalUsed != "0.600000006" || c.Data.Credits != "5" || c.Data.Usage != "0.600000006" {
		t.Errorf("%+v", c)
	}
	if c := decode[credits](t, h.call("GET", "/v1/credits", "", bearer(narrowed)...), 200); c.TotalUsed != "0.300000003" {
		t.Errorf("a key narrowed to models: %+v", c)
	}
}

func TestAReportThatCannotBeGivenNamesItsParameter(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for query, param := range map[string]string{
		"group_by=colour": "group_by", "group_by=day,hour": "group_by", "group_by=model,key": "group_by", "group_by=": "",
		"from=yesterday": "from", "to=2026-13-01": "to", "from=2026-02-01&to=2026-02-01": "to", "from=1999-01-01": "from",
		"from=2001-01-01&to=2026-01-01": "from", "group_by=hour&from=2024-01-01&to=2026-01-01": "from", "tz=Mars/Base": "tz", "tz=Local": "tz",
		"tz=../../etc/passwd": "tz", "style=morse": "style", "modality=smell": "modality", "reason=because": "reason", "modell=x": "modell",
		"model=a&model=b": "model", "end_user=" + strings.Repeat("x", 600): "end_user",
	} {
		r := h.call("GET", "/v1/usage?"+query, "", bearer(secret)...)
		if param == "" {
			if r.status != http.StatusOK {
				t.Errorf("%s: %d %s", query, r.status, r.body)
			}
			continue
		}
		if r.status != http.StatusBadRequest || r.param(t) != param {
			t.Errorf("%.60s: %d %s", query, r.status, r.body)
		}
	}
}

func TestAKeyTellsWhatItMaySpend(t *testing.T) {
	t.Parallel()
	h := setup(t)
	type told struct {
		Data struct {
			ID, Label       string
			Limit           *json.Number
			Remaining       *json.Number `json:"limit_remaining"`
			Reset           *string      `json:"limit_reset"`
			ResetsAt        *time.Time   `json:"limit_resets_at"`
			Usage           json.Number
			Daily           json.Number `json:"usage_daily"`
			Weekly, Monthly json.Number
			ExpiresAt       *time.Time `json:"expires_at"`
		}
	}
	plain, secret := h.key(apikey.Spec{})
	if k := decode[told](t, h.call("GET", "/v1/key", "", bearer(secret)...), 200).Data; k.ID != plain.ID || k.Limit != nil || k.Reset != nil ||
		k.Usage != "0" || strings.Contains(secret, k.Label) {
		t.Errorf("%+v", k)
	}
	end := time.Now().Add(time.Hour)
	bound, secret := h.key(apikey.Spec{ExpiresAt: &end, Budget: &billing.Allowance{Limit: 2_500_000_000, Period: billing.EachMonth}})
	h.record(billing.UsageRecord{RequestID: "req_1", KeyID: bound.ID, Model: "m", Reason: "completed", Outcome: "succeeded"}, app.Cent)
	k := decode[told](t, h.call("GET", "/v1/key", "", bearer(secret)...), 200).Data
	if k.Limit == nil || *k.Limit != "2.5" || k.Remaining == nil || k.Reset == nil || *k.Reset != "month" || k.ResetsAt == nil ||
		k.Usage != "0.01" || k.Daily != "0.01" || k.ExpiresAt == nil {
		t.Errorf("%+v", k)
	}
}

func TestAFrozenAccountMayLookButNotSpend(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	must(t, h.ledger().Freeze(t.Context(), h.db, h.owner.AccountID, "a dispute"))
	for path, want := range map[string]int{"/v1/messages": 403, "/v1/responses": 403, "/v1/chat/completions": 403} {
		body := ask("test/plain", `,"max_tokens":16`)
		if path == "/v1/responses" {
			body = `{"model":"test/plain","input":"echo: hello"}`
		}
		r := h.call("POST", path, body, append(bearer(secret), "X-Error-Status", "standard")...)
		if r.status != want || r.header.Get("X-Error-Code") != "account_frozen" || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %v %s", path, r.status, r.header, r.body)
		}
	}
	for _, path := range []string{"/v1/models", "/v1/key", "/v1/credits", "/v1/usage"} {
		if r := h.call("GET", path, "", bearer(secret)...); r.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	must(t, h.ledger().Unfreeze(t.Context(), h.db, h.owner.AccountID))
}
