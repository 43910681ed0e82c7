package gateway_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
	"umg/app/ratelimit"
)

// longer are models of which one takes what is too long for the other, at a price of its own.
const longer = `
  - {id: test/short, longer_context: test/long, ROUTES [{provider: alpha, model: up-short, style: chat}, {provider: beta, model: up-short-b, style: chat, order: 2}]}
  - {id: test/short-on-messages, longer_context: test/long, STYLED [{provider: alpha, model: up-short, style: messages}]}
  - {id: test/short-on-responses, longer_context: test/long, STYLED [{provider: alpha, model: up-short, style: responses}]}
  - {id: test/short-on-native, longer_context: test/long, STYLED [{provider: alpha, model: up-short, style: native}]}
  - {id: test/long, longer_context: test/longest, name: Long, owner: test, kind: text, capabilities: [text], input: [text, image], output: [text],
     context_tokens: 1000000, max_output_tokens: 4096, parameters: [temperature, n], rates: {input_tokens: 6 per 1M, output_tokens: 30 per 1M},
     limits: {requests_per_minute: 12, tokens_per_minute: 100000000}, released: 2026-01-01, routes: [{provider: gamma, model: up-long, style: chat}]}
  - {id: test/longest, name: Longest, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 2000000, max_output_tokens: 4096,
     rates: {input_tokens: 6 per 1M, output_tokens: 30 per 1M}, released: 2026-01-01, routes: [{provider: delta, model: up-longest, style: chat}]}
`

func TestWhatIsTooLongGoesToTheModelWithMoreRoom(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, model := range []string{"test/short", "test/short-on-messages", "test/short-on-responses", "test/short-on-native"} {
		for _, more := range []string{"", withUsage} {
			b, m := all.fresh(t).watched()
			b.fault("alpha", "context-length")
			r, s, err := b.generate(b.call(model, "count to 20", more))
			must(t, err)
			if r.Model != "test/long" || r.Provider != "gamma" || r.Attempts != 2 || r.Usage[3] != 20 || r.Cost != 2*cost(r.Usage[0], 20) ||
				!strings.Contains(s.text(), `"model":"test/long"`) || strings.Contains(s.text(), model) {
				t.Errorf("%s: report %+v: %s", model, r, s.text())
			}
			if limit := s.header.Get("X-Ratelimit-Limit-Requests"); limit != "12" {
				t.Errorf("%s: the limit shown is %s", model, limit)
			}
			b.settled(r.Cost)
			if u := b.record(); u.Model != "test/long" || !strings.HasPrefix(u.RateCardID, "test/long@") || u.Provider != "gamma" || u.Attempts != 2 {
				t.Errorf("record %+v", u)
			}
			if b.asked("beta") != 0 || b.asked("delta") != 0 {
				t.Error("other routes were asked")
			}
			idle(t, m)
			if up := m.Report().Upstreams[0]; up.FailuresMinute != 0 {
				t.Errorf("%+v", up)
			}
		}
	}
}

func TestTheWayToMoreRoomIsTakenOnceAndOnlyByThoseWhoMay(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	refused := func(b *bench, model string, change func(*app.Principal), provider, want string) {
		t.Helper()
		c := b.call(model, "count to 3", "")
		if change != nil {
			change(&c.Principal)
		}
		r, _, err := b.generate(c)
		e := app.AsError(err)
		if e == nil || e.Code != "context_length_exceeded" || e.Status != 400 || r.Model != want || strings.Contains(e.Message, "up-") {
			t.Errorf("%v, report %+v", err, r)
		}
		if b.asked(provider) != 0 {
			t.Errorf("%s was asked", provider)
		}
		b.settled(0)
	}
	b := all.fresh(t)
	b.fault("alpha", "context-length")
	b.fault("gamma", "context-length")
	refused(b, "test/short", nil, "delta", "test/long")
	b = all.fresh(t)
	b.fault("alpha", "context-length")
	refused(b, "test/short", func(p *app.Principal) { p.Models = []string{"test/short"} }, "gamma", "test/short")
	b = all.fresh(t)
	b.fault("alpha", "context-length")
	refused(b, "test/one", nil, "gamma", "test/one")
}

func TestMoreRoomMustBeAffordable(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	const most = `,"max_tokens":4000` // The call costs up to 0.06 on one model and 0.12 on the other.
	b.fault("alpha", "context-length")
	b.open(70 * app.Dollar / 1000)
	r, _, err := b.generate(b.call("test/short", "count to 3", most))
	must(t, err)
	if r.Model != "test/long" || r.Cost != 2*cost(r.Usage[0], 3) || b.reserved() != 0 {
		t.Errorf("report %+v", r)
	}
	sent := b.finished(2)
	if body := sent[len(sent)-1].Body; strings.Contains(body, "4000") {
		t.Errorf("the output is not bounded by what is paid for: %s", body)
	}
	b.open(app.Dollar / 200)
	r, _, err = b.generate(b.call("test/short", "count to 3", most))
	if e := app.AsError(err); e == nil || e.Kind != app.Unfunded || r.Cost != 0 || b.reserved() != 0 {
		t.Errorf("%v, report %+v", err, r)
	}
}

func TestMoreRoomHasLimitsOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, 100*app.Dollar)
	b.fault("alpha", "context-length")
	for i := range 13 {
		r, _, err := b.generate(b.call("test/short", "hi", ""))
		if i < 12 {
			must(t, err)
			continue
		}
		if e := app.AsError(err); e == nil || e.Kind != app.Exhausted || r.Cost != 0 {
			t.Errorf("%v, report %+v", err, r)
		}
	}
	if b.reserved() != 0 {
		t.Errorf("%s stay reserved", b.reserved())
	}
	c := b.call("test/one", "hi", "")
	c.Style = llm.Chat
	b.control("DELETE", "faults", nil)
	if _, _, err := b.generate(c); err != nil {
		t.Error(err)
	}
}

func TestACallThatMovesToMoreRoomIsOneRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("gamma", "context-length")
	c := b.call("test/long", "count to 3", "")
	c.Key = ratelimit.Key{ID: "key_once", RequestsPerMinute: 2, Concurrency: 1}
	for range 2 {
		r, s, err := b.generate(c)
		must(t, err)
		if r.Model != "test/longest" || r.Provider != "delta" || s.header.Get("X-Ratelimit-Limit-Requests") != "2" {
			t.Errorf("report %+v, %v", r, s.header)
		}
		c.ID = b.call("test/long", "", "").ID
	}
	if _, _, err := b.generate(c); app.KindOf(err) != app.Exhausted {
		t.Errorf("a third request: %v", err)
	}
}
