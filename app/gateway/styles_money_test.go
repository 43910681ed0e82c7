package gateway_test

import (
	"testing"

	"umg/app"
	"umg/app/llm"
)

func TestEveryWayShowsWhatItCharges(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachWay(t, all, func(b *bench, client, upstream llm.Style, stream bool) {
		b.fault("alpha", "cached=11;cache-write=7")
		a := asked{prompt: "count to 40", stream: stream, thinks: true, bound: 3000,
			system: "You are one who counts slowly and with much care, so that no number at all is left out, whatever it may be called."}
		r, s, err := b.generate(b.styledCall(client, on(upstream), a))
		must(b.t, err)
		h := b.listenTo(s, client, stream)
		u := llm.Usage{Input: r.Usage[0], CacheRead: r.Usage[1], CacheWrite: r.Usage[2], Output: r.Usage[3] + r.Usage[4], Reasoning: r.Usage[4]}
		if r.Estimated || u.CacheRead != 11 || upstream != llm.Native && u.CacheWrite != 7 || u.Output-u.Reasoning != 40 || u.Reasoning == 0 {
			b.t.Errorf("report %+v", r)
		}
		if r.Cost != app.Amount(priced(u)) || h.cost != r.Cost || !h.told || !b.same(client, h.usage, u) {
			b.t.Errorf("cost %s and usage %+v are shown, %s and %+v charged", h.cost, h.usage, r.Cost, u)
		}
		b.settled(r.Cost)
	})
}

// same reports whether a client reads the usage that was charged: a style without cache writes counts them as input.
func (b *bench) same(client llm.Style, shown, charged llm.Usage) bool {
	if client == llm.Native {
		charged.Input, charged.CacheWrite = charged.Input+charged.CacheWrite, 0
	}
	return shown == charged
}

func TestEveryWayReplacesUsageThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, spec := range []string{"none", "negative", "huge", "string", "float", "first", "1000000", "0"} {
		t.Run(spec, func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				if spec == "first" && !stream {
					return // A single body has no first usage.
				}
				b.fault("alpha", "usage="+spec)
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 30", stream: stream, bound: 100}))
				must(b.t, err)
				h := b.listenTo(s, client, stream)
				if !r.Estimated || r.Usage[3] < 15 || r.Usage[3] > 60 || r.Usage[0] == 0 {
					b.t.Errorf("report %+v", r)
				}
				if h.cost != r.Cost || h.usage.Output != r.Usage[3] || h.usage.Input != r.Usage[0] || r.Cost == 0 {
					b.t.Errorf("shown %+v at %s, charged %+v", h.usage, h.cost, r)
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestEveryWayCountsUsageOnceHoweverOftenItIsSaid(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, spec := range []string{"twice", "every"} {
		t.Run(spec, func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				b.fault("alpha", "usage="+spec)
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 30", stream: stream}))
				must(b.t, err)
				h := b.listenTo(s, client, stream)
				if r.Estimated || r.Usage[3] != 30 || r.Usage[0] == 0 || h.cost != r.Cost || h.usage.Output != 30 {
					b.t.Errorf("shown %+v at %s, report %+v: %s", h.usage, h.cost, r, s.text())
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestTheSamePromptCostsTheSameInEveryStyle(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	var first app.Amount
	eachPath(t, 2, all, func(b *bench, client, upstream llm.Style, stream bool) {
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 40", stream: stream}))
		must(b.t, err)
		if first == 0 {
			first = r.Cost
		}
		if h := b.listenTo(s, client, stream); r.Cost != first || h.cost != first || b.record().Reason != "completed" {
			b.t.Errorf("%s is charged and %s shown, not %s", r.Cost, h.cost, first)
		}
		b.settled(first)
	})
}
