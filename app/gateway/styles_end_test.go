package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/gateway"
	"umg/app/llm"
)

func TestEveryWayEndsAnAnswerWhoseLastMarkIsMissingSoon(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney, func(o *gateway.Options) { o.Silence = 20 * time.Millisecond })
	for i, spec := range []string{"no-end", "no-end;keep-open", "no-end;keep-open;usage=none"} {
		t.Run(spec, func(t *testing.T) {
			eachStyle(t, " stream", i, all, func(b *bench, client, upstream llm.Style) {
				// The last mark of this style says that the answer is whole.
				if upstream == llm.Responses {
					return
				}
				b.fault("alpha", spec)
				if upstream == llm.Native { // This style has no last mark.
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
	eachStyle(t, " stream", 1, all, func(b *bench, client, upstream llm.Style) {
		if upstream == llm.Chat || upstream == llm.Responses { // These styles report usage at the end.
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

// inputFirst are streams of upstreams that count their input when they begin, and say nothing of the output before its end.
var inputFirst = map[llm.Style][]string{
	llm.Messages: {
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[]," +
			"\"model\":\"x\",\"usage\":{\"input_tokens\":77,\"cache_read_input_tokens\":11}}}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"one two \"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"three \"}}\n\n",
	},
	llm.Native: {
		"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"one two \"}]},\"index\":0}]," +
			"\"usageMetadata\":{\"promptTokenCount\":88,\"cachedContentTokenCount\":11}}\n\n",
		"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"three \"}]},\"index\":0}]}\n\n",
	},
}

func TestAnInputThatWasCountedWithoutAnyOutputIsCharged(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for upstream, frames := range inputFirst {
		for _, client := range llm.Styles() {
			b := all.fresh(t)
			b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, frame := range frames {
					_, _ = w.Write([]byte(frame))
				}
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}))
			r, _, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 3", stream: true}))
			must(t, err)
			if r.Usage[0] != 77 || r.Usage[1] != 11 || !r.Estimated || r.Usage[3] == 0 {
				t.Errorf("%s on %s: report %+v", client, upstream, r)
			}
			b.settled(r.Cost)
		}
	}
}
