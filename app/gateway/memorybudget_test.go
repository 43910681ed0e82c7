package gateway_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/sse"
)

// scarce is a bench whose gateway has so much memory for what is large.
func scarce(t *testing.T, bytes int64) (*bench, *sse.Budget) {
	t.Helper()
	memory := sse.NewBudget(bytes)
	return setup(t, startMoney, func(o *gateway.Options) { o.Memory = memory }), memory
}

func TestLargeRequestsAreTranslatedOnlyWhereThereIsMemory(t *testing.T) {
	t.Parallel()
	all, memory := scarce(t, 3<<20)
	for _, prompt := range []string{strings.Repeat("many words ", 200_000), "few words"} {
		for _, upstream := range llm.Styles() {
			for name, do := range map[string]func(b *bench, c gateway.Call) error{
				"generate": func(b *bench, c gateway.Call) error { _, _, err := b.generate(c); return err },
				"count":    func(b *bench, c gateway.Call) error { _, err := b.gateway.CountTokens(t.Context(), c); return err },
			} {
				b := all.fresh(t)
				err := do(b, b.styledCall(llm.Chat, on(upstream), asked{prompt: prompt, bound: 10}))
				if refused := len(prompt) > 1<<20 && upstream != llm.Chat; refused {
					if e := app.AsError(err); e == nil || e.Kind != app.Unavailable || e.RetryAfter == 0 || b.balance().Posted != startMoney {
						t.Errorf("%s on %s: %v", name, upstream, err)
					}
				} else {
					must(t, err)
				}
				if memory.Left() != 3<<20 {
					t.Fatalf("%s on %s: %d bytes are left", name, upstream, memory.Left())
				}
			}
		}
	}
}

func TestLargeAnswersComeOnlyWhereThereIsMemory(t *testing.T) {
	t.Parallel()
	const room = 3 << 19
	all, memory := scarce(t, room)
	eachPath(t, 1, all, func(way *bench, client, upstream llm.Style, stream bool) {
		for _, size := range []string{"100000", "1250000"} {
			b := way.fresh(t)
			b.fault("alpha", "huge-line="+size)
			r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 30", stream: stream}))
			switch {
			case size == "100000":
				must(t, err)
				if h := b.listenTo(s, client, stream); h.err != nil || h.cost != r.Cost || r.Cost == 0 {
					t.Errorf("%s on %s: %v, report %+v", client, upstream, h.err, r)
				}
			case err == nil && r.Err == nil, r.Cost != 0:
				t.Errorf("%s on %s: an answer of 1.25 MB had room: %+v", client, upstream, r)
			}
			b.settled(r.Cost)
			if memory.Left() != room {
				t.Fatalf("%s on %s: %d bytes are left", client, upstream, memory.Left())
			}
		}
	})
}
