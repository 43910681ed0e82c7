package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"umg/app"
	"umg/app/llm"
)

// rewriting is the simulator with something else in its answers.
func (b *bench) rewriting(replace func(answer []byte) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := httptest.NewRecorder()
		b.sim.ServeHTTP(kept, r)
		for name, values := range kept.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(kept.Code)
		_, _ = w.Write(replace(kept.Body.Bytes()))
	})
}

var (
	inputCounts  = regexp.MustCompile(`"(prompt_tokens|input_tokens|promptTokenCount)":\d+`)
	readCounts   = regexp.MustCompile(`"(cached_tokens|cache_read_input_tokens|cachedContentTokenCount)":\d+`)
	writeCounts  = regexp.MustCompile(`"(cache_write_tokens|cache_creation_input_tokens)":\d+`)
	outputCounts = regexp.MustCompile(`"(completion_tokens|output_tokens|candidatesTokenCount)":\d+`)
	thoughtCount = regexp.MustCompile(`"(reasoning_tokens|thinking_tokens|thoughtsTokenCount)":\d+`)
)

// honest makes a call whose answer is reported as it is, and returns its cost.
func (b *bench) honest(client, upstream llm.Style, model string, a asked) (cost app.Amount, used llm.Usage) {
	b.t.Helper()
	r, _, err := b.generate(b.styledCall(client, model, a))
	must(b.t, err)
	if r.Estimated || r.Usage[0] == 0 {
		b.t.Fatalf("%s on %s: report %+v", client, upstream, r)
	}
	return r.Cost, llm.Usage{Input: r.Usage[0], CacheRead: r.Usage[1], CacheWrite: r.Usage[2], Output: r.Usage[3] + r.Usage[4], Reasoning: r.Usage[4]}
}

// TestReportedInputIsBoundedByWhatWasSent lets a provider of a model with room for 32,000 tokens say that it has read fifty
// million. The customer pays no more than for an honest count, and the output as it was counted.
func TestReportedInputIsBoundedByWhatWasSent(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachStyleBothForms(t, 1, all, func(b *bench, client, upstream llm.Style, stream bool) {
		a := asked{prompt: "count to 40", stream: stream, bound: 3000}
		cost, used := b.honest(client, upstream, little(upstream), a)
		for _, c := range []struct {
			counts *regexp.Regexp
			tokens string
		}{{inputCounts, "50000000"}, {inputCounts, "31000"}, {inputCounts, "35300"}, {readCounts, "50000000"}, {writeCounts, "50000000"}} {
			b.open(startMoney)
			b.answerWith(b.rewriting(func(answer []byte) []byte { return c.counts.ReplaceAll(answer, []byte(`"$1":`+c.tokens)) }))
			if c.counts != inputCounts {
				b.fault("alpha", "cached=1;cache-write=1") // The fault adds the member that is replaced.
			}
			r, s, err := b.generate(b.styledCall(client, little(upstream), a))
			b.answerWith(b.sim)
			b.control(http.MethodDelete, "faults", nil)
			must(b.t, err)
			if upstream == llm.Native && c.counts == writeCounts {
				continue // This answer has no usage.
			}
			if h := b.listenTo(s, client, stream); h.cost != r.Cost || !h.told {
				b.t.Errorf("%s: %s is shown and %s charged", c.counts, h.cost, r.Cost)
			}
			if r.Cost > cost || r.Usage[3]+r.Usage[4] != used.Output || r.Usage[0] == 0 && r.Usage[1] == 0 || !r.Estimated || !r.Implausible || r.Reason != "usage_implausible" {
				b.t.Errorf("%s %s: %s is charged and %s right, report %+v", c.counts, c.tokens, r.Cost, cost, r)
			}
			b.settled(r.Cost)
			if u := b.record(); u.Overrun != 0 || !u.Estimated {
				b.t.Errorf("record %+v", u)
			}
		}
	})
}

// little is the model with little room that is served by an upstream of that style alone.
func little(upstream llm.Style) string { return "test/little-on-" + string(upstream) }

// TestOneWrongCountDoesNotCostTheOthers replaces one count of a report at a time: what can be true of the rest is charged.
func TestOneWrongCountDoesNotCostTheOthers(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	eachPath(t, 3, all, func(b *bench, client, upstream llm.Style, stream bool) {
		a := asked{prompt: "count to 40", stream: stream, bound: 3000, thinks: true}
		b.fault("alpha", "cached=2")
		cost, used := b.honest(client, upstream, on(upstream), a)
		for name, c := range map[string]struct {
			counts *regexp.Regexp
			count  string
			keeps  func(u llm.Usage) bool
		}{
			"a negative input":          {inputCounts, "-5", func(u llm.Usage) bool { return u.Output == used.Output && u.InputTotal() > 0 }},
			"an input that is a string": {inputCounts, `"many"`, func(u llm.Usage) bool { return u.Output == used.Output && u.InputTotal() > 0 }},
			"a negative output":         {outputCounts, "-5", func(u llm.Usage) bool { return u.InputTotal() == used.InputTotal() && u.Output > 0 }},
			"an output above the bound": {outputCounts, "1000000", func(u llm.Usage) bool { return u.InputTotal() == used.InputTotal() && u.Output > 0 && u.Output < 3000 }},
			"thoughts above the output": {thoughtCount, "90000", func(u llm.Usage) bool {
				return upstream == llm.Native || u.InputTotal() == used.InputTotal() && u.Output == used.Output
			}},
			"a negative count of cached": {readCounts, "-1", func(u llm.Usage) bool { return u.InputTotal() >= used.Input && u.Output == used.Output }},
		} {
			b.open(startMoney)
			b.answerWith(b.rewriting(func(answer []byte) []byte { return c.counts.ReplaceAll(answer, []byte(`"$1":`+c.count)) }))
			r, s, err := b.generate(b.styledCall(client, on(upstream), a))
			b.answerWith(b.sim)
			must(b.t, err)
			u := llm.Usage{Input: r.Usage[0], CacheRead: r.Usage[1], CacheWrite: r.Usage[2], Output: r.Usage[3] + r.Usage[4], Reasoning: r.Usage[4]}
			if !r.Estimated || !r.Implausible || r.Reason != "usage_implausible" || !c.keeps(u) {
				b.t.Errorf("%s: %+v of %+v, report %+v", name, u, used, r)
			}
			if h := b.listenTo(s, client, stream); h.cost != r.Cost || c.counts != readCounts && r.Cost > cost {
				b.t.Errorf("%s: %s is charged, %s shown and %s right", name, r.Cost, h.cost, cost)
			}
			b.settled(r.Cost)
		}
	})
}

// TestTrueCountsAreNeverCut lets the provider count what its own prompts for tools and pictures can come to.
func TestTrueCountsAreNeverCut(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	picture := members{"type": "image_url", "image_url": members{"url": "https://example.com/a.png"}}
	for name, c := range map[string]struct {
		more   members
		tokens string
	}{
		"the prompt of tools": {nil, "16000"},
		"a picture":           {members{"messages": []any{members{"role": "user", "content": []any{picture}}}}, "48000"},
	} {
		b := all.fresh(t)
		b.answerWith(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"id":"c","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":` + c.tokens + `,"completion_tokens":1}}`))
		}))
		call := b.styledCall(llm.Chat, on(llm.Chat), asked{prompt: "hi", more: c.more})
		r, _, err := b.generate(call)
		b.answerWith(b.sim)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Implausible || r.Reason == "usage_implausible" || strconv.FormatInt(r.Usage[0], 10) != c.tokens {
			t.Errorf("%s: report %+v", name, r)
		}
	}
}
