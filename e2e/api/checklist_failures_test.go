package api

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"umg/e2e/harness"
)

var failureLines = []checkLine{
	{"K227 messages, responses and native say that the model is missing in a JSON error object", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		rest := strings.TrimPrefix(p.Request("m", "x"), `{"model":"m",`)
		for _, body := range []string{`{}`, `{` + rest, `{"stream":true,` + rest, `{"model":null,` + rest} {
			if r := p.CheckError(t, p.Send(t, k.Customer, body), "invalid", p.MissingCode(), "model"); !strings.Contains(r.Message, "model") {
				t.Errorf("the message is %s", r.Message)
			}
		}
		p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, `{`+rest), "invalid", p.MissingCode(), "model")
	})},
	{"K228 messages, responses and native say that the model is invalid in a JSON error object", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		for _, id := range []string{"unknown/nothing", "boreal/drift:fast", p.UnservedModel, strings.ToUpper(p.Model), " " + p.Model} {
			p.CheckError(t, p.Send(t, k.Customer, p.Request(id, "x")), "not found", "model_not_found", "model")
			p.CheckError(t, p.Send(t, k.Customer, p.Request(id, "x", `"stream":true`)), "not found", "model_not_found", "model")
			p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, p.Request(id, "x")), "not found", "model_not_found", "model")
		}
		rest := strings.TrimPrefix(p.Request("m", "x"), `{"model":"m",`)
		for _, m := range []string{`""`, `7`, `[]`, `{"id":"x"}`} {
			p.CheckError(t, p.Send(t, k.Customer, `{"model":`+m+`,`+rest), "invalid", p.InvalidCode(), "model")
		}
	})},
	{"K229 messages, responses and native say that the JSON is invalid in a JSON error object", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		right := p.Request(p.Model, "x")
		for _, body := range []string{
			``, ` `, `{`, `{"model":"a",`, `not json`, right + `]`, right + right, strings.Replace(right, `"x"`, "\"\xff\"", 1), `{'model':'a'}`,
			right[:len(right)-1] + `,}`, strings.Replace(right, `"x"`, `"\ud800"`, 1),
		} {
			p.CheckError(t, p.Send(t, k.Customer, body), "invalid", "invalid_json", "")
		}
		for _, body := range []string{`[1]`, `"x"`, `7`, `null`} {
			if r := p.CheckError(t, p.Send(t, k.Customer, body), "invalid", "", ""); !strings.Contains(r.Message, "object") {
				t.Errorf("%s: %s", body, r.Message)
			}
		}
	})},
	{"K230 messages, responses and native say that authentication failed in a JSON error object", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		for _, path := range []string{p.Path, p.CountPath} {
			for _, headers := range [][]string{{"Authorization", ""}, harness.BearerHeader("sk-umg-nonsense"), {"Authorization", "Basic " + k.APIKey}} {
				a := k.Call(t, http.MethodPost, path, p.Request(p.Model, "x"), headers...)
				p.CheckError(t, a, "unauthenticated", "invalid_api_key", "")
				if a.Header.Get("Www-Authenticate") != "Bearer" {
					t.Errorf("WWW-Authenticate is %q", a.Header.Get("Www-Authenticate"))
				}
			}
		}
	})},
	{"K231 messages, responses and native say that the upstream failed in a JSON error object", newStyles(upstreamFailures)},
	{"deviation N21 messages, responses and native have true statuses whatever the key or a header says of chat", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		for _, mode := range []string{"documented", "standard", ""} {
			p.CheckError(t, k.Call(t, http.MethodPost, p.Path, p.Request("unknown/nothing", "x", `"stream":true`), "X-Error-Status", mode), "not found", "model_not_found", "model")
		}
	})},
	{"deviation D4 the cost in the usage of every style is the figure that is billed", costsAreBilled},
	{"deviation D16 content may be null beside tool calls and nowhere else", nullContent},
	{"deviation D18 bodies that are too large or of another kind have a layout too", newStyles(func(t *testing.T, k *checklist, p harness.Style) {
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, strings.Repeat("x", 33<<20))), "large", "request_too_large", "")
		p.CheckError(t, k.Call(t, http.MethodPost, p.CountPath, p.Request(p.Model, "x"), "Content-Type", "text/plain"), "media", "unsupported_media_type", "")
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
func newStyles(holds func(t *testing.T, k *checklist, p harness.Style)) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		for _, p := range harness.StylesWithStatuses() {
			t.Run(p.Name, func(t *testing.T) { holds(t, k, p) })
		}
	}
}

// upstreamFailures are told in the layout of the route, with the status of the kind, whatever the upstream speaks and
// whether a stream was asked for, and cost nothing.
func upstreamFailures(t *testing.T, k *checklist, p harness.Style) {
	t.Parallel()
	c := k.NewCustomer(t, "upstream-failure")
	before := c.SettledBalance(t, c.AccountID)
	kinds := []struct{ does, as, code string }{
		{"status=500", "upstream", "upstream_error"}, {"reset", "upstream", "upstream_error"}, {"html", "upstream", "upstream_error"},
		{"stall", "timeout", "upstream_timeout"}, {"auth", "unavailable", "no_available_provider"}, {"status=422", "refused", ""},
		{"status=429;retry-after=20", "busy", "rate_limit_exceeded"}, {"error-in-200", "upstream", "upstream_error"},
	}
	for _, kind := range kinds {
		prompt := "simulate: " + kind.does + "\necho: x"
		for upstream, id := range k.speaks {
			if kind.does != "status=500" && kind.does != "status=422" && upstream != p.Name {
				// The other models differ in what the simulated upstream does, and not in its style.
				continue
			}
			for _, members := range [][]string{nil, {`"stream":true`}} {
				a := p.Send(t, c, p.Request(id, prompt, members...))
				r := p.CheckError(t, a, kind.as, kind.code, "")
				for _, secret := range []string{"sim-", "127.0.0.1", "simulate"} {
					if strings.Contains(r.Message, secret) {
						t.Errorf("the message tells of the upstream: %s", r.Message)
					}
				}
				if retry := a.Header.Get("Retry-After"); kind.as == "busy" && retry == "" {
					t.Errorf("no time for another try: %v", a.Header)
				}
			}
		}
	}
	lost := harness.UniqueName("test/lost")
	k.AddModels(t, harness.Model{ID: lost, UpstreamModel: "sim", Provider: "test-lost", Extra: harness.EveryStyle})
	p.CheckError(t, p.Send(t, c, p.Request(lost, "x")), "unavailable", "no_available_provider", "")
	paused := harness.UniqueName("test/paused")
	k.AddModels(t, harness.Model{ID: paused, UpstreamModel: "sim", Paused: true, Extra: harness.EveryStyle})
	p.CheckError(t, p.Send(t, c, p.Request(paused, "x")), "unavailable", "model_temporarily_unavailable", "model")
	if after := c.SettledBalance(t, c.AccountID); after != before {
		t.Errorf("failures cost something: %+v, then %+v", before, after)
	}
}

// costsAreBilled compares the cost that every pair of styles shows, whole and streamed, with the ledger and the balance.
func costsAreBilled(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "costs")
	before := c.SettledBalance(t, c.AccountID)
	var shown int64
	for _, p := range harness.AllStyles() {
		for upstream, id := range k.speaks {
			s, a := p.Complete(t, c, p.Request(id, "count to 9"))
			streamed := p.Send(t, c, p.Request(id, "count to 9", `"stream":true`, p.IncludeUsage()))
			costs := costPattern.FindAllStringSubmatch(streamed.Body, -1)
			if len(costs) != 1 {
				t.Fatalf("%s from %s: the stream tells the costs %v: %s", p.Name, upstream, costs, streamed.Body)
			}
			for id, cost := range map[string]string{a.Header.Get("X-Request-Id"): s.Cost, streamed.Header.Get("X-Request-Id"): costs[0][1]} {
				shown += harness.Nanos(t, cost)
				if r := c.UsageRecord(t, id); r.Cost != harness.Nanos(t, cost) || r.Cost == 0 || r.Estimated || r.Output != 9 {
					t.Errorf("%s from %s: shown %s, recorded %+v", p.Name, upstream, cost, r)
				}
			}
		}
	}
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown || after.Held != 0 {
		t.Errorf("shown %d; the balance was %+v and is %+v", shown, before, after)
	}
}

func nullContent(t *testing.T, k *checklist) {
	calls := `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	result := `{"role":"tool","tool_call_id":"call_1","content":"done"}`
	for _, content := range []string{`"content":null,`, ``} {
		for _, id := range k.speaks {
			body := harness.Styles["chat"].RequestWith(id, `"messages":[{"role":"user","content":"hi"},{"role":"assistant",`+content+calls+`},`+result+`]`)
			if s, a := harness.Styles["chat"].Complete(t, k.Customer, body); !strings.Contains(s.Text, "done") {
				t.Errorf("%s: %s", id, a.Body)
			}
		}
	}
	for _, content := range []string{``, `,"content":null`} {
		body := withMessages(`[{"role":"user","content":"hi"},{"role":"assistant"` + content + `},{"role":"user","content":"x"}]`)
		requireRefusal(t, k.Customer, body, 400, "invalid_request_error", "messages[1].content")
	}
}

// concurrencyOfAllStyles lets an upstream hold as many calls as an account may have at once, of all styles together.
// One more is refused in every style; another account is not concerned.
func concurrencyOfAllStyles(t *testing.T, k *checklist) {
	const limit = 16
	c := k.NewCustomer(t, "all-styles")
	ctx, cancel := context.WithTimeout(t.Context(), harness.CallTimeMax)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer c.CallSimulator(t, "POST", "/_control/release", "")
	for i := range limit {
		p := harness.AllStyles()[i%4]
		all.Go(func() {
			body := p.Request(k.speaks[harness.AllStyles()[i/4].Name], "simulate: hold\necho: held", `"stream":`+fmt.Sprint(i%3 == 0))
			if a, err := c.TryCall(ctx, http.MethodPost, p.Path, body); err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "held") {
				t.Errorf("call %d: %v %d %s", i, err, a.Status, a.Body)
			}
		})
	}
	c.CallSimulator(t, "GET", fmt.Sprint("/_control/waiting?timeout=20s&at_least=", limit), "")
	for _, p := range harness.AllStyles() {
		a := p.Send(t, c, p.Request(p.Model, "echo: beyond the limit", `"stream":true`))
		r := p.CheckError(t, a, "busy", "max_concurrency_exceeded", "")
		if !strings.Contains(r.Message, fmt.Sprint(limit)) || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %s", p.Name, a.Header, r.Message)
		}
		p.Complete(t, k.Customer, p.Request(p.Model, "echo: another account"))
	}
	if got := c.UpstreamBodies(t, "beyond the limit"); got != "" {
		t.Errorf("a call beyond the limit was forwarded: %s", got)
	}
}

// modelLimits uses up what a model allows in a minute, by calls of all styles together and by counts.
func modelLimits(t *testing.T, k *checklist) {
	c := k.NewCustomer(t, "limited")
	id, few := harness.UniqueName("test/limited"), strings.Replace(harness.EveryStyle, "requests_per_minute: 100000, tokens_per_minute: 100000000", "requests_per_minute: 7, tokens_per_minute: 54321", 1)
	k.AddModels(t, harness.Model{ID: id, UpstreamModel: "sim", Style: "messages", Extra: few})
	entry := harness.DecodeObject(t, c.Call(t, http.MethodGet, "/v1/models/"+id, "").Body)
	if rpm, tpm := harness.TokensMember(t, entry, "rate_limits", "rpm"), harness.TokensMember(t, entry, "rate_limits", "tpm"); rpm != 7 || tpm != 54321 {
		t.Errorf("the list says %d requests and %d tokens", rpm, tpm)
	}
	if guide := c.Call(t, http.MethodGet, "/v1/model/api.md?model="+id, ""); !strings.Contains(guide.Body, "7 requests a minute, 54321 tokens a minute") {
		t.Errorf("the guide does not tell the limits: %.900s", guide.Body)
	}
	page := c.SignInToConsole(t).Visit(t, "/console/models/"+id, nil)
	if page.Status != http.StatusOK || !strings.Contains(page.Body, "54,321") {
		t.Errorf("the page of the model does not tell the limits: %d", page.Status)
	}
	left := int64(7)
	for _, p := range harness.AllStyles() {
		_, a := p.Complete(t, c, p.Request(id, "echo: x", p.OutputLimit(50)))
		left--
		if a.Header.Get("X-Ratelimit-Limit-Requests") != "7" || a.Header.Get("X-Ratelimit-Remaining-Requests") != fmt.Sprint(left) ||
			a.Header.Get("X-Ratelimit-Limit-Tokens") != "54321" || a.Header.Get("X-Ratelimit-Reset-Requests") == "" {
			t.Errorf("%s: %v", p.Name, a.Header)
		}
	}
	for _, p := range harness.StylesWithStatuses() {
		if a := c.Call(t, http.MethodPost, p.CountPath, p.Request(id, "x")); a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", p.CountPath, a.Status, a.Body)
		}
	}
	for _, p := range harness.AllStyles() {
		answers := []harness.Response{p.Send(t, c, p.Request(id, "echo: over the limit")), p.Send(t, c, p.Request(id, "echo: over the limit", `"stream":true`))}
		if p.CountPath != "" {
			answers = append(answers, c.Call(t, http.MethodPost, p.CountPath, p.Request(id, "x")))
		}
		for _, a := range answers {
			if r := p.CheckError(t, a, "busy", "rate_limit_exceeded", ""); a.Header.Get("Retry-After") == "" || !strings.Contains(r.Message, "7 requests per minute") {
				t.Errorf("%s: %v %s", p.Name, a.Header, r.Message)
			}
		}
	}
	if got := c.UpstreamBodies(t, "over the limit"); got != "" {
		t.Errorf("a call beyond the limit was forwarded: %s", got)
	}
	harness.Styles["messages"].Complete(t, k.Customer, harness.Styles["messages"].Request(id, "echo: another account", `"max_tokens":50`))
}

// contractsDifferAndAreRead compares two models of each style by a member that only one takes: the contract routes say
// so, and so do the answers.
func contractsDifferAndAreRead(t *testing.T, k *checklist) {
	for _, c := range []struct{ style, member, written, takes, refuses string }{
		{"chat", "tools", `"tools":[` + lookUpTool + `]`, harness.CheapModel, "meridian/atlas-nano"},
		{"messages", "thinking", `"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024}`, "quillon/folio-large", "quillon/folio-pocket"},
		{"responses", "temperature", `"temperature":0.5`, "tessera/grout", "tessera/mosaic"},
		{"native", "tools", nativeTools, "boreal/fjord-flash", "boreal/fjord-lite"},
	} {
		p := harness.Styles[c.style]
		p.Complete(t, k.Customer, p.Request(c.takes, "echo: x", c.written))
		r := p.ReadError(t, p.Send(t, k.Customer, p.Request(c.refuses, "echo: x", c.written)))
		if param, _, _ := strings.Cut(r.Param, "."); param != c.member {
			t.Errorf("%s: %s is refused at %s", c.style, c.member, r.Param)
		}
		contracts := map[string]string{}
		for _, id := range []string{c.takes, c.refuses} {
			document := harness.DecodeObject(t, k.Call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "").Body)
			ref := harness.TextMember(document, "paths", p.Path, "post", "requestBody", "content", "application/json", "schema", "$ref")
			contracts[id] = harness.EncodeJSON(t, harness.Member(harness.SchemaBodies{Document: document}.Resolve(map[string]any{"$ref": ref}), "properties", c.member))
			if unsupported := strings.Contains(k.Call(t, http.MethodGet, "/v1/model/api.md?model="+id, "").Body, "Not supported by this model"); !unsupported && id == c.refuses {
				t.Errorf("the guide of %s does not say that it lacks something", id)
			}
		}
		if contracts[c.takes] == contracts[c.refuses] {
			t.Errorf("%s and %s publish the same of %s: %s", c.takes, c.refuses, c.member, contracts[c.takes])
		}
	}
}
