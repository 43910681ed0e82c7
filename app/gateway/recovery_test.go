package gateway_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

// mended are models whose answers another route may resume: from every style to every style, with providers that restart
// the answer and with one that continues from a prefix. They have the styles that eachMend calls them in.
func mended() string {
	var b strings.Builder
	for i, first := range llm.Styles() {
		for _, second := range llm.Styles() {
			for kind, provider := range map[string]string{"restart": "beta", "on": "gamma"} {
				fmt.Fprintf(&b, "  - {id: test/%s-%s-%s, on_cut: recover, styles: [%s, %s], STYLED [{provider: alpha, model: up-a, style: %s, order: 1}, "+
					"{provider: %s, model: up-b, style: %s, order: 2}]}\n", kind, first, second, first, llm.Styles()[(i+3)%4], first, provider, second)
			}
		}
	}
	b.WriteString("  - {id: test/thrice, on_cut: recover, STYLED [{provider: alpha, model: up-a, style: chat, order: 1}, " +
		"{provider: beta, model: up-b, style: messages, order: 2}, {provider: gamma, model: up-c, style: chat, order: 3}]}\n")
	return b.String()
}

// numbers are what "count to 40" is answered with.
func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i + 1)
	}
	return strings.Join(list, " ")
}

// eachMend calls do for every style of the client, as its stream passes through and as it is translated, each time with another style of
// the provider that goes on with it. TestAnAnswerIsWholeWhereverItWasCut of app/dialect has all of them.
func eachMend(t *testing.T, turn int, all *bench, do func(b *bench, client llm.Style, first, second llm.Style)) {
	t.Helper()
	styles := llm.Styles()
	for i, client := range styles {
		for j, first := range []llm.Style{client, styles[(i+1)%4]} {
			second := styles[(i+2*j+turn)%4]
			t.Run(fmt.Sprintf("%s of %s then %s", client, first, second), func(t *testing.T) {
				do(all.fresh(t), client, first, second)
			})
		}
	}
}

func TestAStreamThatIsCutGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for turn, kind := range []string{"restart", "on"} {
		eachMend(t, turn, all, func(b *bench, client, first, second llm.Style) {
			b.fault("alpha", "cut-after=16t")
			r, s, err := b.generate(b.styledCall(client, "test/"+kind+"-"+string(first)+"-"+string(second), asked{prompt: "count to 40", stream: true}))
			must(b.t, err)
			h := b.listenTo(s, client, true)
			if h.text != numbers(40) || h.err != nil || !h.told || h.cost != r.Cost || r.Err != nil {
				b.t.Fatalf("%q, error %v, report %+v: %s", h.text, h.err, r, s.text())
			}
			if r.Reason != "recovered" || r.Outcome != "succeeded" || !r.Estimated || r.Attempts != 2 || r.Recovered != 1 || r.FinishReason != "stop" {
				b.t.Errorf("report %+v", r)
			}
			if r.Usage[3] < 38 || r.Usage[3] > 42 || r.Usage[0] == 0 || r.Usage[0] > 40 {
				b.t.Errorf("usage %v", r.Usage)
			}
			if u := b.record(); u.Reason != "recovered" || u.Attempts != 2 || u.Overrun != 0 {
				b.t.Errorf("record %+v", u)
			}
			b.settled(r.Cost)
			begun := strings.Contains(b.finished(2)[1].Body, "1 2 3 4")
			if begun != (kind == "on" && second != llm.Responses) {
				b.t.Errorf("the beginning was sent: %t", begun)
			}
		})
	}
}

func TestAStreamThatIsCutGoesOnElsewhereMoreThanOnce(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for name, c := range map[string]struct {
		alpha, beta, gamma  string
		recovered, attempts int
		provider            string
	}{
		"twice":                 {"cut-after=12t", "cut-after=20t", "", 2, 3, "gamma"},
		"out of a silence":      {"stall-after=12t", "status=503", "", 1, 3, "gamma"},
		"past a broken one":     {"reset-after=12t", "status=503", "", 1, 3, "gamma"},
		"on after a refusal":    {"error-after=14t;status=503", "status=500", "prefill=refuse", 1, 4, "gamma"},
		"restarts without need": {"end-after=14t", "status=500", "prefill=restart", 1, 3, "gamma"},
	} {
		for _, client := range llm.Styles() {
			t.Run(name+" "+string(client), func(t *testing.T) {
				b := patient.fresh(t)
				if strings.HasPrefix(c.alpha, "stall") {
					b = hasty.fresh(t)
				}
				for provider, spec := range map[string]string{"alpha": c.alpha, "beta": c.beta, "gamma": c.gamma} {
					if spec != "" {
						b.fault(provider, spec)
					}
				}
				r, s, err := b.generate(b.styledCall(client, "test/thrice", asked{prompt: "count to 60", stream: true, bound: 100}))
				must(t, err)
				h := b.listenTo(s, client, true)
				if h.text != numbers(60) || h.err != nil || h.cost != r.Cost || r.Reason != "recovered" || r.Recovered != c.recovered ||
					r.Attempts != c.attempts || r.Provider != c.provider {
					t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
				}
				b.settled(r.Cost)
			})
		}
	}
}

func TestAStreamThatCannotGoOnEndsWithTheErrorOfItsCut(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for name, c := range map[string]struct {
		alpha, beta string
		asked       asked
		routes      int // Routes counts the providers that get the call.
	}{
		"another answer":    {"cut-after=12t", "malformed-at=6", asked{prompt: "count to 40"}, 2},
		"a shorter answer":  {"cut-after=12t", "end-after=4", asked{prompt: "count to 40"}, 2},
		"no other route":    {"cut-after=12t", "status=500", asked{prompt: "count to 40"}, 2},
		"a tool was called": {"cut-after=6t", "", asked{prompt: "call get_weather for city=" + strings.Repeat("Rome-and-", 60), tool: true}, 1},
		"a stall":           {"stall-after=12t", "status=500", asked{prompt: "count to 40"}, 2},
	} {
		for _, client := range llm.Styles() {
			t.Run(name+" "+string(client), func(t *testing.T) {
				b := patient.fresh(t)
				if strings.HasPrefix(c.alpha, "stall") {
					b = hasty.fresh(t)
				}
				b.fault("alpha", c.alpha)
				if c.beta != "" {
					b.fault("beta", c.beta)
				}
				c.asked.stream = true
				if c.asked.tool && client == llm.Native {
					return // This style sends whole calls.
				}
				r, s, err := b.generate(b.styledCall(client, fmt.Sprintf("test/restart-%s-%s", client, client), c.asked))
				must(t, err)
				h := b.listenTo(s, client, true)
				if h.err == nil || !h.told || h.cost != r.Cost || r.Outcome != "cut" && r.Outcome != "timed_out" || !r.Estimated || r.Cost == 0 || h.finish != "" {
					t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
				}
				if !c.asked.tool && (!strings.HasPrefix(numbers(40), h.text) || r.Usage[3] < 9 || r.Usage[3] > 13) {
					t.Errorf("%q, usage %v", h.text, r.Usage)
				}
				if asked := len(b.sim.Requests()); asked != c.routes || r.Provider != "alpha" || r.Recovered != 0 {
					t.Errorf("%d requests, report %+v", asked, r)
				}
				b.settled(r.Cost)
			})
		}
	}
}

// marks records the checkpoints that a lease manager gets while a call runs.
type marks struct {
	gateway.CreditManager

	mu   sync.Mutex
	seen []billing.Settlement
}

func (m *marks) Progress(h billing.Hold, s billing.Settlement) {
	m.mu.Lock()
	m.seen = append(m.seen, s)
	m.mu.Unlock()
	m.CreditManager.Progress(h, s)
}

func TestACrashWhileAnotherRouteGoesOnIsChargedWhatWasDelivered(t *testing.T) {
	t.Parallel()
	told := &marks{}
	b := setup(t, startMoney, func(o *gateway.Options) {
		told.CreditManager = o.CreditManager
		o.CreditManager = told
	})
	b.fault("alpha", "cut-after=12t")
	_, _, err := b.generate(b.styledCall(llm.Chat, "test/restart-chat-chat", asked{prompt: "count to 40", stream: true}))
	must(t, err)
	charged := int64(0)
	for i, s := range told.seen {
		if out := s.Record.Usage[meter.OutputTokens]; s.Delivered && (out < charged || out > 41 || s.Record.Usage[meter.InputTokens] == 0) {
			t.Errorf("mark %d is of %d tokens behind one of %d", i, out, charged)
		} else {
			charged = max(charged, out)
		}
	}
	before := told.seen[len(told.seen)-1]
	for _, s := range told.seen {
		if s.Record.Provider == "beta" {
			before = s
			break
		}
	}
	if out := before.Record.Usage[meter.OutputTokens]; before.Record.Provider != "beta" || !before.Delivered || out < 10 || out > 13 {
		t.Errorf("as the other route is asked the mark is %+v", before)
	}
}
