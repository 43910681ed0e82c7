package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider"
)

// modest are models that take no hint but an effort of two words. The last one serves for a model that takes all of them.
const modest = `
  - {id: test/modest-chat, MODEST [{provider: alpha, model: up-modest, style: chat}]}
  - {id: test/modest-messages, MODEST [{provider: alpha, model: up-modest, style: messages}]}
  - {id: test/modest-responses, MODEST [{provider: alpha, model: up-modest, style: responses}]}
  - {id: test/modest-native, MODEST [{provider: alpha, model: up-modest, style: native}]}
  - {id: test/thoughtful, MODEST2 [{provider: alpha, model: up-thoughtful, style: chat}]}
  - {id: test/falls-modest, fallbacks: [test/modest-chat], GENEROUS [{provider: beta, model: up-generous, style: chat}]}
`

const modestTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text],
     context_tokens: 128000, max_output_tokens: 2000, parameters: [tools],
     rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M}, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000},
     released: 2026-01-01, routes:`

var thoughtfulTerms = strings.Replace(modestTerms, "parameters: [tools]",
	"parameters: [tools, reasoning_effort], ranges: {reasoning_effort: {values: [low, high]}}", 1)

// hintCases are the hints of a style, and how they are listed.
var hintCases = map[llm.Style]struct{ members, dropped string }{
	llm.Chat: {
		`"temperature":0.2,"top_p":0.9,"presence_penalty":0.5,"reasoning_effort":"xhigh","verbosity":"high","max_tokens":64000,"seed":7`,
		"max_tokens=64000->2000,presence_penalty,reasoning_effort,seed,temperature,top_p,verbosity",
	},
	llm.Messages: {
		`"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":31999},"output_config":{"effort":"max"},"temperature":0.7,"top_k":40`,
		"max_tokens=32000->2000,output_config.effort,temperature,thinking,top_k",
	},
	llm.Responses: {
		`"max_output_tokens":100000,"reasoning":{"effort":"high","summary":"auto"},"text":{"verbosity":"low"},"top_p":0.5`,
		"max_output_tokens=100000->2000,reasoning,text.verbosity,top_p",
	},
	llm.Native: {
		`"generationConfig":{"maxOutputTokens":65536,"temperature":0.1,"topK":40,"thinkingConfig":{"thinkingBudget":1024,"includeThoughts":true}}`,
		"generationConfig.maxOutputTokens=65536->2000,generationConfig.temperature,generationConfig.thinkingConfig,generationConfig.topK",
	},
}

func TestHintsThatAModelDoesNotTakeAreLeftOutAndListed(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	o := b.options
	o.Balance = b.ledger.Balance
	b.gateway = gateway.New(o)
	u := &tape{next: b.sim}
	b.answerWith(u)
	for style, c := range hintCases {
		for i, upstream := range llm.Styles() {
			call := gateway.Call{
				ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style,
				Body: extraCase{members: c.members}.body(style, "test/modest-"+string(upstream), i%2 == 0),
			}
			quote, quoteErr := b.gateway.Quote(t.Context(), call)
			count, countErr := gateway.Count{Dropped: quote.Dropped}, quoteErr
			if provider.Counts(&catalog.Route{Style: upstream}) {
				count, countErr = b.gateway.CountTokens(t.Context(), call)
			}
			counted := u.played()
			r, s, err := b.generate(call)
			if err != nil || quoteErr != nil || countErr != nil {
				t.Errorf("%s to %s: %v, quote %v, count %v", style, upstream, err, quoteErr, countErr)
				continue
			}
			for _, list := range []string{s.header.Get("X-Gateway-Dropped"), quote.Dropped, count.Dropped} {
				if list != c.dropped {
					t.Errorf("%s to %s: listed %q, want %q", style, upstream, list, c.dropped)
				}
			}
			if r.Cost == 0 || quote.OutputMost != 2000 {
				t.Errorf("%s to %s: report %+v, quote %+v", style, upstream, r, quote)
			}
			hints := []string{"temperature", "top_", "topK", "effort", "hinking", "verbosity", "enalty", "seed"}
			noneOf(t, counted, hints)
			noneOf(t, u.played(), append(hints, "64000", "32000", "31999", "100000", "65536"))
		}
	}
}

// noneOf fails where an upstream got one of the words.
func noneOf(t *testing.T, bodies, words []string) {
	t.Helper()
	for _, body := range bodies {
		for _, word := range words {
			if strings.Contains(body, word) {
				t.Errorf("%s went upstream: %s", word, body)
			}
		}
	}
}

func TestAStrictCallIsRefusedForAHint(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for style, c := range hintCases {
		for member := range strings.SplitSeq(c.dropped, ",") {
			field, _, _ := strings.Cut(member, "=")
			call := gateway.Call{
				ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style, Strict: true,
				Body: extraCase{members: c.members}.body(style, "test/modest-chat", false),
			}
			_, _, err := b.generate(call)
			e := app.AsError(err)
			if e == nil || e.Kind != app.Invalid || e.Status != 0 || !slices.ContainsFunc(strings.Split(c.dropped, ","), func(listed string) bool {
				listed, _, _ = strings.Cut(listed, "=")
				return strings.HasPrefix(e.Param, listed)
			}) {
				t.Errorf("%s, %s: %v", style, field, err)
			}
		}
	}
	if len(b.sim.Requests()) != 0 || b.balance().Posted != startMoney {
		t.Error("a refused call went upstream, or was charged")
	}
}

func TestAnEffortBecomesTheNearestThatTheModelTakes(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	u := &tape{next: b.sim}
	b.answerWith(u)
	_, s, err := b.generate(b.call("test/thoughtful", "hi", `,"reasoning_effort":"xhigh"`))
	must(t, err)
	sent := strings.Join(u.played(), "")
	if got := s.header.Get("X-Gateway-Dropped"); got != "reasoning_effort=xhigh->high" || !strings.Contains(sent, `"reasoning_effort":"high"`) {
		t.Errorf("listed %q, sent %s", got, sent)
	}
}

// TestAFallbackModelGetsNoHintThatItDoesNotTake sends hints that only the first model takes.
func TestAFallbackModelGetsNoHintThatItDoesNotTake(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("beta", "status=503")
	u := &tape{next: b.sim}
	b.answerWith(u)
	r, s, err := b.generate(b.call("test/falls-modest", "hi", `,"temperature":0.2,"max_tokens":64000`))
	must(t, err)
	sent := u.played()
	if r.Model != "test/modest-chat" || s.header.Get("X-Gateway-Dropped") != "max_tokens=64000->2000,temperature" {
		t.Errorf("%s served, listed %q", r.Model, s.header.Get("X-Gateway-Dropped"))
	}
	if first, last := sent[0], sent[len(sent)-1]; !strings.Contains(first, `"temperature":0.2`) || !strings.Contains(first, `"max_tokens":4096`) ||
		strings.Contains(last, "temperature") || !strings.Contains(last, `"max_tokens":2000`) {
		t.Errorf("sent %q", sent)
	}
	b.control(http.MethodDelete, "faults", nil)
}
