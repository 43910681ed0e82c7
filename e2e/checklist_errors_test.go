package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// endpoint is a route of the machine's face with a request that succeeds, and the style in whose layout it fails.
type endpoint struct{ method, path, body, style string }

// endpoints are all routes of the service, and the paths that the default catalog lets stand for them.
func endpoints() []endpoint {
	var all []endpoint
	for _, p := range allProtocols() {
		all = append(all, endpoint{"POST", p.path, p.ask(p.model, "echo: x"), p.style})
		if p.count != "" {
			all = append(all, endpoint{"POST", p.count, p.ask(p.model, "x"), p.style})
		}
	}
	messages, native := protocols["messages"], protocols["native"]
	all = append(all,
		endpoint{"POST", "/anthropic/v1/messages", messages.ask(messages.model, "echo: x"), "messages"},
		endpoint{"POST", nativeAt("v1beta", native.model, "generateContent"), native.unnamed("echo: x"), "native"},
		endpoint{"POST", nativeAt("v1", native.model, "countTokens"), native.unnamed("x"), "native"})
	for _, path := range []string{"/v1/models", "/v1/models/" + cheapModel, "/v1/model/openapi.json?model=" + cheapModel, "/v1/model/api.md?model=" + cheapModel} {
		all = append(all, endpoint{"GET", path, "", "responses"}, endpoint{"HEAD", path, "", "responses"})
	}
	return all
}

// demandsKey insists that every endpoint answers a request with these headers with an authentication failure.
func (c customer) demandsKey(t *testing.T, query string, headers ...string) {
	t.Helper()
	for _, e := range endpoints() {
		path := e.path + query
		if strings.Contains(e.path, "?") {
			path = e.path + strings.Replace(query, "?", "&", 1)
		}
		a := c.call(t, e.method, path, e.body, headers...)
		if a.status != http.StatusUnauthorized || a.header.Get("Www-Authenticate") != "Bearer" || a.header.Get("X-Error-Code") != "invalid_api_key" {
			t.Errorf("%s %s with %q: %d %v", e.method, path, headers, a.status, a.header)
		}
		if e.method != http.MethodHead {
			protocols[e.style].fails(t, a, "unauthenticated", "invalid_api_key", "")
		}
	}
}

func bearerDemanded(t *testing.T, k *checklist) {
	for _, e := range endpoints() {
		if a := k.call(t, e.method, e.path, e.body); a.status != http.StatusOK {
			t.Errorf("%s %s with the key: %d %s", e.method, e.path, a.status, a.body)
		}
	}
	k.demandsKey(t, "", "Authorization", k.APIKey)
	k.demandsKey(t, "", "Authorization", "Basic "+k.APIKey)
	k.demandsKey(t, "?key="+k.APIKey+"&api_key="+k.APIKey, "Authorization", "")
}

func missingKey(t *testing.T, k *checklist) {
	k.demandsKey(t, "", "Authorization", "")
	k.demandsKey(t, "", "Authorization", "Bearer ")
}

func invalidKey(t *testing.T, k *checklist) {
	last := "A"
	if strings.HasSuffix(k.APIKey, last) {
		last = "B"
	}
	// The last one is well formed: it has the checksum of 32 zeros, but the gateway never issued it.
	for _, secret := range []string{"nonsense", k.APIKey[:20], k.APIKey[:len(k.APIKey)-1] + last, "sk-umg-" + strings.Repeat("0", 32) + "2wjyrI"} {
		k.demandsKey(t, "", bearer(secret)...)
	}
}

func bodiesAreJSON(t *testing.T, k *checklist) {
	if got := k.answer.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the answer is %q", got)
	}
	body := ask(cheapModel, "echo: x")
	decodeCompletion(t, k.chat(t, body, "Content-Type", "application/json; charset=utf-8"))
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		a := k.chat(t, body, "Content-Type", media)
		if f := decodeFailure(t, a.body); a.status != http.StatusUnsupportedMediaType || f.Error.Code != "unsupported_media_type" {
			t.Errorf("%q: %d %s", media, a.status, a.body)
		}
	}
	k.refuses(t, "model=meridian%2Fatlas-small&messages=x", 400, "invalid_json", "")
	for _, p := range newProtocols() {
		onlyJSON(p.style)(t, k)
		p.fails(t, p.send(t, k.customer, "model=x&messages=x"), "invalid", "invalid_json", "")
	}
}

// schemaFirst sends what one model refuses and another takes: only the second reaches a provider and the ledger.
func schemaFirst(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "schema")
	c.setStrict(t)
	rows := func() (n int) {
		t.Helper()
		k.applied(t)
		err := c.db(t).Get(&n, `select (select count(*) from leases where credit_account_id = $1) +
			(select count(*) from usage_records where account_id = $1)`, c.accountID)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	member := `"tools":[` + lookUpTool + `]`
	c.refuses(t, ask("meridian/atlas-nano", "echo: against the schema", member), 400, "invalid_request_error", "tools")
	c.refuses(t, ask(cheapModel, "echo: against the schema", member, `"temperature":5`), 400, "invalid_request_error", "temperature")
	if got := c.received(t, "against the schema"); got != "" || rows() != 0 {
		t.Errorf("%d rows, and a provider got %q", rows(), got)
	}
	decodeCompletion(t, c.chat(t, ask(cheapModel, "echo: by the schema", member)))
	if got := c.received(t, "by the schema"); got == "" || rows() == 0 {
		t.Errorf("%d rows, and a provider got %q", rows(), got)
	}
	before := rows()
	for style, one := range map[string]struct{ refuses, member, param string }{
		"messages":  {"quillon/folio-pocket", `"max_tokens":8193`, "max_tokens"},
		"responses": {"meridian/atlas-nano", responsesTools, "tools"},
		"native":    {"boreal/fjord-lite", nativeTools, "tools"},
	} {
		p := protocols[style]
		p.fails(t, p.send(t, c, p.ask(one.refuses, "echo: against it in "+style, one.member)), "invalid", p.invalid(), one.param)
		if got := c.received(t, "against it in "+style); got != "" || rows() != before {
			t.Errorf("%d rows, and a provider got %q", rows()-before, got)
		}
		p.answers(t, c, p.ask(p.model, "echo: by it in "+style, strings.Replace(one.member, "8193", "8192", 1)))
		if got := c.received(t, "by it in "+style); got == "" || rows() == before {
			t.Errorf("%d rows, and a provider got %q", rows()-before, got)
		}
		before = rows()
	}
}

// providersAsked lists the providers that got a request with the mark, in order.
func (g *gateway) providersAsked(t *testing.T, mark string) (names []string) {
	t.Helper()
	var list struct {
		Requests []struct {
			Provider string `json:"provider"`
			Body     string `json:"body"`
		} `json:"requests"`
	}
	text := g.simulator(t, "GET", "/_control/requests", "")
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

// once makes a name that was not used before on this gateway.
func once(name string) string { return fmt.Sprint(name, "-", time.Now().UnixNano()) }

// twoRoutes has a first route to meridian and a second to crossroads.
const twoRoutes = "meridian/forge"

// breaks makes a provider fail for the model with two routes, until the test ends.
func (g *gateway) breaks(t *testing.T, provider, upstream string) {
	t.Helper()
	g.simulator(t, "PUT", "/_control/faults", fmt.Sprintf(`{"provider":%q,"model":%q,"spec":"status=503"}`, provider, upstream))
	t.Cleanup(func() { g.simulator(t, "DELETE", "/_control/faults?provider="+provider+"&model="+upstream, "") })
}

func availableProvider(t *testing.T, k *checklist) {
	asked := func(mark string, want ...string) {
		t.Helper()
		mark = once(mark)
		decodeCompletion(t, k.chat(t, ask(twoRoutes, "echo: "+mark)))
		if got := k.providersAsked(t, mark); !slices.Equal(got, want) {
			t.Errorf("%s: %v were asked, not %v", mark, got, want)
		}
	}
	asked("both are well", "meridian")
	k.breaks(t, "meridian", "forge-2026-03")
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
		p := protocols[style]
		for _, down := range []bool{false, true} {
			want, mark := []string{one.provider}, once("over in "+style)
			if down {
				k.breaks(t, one.provider, one.upstream)
				want = append(want, "crossroads")
			}
			s, a := p.answers(t, k.customer, p.ask(one.id, "echo: "+mark))
			if got := k.providersAsked(t, mark); s.text != mark || s.model != one.id || !slices.Equal(got, want) {
				t.Errorf("%s: %v were asked, not %v: %s", style, got, want, a.body)
			}
			if text, _ := p.streams(t, k.customer, p.ask(one.id, "count to 5", `"stream":true`)); text != "1 2 3 4 5" {
				t.Errorf("%s: the stream says %q", style, text)
			}
		}
	}
}

func forwardedOrError(t *testing.T, k *checklist) {
	decodeCompletion(t, k.chat(t, ask(twoRoutes, "echo: forwarded")))
	k.breaks(t, "meridian", "forge-2026-03")
	k.breaks(t, "crossroads", twoRoutes)
	mark := once("both are down")
	k.refuses(t, ask(twoRoutes, "echo: "+mark), 502, "upstream_error", "")
	if got := k.providersAsked(t, mark); !slices.Equal(got, []string{"meridian", "crossroads"}) {
		t.Errorf("%v were asked", got)
	}
	id := once("test/nobody")
	k.addModels(t, model{id: id, upstream: "sim", provider: "test-lost"})
	k.refuses(t, ask(id, "echo: no upstream to ask"), 503, "no_available_provider", "")
	if got := k.providersAsked(t, "no upstream to ask"); got != nil {
		t.Errorf("%v were asked", got)
	}
	for _, p := range newProtocols() {
		s, _ := p.answers(t, k.customer, p.ask(p.model, "echo: forwarded"))
		r := p.fails(t, p.send(t, k.customer, p.ask(p.model, "simulate: status=400\nx")), "invalid", "", "")
		if s.text != "forwarded" || !strings.Contains(r.message, "upstream provider refused") {
			t.Errorf("%s: %s, then %s", p.style, s.text, r.message)
		}
	}
}

var chatErrorLines = []checkLine{
	{"K192 a failure has a numeric code and error with code, message and type", failureLayout},
	{"K193 many failures have HTTP status 200", failuresWithStatus200},
	{"K194 a missing model", func(t *testing.T, k *checklist) {
		k.fails(t, `{"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "invalid_request_error")
	}},
	{"K195 the limit of concurrent calls", concurrencyLimit},
	{"K196 an invalid model", func(t *testing.T, k *checklist) {
		for _, m := range []string{`""`, `7`, `null`, `[]`} {
			k.fails(t, `{"model":`+m+`,"messages":[{"role":"user","content":"x"}]}`, 400, "invalid_request_error", "invalid_request_error")
		}
	}},
	{"K197 invalid JSON", func(t *testing.T, k *checklist) {
		for _, body := range []string{``, `{`, `{"model":"a",`, `not json`, ask(cheapModel, "x") + `]`} {
			k.fails(t, body, 400, "invalid_json", "invalid_request_error")
		}
	}},
	{"K198 a model that is not found", func(t *testing.T, k *checklist) {
		k.fails(t, ask("nobody/nothing", "x"), 404, "model_not_found", "invalid_request_error")
		k.fails(t, ask("boreal/drift:pro", "x"), 404, "model_not_found", "invalid_request_error")
	}},
	{"K199 no valid upstream provider", func(t *testing.T, k *checklist) {
		id := once("test/no-provider")
		k.addModels(t, model{id: id, upstream: "sim", provider: "test-lost"})
		k.fails(t, ask(id, "x"), 503, "no_available_provider", "server_error")
	}},
	{"K200 a model that traffic control paused", func(t *testing.T, k *checklist) {
		id := once("test/traffic")
		k.addModels(t, model{id: id, upstream: "sim", paused: true})
		k.fails(t, ask(id, "x"), 503, "model_temporarily_unavailable", "server_error")
	}},
}

// fails insists on the failure's words in the documented layout: as a body of status 200, and as the only event of a
// stream where one was asked for.
func (c customer) fails(t *testing.T, body string, code int, errCode, errType string) {
	t.Helper()
	bodies := map[string]string{"whole": body}
	if rest, ok := strings.CutPrefix(body, "{"); ok && json.Valid([]byte(body)) {
		bodies["streamed"] = `{"stream":true,` + rest
	}
	for form, sent := range bodies {
		a := c.chat(t, sent)
		text := a.body
		if form == "streamed" {
			all := events(t, a.body)
			if len(all) != 2 || all[1] != "[DONE]" {
				t.Fatalf("not one event and the end: %s", a.body)
			}
			text = all[0]
		}
		layoutHolds(t, text)
		if f := decodeFailure(t, text); a.status != http.StatusOK || f.Code != code || f.Error.Code != errCode || f.Error.Type != errType {
			t.Errorf("%s: status %d, not %d %s %s: %s\nfor %.300s", form, a.status, code, errCode, errType, a.body, sent)
		}
	}
}

// layoutHolds looks at the kinds of the values as they are written.
func layoutHolds(t *testing.T, text string) {
	t.Helper()
	o := object(t, text)
	inner, isObject := o["error"].(map[string]any)
	if code, isNumber := o["code"].(json.Number); !isNumber || !isObject || strings.ContainsAny(code.String(), ".eE-") {
		t.Errorf("no numeric code or no error object: %s", text)
	}
	for _, name := range []string{"code", "message", "type"} {
		if s, isText := inner[name].(string); !isText || s == "" {
			t.Errorf("error.%s is no text: %s", name, text)
		}
	}
}

func failureLayout(t *testing.T, k *checklist) {
	body := ask("nobody/nothing", "x")
	for _, a := range []answer{
		k.chat(t, body), k.chat(t, body, "X-Error-Status", "standard"), k.chat(t, body, "Authorization", ""),
		k.chat(t, body, "Content-Type", "text/plain"), k.call(t, "GET", chatPath, ""),
	} {
		layoutHolds(t, a.body)
	}
}

func failuresWithStatus200(t *testing.T, k *checklist) {
	for _, f := range chatFailures {
		a := k.chat(t, f.body)
		if got := decodeFailure(t, a.body); a.status != http.StatusOK || got.Code != f.code {
			t.Errorf("%s: status %d, code %d", f.name, a.status, got.Code)
		}
	}
}

// concurrencyLimit lets a model's upstream hold as many calls as an account may have at once.
func concurrencyLimit(t *testing.T, k *checklist) {
	const limit = 16
	c := k.newCustomer(t, "concurrent")
	id := once("test/held")
	c.addModels(t, model{id: id, upstream: "sim+hold", provider: "meridian"})
	ctx, cancel := context.WithTimeout(t.Context(), callTimeMax)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer c.simulator(t, "POST", "/_control/release", "")
	for i := range limit {
		all.Go(func() {
			a, err := c.tryCall(ctx, "POST", chatPath, ask(id, fmt.Sprint("echo: ", i)))
			if err != nil || a.status != http.StatusOK || !strings.Contains(a.body, `"chat.completion"`) {
				t.Errorf("call %d: %v %d %s", i, err, a.status, a.body)
			}
		})
	}
	c.simulator(t, "GET", fmt.Sprint("/_control/waiting?timeout=20s&at_least=", limit), "")
	c.fails(t, ask(cheapModel, "echo: one too many"), 429, "max_concurrency_exceeded", "rate_limit_error")
	if got := c.received(t, "one too many"); got != "" {
		t.Errorf("the call beyond the limit was forwarded: %s", got)
	}
	decodeCompletion(t, k.chat(t, ask(cheapModel, "echo: another account")))
}
