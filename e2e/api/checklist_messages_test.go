package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

const messagesTools = `"tools":[{"name":"look_up","input_schema":{"type":"object","properties":{}}}]`

var messagesLines = []checkLine{
	{"C65 POST v1 messages exists", exists("messages")},
	{"C66 a bearer authenticates and no vendor key header does", bearerAuthenticates},
	{"C67 vendorb-version is optional and forwarded upstream", forwardsHeader("vendorb-version", "anthropic-version", "2024-10-22", "2023-06-01")},
	{"C68 vendorb-beta is optional and forwarded upstream", forwardsHeader("vendorb-beta", "anthropic-beta", "one-2026-01-01,two-2026-02-02", "")},
	{"C69 model is a required string", namesModel("messages")},
	{"C70 messages is a required array of role and content", messagesConversation},
	{"C71 system is an optional string or array", member{
		style: "messages", param: "system", form: `"system":%s`,
		takes: []string{`"be brief"`, `[{"type":"text","text":"be brief"}]`}, wrong: []string{`7`, `{}`, `true`},
		carried: map[string]string{
			"chat": `{"role":"system","content":"be brief"}`, "responses": `"instructions":"be brief"`,
			"native": `"systemInstruction":{"parts":[{"text":"be brief"}]}`,
		},
	}.holds},
	{"C72 max_tokens is an optional integer that is filled in where an upstream needs it", messagesMaxTokens},
	{"C73 temperature is an optional number", member{
		style: "messages", param: "temperature", form: `"temperature":%s`,
		takes: []string{`0.25`, `0`, `1`}, wrong: []string{`"hot"`, `[1]`, `1.5`, `-1`},
		carried: map[string]string{"chat": `"temperature":0.25`, "responses": `"temperature":0.25`, "native": `"temperature":0.25`},
	}.holds},
	{"C74 top_p is an optional number", member{
		style: "messages", param: "top_p", form: `"top_p":%s`, takes: []string{`0.5`, `1`}, wrong: []string{`"x"`, `true`, `1.5`, `-0.1`},
		carried: map[string]string{"chat": `"top_p":0.5`, "responses": `"top_p":0.5`, "native": `"topP":0.5`},
	}.holds},
	{"C75 stream is an optional boolean that gives events of this style", streamFlag("messages")},
	{"C76 tools is an optional array", func(t *testing.T, k *checklist) {
		member{
			style: "messages", param: "tools", form: `"tools":%s`,
			takes: []string{`[{"name":"look_up","input_schema":{"type":"object","properties":{}}}]`, `[]`}, wrong: []string{`"x"`, `{}`, `7`},
			carried: map[string]string{
				"chat": `"function":{"name":"look_up"`, "responses": `{"type":"function","name":"look_up"`, "native": `"functionDeclarations":[{"name":"look_up"`,
			},
		}.holds(t, k)
		harness.Styles["messages"].CheckError(t, harness.Styles["messages"].Send(t, k.Customer, harness.Styles["messages"].Request("quillon/folio-large", "x", `"tools":["x"]`)),
			"invalid", "", "tools[0]")
	}},
	{"C77 tool_choice is an optional object or string", messagesToolChoice},
	{"C78 metadata is an optional object for the caller's own tracking", member{
		style: "messages", param: "metadata", form: `"metadata":%s`,
		takes: []string{`{"user_id":"` + endUserID + `"}`, `{"user_id":"` + endUserID + `","team":"red"}`, `{}`}, wrong: []string{`"x"`, `7`, `[]`},
		carried: map[string]string{"chat": `"` + endUserID + `"`, "responses": `"` + endUserID + `"`},
	}.holds},
	{"C79 the answer has an id", each("messages", func(t *testing.T, o map[string]any) { isText(t, o, "id") })},
	{"C80 the answer's type is message", each("messages", func(t *testing.T, o map[string]any) { is(t, o, "type", "message") })},
	{"C81 the answer's role is assistant", each("messages", func(t *testing.T, o map[string]any) { is(t, o, "role", "assistant") })},
	{"C82 the answer has content blocks with type and text", each("messages", func(t *testing.T, o map[string]any) {
		blocks, _ := o["content"].([]any)
		if len(blocks) != 1 || harness.TextMember(blocks[0], "type") != "text" || harness.TextMember(blocks[0], "text") != "one answer" {
			t.Errorf("the content is %v", o["content"])
		}
	})},
	{"C83 the answer has the model that was used", func(t *testing.T, k *checklist) {
		for _, id := range k.speaks {
			if s, _ := harness.Styles["messages"].Complete(t, k.Customer, harness.Styles["messages"].Request(id, "echo: x")); s.Model != id || lastModel(t, k.Customer) != id {
				t.Errorf("the answer names %s, the ledger %s, not %s", s.Model, lastModel(t, k.Customer), id)
			}
		}
	}},
	{"C84 the answer has a stop_reason", each("messages", func(t *testing.T, o map[string]any) { is(t, o, "stop_reason", "end_turn") })},
	{"C85 the answer's usage has input_tokens and output_tokens", each("messages", func(t *testing.T, o map[string]any) {
		usage, _ := o["usage"].(map[string]any)
		if harness.IntMember(t, usage, "input_tokens") < 3 || harness.IntMember(t, usage, "output_tokens") != 2 {
			t.Errorf("usage is %v", usage)
		}
	})},
	{"C86 six models are served on this route, and no other", identifiers("messages", 6)},
}

// bearerAuthenticates tries the key in every header but the right one. The aliases of the default catalog count only
// where there is no Authorization header.
func bearerAuthenticates(t *testing.T, k *checklist) {
	p := harness.Styles["messages"]
	body := p.Request(p.Model, "echo: x")
	p.Complete(t, k.Customer, body, "Authorization", "Bearer "+k.APIKey)
	p.Complete(t, k.Customer, body, "Authorization", "bearer "+k.APIKey)
	for _, headers := range [][]string{
		{"Authorization", "", "vendorb-key", k.APIKey},
		{"Authorization", "", "vendorb-api-key", k.APIKey},
		{"Authorization", "", "api-key", k.APIKey},
		{"Authorization", "Bearer sk-umg-wrong", "X-Api-Key", k.APIKey},
		{"Authorization", k.APIKey},
		{"Authorization", "Basic " + k.APIKey},
	} {
		p.CheckError(t, p.Send(t, k.Customer, body, headers...), "unauthenticated", "invalid_api_key", "")
	}
}

// upstreamCall is what a provider got of a call.
type upstreamCall struct {
	Path   string      `json:"path"`
	Query  string      `json:"query"`
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
}

// upstreamCalls lists the calls with the mark that providers got, in order.
func upstreamCalls(t *testing.T, g *harness.Gateway, mark string) []upstreamCall {
	t.Helper()
	var list struct {
		Requests []upstreamCall `json:"requests"`
	}
	text := g.CallSimulator(t, http.MethodGet, "/_control/requests", "")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return slices.DeleteFunc(list.Requests, func(c upstreamCall) bool { return !strings.Contains(c.Body, mark) })
}

// forwardsHeader sends a header in both spellings and in none: a provider of the style gets it unchanged under both,
// or the standard value where it must have one; providers of other styles get nothing.
func forwardsHeader(name, alias, value, standard string) func(*testing.T, *checklist) {
	return func(t *testing.T, k *checklist) {
		t.Helper()
		sent := func(style, id string, headers ...string) http.Header {
			t.Helper()
			p, mark := harness.Styles[style], harness.UniqueName("echo: headers")
			p.Complete(t, k.Customer, p.Request(id, mark), headers...)
			calls := upstreamCalls(t, k.Gateway, mark)
			if len(calls) != 1 {
				t.Fatalf("%d calls went upstream", len(calls))
			}
			return calls[0].Header
		}
		for _, id := range []string{harness.Styles["messages"].Model, k.speaks["messages"]} {
			for _, spelling := range []string{name, alias} {
				h := sent("messages", id, spelling, value)
				if got := append(h.Values(name), h.Values(alias)...); !slices.Equal(got, []string{value, value}) {
					t.Errorf("%s became %q", spelling, got)
				}
			}
			if got := sent("messages", id); got.Get(name) != standard || got.Get(alias) != standard {
				t.Errorf("without it the provider got %q and %q", got.Get(name), got.Get(alias))
			}
		}
		for upstream, id := range k.speaks {
			if h := sent("messages", id, name, value); upstream != "messages" && (h.Get(name) != "" || h.Get(alias) != "") {
				t.Errorf("a provider of the %s style got %v", upstream, h)
			}
		}
		for _, style := range []string{"chat", "responses", "native"} {
			if h := sent(style, k.speaks["messages"], name, value); h.Get(name) != standard {
				t.Errorf("a call of the %s style sent on %q", style, h.Get(name))
			}
		}
	}
}

func messagesConversation(t *testing.T, k *checklist) {
	p := harness.Styles["messages"]
	for _, conversation := range []string{
		`[{"role":"user","content":"echo: x"}]`,
		`[{"role":"user","content":[{"type":"text","text":"echo: x"}]}]`,
		`[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"echo: x"}]`,
		`[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"hello"}]},{"role":"user","content":"echo: x"}]`,
	} {
		for _, id := range append([]string{p.Model}, k.speaks["chat"], k.speaks["responses"], k.speaks["native"]) {
			if s, a := p.Complete(t, k.Customer, p.RequestWith(id, `"messages":`+conversation)); s.Text != "x" {
				t.Errorf("%s: %s is answered with %s", id, conversation, a.Body)
			}
		}
	}
	p.CheckError(t, p.Send(t, k.Customer, p.RequestWith(p.Model, `"max_tokens":9`)), "invalid", p.MissingCode(), "messages")
	for conversation, param := range map[string]string{
		`"x"`: "messages", `{}`: "messages", `null`: "messages", `[]`: "messages", `7`: "messages", `["x"]`: "messages[0]",
		`[{"content":"x"}]`: "messages[0].role", `[{"role":"robot","content":"x"}]`: "messages[0].role", `[{"role":7,"content":"x"}]`: "messages[0].role",
		`[{"role":"user"}]`: "messages[0].content", `[{"role":"user","content":7}]`: "messages[0].content",
		`[{"role":"user","content":null}]`:                               "messages[0].content",
		`[{"role":"user","content":[{"text":"x"}]}]`:                     "messages[0].content[0].type",
		`[{"role":"user","content":[{"type":"text"}]}]`:                  "messages[0].content[0].text",
		`[{"role":"user","content":"x"},{"role":"user","content":true}]`: "messages[1].content",
	} {
		p.CheckError(t, p.Send(t, k.Customer, p.RequestWith(p.Model, `"messages":`+conversation)), "invalid", "", param)
	}
}

func messagesMaxTokens(t *testing.T, k *checklist) {
	p := harness.Styles["messages"]
	member{
		style: "messages", param: "max_tokens", form: `"max_tokens":%s`, takes: []string{`64`}, wrong: []string{`"x"`, `1.5`, `0`, `-1`, `64001`},
		carried: map[string]string{"chat": `_tokens":64`, "responses": `"max_output_tokens":64`, "native": `"maxOutputTokens":64`},
	}.holds(t, k)
	for id, want := range map[string]string{p.Model: `"max_tokens":64000`, k.speaks["messages"]: `"max_tokens":16000`} {
		mark := harness.UniqueName("echo: filled in")
		p.Complete(t, k.Customer, p.Request(id, mark))
		if got := k.UpstreamBodies(t, mark); !strings.Contains(got, want) {
			t.Errorf("without max_tokens the provider of %s got %s", id, got)
		}
	}
	// An upstream of the messages style needs the header, in whatever style the client calls.
	for _, style := range []string{"chat", "responses", "native"} {
		mark := harness.UniqueName("echo: filled in")
		harness.Styles[style].Complete(t, k.Customer, harness.Styles[style].Request(k.speaks["messages"], mark))
		if got := k.UpstreamBodies(t, mark); !strings.Contains(got, `"max_tokens":16000`) {
			t.Errorf("for a call of the %s style the provider got %s", style, got)
		}
	}
}

func messagesToolChoice(t *testing.T, k *checklist) {
	p := harness.Styles["messages"]
	callsTool(t, k, "messages", messagesTools, `"tool_choice":%s`,
		[]string{`"any"`, `"required"`, `{"type":"any"}`, `{"type":"tool","name":"look_up"}`},
		`"type":"tool_use"`, `"name":"look_up"`, `"stop_reason":"tool_use"`)
	for _, choice := range []string{`"auto"`, `"none"`, `{"type":"auto"}`, `{"type":"none"}`, `null`} {
		for _, id := range append([]string{p.Model}, k.speaks["chat"], k.speaks["responses"], k.speaks["native"]) {
			if s, a := p.Complete(t, k.Customer, p.Request(id, "echo: x", messagesTools, `"tool_choice":`+choice)); s.Text != "x" {
				t.Errorf("%s: %s is answered with %s", id, choice, a.Body)
			}
		}
	}
	for _, choice := range []string{`7`, `"sometimes"`, `[]`, `true`} {
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", messagesTools, `"tool_choice":`+choice)), "invalid", p.InvalidCode(), "tool_choice")
	}
	p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", messagesTools, `"tool_choice":{"type":"tool"}`)), "invalid", p.MissingCode(), "tool_choice.name")
	mark := harness.UniqueName("the string form")
	p.Complete(t, k.Customer, p.Request(p.Model, mark, messagesTools, `"tool_choice":"any"`))
	if got := k.UpstreamBodies(t, mark); !strings.Contains(got, `"tool_choice":{"type":"any"}`) {
		t.Errorf("a provider that knows only the object got %s", got)
	}
}
