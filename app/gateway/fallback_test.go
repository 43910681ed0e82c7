package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/provider/health"
	"umg/app/ratelimit"
	"umg/billing"
)

// withFallbacks are models that other models serve when no provider of theirs answers: test/twice at twice the price,
// test/same at the same price.
func withFallbacks() string {
	const rates = "input_tokens: 3 per 1M, cache_read_tokens: 0.3 per 1M, cache_write_tokens: 3.75 per 1M, output_tokens: 15 per 1M,\n     reasoning_tokens: 20 per 1M"
	doubled := strings.Replace(styled, rates, "input_tokens: 6 per 1M, cache_read_tokens: 0.6 per 1M, cache_write_tokens: 7.5 per 1M, output_tokens: 30 per 1M,\n     reasoning_tokens: 40 per 1M", 1)
	if doubled == styled {
		panic("the rates of the styled models are others")
	}
	var b strings.Builder
	for i, first := range llm.Styles() {
		second := llm.Styles()[(i+1)%4]
		fmt.Fprintf(&b, "  - {id: test/falls-%s, fallbacks: [test/twice-%s], STYLED [{provider: alpha, model: up-falls, style: %s, order: 1}, "+
			"{provider: beta, model: up-falls-b, style: %s, order: 2}]}\n", first, second, first, second)
		fmt.Fprintf(&b, "  - {id: test/goes-on-%s, fallbacks: [test/twice-%s, test/same-%s], STYLED [{provider: alpha, model: up-goes-on, style: %s}]}\n",
			first, second, second, first)
		fmt.Fprintf(&b, "  - {id: test/twice-%s, %s [{provider: gamma, model: up-twice, style: %s}]}\n", first, doubled, first)
		fmt.Fprintf(&b, "  - {id: test/same-%s, STYLED [{provider: delta, model: up-same, style: %s}]}\n", first, first)
	}
	b.WriteString(`
  - {id: test/falls-far, fallbacks: [test/limited, test/plain, test/twice-chat], STYLED [{provider: alpha, model: up-falls, style: chat}]}
  - {id: test/plain, name: Plain, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 300, max_output_tokens: 100,
     rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M}, released: 2026-01-01, routes: [{provider: beta, model: up-plain, style: chat}]}
  - {id: test/falls-idle, fallbacks: [test/twice-chat], STYLED [{provider: nowhere, model: up-idle, style: chat}]}
  - {id: test/falls-gone, fallbacks: [test/gone, test/later, test/twice-chat], STYLED [{provider: alpha, model: up-falls, style: chat}]}
  - {id: test/gone, shutdown: 2026-02-01, STYLED [{provider: beta, model: up-gone, style: chat}]}
  - {id: test/later, availability: coming, STYLED [{provider: beta, model: up-later, style: chat}]}
`)
	return b.String()
}

// named matches what an answer says of its model.
var named = regexp.MustCompile(`"model(?:Version)?":"([^"]*)"`)

// names are the models that an answer names, each once.
func names(text string) []string {
	var ids []string
	for _, match := range named.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(ids, match[1]) {
			ids = append(ids, match[1])
		}
	}
	return ids
}

func TestAnotherModelServesACallThatNoProviderOfItsOwnAnswers(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, first := range llm.Styles() {
		for _, client := range []llm.Style{first, llm.Styles()[(i+2)%4]} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s of %s streamed %t", client, first, stream), func(t *testing.T) {
					b, m := all.fresh(t).watched()
					b.fault("alpha", "status=503")
					b.fault("beta", "status=500")
					r, s, err := b.generate(b.styledCall(client, "test/falls-"+string(first), asked{prompt: "count to 20", stream: stream, bound: 100}))
					must(t, err)
					serves := "test/twice-" + string(llm.Styles()[(i+1)%4])
					h := b.listenTo(s, client, stream)
					if !strings.Contains(h.text, numbers(20)) || h.err != nil || !h.told || h.cost != r.Cost {
						t.Errorf("%+v: %s", h, s.text())
					}
					if ids := names(s.text()); !slices.Equal(ids, []string{serves}) || strings.Contains(s.text(), "up-") {
						t.Errorf("the answer names %q: %s", ids, s.text())
					}
					if r.Model != serves || r.Provider != "gamma" || r.Attempts != 5 || r.FallbackOf != "test/falls-"+string(first) || r.Reason != billing.ReasonCompleted || r.Cost != 2*cost(r.Usage[0], 20) {
						t.Errorf("report %+v", r)
					}
					b.settled(r.Cost)
					u := b.record()
					if u.Model != serves || !strings.HasPrefix(u.RateCardID, serves+"@") || u.Provider != "gamma" || u.UpstreamModel != "up-twice" ||
						u.Overrun != 0 || u.Attempts != 5 || u.Cost > u.Reserved {
						t.Errorf("record %+v", u)
					}
					idle(t, m)
				})
			}
		}
	}
}

func TestOwnRoutesComeBeforeOtherModels(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, stream := range []bool{false, true} {
		b := all.fresh(t)
		b.fault("alpha", "status=503")
		r, s, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 20", stream: stream}))
		must(t, err)
		if r.Model != "test/falls-chat" || r.Provider != "beta" || b.asked("gamma") != 0 || r.Cost != cost(r.Usage[0], 20) {
			t.Errorf("report %+v: %s", r, s.text())
		}
		b.settled(r.Cost)
	}
}

// TestWhatIsRefusedForGoodGoesToNoOtherModel sends requests that are at fault themselves. No fallback model gets them.
func TestWhatIsRefusedForGoodGoesToNoOtherModel(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, spec := range []string{"context-length", "status=400", "status=422"} {
		b := all.fresh(t)
		b.fault("alpha", spec)
		b.fault("beta", spec)
		r, _, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"}))
		if err == nil || b.asked("gamma") != 0 || r.Model != "test/falls-chat" {
			t.Errorf("%s: %v, report %+v", spec, err, r)
		}
		b.settled(0)
	}
}

func TestACallThatNoModelServesEndsAsItWouldAlone(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, stream := range []bool{false, true} {
		for _, client := range llm.Styles() {
			b, m := all.fresh(t).watched()
			b.fault("alpha", "status=503")
			b.fault("beta", "status=429;retry-after=7")
			b.fault("gamma", "status=400")
			r, s, err := b.generate(b.styledCall(client, "test/falls-chat", asked{prompt: "count to 3", stream: stream}))
			e := app.AsError(err)
			if e == nil || e.Code != "rate_limit_exceeded" || strings.Contains(e.Message, "up-") || r.Model != "test/falls-chat" || r.FallbackOf != "" || r.Provider != "beta" || r.Cost != 0 {
				t.Errorf("%v, report %+v: %s", err, r, s.text())
			}
			if b.asked("gamma") != 1 {
				t.Errorf("gamma was asked %d times", b.asked("gamma"))
			}
			b.settled(0)
			if u := b.record(); u.Model != "test/falls-chat" || u.Provider != "beta" || !strings.HasPrefix(u.RateCardID, "test/falls-chat@") {
				t.Errorf("record %+v", u)
			}
			idle(t, m)
		}
	}
}

func TestOtherModelsServeWhereNoRouteMayBeAsked(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	t.Run("without a provider", func(t *testing.T) {
		b := all.fresh(t)
		r, _, err := b.generate(b.styledCall(llm.Messages, "test/falls-idle", asked{prompt: "count to 3"}))
		must(t, err)
		if r.Model != "test/twice-chat" || r.Attempts != 1 {
			t.Errorf("report %+v", r)
		}
		b.settled(r.Cost)
	})
	t.Run("ejected", func(t *testing.T) {
		b, m := all.fresh(t).watched()
		b.fault("alpha", "status=503")
		b.fault("beta", "status=503")
		for range 6 {
			r, _, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"}))
			must(t, err)
			if r.Model != "test/twice-messages" {
				t.Errorf("report %+v", r)
			}
		}
		if b.asked("alpha") != 5 || b.asked("beta") != 5 {
			t.Errorf("alpha was asked %d times and beta %d", b.asked("alpha"), b.asked("beta"))
		}
		b.fault("gamma", "status=503") // The gateway then requests those in bad health after all.
		before := b.asked("alpha") + b.asked("beta")
		r, _, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"}))
		if err == nil || b.asked("alpha")+b.asked("beta") == before || r.Model != "test/falls-chat" {
			t.Errorf("%v, report %+v", err, r)
		}
		b.control(http.MethodDelete, "faults", nil)
		b.fault("gamma", "status=503")
		if r, _, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"})); err != nil || r.Model != "test/falls-chat" {
			t.Errorf("%v, report %+v", err, r)
		}
		idle(t, m)
	})
	t.Run("paused", func(t *testing.T) {
		b, m := all.fresh(t).watched()
		pause := func(kind, id string) {
			must(t, m.Pause(t.Context(), health.Pause{Kind: kind, ID: id, By: "op@example.com"}))
			t.Cleanup(func() { must(t, m.Resume(context.WithoutCancel(t.Context()), kind, id, "op@example.com")) })
		}
		pause(health.KindProvider, "alpha")
		pause(health.KindProvider, "beta")
		r, _, err := b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"}))
		if err != nil || r.Model != "test/twice-messages" || b.asked("alpha")+b.asked("beta") != 0 {
			t.Errorf("paused providers: %v, report %+v", err, r)
		}
		pause(health.KindModel, "test/twice-messages")
		r, _, err = b.generate(b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"}))
		if e := app.AsError(err); e == nil || e.Code != "model_temporarily_unavailable" || r.Model != "test/falls-chat" || r.Attempts != 0 {
			t.Errorf("a paused fallback model: %v, report %+v", err, r)
		}
		pause(health.KindModel, "test/goes-on-chat")
		r, _, err = b.generate(b.styledCall(llm.Chat, "test/goes-on-chat", asked{prompt: "count to 3"}))
		if e := app.AsError(err); e == nil || e.Code != "model_temporarily_unavailable" || r.Model != "test/goes-on-chat" {
			t.Errorf("a paused model: %v, report %+v", err, r)
		}
	})
}

// alone makes the providers of the models themselves fail.
func (b *bench) alone() {
	b.fault("alpha", "status=503")
	b.fault("beta", "status=503")
}

func TestModelsThatCannotTakeTheCallArePassedOver(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, c := range map[string]struct {
		model, want string
		asked       asked
		principal   []string // Principal lists the models that the key may use.
		skips       string   // Skips is the value of the header.
	}{
		"nothing speaks against it": {model: "test/goes-on-chat", want: "test/twice-messages"},
		"the key may not":           {model: "test/goes-on-chat", want: "test/same-messages", principal: []string{"test/goes-on-chat", "test/same-messages"}},
		"the key may use none":      {model: "test/goes-on-chat", principal: []string{"test/goes-on-chat"}},
		"it has no tools":           {model: "test/falls-far", want: "test/twice-chat", asked: asked{tool: true}},
		"its answers are shorter":   {model: "test/falls-far", want: "test/twice-chat", asked: asked{bound: 101}},
		"its context is smaller":    {model: "test/falls-far", want: "test/twice-chat", asked: asked{prompt: strings.Repeat("some more words ", 90)}},
		"its provider fails too":    {model: "test/falls-far", want: "test/twice-chat"},
		"it ended, or is coming":    {model: "test/falls-gone", want: "test/twice-chat"},
		"the caller wants none":     {model: "test/goes-on-chat", skips: "none"},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s streamed %t", name, stream), func(t *testing.T) {
				b, _ := all.fresh(t).watched()
				b.alone()
				c.asked.stream = stream
				if c.asked.prompt == "" {
					c.asked.prompt = "count to 3"
				}
				call := b.styledCall(llm.Chat, c.model, c.asked)
				call.Principal.Models = c.principal
				if c.skips != "" {
					call.Headers = http.Header{"X-Gateway-Fallback": {c.skips}}
				}
				r, _, err := b.generate(call)
				if c.want == "" {
					if e := app.AsError(err); e == nil || e.Code != "upstream_error" || r.Model != c.model || b.asked("gamma")+b.asked("delta") != 0 {
						t.Fatalf("%v, report %+v", err, r)
					}
				} else if err != nil || r.Model != c.want {
					t.Errorf("%v, report %+v", err, r)
				}
				b.settled(r.Cost)
			})
		}
	}
	t.Run("a word of the header that does not exist", func(t *testing.T) {
		b := all.fresh(t)
		call := b.styledCall(llm.Chat, "test/one", asked{prompt: "hi"})
		call.Headers = http.Header{"X-Gateway-Fallback": {"never"}}
		if _, _, err := b.generate(call); app.AsError(err).Code != "invalid_value" || app.AsError(err).Param != "X-Gateway-Fallback" {
			t.Errorf("%v", err)
		}
	})
}

func TestAFallbackModelHasLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	b, _ := setup(t, 100*app.Dollar).watched()
	b.alone()
	call := func(model string) gateway.Call {
		c := b.styledCall(llm.Chat, model, asked{prompt: "count to 3", bound: 10})
		c.Key = ratelimit.Key{ID: "key_fallback", RequestsPerMinute: 3, Concurrency: 1}
		return c
	}
	for i := range 3 { // A fallback counts as one request of its key.
		r, s, err := b.generate(call("test/goes-on-chat"))
		must(t, err)
		if left := s.header.Get("X-Ratelimit-Remaining-Requests"); r.Model != "test/twice-messages" || left != fmt.Sprint(2-i) {
			t.Errorf("report %+v, %s left", r, left)
		}
	}
	if _, _, err := b.generate(call("test/goes-on-chat")); app.KindOf(err) != app.Exhausted {
		t.Errorf("a fourth request: %v", err)
	}
	b.control(http.MethodDelete, "faults", nil)
	for range 2 {
		if _, _, err := b.generate(b.call("test/limited", "hi", "")); err != nil {
			t.Fatal(err)
		}
	}
	b.fault("alpha", "status=503") // The model test/limited has exhausted its limit for the minute.
	if r, _, err := b.generate(b.call("test/falls-far", "count to 3", "")); err != nil || r.Model != "test/plain" {
		t.Errorf("%v, report %+v", err, r)
	}
}

// TestACallIsQuotedAndCountedWhereOnlyAFallbackModelMayBeAsked pauses the providers of a model, so that no route is picked.
func TestACallIsQuotedAndCountedWhereOnlyAFallbackModelMayBeAsked(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	for _, id := range []string{"alpha", "beta"} {
		must(t, m.Pause(t.Context(), health.Pause{Kind: health.KindProvider, ID: id, By: "op@example.com"}))
		t.Cleanup(func() {
			must(t, m.Resume(context.WithoutCancel(t.Context()), health.KindProvider, id, "op@example.com"))
		})
	}
	o := b.options
	o.Balance, o.Health = b.ledger.Balance, m
	g := gateway.New(o)
	call := b.styledCall(llm.Chat, "test/falls-chat", asked{prompt: "count to 3"})
	if quote, err := g.Quote(t.Context(), call); err != nil || quote.Model != "test/falls-chat" || quote.Dropped != "" {
		t.Errorf("%v, quote %+v", err, quote)
	}
	if count, err := g.CountTokens(t.Context(), call); err != nil || !count.Estimated || count.Tokens == 0 {
		t.Errorf("%v, count %+v", err, count)
	}
}

func TestTheHoldAndTheQuoteCoverTheDearerModel(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	o := b.options
	o.Balance = b.ledger.Balance
	b.gateway = gateway.New(o)
	const wish = `,"max_tokens":4000`
	quote, err := b.gateway.Quote(t.Context(), b.call("test/falls-chat", "count to 3", wish))
	must(t, err)
	none := b.call("test/falls-chat", "count to 3", wish)
	none.Headers = http.Header{"X-Gateway-Fallback": {"none"}}
	alone, err := b.gateway.Quote(t.Context(), none)
	must(t, err)
	if quote.Model != "test/falls-chat" || quote.Most != 2*alone.Most || quote.Reserve != 2*alone.Reserve || quote.LeastReserve != alone.LeastReserve ||
		quote.Least != alone.Least {
		t.Errorf("%+v, and without other models %+v", quote, alone)
	}
	restricted := b.call("test/falls-chat", "count to 3", wish)
	restricted.Principal.Models = []string{"test/falls-chat"}
	if q, err := b.gateway.Quote(t.Context(), restricted); err != nil || q.Most != alone.Most {
		t.Errorf("for a key that may use no other model: %v, %+v", err, q)
	}
	for _, broken := range []bool{false, true} {
		b := b.fresh(t)
		if broken {
			b.alone()
		}
		r, _, err := b.generate(b.call("test/falls-chat", "count to 3", wish))
		must(t, err)
		if u := b.record(); u.Reserved != quote.Reserve || r.Cost > quote.Most || broken != (r.Model == "test/twice-messages") {
			t.Errorf("reserved %s and cost %s, quoted %+v", u.Reserved, r.Cost, quote)
		}
	}
}

func TestCreditForTheCheaperModelAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	const wish = `,"max_tokens":4000` // The call costs up to 0.08 on one model and 0.16 on the other.
	b.open(90 * app.Dollar / 1000)
	r, _, err := b.generate(b.call("test/falls-chat", "count to 3", wish))
	must(t, err)
	if sent := b.finished(1); r.Model != "test/falls-chat" || !strings.Contains(sent[0].Body, "4000") {
		t.Errorf("report %+v", r)
	}
	b.alone()
	r, _, err = b.generate(b.call("test/falls-chat", "count to 3", wish))
	must(t, err)
	sent := b.finished(6)
	if body := sent[len(sent)-1].Body; r.Model != "test/twice-messages" || strings.Contains(body, "4000") || b.reserved() != 0 {
		t.Errorf("the output is not bounded by what is paid for: report %+v, %s", r, body)
	}
	b.open(8 * app.Dollar / 1000) // The models need at least 0.006 and 0.011.
	r, _, err = b.generate(b.call("test/falls-chat", "count to 3", wish))
	if e := app.AsError(err); e == nil || e.Code != "upstream_error" || r.Model != "test/falls-chat" || r.Cost != 0 || b.reserved() != 0 {
		t.Errorf("%v, report %+v", err, r)
	}
}

// TestWhatIsHeldForADearerModelIsNotCharged has a provider count too many tokens. The hold for a more expensive model does not pay for
// them.
func TestWhatIsHeldForADearerModelIsNotCharged(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},` +
			`"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":100}}`))
	}))
	r, _, err := b.generate(b.call("test/falls-chat", "hi", `,"max_tokens":100`))
	must(t, err)
	if r.Cost != cost(900, 100) || r.Model != "test/falls-chat" {
		t.Errorf("charged %s, report %+v", r.Cost, r)
	}
	b.settled(r.Cost)
}
