package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
	"umg/billing"
)

func TestAStreamWithoutAMaximumReservesASliceAtATime(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyle(t, " stream", 1, all, func(b *bench, client, upstream llm.Style) {
		s, first := &sink{}, app.Amount(0)
		s.hook = func([]byte) error {
			if first == 0 {
				first = b.reserved()
			}
			return nil
		}
		r, err := b.gateway.Generate(b.t.Context(), b.styledCall(client, on(upstream), asked{prompt: "count to 4000", stream: true}), s)
		must(b.t, err)
		h, u := b.listenTo(s, client, true), b.record()
		if first < 2048*20_000 || first > 2100*20_000 || u.Reserved < 4000*20_000 || u.Overrun != 0 || u.Reason != "completed" {
			b.t.Errorf("%s was reserved at first, record %+v", first, u)
		}
		if h.err != nil || r.Usage[3] != 4000 || h.cost != r.Cost || !strings.HasSuffix(h.text, " 4000") {
			b.t.Errorf("cost %s, error %v, report %+v", h.cost, h.err, r)
		}
		t, _ := b.t.(*testing.T)
		if bound := upstreamBound(t, upstream, b.finished(1)[0].Body); bound > 0 && bound != 4096 {
			b.t.Errorf("the upstream was given %d", bound)
		}
		b.settled(r.Cost)
	})
}

func TestAStreamEndsWhereTheCreditDoes(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	const credit = 48_000_000 // The credit covers a slice of 2,048 tokens and one of 256.
	// TestEveryWayEndsAnEndlessAnswerAtWhatWasPaidFor ends streams in every pair.
	eachStyle(t, " stream", 0, all, func(b *bench, client, upstream llm.Style) {
		b.open(credit)
		b.fault("alpha", "stall-after=2500t") // The provider never ends by itself, however fast it is.
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 4000", stream: true}))
		must(b.t, err)
		if end, notice, _ := strings.Cut(s.text(), "data: [DONE]\n\n"); client == llm.Chat {
			var said struct {
				Code  int
				Error struct{ Code string }
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(notice, "data: ")), &said) != nil || said.Error.Code != "insufficient_quota" || said.Code != 402 {
				b.t.Errorf("behind the end: %q", notice)
			}
			s.got.Reset()
			s.got.WriteString(end + "data: [DONE]\n\n")
		}
		h, u, left := b.listenTo(s, client, true), b.record(), b.balance()
		if h.err != nil || h.finish != lengths[client] || !h.told || h.cost != r.Cost || h.usage.Output != r.Usage[3] {
			b.t.Errorf("finish %q at %s, error %v, report %+v", h.finish, h.cost, h.err, r)
		}
		if r.Usage[3] != 2048+256 || r.Reason != billing.ReasonCreditRanOut || u.Reason != "credit_ran_out" || u.Outcome != "cut" || !u.Estimated || u.Overrun != 0 {
			b.t.Errorf("record %+v", u)
		}
		if left.Posted != credit-r.Cost || left.Posted < 0 || b.reserved() != 0 {
			b.t.Errorf("%s left", left.Posted)
		}
		if up := b.finished(1); !up[0].ClientLeft {
			b.t.Error("the upstream was not stopped")
		}
	})
}

func TestThoughtsThatAreNotShownAreReservedForAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("alpha", "usage=4000") // The client gets only ten tokens.
	r, _, err := b.generate(b.call("test/one", "count to 10", withUsage))
	must(t, err)
	if u := b.record(); u.Overrun != 0 || u.Reason != "completed" || r.Usage[3] != 4000 || r.Cost != cost(r.Usage[0], 4000) {
		t.Errorf("report %+v, record %+v", r, u)
	}
	b.settled(r.Cost)
}
