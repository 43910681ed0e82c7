package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// upstreamBound is the bound on output that a provider of the style was sent, -1 for none.
func upstreamBound(t *testing.T, upstream llm.Style, body string) int64 {
	t.Helper()
	m := decoded(t, body)
	for _, v := range map[llm.Style][]any{
		llm.Chat:      {m["max_completion_tokens"], m["max_tokens"]},
		llm.Messages:  {m["max_tokens"]},
		llm.Responses: {m["max_output_tokens"]},
		llm.Native:    {at(m, "generationConfig", "maxOutputTokens"), at(m, "generation_config", "max_output_tokens"), at(m, "generationConfig", "max_output_tokens")},
	}[upstream] {
		if v != nil {
			return num(v)
		}
	}
	return -1
}

// poor is an account that can pay for a few hundred tokens of the styled models.
const poor = 8_000_000

func TestEveryWayBoundsTheUpstreamByTheBalance(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, a := range []asked{
		{prompt: "count to 4000"}, {prompt: "count to 4000", bound: 4000}, {prompt: "count to 4000", bound: 4000, thinks: true},
	} {
		t.Run(fmt.Sprintf("bound %d, thinks %t", a.bound, a.thinks), func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				b.open(poor)
				a.stream = stream
				r, s, err := b.generate(b.styledCall(client, on(upstream), a))
				must(b.t, err)
				h := b.listenTo(s, client, stream)
				t, _ := b.t.(*testing.T)
				bound := upstreamBound(t, upstream, b.finished(1)[0].Body)
				if out := r.Usage[3] + r.Usage[4]; bound < 256 || bound > poor/15_000 || out != bound || h.finish != lengths[client] {
					b.t.Errorf("the upstream was given %d, made %d, and ended with %q", bound, out, h.finish)
				}
				u, left := b.record(), b.balance()
				if u.Overrun != 0 || r.Estimated || u.Reserved > poor || h.cost != r.Cost || left.Posted != poor-r.Cost || b.reserved() != 0 {
					b.t.Errorf("shown %s, record %+v, %s left", h.cost, u, left.Posted)
				}
			})
		})
	}
}

func TestNoWayReachesAnUpstreamWithoutCredit(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyleBothForms(t, 3, all, func(b *bench, client, upstream llm.Style, stream bool) {
		b.open(1_000_000)
		_, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 4000", stream: stream}))
		if e := app.AsError(err); e == nil || e.Kind != app.Unfunded || s.status != 0 || len(b.sim.Requests()) != 0 {
			b.t.Errorf("%v, status %d", err, s.status)
		}
	})
}

func TestEveryAnswerOfSeveralIsReservedFor(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachPath(t, 2, all, func(b *bench, client, upstream llm.Style, stream bool) {
		if client == llm.Messages || client == llm.Responses {
			return // These styles have one answer only.
		}
		b.open(4 * poor)
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 4000", choices: 3, stream: stream}))
		if client != upstream {
			if e := app.AsError(err); e == nil || e.Kind != app.Invalid || s.status != 0 {
				b.t.Errorf("%v", err)
			}
			return
		}
		must(b.t, err)
		t, _ := b.t.(*testing.T)
		bound, u := upstreamBound(t, upstream, b.finished(1)[0].Body), b.record()
		if bound < 256 || r.Usage[3] != 3*bound || u.Overrun != 0 || u.Reserved > 4*poor || r.Estimated || b.balance().Posted != 4*poor-r.Cost {
			b.t.Errorf("the upstream was given %d and made %d, record %+v", bound, r.Usage[3], u)
		}
	})
}

func TestBothSpellingsOfANativeBoundAreLowered(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, config := range []string{
		`"generationConfig":{"maxOutputTokens":4000}`, `"generation_config":{"max_output_tokens":4000}`, `"generationConfig":{"max_output_tokens":4000}`,
		`"generation_config":{"maxOutputTokens":null}`, `"generationConfig":null`, `"generation_config":{}`, `"generation_config":{"topK":3}`,
	} {
		upstream := llm.Styles()[i%len(llm.Styles())]
		b := all.fresh(t)
		b.open(poor)
		r, _, err := b.generate(gateway.Call{
			ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account}, Style: llm.Native,
			Body: []byte(`{"model":"` + on(upstream) + `","contents":[{"parts":[{"text":"count to 4000"}]}],` + config + `}`),
		})
		must(t, err)
		if u := b.record(); r.Usage[3] < 256 || r.Usage[3] > poor/15_000 || u.Overrun != 0 || r.FinishReason != "length" {
			t.Errorf("%s on %s: %+v for %s", config, upstream, u, b.finished(1)[0].Body)
		}
	}
}

func TestABoundThatAnUpstreamRaisesIsReservedFor(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, client := range []llm.Style{llm.Chat, llm.Messages, llm.Native} {
		b := all.fresh(t)
		b.fault("alpha", "usage=16")
		r, _, err := b.generate(b.styledCall(client, on(llm.Responses), asked{prompt: "count to 100", bound: 1}))
		must(t, err)
		if u := b.record(); u.Overrun != 0 || r.Usage[3] != 16 || u.Reserved < 16*20_000 {
			t.Errorf("%s: %+v", client, u)
		}
	}
}

func TestTheFormerNameOfABoundIsLoweredToTheLatter(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for more, want := range map[string]string{
		`,"max_completion_tokens":10,"max_tokens":4000`: `"max_completion_tokens":10,"max_tokens":10`,
		`,"max_completion_tokens":10,"max_tokens":5`:    `"max_completion_tokens":10,"max_tokens":5`,
		`,"max_completion_tokens":10,"max_tokens":null`: `"max_completion_tokens":10,"max_tokens":null`,
	} {
		b := all.fresh(t)
		r, _, err := b.generate(b.call(on(llm.Chat), "count to 30", more))
		must(t, err)
		if up := b.finished(1)[0].Body; r.Usage[3] > 10 || !strings.Contains(up, want) {
			t.Errorf("%d tokens for %s", r.Usage[3], up)
		}
	}
}

func TestWhatOnlyLooksLikeAnImageIsReservedForLikeText(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	words := strings.Repeat("one and another ", 20_000)
	for _, upstream := range llm.Styles() {
		b := all.fresh(t)
		schema := members{"type": "object", "properties": members{"image_url": members{"default": "data:image/png", "description": words}}}
		a := asked{prompt: "hi", more: members{"tools": []any{members{"type": "function", "function": members{"name": "f", "parameters": schema}}}}}
		_, _, err := b.generate(b.styledCall(llm.Chat, on(upstream), a))
		must(t, err)
		if u := b.record(); u.Overrun != 0 || u.Usage[0] < 60_000 {
			t.Errorf("on %s: %+v", upstream, u)
		}
	}
}

func TestABoundIsTheSameNumberHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for client, form := range map[llm.Style]string{
		llm.Chat:      `{"model":"MODEL","messages":[{"role":"user","content":"count to 900"}],"max_completion_tokens":NUMBER}`,
		llm.Messages:  `{"model":"MODEL","messages":[{"role":"user","content":"count to 900"}],"max_tokens":NUMBER}`,
		llm.Responses: `{"model":"MODEL","input":"count to 900","max_output_tokens":NUMBER}`,
		llm.Native:    `{"model":"MODEL","contents":[{"parts":[{"text":"count to 900"}]}],"generationConfig":{"maxOutputTokens":NUMBER}}`,
	} {
		for i, number := range []string{"100", "1e2", "100.0", "0.1e3", "10000E-2"} {
			upstream := llm.Styles()[i%len(llm.Styles())]
			b := all.fresh(t)
			body := strings.NewReplacer("MODEL", on(upstream), "NUMBER", number).Replace(form)
			r, _, err := b.generate(gateway.Call{
				ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account}, Style: client, Body: []byte(body),
			})
			if e := app.AsError(err); e != nil && e.Kind != app.Internal {
				continue // A refusal by the gateway or by the provider is as good.
			}
			must(t, err)
			if r.Usage[3] != 100 || b.record().Overrun != 0 {
				t.Errorf("%s on %s: %s made %d tokens of %s", client, upstream, number, r.Usage[3], b.finished(1)[0].Body)
			}
		}
	}
}
