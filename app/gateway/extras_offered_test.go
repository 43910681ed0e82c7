package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
)

// offering are models whose prices cover what their providers do beside answering.
const offering = `
  - {id: test/offering-chat, OFFERING [{provider: alpha, model: up-offering, style: chat}]}
  - {id: test/offering-messages, OFFERING [{provider: alpha, model: up-offering, style: messages}]}
  - {id: test/offering-responses, OFFERING [{provider: alpha, model: up-offering, style: responses}]}
  - {id: test/offering-native, OFFERING [{provider: alpha, model: up-offering, style: native}]}
  - {id: test/offering-both, OFFERING [{provider: alpha, model: up-offering, style: chat, order: 1}, {provider: beta, model: up-offering, style: messages, order: 2}]}
`

const offeringTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text, image, file], output: [text], hedge: false,
     context_tokens: 128000, max_output_tokens: 4096, parameters: [temperature, tools, tool_choice, service_tier, web_search],
     rates: {input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3.75 per 1M, cache_write_1h_tokens: 6 per 1M,
     output_tokens: 15 per 1M, web_searches: 10 per 1K, web_search_previews: 25 per 1K, web_fetches: 0 per 1K, grounded_prompts: 35 per 1K,
     grounded_queries: 14 per 1K, code_sessions: 0 per 1K},
     conditions: [{service_tier: flex, times: 0.5}, {service_tier: priority, times: 2}, {region: us, times: 1.1}, {speed: fast, times: 6}],
     limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, released: 2026-01-01, routes:`

// extraRows is the table of extras as the program gives it to the catalog.
func extraRows(style llm.Style) (list []catalog.Extra) {
	for _, row := range dialect.Extras(style) {
		list = append(list, catalog.Extra{
			What: row.What, At: row.At, Refused: row.Rule == dialect.ExtraRefused, Free: row.Free, Advice: row.Advice(),
			Limited: len(row.Types)+len(row.Except)+len(row.Only)+len(row.Unless) > 0, Words: slices.Concat(row.Types, row.Only),
			By: row.By, Meters: row.Meters, Terms: row.Terms, NoFee: row.NoFee,
		})
	}
	return list
}

// offeredCase is a request for an extra that the model offers, and what a provider reports for it.
type offeredCase struct {
	row     string // Row is the place in the table, with the first type or value of the row.
	members string
	sent    string // Sent is what the upstream must get.
	dropped string // Dropped is how a translation lists the extra; empty for a refused one.
	refused string // Refused is the field that the error names.
	answer  string // Answer has members of the provider's answer beside the usage.
	usage   string // Usage has members of the usage.
	counts  map[meter.Meter]int64
	terms   meter.Terms
}

// plainUsage is what every answer reports, as members of the usage of its style.
var plainUsage = map[llm.Style]string{
	llm.Chat:      `"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050`,
	llm.Messages:  `"input_tokens":1000,"output_tokens":50`,
	llm.Responses: `"input_tokens":1000,"output_tokens":50,"total_tokens":1050`,
	llm.Native:    `"promptTokenCount":1000,"candidatesTokenCount":50,"totalTokenCount":1050`,
}

var offeredCases = map[llm.Style][]offeredCase{
	llm.Chat: {
		{row: "service_tier flex", members: `"service_tier":"flex"`, sent: `"service_tier":"flex"`, dropped: "service_tier",
			answer: `"service_tier":"flex"`, terms: meter.Terms{ServiceTier: "flex"}},
		{row: "service_tier priority", members: `"service_tier":"priority"`, sent: `"service_tier":"priority"`, dropped: "service_tier",
			answer: `"service_tier":"default"`}, // It is charged by the tier that served it.
	},
	llm.Messages: {
		{row: "tools[] web_search_#", members: `"tools":[` + toolOfMessages + `,{"type":"web_search_20250305","name":"web_search"}]`,
			sent: `{"max_uses":5,"type":"web_search_20250305","name":"web_search"}`, dropped: "tools[1] (web_search_20250305)",
			usage: `"server_tool_use":{"web_search_requests":3}`, counts: map[meter.Meter]int64{meter.WebSearches: 3}},
		{row: "tools[] web_search_#", members: `"tools":[{"type":"web_search_20260318","name":"web_search","max_uses":2}],"tool_choice":{"type":"tool","name":"web_search"}`,
			sent: `{"type":"web_search_20260318","name":"web_search","max_uses":2}`, refused: "tools[0]",
			usage: `"server_tool_use":{"web_search_requests":1}`, counts: map[meter.Meter]int64{meter.WebSearches: 1}},
		{row: "tools[] web_fetch_#", members: `"tools":[` + toolOfMessages + `,{"type":"web_fetch_20250910","name":"web_fetch"}]`,
			sent: `{"max_uses":5,"max_content_tokens":25000,"type":"web_fetch_20250910","name":"web_fetch"}`, dropped: "tools[1] (web_fetch_20250910)",
			usage: `"server_tool_use":{"web_fetch_requests":2}`, counts: map[meter.Meter]int64{meter.WebFetches: 2}},
		hourCase("cache_control.ttl", `"cache_control":{"type":"ephemeral","ttl":"1h"}`),
		hourCase("system[].cache_control.ttl", `"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]`),
		hourCase("tools[].cache_control.ttl", `"tools":[{"name":"own","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}]`),
		hourCase("messages[].content[].cache_control.ttl", `"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`),
		hourCase("messages[].content[].content[].cache_control.ttl", `"messages":[`+callOfOwn+`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1",`+
			`"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}]`),
		hourCase("messages[].content[].source.content[].cache_control.ttl", `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",`+
			`"content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}}]}]`),
		{row: "service_tier auto", members: `"service_tier":"auto"`, sent: `"service_tier":"auto"`, dropped: "service_tier",
			usage: `"service_tier":"priority"`, terms: meter.Terms{ServiceTier: "priority"}},
		{row: "inference_geo us", members: `"inference_geo":"us"`, sent: `"inference_geo":"us"`, refused: "inference_geo",
			usage: `"inference_geo":"us"`, terms: meter.Terms{Region: "us"}},
		{row: "speed fast", members: `"speed":"fast"`, sent: `"speed":"fast"`, refused: "speed", usage: `"speed":"fast"`, terms: meter.Terms{Speed: "fast"}},
	},
	llm.Responses: {
		{row: "service_tier flex", members: `"service_tier":"flex"`, sent: `"service_tier":"flex"`, dropped: "service_tier",
			answer: `"service_tier":"flex"`, terms: meter.Terms{ServiceTier: "flex"}},
		{row: "service_tier priority", members: `"service_tier":"priority"`, sent: `"service_tier":"priority"`, dropped: "service_tier",
			answer: `"service_tier":"priority"`, terms: meter.Terms{ServiceTier: "priority"}},
		{row: "tools[] web_search", members: `"tools":[` + functionOfResponses + `,{"type":"web_search"}]`, sent: `"max_tool_calls":5`, dropped: "tools[1] (web_search)",
			answer: twoSearches("web_search"), counts: map[meter.Meter]int64{meter.WebSearches: 2}},
		{row: "tool_choice web_search", members: `"tools":[{"type":"web_search_2025_08_26"}],"tool_choice":{"type":"web_search"}`, sent: `"tool_choice":{"type":"web_search"}`,
			refused: "tool_choice.type", answer: twoSearches("web_search"), counts: map[meter.Meter]int64{meter.WebSearches: 2}},
		{row: "tool_choice.tools[] web_search", members: `"max_tool_calls":3,"tools":[` + functionOfResponses + `,{"type":"web_search"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[` +
			functionOfResponses + `,{"type":"web_search"}]}`, sent: `"max_tool_calls":3`, dropped: "tool_choice.tools[1] (web_search)",
			answer: twoSearches("web_search"), counts: map[meter.Meter]int64{meter.WebSearches: 2}},
		{row: "tools[] web_search_preview", members: `"tools":[` + functionOfResponses + `,{"type":"web_search_preview"}]`, sent: `"type":"web_search_preview"`,
			dropped: "tools[1] (web_search_preview)", answer: twoSearches("web_search_preview"), counts: map[meter.Meter]int64{meter.WebSearchPreviews: 2}},
		{row: "tool_choice web_search_preview", members: `"tools":[{"type":"web_search_preview"}],"tool_choice":{"type":"web_search_preview"}`, sent: `"max_tool_calls":5`,
			refused: "tool_choice.type", answer: twoSearches("web_search_preview"), counts: map[meter.Meter]int64{meter.WebSearchPreviews: 2}},
		{row: "tool_choice.tools[] web_search_preview", members: `"tools":[` + functionOfResponses + `,{"type":"web_search_preview"}],"tool_choice":{"type":"allowed_tools","mode":"auto",` +
			`"tools":[` + functionOfResponses + `,{"type":"web_search_preview"}]}`, sent: `"max_tool_calls":5`, dropped: "tool_choice.tools[1] (web_search_preview)",
			answer: twoSearches("web_search_preview"), counts: map[meter.Meter]int64{meter.WebSearchPreviews: 2}},
	},
	llm.Native: {
		{row: "tools[].googleSearch", members: `"tools":[` + functionsOfNative + `,{"googleSearch":{}}]`, sent: `{"googleSearch":{}}`, dropped: "tools[1].googleSearch",
			answer: `"groundingMetadata":{"webSearchQueries":["a","b"]}`, counts: map[meter.Meter]int64{meter.GroundedPrompts: 1, meter.GroundedQueries: 2}},
		{row: "tools[].googleSearch", members: `"tools":[{"google_search":{}}]`, sent: `{"google_search":{}}`, refused: "tools[0].google_search",
			answer: `"groundingMetadata":{"webSearchQueries":["a"]}`, counts: map[meter.Meter]int64{meter.GroundedPrompts: 1, meter.GroundedQueries: 1}},
		{row: "tools[].googleSearchRetrieval", members: `"tools":[` + functionsOfNative + `,{"googleSearchRetrieval":{}}]`, sent: `googleSearchRetrieval`,
			dropped: "tools[1].googleSearchRetrieval", answer: `"groundingMetadata":{"webSearchQueries":["a"]}`,
			counts: map[meter.Meter]int64{meter.GroundedPrompts: 1, meter.GroundedQueries: 1}},
		{row: "tools[].urlContext", members: `"tools":[` + functionsOfNative + `,{"urlContext":{}}]`, sent: `{"urlContext":{}}`, dropped: "tools[1].urlContext",
			usage: `"toolUsePromptTokenCount":500`, counts: map[meter.Meter]int64{meter.InputTokens: 500}},
		{row: "tools[].codeExecution", members: `"tools":[` + functionsOfNative + `,{"codeExecution":{}}]`, sent: `{"codeExecution":{}}`, dropped: "tools[1].codeExecution",
			usage: `"toolUsePromptTokenCount":700`, counts: map[meter.Meter]int64{meter.InputTokens: 700}},
		{row: "serviceTier flex", members: `"serviceTier":"flex"`, sent: `"serviceTier":"flex"`, dropped: "serviceTier",
			usage: `"serviceTier":"flex"`, terms: meter.Terms{ServiceTier: "flex"}},
		{row: "serviceTier priority", members: `"service_tier":"PRIORITY"`, sent: `"service_tier":"PRIORITY"`, dropped: "service_tier",
			usage: `"trafficType":"ON_DEMAND_PRIORITY"`, terms: meter.Terms{ServiceTier: "priority"}},
	},
}

// hourCase is a request for a cache that lasts an hour.
func hourCase(row, members string) offeredCase {
	return offeredCase{row: row + " 1h", members: members, sent: `"ttl":"1h"`, dropped: "cache_control.ttl",
		usage:  `"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":100}`,
		counts: map[meter.Meter]int64{meter.CacheWriteHourTokens: 100}}
}

// twoSearches are the members of an answer with two searches and the opening of a page, which costs nothing.
func twoSearches(kind string) string {
	call := func(id, action string) string {
		return `{"type":"web_search_call","id":"ws_` + id + `","status":"completed","action":{"type":"` + action + `"}}`
	}
	return `"tools":[{"type":"` + kind + `"}],"output":[` + call("1", "search") + `,` + call("2", "open_page") + `,` + call("3", "search") + `,` + textOfResponses + `]`
}

const textOfResponses = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Here it is, all of it.","annotations":[]}]}`

// scripted is an upstream that answers in one style with the members that a case has.
type scripted struct {
	style  llm.Style
	c      offeredCase
	mu     sync.Mutex
	bodies []string
}

func (p *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.bodies = append(p.bodies, string(raw))
	p.mu.Unlock()
	usage := plainUsage[p.style]
	if p.c.usage != "" {
		usage += "," + p.c.usage
	}
	stream := strings.Contains(string(raw), `"stream":true`) || strings.Contains(r.URL.Path, "streamGenerateContent")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, p.text(usage, stream))
}

// text is the answer, as JSON or as a stream.
func (p *scripted) text(usage string, stream bool) string {
	rest := ""
	if p.c.answer != "" {
		rest = "," + p.c.answer
	}
	const said = "Here it is, all of it."
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	switch p.style {
	case llm.Chat:
		if !stream {
			return `{"id":"c","object":"chat.completion","created":1,"model":"m"` + rest + `,"choices":[{"index":0,"message":{"role":"assistant","content":"` + said +
				`"},"finish_reason":"stop"}],"usage":{` + usage + `}}`
		}
		chunk := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m"` + rest
		return chunk + `,"choices":[{"index":0,"delta":{"role":"assistant","content":"` + said + `"},"finish_reason":null}]}` + "\n\n" +
			chunk + `,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + chunk + `,"choices":[],"usage":{` + usage + "}}\n\ndata: [DONE]\n\n"
	case llm.Messages:
		const head = `"id":"msg_1","type":"message","role":"assistant","model":"m","stop_sequence":null`
		if !stream {
			return `{` + head + `,"content":[{"type":"text","text":"` + said + `"}],"stop_reason":"end_turn","usage":{` + usage + `}}`
		}
		return event("message_start", `{"type":"message_start","message":{`+head+`,"content":[],"stop_reason":null,"usage":{"input_tokens":1000,"output_tokens":1}}}`) +
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+said+`"}}`) +
			event("content_block_stop", `{"type":"content_block_stop","index":0}`) +
			event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{`+usage+`}}`) +
			event("message_stop", `{"type":"message_stop"}`)
	case llm.Responses:
		if !strings.Contains(rest, `"output"`) {
			rest += `,"output":[` + textOfResponses + `]`
		}
		whole := `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed"` + rest + `,"usage":{` + usage + `}}`
		if !stream {
			return whole
		}
		const begun = `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}`
		return event("response.created", `{"type":"response.created","sequence_number":0,"response":`+begun+`}`) +
			event("response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"`+said+`"}`) +
			event("response.completed", `{"type":"response.completed","sequence_number":2,"response":`+whole+`}`)
	default:
		whole := `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"` + said + `"}]},"finishReason":"STOP"` + rest + `}],"usageMetadata":{` + usage + `}}`
		if stream {
			return "data: " + whole + "\n\n"
		}
		return whole
	}
}

// TestPricedExtrasAreServedAndCharged makes calls for every row of the table that a model can offer: to a provider of the same style,
// which gets it and whose answer is charged, as JSON and as a stream; and to one of another style, which never gets it.
func TestPricedExtrasAreServedAndCharged(t *testing.T) {
	t.Parallel()
	for style, cases := range offeredCases {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			b := setup(t, 100*app.Dollar)
			o := b.options
			o.Balance = b.ledger.Balance
			b.gateway = gateway.New(o)
			others := slices.DeleteFunc(llm.Styles(), func(s llm.Style) bool { return s == style })
			for i, c := range cases {
				b.chargesFor(t, style, c, false)
				b.chargesFor(t, style, c, true)
				u := &tape{next: b.sim}
				b.answerWith(u)
				b.asksFor(t, u, style, others[i%len(others)], "test/offering-",
					extraCase{members: c.members, dropped: c.dropped, refused: c.refused, never: c.sent}, i%2 == 0)
			}
		})
	}
}

func (b *bench) chargesFor(t *testing.T, style llm.Style, c offeredCase, stream bool) {
	t.Helper()
	name := fmt.Sprintf("%s, stream %t: %s", style, stream, c.members)
	p := &scripted{style: style, c: c}
	b.answerWith(p)
	id := "test/offering-" + string(style)
	call := gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style,
		Headers: http.Header{"Vendorb-Beta": {"extended-cache-ttl-2025-04-11,fast-mode-2026-02-01,compact-2026-01-12"}},
		Body:    extraCase{members: c.members}.body(style, id, stream),
	}
	quote, err := b.gateway.Quote(t.Context(), call)
	if err != nil {
		t.Errorf("%s\nquote: %v", name, err)
		return
	}
	r, s, err := b.generate(call)
	if err != nil {
		t.Errorf("%s\nrefused: %v", name, err)
		return
	}
	if len(p.bodies) != 1 || !strings.Contains(p.bodies[0], c.sent) {
		t.Errorf("%s\nthe upstream got %s, want %s", name, p.bodies, c.sent)
	}
	if list := s.header.Get("X-Gateway-Dropped"); strings.ReplaceAll(list, "vendorb-beta (compact-2026-01-12)", "") != "" {
		t.Errorf("%s\nlisted as dropped: %q", name, list)
	}
	m, _ := b.catalog.Snapshot().Model(id)
	counts := meter.Counts{meter.InputTokens: 1000, meter.OutputTokens: 50, meter.Requests: 1}
	for one, n := range c.counts {
		counts[one] += n
	}
	want, err := m.RateCard.Cost(counts, c.terms)
	must(t, err)
	if r.Cost != want || r.Usage != counts || r.Estimated {
		t.Errorf("%s\ncharged %s for %v, want %s for %v", name, r.Cost, r.Usage, want, counts)
	}
	// The answers about caches report more input than these small requests have, so only other quotes are bounds.
	if quote.Most < want && c.counts[meter.CacheWriteHourTokens] == 0 {
		t.Errorf("%s\ncosts %s, and the quote said at most %s", name, want, quote.Most)
	}
	for _, fee := range quote.Fees {
		if n := c.counts[fee.Meter]; fee.Count < n {
			t.Errorf("%s\ncounted %d %s, and the quote said at most %d", name, n, fee.Meter, fee.Count)
		}
	}
}

// TestEveryOfferableExtraHasACase fails for a row that the default readers serve and no case asks for.
func TestEveryOfferableExtraHasACase(t *testing.T) {
	t.Parallel()
	readers := map[llm.Style]string{llm.Chat: "openai", llm.Messages: "anthropic", llm.Responses: "openai", llm.Native: "gemini"}
	for _, style := range llm.Styles() {
		for _, row := range dialect.Extras(style) {
			if !slices.Contains(row.By, readers[style]) {
				continue
			}
			name := strings.TrimSpace(row.At + " " + strings.Join(slices.Concat(row.Types, row.Only)[:min(1, len(row.Types)+len(row.Only))], ""))
			if !slices.ContainsFunc(offeredCases[style], func(c offeredCase) bool { return c.row == name }) {
				t.Errorf("%s: no case asks for %s", style, name)
			}
		}
	}
}

// TestWhatIsOfferedElsewhereNamesTheModels asks models for what only others offer.
func TestWhatIsOfferedElsewhereNamesTheModels(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for members, param := range map[string]string{
		`"tools":[{"type":"web_search_20250305","name":"web_search"}]`: "tools[0]",
		`"speed":"fast"`:       "speed",
		`"inference_geo":"us"`: "inference_geo",
		`"tools":[` + toolOfMessages + `,{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}`: "tool_choice",
	} {
		call := gateway.Call{
			ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Messages,
			Body: extraCase{members: members}.body(llm.Messages, "test/generous-messages", false),
		}
		_, _, err := b.generate(call)
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != param || !strings.Contains(e.Message, "Models that offer it: test/offering-messages, test/offering-both.") {
			t.Errorf("%s: %v", members, err)
		}
		call.Principal.Models = []string{"test/generous-messages"}
		_, _, err = b.generate(call)
		if e := app.AsError(err); e == nil || e.Param != param || strings.Contains(e.Message, "test/offering") {
			t.Errorf("%s, with a key that may use no other model: %v", members, err)
		}
	}
}

// TestForeignObjectsStayForeign names objects of a provider in the calls of two accounts to models that offer what they can.
func TestForeignObjectsStayForeign(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	o := b.options
	o.Balance = b.ledger.Balance
	b.gateway = gateway.New(o)
	u := &tape{next: b.sim}
	b.answerWith(u)
	ids := []string{"file-1", "file_1", "cntr_1", "container_1", "cachedContents/1", "resp_1", "conv_1", "pmpt_1", "audio_1", "gs://bucket", "ws_1", "up_1", "msg_1", "files/abc"}
	owner := b.account
	b.open(startMoney)
	tried := 0
	for _, account := range []string{owner, b.account} {
		b.account = account
		for style, cases := range extraCases {
			for _, c := range cases {
				named := slices.IndexFunc(ids, func(id string) bool { return strings.Contains(c.members, id) })
				if named < 0 {
					continue
				}
				if c.dropped != "" {
					c.never = ids[named]
				}
				tried++
				b.asksFor(t, u, style, style, "test/offering-", c, tried%2 == 0)
			}
		}
	}
	if tried < 40 {
		t.Errorf("only %d calls name an object", tried)
	}
}

// TestARouteThatCannotServeAnExtraLeavesItOut calls a model of which only the second route searches.
func TestARouteThatCannotServeAnExtraLeavesItOut(t *testing.T) {
	t.Parallel()
	b := setup(t, 100*app.Dollar)
	u := &tape{next: b.sim}
	b.answerWith(u)
	call := gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Messages,
		Body: extraCase{members: `"tools":[` + toolOfMessages + `,{"type":"web_search_20250305","name":"web_search"}]`}.body(llm.Messages, "test/offering-both", false),
	}
	_, s, err := b.generate(call)
	must(t, err)
	if sent := u.played(); len(sent) != 1 || strings.Contains(sent[0], "web_search") || s.header.Get("X-Gateway-Dropped") != "tools[1] (web_search_20250305)" {
		t.Errorf("the route of another style got %s, dropped %q", sent, s.header.Get("X-Gateway-Dropped"))
	}
	call.ID = b.ids.New("req")
	call.Body = extraCase{members: `"tools":[{"type":"web_search_20250305","name":"web_search"}]`}.body(llm.Messages, "test/offering-both", false)
	r, s, err := b.generate(call)
	must(t, err)
	if sent := u.played(); len(sent) != 1 || !strings.Contains(sent[0], `"max_uses":5`) || r.Provider != "beta" || s.header.Get("X-Gateway-Dropped") != "" {
		t.Errorf("the call that needs a search went to %s as %s, dropped %q", r.Provider, sent, s.header.Get("X-Gateway-Dropped"))
	}
}

// TestASearchBesideACacheOfAnHourIsChargedAsListed is the call that once was charged a fiftieth of its price, at a model that offers both.
func TestASearchBesideACacheOfAnHourIsChargedAsListed(t *testing.T) {
	t.Parallel()
	b, p := setup(t, startMoney), &listPrice{}
	s := p.charged(b, `{"model":"test/offering-messages","max_tokens":500,"system":[{"type":"text","text":"`+strings.Repeat("long ", 3000)+
		`","cache_control":{"type":"ephemeral","ttl":"1h"}}],"messages":[{"role":"user","content":"What is new?"}],`+
		`"tools":[{"name":"read","input_schema":{"type":"object"}},{"type":"web_search_20260318","name":"web_search","max_uses":9}]}`)
	if got, want := s.header.Get("X-Gateway-Dropped"), "vendorb-beta (compact-2026-01-12)"; got != want {
		t.Errorf("listed as dropped: %q, want %q", got, want)
	}
	// The input is $0.0003, the output $0.00075, the write to the cache $0.024, and nine searches are $0.09.
	if want := app.Amount(115_050_000); p.worth != want {
		t.Errorf("the list price is %s, want %s", p.worth, want)
	}
}

// TestContractsPromiseWhatModelsOffer checks the documents and the check of a model that offers extras beside one that does not.
func TestContractsPromiseWhatModelsOffer(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for style, words := range map[llm.Style][]string{
		llm.Messages: {"web_search_#, web_fetch_#", `"fast"`, `"us"`}, llm.Responses: {"web_search, web_search_#_#_#, web_search_preview", "flex, priority"},
		llm.Chat: {"flex, priority"}, llm.Native: {"flex, priority"},
	} {
		for name, offers := range map[string]bool{"test/offering-": true, "test/generous-": false} {
			m, _ := b.catalog.Snapshot().Model(name + string(style))
			contract, _ := m.Contract(style)
			var schema any
			if err := json.Unmarshal(contract.Schema(), &schema); err != nil {
				t.Fatal(err)
			}
			for _, word := range words {
				if got := strings.Contains(string(contract.Schema()), word); got != offers {
					t.Errorf("the contract of %s in the %s style has %s: %t", m.ID, style, word, got)
				}
			}
		}
	}
}
