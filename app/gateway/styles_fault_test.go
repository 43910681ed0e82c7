package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

func TestEveryWayChargesABrokenStreamWithWhatCame(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for i, want := range []struct {
		spec    string
		kind    app.Kind
		outcome string
		least   int64 // Least is in output tokens.
	}{
		{"cut-after=10t", app.Upstream, "cut", 8},
		{"reset-after=10t", app.Upstream, "cut", 8},
		{"end-after=10t", app.Upstream, "cut", 8},
		{"stall-after=10t", app.Timeout, "timed_out", 8},
		{"error-after=10t;status=503", app.Upstream, "cut", 8},
		{"error-after=10t;status=429", app.Exhausted, "cut", 8},
		// The styles have come to different words by this frame: 6 short words are estimated as 3 tokens by their length.
		{"malformed-at=13;cut-after=16t", app.Upstream, "cut", 3},
		{"usage=every;cut-after=10t", app.Upstream, "cut", 8},
		{"malformed-at=13", app.Upstream, "cut", 3},
	} {
		t.Run(want.spec, func(t *testing.T) {
			all := patient
			if want.outcome == "timed_out" {
				all = hasty
			}
			eachStyle(t, " stream", i, all, func(b *bench, client, upstream llm.Style) {
				b.fault("alpha", want.spec)
				c := b.styledCall(client, on(upstream), asked{prompt: "count to 50", stream: true})
				r, s, err := b.generate(c)
				must(b.t, err)
				h := b.listenTo(s, client, true)
				codes := map[app.Kind]string{app.Upstream: "upstream_error", app.Timeout: "upstream_timeout", app.Exhausted: "rate_limit_exceeded"}
				if h.err == nil || !h.told || h.cost != r.Cost || r.Err == nil || r.Err.Kind != want.kind || r.Err.Code != codes[want.kind] ||
					str(at(h.err, "message")) != r.Err.Message || (client == llm.Chat || client == llm.Messages) && !strings.Contains(s.text(), c.ID) {
					b.t.Errorf("error %v, report %+v", h.err, r)
				}
				if !r.Estimated || r.Outcome != want.outcome || r.Usage[0] == 0 || r.Usage[3] < want.least || r.Usage[3] > 12 || !strings.HasPrefix(h.text, "1 2 3 4 5 6") {
					b.t.Errorf("report %+v for %q", r, h.text)
				}
				if u := b.record(); u.Outcome != want.outcome || !u.Estimated || u.ErrorCode != r.Err.Code || u.Attempts != 1 ||
					r.Cost != app.Amount(priced(llm.Usage{Input: r.Usage[0], Output: r.Usage[3]})) || len(b.finished(1)) != 1 {
					b.t.Errorf("record %+v", u)
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestEveryWayEndsOddStreamsWell(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, spec := range []string{
		"json-instead-of-stream", "frames=crlf,bom,comments,multiline,unknown,split", "frames=cr", "ok-then-extra", "keep-open", "pace=1ms",
		"slow-first=20ms", "close-idle",
	} {
		t.Run(spec, func(t *testing.T) {
			eachStyle(t, " stream", i, all, func(b *bench, client, upstream llm.Style) {
				b.fault("alpha", spec)
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 20", stream: true}))
				must(b.t, err)
				h := b.listenTo(s, client, true)
				if h.err != nil || !h.told || h.cost != r.Cost || !strings.HasSuffix(h.text, " 19 20") || r.Estimated || r.Usage[3] != 20 {
					b.t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestEveryWayReadsAStreamInPlaceOfJSON(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyle(t, " json", 1, all, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "stream-instead-of-json")
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 20"}))
		must(b.t, err)
		h := b.listenTo(s, client, false)
		if !h.told || h.cost != r.Cost || !strings.Contains(h.text, " 19 20") || r.Usage[3] != 20 || r.Attempts != 1 {
			b.t.Errorf("%q, report %+v", h.text, r)
		}
		b.settled(r.Cost)
	})
}

// lengths are how the styles say that an answer was cut at its length.
var lengths = map[llm.Style]string{llm.Chat: "length", llm.Messages: "max_tokens", llm.Responses: "incomplete", llm.Native: "MAX_TOKENS"}

func TestEveryWayEndsAnEndlessAnswerAtWhatWasPaidFor(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStream(t, all, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "endless")
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "say 10 words", stream: true, bound: 20}))
		must(b.t, err)
		h := b.listenTo(s, client, true)
		if h.err != nil || h.finish != lengths[client] || h.cost != r.Cost || !r.Estimated || r.Usage[3] != 20 || h.usage.Output != 20 || r.FinishReason != "length" {
			b.t.Errorf("finish %q at %s, error %v, report %+v", h.finish, h.cost, h.err, r)
		}
		b.settled(r.Cost)
		if up := b.finished(1); !up[0].ClientLeft {
			b.t.Error("the upstream was not stopped")
		}
	})
}

func TestEveryWayEndsAnAnswerAtItsLength(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyleBothForms(t, 1, all, func(b *bench, client, upstream llm.Style, stream bool) {
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 100", stream: stream, bound: 20}))
		must(b.t, err)
		h := b.listenTo(s, client, stream)
		if h.finish != lengths[client] || h.cost != r.Cost || r.Estimated || r.Usage[3] != 20 || r.FinishReason != "length" {
			b.t.Errorf("finish %q at %s, report %+v", h.finish, h.cost, r)
		}
		b.settled(r.Cost)
	})
}

// filters are how the styles say that an answer was withheld.
var filters = map[llm.Style]string{llm.Chat: "content_filter", llm.Messages: "refusal", llm.Responses: "incomplete", llm.Native: "SAFETY"}

func TestEveryWayChargesARefusalOnce(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, prompt := range []string{"refuse: this", "block: this"} {
		t.Run(prompt, func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: prompt, stream: stream}))
				must(b.t, err)
				h := b.listenTo(s, client, stream)
				if h.finish != filters[client] || !h.told || h.cost != r.Cost || r.Estimated || r.FinishReason != "content_filter" && r.FinishReason != "refusal" {
					b.t.Errorf("finish %q at %s, report %+v: %s", h.finish, h.cost, r, s.text())
				}
				b.settled(r.Cost)
			})
		})
	}
}

func TestEveryWayKeepsASilentStreamOpen(t *testing.T) {
	t.Parallel()
	quick := func(o *gateway.Options) { o.KeepAlive = 20 * time.Millisecond }
	patient, hasty := setup(t, startMoney, quick), build(t, startMoney, hastyWait, quick)
	eachStyle(t, " slow", 1, patient, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "slow-first=110ms")
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 3", stream: true}))
		must(b.t, err)
		h := b.listenTo(s, client, true)
		if h.marks < 2 || h.err != nil || h.cost != r.Cost || h.text != "1 2 3" {
			b.t.Errorf("%d marks, %q, report %+v", h.marks, h.text, r)
		}
		b.settled(r.Cost)
	})
	eachStyle(t, " stalled", 0, hasty, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "stall")
		r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 3", stream: true}))
		must(b.t, err)
		h := b.listenTo(s, client, true)
		if h.marks == 0 || h.err == nil || r.Err == nil || r.Outcome != "timed_out" || r.Cost != 0 {
			b.t.Errorf("%d marks, error %v, report %+v", h.marks, h.err, r)
		}
		b.settled(0)
	})
}

func TestEveryWayChargesAClientThatLeavesWithWhatCame(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, a := range []asked{
		{prompt: "count to 400", stream: true},
		{prompt: "narrate, then call get_weather for city=" + strings.Repeat("Rome-and-", 60), stream: true, tool: true},
	} {
		t.Run(a.prompt[:8], func(t *testing.T) {
			eachStyle(t, " stream", i, all, func(b *bench, client, upstream llm.Style) {
				b.fault("alpha", "pace=3ms")
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				writes := 0
				s := &sink{hook: func([]byte) error {
					if writes++; writes == 9 || a.tool && writes == 3 {
						leave()
					}
					return nil
				}}
				r, err := b.gateway.Generate(ctx, b.styledCall(client, on(upstream), a), s)
				must(b.t, err)
				// A tool call may be complete before the gateway notices that the client has left: then the provider has
				// counted.
				whole := a.tool && !r.Estimated && (r.Outcome == "succeeded" || r.Reason == "client_left_at_end")
				left := r.Outcome == "client_left" && r.Estimated && r.Usage[3] <= 100
				if !whole && !left || r.Usage[3] == 0 || r.Cost == 0 {
					b.t.Errorf("report %+v", r)
				}
				b.settled(r.Cost)
				b.finished(1)
			})
		})
	}
}

func TestEveryWayChargesNothingBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, spec := range []string{"status=500", "reset", "html", "empty", "truncated-json", "error-in-200", "cut-after=0", "usage=none;cut-after=0"} {
		t.Run(spec, func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				b.fault("alpha", spec)
				r, s, err := b.generate(b.styledCall(client, on(upstream), asked{prompt: "count to 3", stream: stream}))
				if err == nil || s.status != 0 || r.Cost != 0 || r.Outcome != "failed" {
					b.t.Errorf("%v, status %d, report %+v: %s", err, s.status, r, s.text())
				}
				b.settled(0)
			})
		})
	}
}

func TestAFailOverAcrossStylesIsTranslatedAgain(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, client := range llm.Styles() {
		for _, spec := range []string{"status=503", "end-after=2", "empty"} {
			t.Run(string(client)+" "+spec, func(t *testing.T) {
				b := all.fresh(t)
				b.fault("alpha", spec)
				a := asked{prompt: "count to 5", stream: true, more: members{}}
				if client == llm.Chat || client == llm.Native {
					a.more["seed"] = 7
				}
				if client == llm.Native {
					delete(a.more, "seed")
					a.more["generationConfig"] = members{"seed": 7}
				}
				r, s, err := b.generate(b.styledCall(client, "test/over", a))
				must(t, err)
				h := b.listenTo(s, client, true)
				if h.text != "1 2 3 4 5" || r.Provider != "beta" || h.cost != r.Cost || s.header.Get("X-Gateway-Dropped") != "" {
					t.Errorf("%q of %s, dropped %q", h.text, r.Provider, s.header.Get("X-Gateway-Dropped"))
				}
				b.settled(r.Cost)
			})
		}
	}
}

func TestAStopThatIsWatchedForEndsTheUpstream(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, client := range []llm.Style{llm.Chat, llm.Messages, llm.Native} {
		for _, stream := range []bool{false, true} {
			t.Run(string(client), func(t *testing.T) {
				b := all.fresh(t)
				b.fault("alpha", "pace=2ms")
				r, s, err := b.generate(b.styledCall(client, on(llm.Responses), asked{prompt: "count to 3000", stream: stream, stop: " 12"}))
				must(t, err)
				h := b.listenTo(s, client, stream)
				if !strings.Contains(h.text, "10 11") || strings.Contains(h.text, "12") || h.cost != r.Cost || !r.Estimated || r.Usage[3] < 11 || r.Usage[3] > 13 {
					t.Errorf("%q, report %+v", h.text, r)
				}
				b.settled(r.Cost)
				if up := b.finished(1); !up[0].ClientLeft {
					t.Error("the upstream was not stopped")
				}
			})
		}
	}
}

func TestAnImageThatCannotBeFetchedCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	c := b.styledCall(llm.Chat, on(llm.Native), asked{prompt: "x"})
	c.Body = []byte(`{"model":"test/on-native","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://127.0.0.1:9/dot.png"}}]}]}`)
	r, s, err := b.generate(c)
	if e := app.AsError(err); e == nil || e.Kind != app.Invalid || s.status != 0 || r.Cost != 0 {
		t.Errorf("%v, report %+v", err, r)
	}
	b.settled(0)
	if n := len(b.sim.Requests()); n != 0 {
		t.Errorf("%d upstream requests", n)
	}
}
