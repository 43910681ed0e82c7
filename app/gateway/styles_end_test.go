package gateway_test

import (
	"strings"
	"testing"
	"time"

	"umg/app/gateway"
	"umg/app/llm"
)

func TestEveryWayEndsAnAnswerWhoseLastMarkIsMissingSoon(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney, func(o *gateway.Options) { o.Silence = 20 * time.Millisecond })
	for _, spec := range []string{"no-end", "no-end;keep-open", "no-end;keep-open;usage=none"} {
		t.Run(spec, func(t *testing.T) {
			eachStream(t, all, func(b *bench, client, upstream llm.Style) {
				if upstream == llm.Responses { // whose mark is what says that the answer is whole
					return
				}
				b.fault("alpha", spec)
				if upstream == llm.Native { // which has no last mark
					b.fault("alpha", strings.TrimPrefix(strings.TrimPrefix(spec, "no-end"), ";"))
				}
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 20", stream: true}))
				must(b.t, err)
				h := b.listenTo(s, client, true)
				if h.err != nil || !h.told || h.cost != r.Cost || h.text != numbers(20) || r.Usage[3] != 20 || r.Duration > 5*time.Second {
					b.t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
				}
				if r.Estimated != strings.HasSuffix(spec, "usage=none") {
					b.t.Errorf("report %+v", r)
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestEveryWayChargesABrokenStreamWithTheInputThatWasCounted(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStream(t, all, func(b *bench, client, upstream llm.Style) {
		if upstream == llm.Chat || upstream == llm.Responses { // which count at their end
			return
		}
		whole, _, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 30", stream: true}))
		must(b.t, err)
		b = b.fresh(t)
		b.fault("alpha", "cut-after=12t")
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 30", stream: true}))
		must(b.t, err)
		if h := b.listenTo(s, client, true); r.Usage[0] != whole.Usage[0] || h.usage.Input != r.Usage[0] || !r.Estimated || h.cost != r.Cost {
			b.t.Errorf("report %+v, want the input of %+v", r, whole)
		}
		b.settled(r.Cost)
	})
}
