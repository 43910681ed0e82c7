package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"umg/e2e/harness"
)

// endpoint is a route of the machine's face with a request that succeeds, and the style in whose layout it fails.
type endpoint struct{ method, path, body, style string }

// endpoints are all routes of the service, and the paths that the default catalog lets stand for them.
func endpoints() []endpoint {
	var all []endpoint
	for _, p := range harness.AllStyles() {
		all = append(all, endpoint{"POST", p.Path, p.Request(p.Model, "echo: x"), p.Name})
		if p.CountPath != "" {
			all = append(all, endpoint{"POST", p.CountPath, p.Request(p.Model, "x"), p.Name})
		}
	}
	messages, native := harness.Styles["messages"], harness.Styles["native"]
	all = append(all,
		endpoint{"POST", "/anthropic/v1/messages", messages.Request(messages.Model, "echo: x"), "messages"},
		endpoint{"POST", nativeAt("v1beta", native.Model, "generateContent"), withoutModel(native, "echo: x"), "native"},
		endpoint{"POST", nativeAt("v1", native.Model, "countTokens"), withoutModel(native, "x"), "native"})
	for _, path := range []string{"/v1/models", "/v1/models/" + harness.CheapModel, "/v1/model/openapi.json?model=" + harness.CheapModel, "/v1/model/api.md?model=" + harness.CheapModel} {
		all = append(all, endpoint{"GET", path, "", "responses"}, endpoint{"HEAD", path, "", "responses"})
	}
	return all
}

// demandsKey insists that every endpoint answers a request with these headers with an authentication failure.
func demandsKey(t *testing.T, c harness.Customer, query string, headers ...string) {
	t.Helper()
	for _, e := range endpoints() {
		path := e.path + query
		if strings.Contains(e.path, "?") {
			path = e.path + strings.Replace(query, "?", "&", 1)
		}
		a := c.Call(t, e.method, path, e.body, headers...)
		if a.Status != http.StatusUnauthorized || a.Header.Get("Www-Authenticate") != "Bearer" || a.Header.Get("X-Error-Code") != "invalid_api_key" {
			t.Errorf("%s %s with %q: %d %v", e.method, path, headers, a.Status, a.Header)
		}
		if e.method != http.MethodHead {
			harness.Styles[e.style].CheckError(t, a, "unauthenticated", "invalid_api_key", "")
		}
	}
}

func bearerDemanded(t *testing.T, k *checklist) {
	for _, e := range endpoints() {
		if a := k.Call(t, e.method, e.path, e.body); a.Status != http.StatusOK {
			t.Errorf("%s %s with the key: %d %s", e.method, e.path, a.Status, a.Body)
		}
	}
	demandsKey(t, k.Customer, "", "Authorization", k.APIKey)
	demandsKey(t, k.Customer, "", "Authorization", "Basic "+k.APIKey)
	demandsKey(t, k.Customer, "?key="+k.APIKey+"&api_key="+k.APIKey, "Authorization", "")
}

func missingKey(t *testing.T, k *checklist) {
	demandsKey(t, k.Customer, "", "Authorization", "")
	demandsKey(t, k.Customer, "", "Authorization", "Bearer ")
}

func invalidKey(t *testing.T, k *checklist) {
	last := "A"
	if strings.HasSuffix(k.APIKey, last) {
		last = "B"
	}
	// The last one is well formed: it has the checksum of 32 zeros, but the gateway never issued it.
	for _, secret := range []string{"nonsense", k.APIKey[:20], k.APIKey[:len(k.APIKey)-1] + last, "sk-umg-" + strings.Repeat("0", 32) + "2wjyrI"} {
		demandsKey(t, k.Customer, "", harness.BearerHeader(secret)...)
	}
}

func bodiesAreJSON(t *testing.T, k *checklist) {
	if got := k.answer.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is %q", got)
	}
	body := harness.ChatRequest(harness.CheapModel, "echo: x")
	harness.DecodeCompletion(t, k.Chat(t, body, "Content-Type", "application/json; charset=utf-8"))
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		a := k.Chat(t, body, "Content-Type", media)
		if f := harness.DecodeChatError(t, a.Body); a.Status != http.StatusUnsupportedMediaType || f.Error.Code != "unsupported_media_type" {
			t.Errorf("%q: %d %s", media, a.Status, a.Body)
		}
	}
	requireRefusal(t, k.Customer, "model=meridian%2Fatlas-small&messages=x", 400, "invalid_json", "")
	for _, p := range harness.StylesWithStatuses() {
		onlyJSON(p.Name)(t, k)
		p.CheckError(t, p.Send(t, k.Customer, "model=x&messages=x"), "invalid", "invalid_json", "")
	}
}

// schemaFirst sends what one model refuses and another takes: only the second reaches a provider and the ledger.
func schemaFirst(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "schema")
	c.SetStrict(t)
	rows := func() (n int) {
		t.Helper()
		k.WaitForLedger(t)
		err := c.DB(t).Get(&n, `select (select count(*) from leases where credit_account_id = $1) +
			(select count(*) from usage_records where account_id = $1)`, c.AccountID)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	member := `"tools":[` + lookUpTool + `]`
	requireRefusal(t, c, harness.ChatRequest("meridian/atlas-nano", "echo: against the schema", member), 400, "invalid_request_error", "tools")
	requireRefusal(t, c, harness.ChatRequest(harness.CheapModel, "echo: against the schema", member, `"temperature":5`), 400, "invalid_request_error", "temperature")
	if got := c.UpstreamBodies(t, "against the schema"); got != "" || rows() != 0 {
		t.Errorf("%d rows, and a provider got %q", rows(), got)
	}
	harness.DecodeCompletion(t, c.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: by the schema", member)))
	if got := c.UpstreamBodies(t, "by the schema"); got == "" || rows() == 0 {
		t.Errorf("%d rows, and a provider got %q", rows(), got)
	}
	before := rows()
	for style, one := range map[string]struct{ refuses, member, param string }{
		"messages":  {"quillon/folio-pocket", `"max_tokens":8193`, "max_tokens"},
		"responses": {"meridian/atlas-nano", responsesTools, "tools"},
		"native":    {"boreal/fjord-lite", nativeTools, "tools"},
	} {
		p := harness.Styles[style]
		p.CheckError(t, p.Send(t, c, p.Request(one.refuses, "echo: against it in "+style, one.member)), "invalid", p.InvalidCode(), one.param)
		if got := c.UpstreamBodies(t, "against it in "+style); got != "" || rows() != before {
			t.Errorf("%d rows, and a provider got %q", rows()-before, got)
		}
		p.Complete(t, c, p.Request(p.Model, "echo: by it in "+style, strings.Replace(one.member, "8193", "8192", 1)))
		if got := c.UpstreamBodies(t, "by it in "+style); got == "" || rows() == before {
			t.Errorf("%d rows, and a provider got %q", rows()-before, got)
		}
		before = rows()
	}
}

// providersAsked lists the providers that got a request with the mark, in order.
func providersAsked(t *testing.T, g *harness.Gateway, mark string) (names []string) {
	t.Helper()
	var list struct {
		Requests []struct {
			Provider string `json:"provider"`
			Body     string `json:"body"`
		} `json:"requests"`
	}
	text := g.CallSimulator(t, "GET", "/_control/requests", "")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	for _, r := range list.Requests {
		if strings.Contains(r.Body, mark) {
			names = append(names, r.Provider)
		}
	}
	return slices.Compact(names)
}

// twoRoutes has a first route to meridian and a second to crossroads.
const twoRoutes = "meridian/forge"

func availableProvider(t *testing.T, k *checklist) {
	asked := func(mark string, want ...string) {
		t.Helper()
		mark = harness.UniqueName(mark)
		harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(twoRoutes, "echo: "+mark)))
		if got := providersAsked(t, k.Gateway, mark); !slices.Equal(got, want) {
			t.Errorf("%s: %v were asked, not %v", mark, got, want)
		}
	}
	asked("both are well", "meridian")
	k.BreakProvider(t, "meridian", "forge-2026-03")
	asked("the first is down", "meridian", "crossroads")
	asked("the first is still down", "meridian", "crossroads")
	failsOver(t, k)
}

// failsOver calls models in every style while their first provider is down: the second one speaks another style, and
// answers all the same.
func failsOver(t *testing.T, k *checklist) {
	for style, one := range map[string]struct{ id, provider, upstream string }{
		"messages":  {"quillon/marginalia", "quillon", "marginalia-20260616"},
		"responses": {"tessera/mosaic", "tessera", "mosaic-2026-08"},
		"native":    {"boreal/fjord-pro", "boreal", "fjord-pro-002"},
	} {
		p := harness.Styles[style]
		for _, down := range []bool{false, true} {
			want, mark := []string{one.provider}, harness.UniqueName("over in "+style)
			if down {
				k.BreakProvider(t, one.provider, one.upstream)
				want = append(want, "crossroads")
			}
			s, a := p.Complete(t, k.Customer, p.Request(one.id, "echo: "+mark))
			if got := providersAsked(t, k.Gateway, mark); s.Text != mark || s.Model != one.id || !slices.Equal(got, want) {
				t.Errorf("%s: %v were asked, not %v: %s", style, got, want, a.Body)
			}
			if text, _ := p.Stream(t, k.Customer, p.Request(one.id, "count to 5", `"stream":true`)); text != "1 2 3 4 5" {
				t.Errorf("%s: the stream says %q", style, text)
			}
		}
	}
}

func forwardedOrError(t *testing.T, k *checklist) {
	harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(twoRoutes, "echo: forwarded")))
	k.BreakProvider(t, "meridian", "forge-2026-03")
	k.BreakProvider(t, "crossroads", twoRoutes)
	mark := harness.UniqueName("both are down")
	requireRefusal(t, k.Customer, harness.ChatRequest(twoRoutes, "echo: "+mark), 502, "upstream_error", "")
	if got := providersAsked(t, k.Gateway, mark); !slices.Equal(got, []string{"meridian", "crossroads"}) {
		t.Errorf("%v were asked", got)
	}
	id := harness.UniqueName("test/unknown")
	k.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim", Provider: "test-lost"})
	requireRefusal(t, k.Customer, harness.ChatRequest(id, "echo: no upstream to ask"), 503, "no_available_provider", "")
	if got := providersAsked(t, k.Gateway, "no upstream to ask"); got != nil {
		t.Errorf("%v were asked", got)
	}
	for _, p := range harness.StylesWithStatuses() {
		s, _ := p.Complete(t, k.Customer, p.Request(p.Model, "echo: forwarded"))
		r := p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "simulate: status=400\nx")), "invalid", "", "")
		if s.Text != "forwarded" || !strings.Contains(r.Message, "upstream provider refused") {
			t.Errorf("%s: %s, then %s", p.Name, s.Text, r.Message)
		}
	}
}

var chatErrorLines = []checkLine{
	{"K192 a failure has a numeric code and error with code, message and type", failureLayout},
	{"K193 many failures have HTTP status 200", failuresWithStatus200},
	{"K194 a missing model", func(t *testing.T, k *checklist) {
		requireFailure(t, k.Customer, `{"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "invalid_request_error")
	}},
	{"K195 the limit of concurrent calls", concurrencyLimit},
	{"K196 an invalid model", func(t *testing.T, k *checklist) {
		for _, m := range []string{`""`, `7`, `null`, `[]`} {
			requireFailure(t, k.Customer, `{"model":`+m+`,"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "invalid_request_error")
		}
	}},
	{"K197 invalid JSON", func(t *testing.T, k *checklist) {
		for _, body := range []string{``, `{`, `{"model":"a",`, `not json`, harness.ChatRequest(harness.CheapModel, "x") + `]`} {
			requireFailure(t, k.Customer, body, 400, "invalid_json", "invalid_request_error")
		}
	}},
	{"K198 a model that is not found", func(t *testing.T, k *checklist) {
		requireFailure(t, k.Customer, harness.ChatRequest("unknown/nothing", "x"), 404, "model_not_found", "invalid_request_error")
		requireFailure(t, k.Customer, harness.ChatRequest("boreal/drift:pro", "x"), 404, "model_not_found", "invalid_request_error")
	}},
	{"K199 no valid upstream provider", func(t *testing.T, k *checklist) {
		id := harness.UniqueName("test/no-provider")
		k.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim", Provider: "test-lost"})
		requireFailure(t, k.Customer, harness.ChatRequest(id, "x"), 503, "no_available_provider", "server_error")
	}},
	{"K200 a model that traffic control paused", func(t *testing.T, k *checklist) {
		id := harness.UniqueName("test/traffic")
		k.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim", Paused: true})
		requireFailure(t, k.Customer, harness.ChatRequest(id, "x"), 503, "model_temporarily_unavailable", "server_error")
	}},
}

// requireFailure insists on the failure's words in the documented layout: as a body of status 200, and as the only event of a
// stream where one was asked for.
func requireFailure(t *testing.T, c harness.Customer, body string, code int, errCode, errType string) {
	t.Helper()
	bodies := map[string]string{"whole": body}
	if rest, ok := strings.CutPrefix(body, "{"); ok && json.Valid([]byte(body)) {
		bodies["streamed"] = `{"stream":true,` + rest
	}
	for form, sent := range bodies {
		a := c.Chat(t, sent)
		text := a.Body
		if form == "streamed" {
			all := harness.StreamData(t, a.Body)
			if len(all) != 2 || all[1] != "[DONE]" {
				t.Fatalf("not one event and the end: %s", a.Body)
			}
			text = all[0]
		}
		harness.CheckChatErrorLayout(t, text)
		if f := harness.DecodeChatError(t, text); a.Status != http.StatusOK || f.Code != code || f.Error.Code != errCode || f.Error.Type != errType {
			t.Errorf("%s: status %d, not %d %s %s: %s\nfor %.300s", form, a.Status, code, errCode, errType, a.Body, sent)
		}
	}
}

func failureLayout(t *testing.T, k *checklist) {
	body := harness.ChatRequest("unknown/nothing", "x")
	for _, a := range []harness.Response{
		k.Chat(t, body), k.Chat(t, body, "X-Error-Status", "standard"), k.Chat(t, body, "Authorization", ""),
		k.Chat(t, body, "Content-Type", "text/plain"), k.Call(t, "GET", harness.ChatPath, ""),
	} {
		harness.CheckChatErrorLayout(t, a.Body)
	}
}

func failuresWithStatus200(t *testing.T, k *checklist) {
	for _, f := range chatFailures {
		a := k.Chat(t, f.body)
		if got := harness.DecodeChatError(t, a.Body); a.Status != http.StatusOK || got.Code != f.code {
			t.Errorf("%s: status %d, code %d", f.name, a.Status, got.Code)
		}
	}
}

// concurrencyLimit lets a model's upstream hold as many calls as an account may have at once.
func concurrencyLimit(t *testing.T, k *checklist) {
	const limit = 16
	c := k.NewCustomer(t, "concurrent")
	id := harness.UniqueName("test/held")
	c.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim+hold", Provider: "meridian"})
	ctx, cancel := context.WithTimeout(t.Context(), harness.CallTimeMax)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer c.CallSimulator(t, "POST", "/_control/release", "")
	for i := range limit {
		all.Go(func() {
			a, err := c.TryCall(ctx, "POST", harness.ChatPath, harness.ChatRequest(id, fmt.Sprint("echo: ", i)))
			if err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"chat.completion"`) {
				t.Errorf("call %d: %v %d %s", i, err, a.Status, a.Body)
			}
		})
	}
	c.CallSimulator(t, "GET", fmt.Sprint("/_control/waiting?timeout=20s&at_least=", limit), "")
	requireFailure(t, c, harness.ChatRequest(harness.CheapModel, "echo: one too many"), 429, "max_concurrency_exceeded", "rate_limit_error")
	if got := c.UpstreamBodies(t, "one too many"); got != "" {
		t.Errorf("the call beyond the limit was forwarded: %s", got)
	}
	harness.DecodeCompletion(t, k.Chat(t, harness.ChatRequest(harness.CheapModel, "echo: another account")))
}
