package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var failureLines = []checkLine{
	{"K227 messages, responses and native say that the model is missing in a JSON error object", newStyles(func(t *testing.T, k *checklist, p protocol) {
		rest := strings.TrimPrefix(p.ask("m", "x"), `{"model":"m",`)
		for _, body := range []string{`{}`, `{` + rest, `{"stream":true,` + rest, `{"model":null,` + rest} {
			if r := p.fails(t, p.send(t, k.customer, body), "invalid", p.missing(), "model"); !strings.Contains(r.message, "model") {
				t.Errorf("the message is %s", r.message)
			}
		}
		p.fails(t, k.call(t, http.MethodPost, p.count, `{`+rest), "invalid", p.missing(), "model")
	})},
	{"K228 messages, responses and native say that the model is invalid in a JSON error object", newStyles(func(t *testing.T, k *checklist, p protocol) {
		for _, id := range []string{"nobody/nothing", "boreal/drift:fast", p.absent, strings.ToUpper(p.model), " " + p.model} {
			p.fails(t, p.send(t, k.customer, p.ask(id, "x")), "not found", "model_not_found", "model")
			p.fails(t, p.send(t, k.customer, p.ask(id, "x", `"stream":true`)), "not found", "model_not_found", "model")
			p.fails(t, k.call(t, http.MethodPost, p.count, p.ask(id, "x")), "not found", "model_not_found", "model")
		}
		rest := strings.TrimPrefix(p.ask("m", "x"), `{"model":"m",`)
		for _, m := range []string{`""`, `7`, `[]`, `{"id":"x"}`} {
			p.fails(t, p.send(t, k.customer, `{"model":`+m+`,`+rest), "invalid", p.invalid(), "model")
		}
	})},
	{"K229 messages, responses and native say that the JSON is invalid in a JSON error object", newStyles(func(t *testing.T, k *checklist, p protocol) {
		right := p.ask(p.model, "x")
		for _, body := range []string{
			``, ` `, `{`, `{"model":"a",`, `not json`, right + `]`, right + right, strings.Replace(right, `"x"`, "\"\xff\"", 1), `{'model':'a'}`,
			right[:len(right)-1] + `,}`, strings.Replace(right, `"x"`, `"\ud800"`, 1),
		} {
			p.fails(t, p.send(t, k.customer, body), "invalid", "invalid_json", "")
		}
		for _, body := range []string{`[1]`, `"x"`, `7`, `null`} {
			if r := p.fails(t, p.send(t, k.customer, body), "invalid", "", ""); !strings.Contains(r.message, "object") {
				t.Errorf("%s: %s", body, r.message)
			}
		}
	})},
	{"K230 messages, responses and native say that authentication failed in a JSON error object", newStyles(func(t *testing.T, k *checklist, p protocol) {
		for _, path := range []string{p.path, p.count} {
			for _, headers := range [][]string{{"Authorization", ""}, bearer("sk-umg-nonsense"), {"Authorization", "Basic " + k.APIKey}} {
				a := k.call(t, http.MethodPost, path, p.ask(p.model, "x"), headers...)
				p.fails(t, a, "unauthenticated", "invalid_api_key", "")
				if a.header.Get("Www-Authenticate") != "Bearer" {
					t.Errorf("WWW-Authenticate is %q", a.header.Get("Www-Authenticate"))
				}
			}
		}
	})},
	{"K231 messages, responses and native say that the upstream failed in a JSON error object", newStyles(upstreamFailures)},
	{"deviation N21 messages, responses and native have true statuses whatever the key or a header says of chat", newStyles(func(t *testing.T, k *checklist, p protocol) {
		for _, mode := range []string{"documented", "standard", ""} {
			p.fails(t, k.call(t, http.MethodPost, p.path, p.ask("nobody/nothing", "x", `"stream":true`), "X-Error-Status", mode), "not found", "model_not_found", "model")
		}
	})},
	{"deviation D4 the cost in the usage of every style is the figure that is billed", costsAreBilled},
	{"deviation D16 content may be null beside tool calls and nowhere else", nullContent},
	{"deviation D18 bodies that are too large or of another kind have a layout too", newStyles(func(t *testing.T, k *checklist, p protocol) {
		p.fails(t, p.send(t, k.customer, p.ask(p.model, "x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
		p.fails(t, p.send(t, k.customer, p.ask(p.model, strings.Repeat("x", 33<<20))), "large", "request_too_large", "")
		p.fails(t, k.call(t, http.MethodPost, p.count, p.ask(p.model, "x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
	})},
	{"L248 concurrent text requests are limited, and excess gives max_concurrency_exceeded", concurrencyOfAllStyles},
	{"L249 per-model limits are enforced, and are those that the models page shows", modelLimits},
	{"L251 vendorb-version and vendorb-beta pass upstream unchanged", func(t *testing.T, k *checklist) {
		forwardsHeader("vendorb-version", "anthropic-version", "an unknown version; v=1", "2023-06-01")(t, k)
		forwardsHeader("vendorb-beta", "anthropic-beta", "b ,a,, a;x=1", "")(t, k)
	}},
	{"L252 request contracts differ per model and are readable from the contract routes", contractsDifferAndAreRead},
}

var costPattern = regexp.MustCompile(`"cost":([0-9.eE+-]+)`)

// newStyles holds a line against each of the styles that came after chat.
func newStyles(holds func(t *testing.T, k *checklist, p protocol)) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		for _, p := range newProtocols() {
			t.Run(p.style, func(t *testing.T) { holds(t, k, p) })
		}
	}
}

// upstreamFailures are told in the layout of the route, with the status of the kind, whatever the upstream speaks and
// whether a stream was asked for, and cost nothing.
func upstreamFailures(t *testing.T, k *checklist, p protocol) {
	t.Parallel()
	c := k.newCustomer(t, "upstream-failure")
	before := c.balanceOf(t, c.accountID)
	kinds := []struct{ does, as, code string }{
		{"status=500", "upstream", "upstream_error"}, {"reset", "upstream", "upstream_error"}, {"html", "upstream", "upstream_error"},
		{"stall", "timeout", "upstream_timeout"}, {"auth", "unavailable", "no_available_provider"}, {"status=422", "refused", ""},
		{"status=429;retry-after=20", "busy", "rate_limit_exceeded"}, {"error-in-200", "upstream", "upstream_error"},
	}
	for _, kind := range kinds {
		prompt := "simulate: " + kind.does + "\necho: x"
		for upstream, id := range k.speaks {
			if kind.does != "status=500" && kind.does != "status=422" && upstream != p.style {
				// The other models differ in what the simulated upstream does, and not in its style.
				continue
			}
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.send(t, c, p.ask(id, prompt, members...))
				r := p.fails(t, a, kind.as, kind.code, "")
				for _, secret := range []string{"sim-", "127.0.0.1", "simulate"} {
					if strings.Contains(r.message, secret) {
						t.Errorf("the message tells of the upstream: %s", r.message)
					}
				}
				if retry := a.header.Get("Retry-After"); kind.as == "busy" && retry == "" {
					t.Errorf("no time for another try: %v", a.header)
				}
			}
		}
	}
	lost := once("test/lost")
	k.addModels(t, model{id: lost, upstream: "sim", provider: "test-lost", more: everything})
	p.fails(t, p.send(t, c, p.ask(lost, "x")), "unavailable", "no_available_provider", "")
	paused := once("test/paused")
	k.addModels(t, model{id: paused, upstream: "sim", paused: true, more: everything})
	p.fails(t, p.send(t, c, p.ask(paused, "x")), "unavailable", "model_temporarily_unavailable", "model")
	if after := c.balanceOf(t, c.accountID); after != before {
		t.Errorf("failures cost something: %+v, then %+v", before, after)
	}
}

// costsAreBilled compares the cost that every pair of styles shows, whole and streamed, with the ledger and the balance.
func costsAreBilled(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "costs")
	before := c.balanceOf(t, c.accountID)
	var shown int64
	for _, p := range allProtocols() {
		for upstream, id := range k.speaks {
			s, a := p.answers(t, c, p.ask(id, "count to 9"))
			streamed := p.send(t, c, p.ask(id, "count to 9", `"stream":true`, p.wantsUsage()))
			costs := costPattern.FindAllStringSubmatch(streamed.body, -1)
			if len(costs) != 1 {
				t.Fatalf("%s from %s: the stream tells the costs %v: %s", p.style, upstream, costs, streamed.body)
			}
			for id, cost := range map[string]string{a.header.Get("X-Request-Id"): s.cost, streamed.header.Get("X-Request-Id"): costs[0][1]} {
				shown += nanos(t, cost)
				if r := c.record(t, id); r.Cost != nanos(t, cost) || r.Cost == 0 || r.Estimated || r.Output != 9 {
					t.Errorf("%s from %s: shown %s, recorded %+v", p.style, upstream, cost, r)
				}
			}
		}
	}
	if after := c.balanceOf(t, c.accountID); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("shown %d; the balance was %+v and is %+v", shown, before, after)
	}
}

func nullContent(t *testing.T, k *checklist) {
	calls := `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	result := `{"role":"tool","tool_call_id":"call_1","content":"done"}`
	for _, content := range []string{`"content":null,`, ``} {
		for _, id := range k.speaks {
			body := protocols["chat"].with(id, `"messages":[{"role":"user","content":"hi"},{"role":"assistant",`+content+calls+`},`+result+`]`)
			if s, a := protocols["chat"].answers(t, k.customer, body); !strings.Contains(s.text, "done") {
				t.Errorf("%s: %s", id, a.body)
			}
		}
	}
	for _, content := range []string{``, `,"content":null`} {
		body := withMessages(`[{"role":"user","content":"hi"},{"role":"assistant"` + content + `},{"role":"user","content":"x"}]`)
		k.refuses(t, body, 400, "invalid_request_error", "messages[1].content")
	}
}

// concurrencyOfAllStyles lets an upstream hold as many calls as an account may have at once, of all styles together.
// One more is refused in every style; another account is not concerned.
func concurrencyOfAllStyles(t *testing.T, k *checklist) {
	const limit = 16
	c := k.newCustomer(t, "all-styles")
	ctx, cancel := context.WithTimeout(t.Context(), callTimeMax)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer c.simulator(t, "POST", "/_control/release", "")
	for i := range limit {
		p := allProtocols()[i%4]
		all.Go(func() {
			body := p.ask(k.speaks[allProtocols()[i/4].style], "simulate: hold\necho: held", `"stream":`+fmt.Sprint(i%3 == 0))
			if a, err := c.tryCall(ctx, http.MethodPost, p.path, body); err != nil || a.status != http.StatusOK || !strings.Contains(a.body, "held") {
				t.Errorf("call %d: %v %d %s", i, err, a.status, a.body)
			}
		})
	}
	c.simulator(t, "GET", fmt.Sprint("/_control/waiting?timeout=20s&at_least=", limit), "")
	for _, p := range allProtocols() {
		a := p.send(t, c, p.ask(p.model, "echo: beyond the limit", `"stream":true`))
		r := p.fails(t, a, "busy", "max_concurrency_exceeded", "")
		if !strings.Contains(r.message, fmt.Sprint(limit)) || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %s", p.style, a.header, r.message)
		}
		p.answers(t, k.customer, p.ask(p.model, "echo: another account"))
	}
	if got := c.received(t, "beyond the limit"); got != "" {
		t.Errorf("a call beyond the limit was forwarded: %s", got)
	}
}

// modelLimits uses up what a model allows in a minute, by calls of all styles together and by counts.
func modelLimits(t *testing.T, k *checklist) {
	c := k.newCustomer(t, "limited")
	id, few := once("test/limited"), strings.Replace(everything, "requests_per_minute: 100000, tokens_per_minute: 100000000", "requests_per_minute: 7, tokens_per_minute: 54321", 1)
	k.addModels(t, model{id: id, upstream: "sim", speaks: "messages", more: few})
	entry := object(t, c.call(t, http.MethodGet, "/v1/models/"+id, "").body)
	if rpm, tpm := tokensAt(t, entry, "rate_limits", "rpm"), tokensAt(t, entry, "rate_limits", "tpm"); rpm != 7 || tpm != 54321 {
		t.Errorf("the list says %d requests and %d tokens", rpm, tpm)
	}
	if guide := c.call(t, http.MethodGet, "/v1/model/api.md?model="+id, ""); !strings.Contains(guide.body, "7 requests a minute, 54321 tokens a minute") {
		t.Errorf("the guide does not tell the limits: %.900s", guide.body)
	}
	page := c.signedIn(t).visit(t, "/console/models/"+id, nil)
	if page.status != http.StatusOK || !strings.Contains(page.body, "54,321") {
		t.Errorf("the page of the model does not tell the limits: %d", page.status)
	}
	left := int64(7)
	for _, p := range allProtocols() {
		_, a := p.answers(t, c, p.ask(id, "echo: x", p.bounded(50)))
		left--
		if a.header.Get("X-Ratelimit-Limit-Requests") != "7" || a.header.Get("X-Ratelimit-Remaining-Requests") != fmt.Sprint(left) ||
			a.header.Get("X-Ratelimit-Limit-Tokens") != "54321" || a.header.Get("X-Ratelimit-Reset-Requests") == "" {
			t.Errorf("%s: %v", p.style, a.header)
		}
	}
	for _, p := range newProtocols() {
		if a := c.call(t, http.MethodPost, p.count, p.ask(id, "x")); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", p.count, a.status, a.body)
		}
	}
	for _, p := range allProtocols() {
		answers := []answer{p.send(t, c, p.ask(id, "echo: over the limit")), p.send(t, c, p.ask(id, "echo: over the limit", `"stream":true`))}
		if p.count != "" {
			answers = append(answers, c.call(t, http.MethodPost, p.count, p.ask(id, "x")))
		}
		for _, a := range answers {
			if r := p.fails(t, a, "busy", "rate_limit_exceeded", ""); a.header.Get("Retry-After") == "" || !strings.Contains(r.message, "7 requests per minute") {
				t.Errorf("%s: %v %s", p.style, a.header, r.message)
			}
		}
	}
	if got := c.received(t, "over the limit"); got != "" {
		t.Errorf("a call beyond the limit was forwarded: %s", got)
	}
	protocols["messages"].answers(t, k.customer, protocols["messages"].ask(id, "echo: another account", `"max_tokens":50`))
}

// contractsDifferAndAreRead compares two models of each style by a member that only one takes: the contract routes say
// so, and so do the answers.
func contractsDifferAndAreRead(t *testing.T, k *checklist) {
	for _, c := range []struct{ style, member, written, takes, refuses string }{
		{"chat", "tools", `"tools":[` + lookUpTool + `]`, cheapModel, "meridian/atlas-nano"},
		{"messages", "thinking", `"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024}`, "quillon/folio-large", "quillon/folio-pocket"},
		{"responses", "temperature", `"temperature":0.5`, "tessera/grout", "tessera/mosaic"},
		{"native", "tools", nativeTools, "boreal/fjord-flash", "boreal/fjord-lite"},
	} {
		p := protocols[c.style]
		p.answers(t, k.customer, p.ask(c.takes, "echo: x", c.written))
		r := p.refusal(t, p.send(t, k.customer, p.ask(c.refuses, "echo: x", c.written)))
		if param, _, _ := strings.Cut(r.param, "."); param != c.member {
			t.Errorf("%s: %s is refused at %s", c.style, c.member, r.param)
		}
		contracts := map[string]string{}
		for _, id := range []string{c.takes, c.refuses} {
			document := object(t, k.call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "").body)
			ref := textAt(document, "paths", p.path, "post", "requestBody", "content", "application/json", "schema", "$ref")
			contracts[id] = written(t, at(drawing{document}.resolve(map[string]any{"$ref": ref}), "properties", c.member))
			if unsupported := strings.Contains(k.call(t, http.MethodGet, "/v1/model/api.md?model="+id, "").body, "Not supported by this model"); !unsupported && id == c.refuses {
				t.Errorf("the guide of %s does not say that it lacks something", id)
			}
		}
		if contracts[c.takes] == contracts[c.refuses] {
			t.Errorf("%s and %s publish the same of %s: %s", c.takes, c.refuses, c.member, contracts[c.takes])
		}
	}
}
