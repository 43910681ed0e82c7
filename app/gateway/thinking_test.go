package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// thinkers are models whose provider takes one form of a wish for thinking and refuses the other as real ones do. The third takes all.
// The last two are served by one that takes another form.
const thinkers = `
  - {id: test/adaptive, thinking: [adaptive, effort], THINKER [{provider: alpha, model: up+thinking=adaptive, style: messages}]}
  - {id: test/budget, thinking: [enabled], THINKER [{provider: alpha, model: up+thinking=enabled;no-effort, style: messages}]}
  - {id: test/any-thinking, THINKER [{provider: alpha, model: up, style: messages}]}
  - {id: test/budget-on-chat, thinking: [enabled], THINKER [{provider: alpha, model: up, style: chat}]}
  - {id: test/adaptive-falls, fallbacks: [test/budget], thinking: [adaptive, effort], THINKER [{provider: beta, model: up+status=503, style: messages}]}
  - {id: test/any-falls, fallbacks: [test/adaptive], THINKER [{provider: beta, model: up+status=503, style: messages}]}
`

const thinkerTerms = `name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text],
     context_tokens: 128000, max_output_tokens: 4096, parameters: [temperature, tools, tool_choice, reasoning_effort],
     ranges: {reasoning_effort: {values: [none, low, medium, high]}}, rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M},
     limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, released: 2026-01-01, routes:`

// thought makes a call and says what the upstreams got and what the answer lists.
func (b *bench) thought(u *tape, style llm.Style, model, members string, stream bool) (sent []string, dropped string) {
	b.t.Helper()
	call := gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style,
		Body: extraCase{members: members}.body(style, "test/"+model, stream),
	}
	quote, err := b.gateway.Quote(b.t.Context(), call)
	must(b.t, err)
	u.played()
	r, s, err := b.generate(call)
	if err != nil {
		b.t.Errorf("%s %s of %s: %v", style, members, model, err)
		return u.played(), ""
	}
	dropped = s.header.Get("X-Gateway-Dropped")
	if len(r.Tries) < 2 && quote.Dropped != dropped {
		b.t.Errorf("%s %s of %s: listed %q, quoted %q", style, members, model, dropped, quote.Dropped)
	}
	if r.Cost == 0 || r.Cost > quote.Most {
		b.t.Errorf("%s %s of %s: cost %v of %v at most", style, members, model, r.Cost, quote.Most)
	}
	return u.played(), dropped
}

// thinkBench is a bench whose quotes know the balance and whose upstreams' requests are kept.
func thinkBench(t *testing.T) (*bench, *tape) {
	t.Helper()
	b := setup(t, startMoney)
	o := b.options
	o.Balance = b.ledger.Balance
	b.gateway = gateway.New(o)
	u := &tape{next: b.sim}
	b.answerWith(u)
	return b, u
}

// TestThinkingReachesEachModelInTheFormThatItTakes sends every form of thinking to models that take only some of them.
func TestThinkingReachesEachModelInTheFormThatItTakes(t *testing.T) {
	t.Parallel()
	b, u := thinkBench(t)
	enabled := func(n, most int) string {
		return fmt.Sprintf(`"max_tokens":%d,"thinking":{"type":"enabled","budget_tokens":%d}`, most, n)
	}
	const adaptive = `"max_tokens":4000,"thinking":{"type":"adaptive"}`
	for _, c := range []struct {
		style                   llm.Style
		model, members          string
		sends, never, isDropped string
	}{
		{llm.Messages, "adaptive", enabled(2000, 4000), `{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}`,
			"budget_tokens", "thinking.type=enabled->adaptive"},
		{llm.Messages, "adaptive", enabled(31999, 64000), `"effort":"high"`, "budget_tokens", "max_tokens=64000->4096,thinking.type=enabled->adaptive"},
		{llm.Messages, "adaptive", adaptive, `"thinking":{"type":"adaptive"}`, "budget_tokens", ""},
		{llm.Messages, "adaptive", `"thinking":{"type":"disabled"}`, `"thinking":{"type":"disabled"}`, `"adaptive"`, ""},
		{llm.Messages, "budget", adaptive, `"thinking":{"type":"enabled","budget_tokens":2000}`, `"adaptive"`, "thinking.type=adaptive->enabled"},
		{llm.Messages, "budget", `"max_tokens":1000,"thinking":{"type":"adaptive"}`, `"max_tokens":1000`, `"thinking":`, "thinking"},
		{llm.Messages, "budget", `"max_tokens":99000,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`,
			`"budget_tokens":1024}`, `"effort"`, "max_tokens=99000->4096,output_config.effort,thinking.type=adaptive->enabled"},
		{llm.Messages, "budget", enabled(1500, 4000), `"budget_tokens":1500`, `"adaptive"`, ""},
		{llm.Messages, "any-thinking", enabled(1500, 4000), `"budget_tokens":1500`, `"adaptive"`, ""},
		{llm.Messages, "any-thinking", adaptive, `"thinking":{"type":"adaptive"}`, "budget_tokens", ""},
		{llm.Messages, "budget-on-chat", adaptive, `"reasoning_effort":"medium"`, `"thinking":`, "thinking.type=adaptive->enabled"},
		{llm.Chat, "adaptive", `"reasoning_effort":"high"`, `"effort":"high"`, "budget_tokens", ""},
		{llm.Chat, "budget", `"reasoning_effort":"high"`, `"budget_tokens":2048`, `"effort"`, ""},
		{llm.Responses, "adaptive", `"reasoning":{"effort":"low"}`, `"thinking":{"type":"adaptive"`, "budget_tokens", ""},
		{llm.Responses, "budget", `"reasoning":{"effort":"low"}`, `"budget_tokens":1024`, `"effort"`, ""},
		{llm.Native, "adaptive", `"generationConfig":{"thinkingConfig":{"thinkingBudget":2048}}`, `"effort":"medium"`, "budget_tokens", ""},
		{llm.Native, "budget", `"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}`, `"budget_tokens":2048`, `"adaptive"`, ""},
	} {
		for _, stream := range []bool{false, true} {
			sent, dropped := b.thought(u, c.style, c.model, c.members, stream)
			if len(sent) != 1 || !strings.Contains(sent[0], c.sends) || strings.Contains(sent[0], c.never) || dropped != c.isDropped {
				t.Errorf("%s %s of %s: listed %q, sent %s", c.style, c.members, c.model, dropped, sent)
			}
		}
	}
}

func TestAStrictCallIsRefusedForTheFormOfItsThinking(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	for members, model := range map[string]string{
		`"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":2000}`: "test/adaptive",
		`"max_tokens":4000,"thinking":{"type":"adaptive"}`:                     "test/budget",
	} {
		_, _, err := b.generate(gateway.Call{
			ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Messages, Strict: true,
			Body: extraCase{members: members}.body(llm.Messages, model, false),
		})
		if e := app.AsError(err); e == nil || e.Kind != app.Invalid || e.Param != "thinking.type" {
			t.Errorf("%s: %v", members, err)
		}
	}
}

// TestThinkingReachesAFallbackModelInTheFormThatItTakes lets a fallback model serve. A header lists thinking as the client sent it.
func TestThinkingReachesAFallbackModelInTheFormThatItTakes(t *testing.T) {
	t.Parallel()
	b, u := thinkBench(t)
	for _, c := range []struct{ model, members, sends, dropped string }{
		{"adaptive-falls", `"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3000}`, `"budget_tokens":2000`, ""},
		{"adaptive-falls", `"max_tokens":4000,"thinking":{"type":"adaptive"}`, `"budget_tokens":2000`, "thinking.type=adaptive->enabled"},
		{"any-falls", `"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3000}`, `"type":"adaptive"`, "thinking.type=enabled->adaptive"},
	} {
		sent, dropped := b.thought(u, llm.Messages, c.model, c.members, false)
		if len(sent) < 2 || !strings.Contains(sent[len(sent)-1], c.sends) || dropped != c.dropped {
			t.Errorf("%s %s: listed %q, sent %s", c.model, c.members, dropped, sent)
		}
	}
}

func TestACountOfTokensHasThinkingInTheFormThatTheModelTakes(t *testing.T) {
	t.Parallel()
	b, u := thinkBench(t)
	for model, want := range map[string]string{"test/adaptive": "adaptive", "test/budget": "enabled"} {
		for _, members := range []string{`"max_tokens":3000,"thinking":{"type":"adaptive"}`, `"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":3000`} {
			count, err := b.gateway.CountTokens(t.Context(), gateway.Call{
				ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: llm.Messages,
				Body: extraCase{members: members}.body(llm.Messages, model, false),
			})
			sent := strings.Join(u.played(), "")
			if err != nil || count.Estimated || !strings.Contains(sent, `"type":"`+want) || (count.Dropped == "") != strings.Contains(members, want) {
				t.Errorf("%s of %s: %+v, %v, sent %s", members, model, count, err, sent)
			}
		}
	}
}
