package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/sse"
	"umg/billing"
)

func TestAnotherModelGoesOnWithAStreamThatIsCut(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, first := range llm.Styles() {
		for _, client := range llm.Styles() {
			t.Run(fmt.Sprintf("%s of %s", client, first), func(t *testing.T) {
				b, m := all.fresh(t).watched()
				b.fault("alpha", "cut-after=16t")
				own := "test/goes-on-" + string(first)
				r, s, err := b.generate(b.styledCall(client, own, asked{prompt: "count to 40", stream: true}))
				must(t, err)
				h := b.listenTo(s, client, true)
				if h.text != numbers(40) || h.err != nil || !h.told || h.cost != r.Cost || r.Err != nil {
					t.Fatalf("%q, error %v, report %+v: %s", h.text, h.err, r, s.text())
				}
				serves := "test/same-" + string(llm.Styles()[(i+1)%4])
				want := []string{own, serves}
				if client == llm.Messages {
					want = want[:1] // The style names the model only at the beginning of an answer.
				}
				if ids := names(s.text()); !slices.Equal(ids, want) || strings.Contains(s.text(), "up-") {
					t.Errorf("the answer names %q", ids)
				}
				if r.Model != serves || r.Provider != "delta" || r.Reason != "recovered" || r.Recovered != 1 || r.Attempts != 2 ||
					r.Cost != cost(r.Usage[0], r.Usage[3]) || r.Usage[3] < 38 || r.Usage[3] > 42 || r.Usage[0] == 0 || r.Usage[0] > 40 {
					t.Errorf("report %+v", r)
				}
				if b.asked("gamma") != 0 {
					t.Error("a dearer model was asked")
				}
				b.settled(r.Cost)
				if u := b.record(); u.Model != serves || !strings.HasPrefix(u.RateCardID, serves+"@") || u.UpstreamModel != "up-same" || u.Overrun != 0 {
					t.Errorf("record %+v", u)
				}
				idle(t, m)
			})
		}
	}
}

func TestAStreamGoesOnAtNoModelThatIsDearerOrMayNotBeUsed(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, change := range map[string]func(*gateway.Call){
		"dearer":         func(c *gateway.Call) { c.Principal.Models = []string{"test/goes-on-chat", "test/twice-messages"} },
		"not allowed":    func(c *gateway.Call) { c.Principal.Models = []string{"test/goes-on-chat"} },
		"none is wanted": func(c *gateway.Call) { c.Headers = http.Header{"X-Gateway-Fallback": {"none"}} },
	} {
		for _, client := range llm.Styles() {
			t.Run(name+" "+string(client), func(t *testing.T) {
				b := all.fresh(t)
				b.fault("alpha", "cut-after=16t")
				call := b.styledCall(client, "test/goes-on-chat", asked{prompt: "count to 40", stream: true})
				change(&call)
				r, s, err := b.generate(call)
				must(t, err)
				h := b.listenTo(s, client, true)
				if h.err == nil || r.Model != "test/goes-on-chat" || r.Provider != "alpha" || r.Attempts != 1 || r.Recovered != 0 ||
					b.asked("gamma")+b.asked("delta") != 0 || r.Reason != billing.ReasonUpstreamBrokeOff {
					t.Errorf("%q, report %+v", h.text, r)
				}
				b.settled(r.Cost)
			})
		}
	}
}

func TestAStreamThatNoModelGoesOnWithIsChargedAtItsOwn(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, client := range llm.Styles() {
		b, m := all.fresh(t).watched()
		b.fault("alpha", "cut-after=16t")
		b.fault("delta", "status=500")
		r, s, err := b.generate(b.styledCall(client, "test/goes-on-chat", asked{prompt: "count to 40", stream: true}))
		must(t, err)
		h := b.listenTo(s, client, true)
		if h.err == nil || h.cost != r.Cost || r.Model != "test/goes-on-chat" || r.Provider != "alpha" || r.Attempts != 2 ||
			!strings.HasPrefix(numbers(40), h.text) || r.Usage[3] < 9 || r.Usage[3] > 17 {
			t.Errorf("%q, report %+v", h.text, r)
		}
		b.settled(r.Cost)
		if u := b.record(); u.Model != "test/goes-on-chat" || u.Provider != "alpha" || !strings.HasPrefix(u.RateCardID, "test/goes-on-chat@") {
			t.Errorf("record %+v", u)
		}
		idle(t, m)
	}
}

// TestAFallbackModelThatIsCutGoesOnAtTheNext cuts the answer of a fallback model, too. The next model continues it.
func TestAFallbackModelThatIsCutGoesOnAtTheNext(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, client := range llm.Styles() {
		b, _ := all.fresh(t).watched()
		b.fault("alpha", "status=503")
		b.fault("gamma", "cut-after=16t")
		r, s, err := b.generate(b.styledCall(client, "test/goes-on-chat", asked{prompt: "count to 40", stream: true}))
		must(t, err)
		h := b.listenTo(s, client, true)
		if h.text != numbers(40) || h.err != nil || r.Model != "test/same-messages" || r.Reason != "recovered" || r.Cost != cost(r.Usage[0], r.Usage[3]) {
			t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
		}
		b.settled(r.Cost)
	}
}

// keeping makes a call and tells how much room for recoveries was left when its answer began.
func (b *bench) keeping(call gateway.Call, kept *sse.Budget) (left int64, s *sink, r gateway.Report) {
	b.t.Helper()
	left = -1
	b.hold(&call)
	s = &sink{hook: func([]byte) error {
		if left < 0 {
			left = kept.Left()
		}
		if call.BodyMemory.Bytes() != nil {
			b.t.Error("the request was not released when the answer began")
		}
		return nil
	}}
	got, err := b.gateway.Generate(b.t.Context(), call, s)
	must(b.t, err)
	return left, s, *got
}

func TestWhatIsKeptForARecoveryIsBounded(t *testing.T) {
	t.Parallel()
	const room = 128 << 10
	all := setup(t, startMoney)
	kept := sse.NewBudget(room)
	o := all.options
	o.Kept = kept
	with := func(model string, a asked) (int64, gateway.Report, heard) {
		b := all.fresh(t)
		b.gateway = gateway.New(o)
		b.fault("alpha", "cut-after=400t")
		a.stream = true
		left, s, r := b.keeping(b.styledCall(llm.Chat, model, a), kept)
		if got := kept.Left(); got != room {
			t.Errorf("%s: %d of %d bytes are left when the call is over", model, got, room)
		}
		b.settled(r.Cost)
		return left, r, b.listenTo(s, llm.Chat, true)
	}
	if left, r, h := with("test/two", asked{prompt: "count to 500"}); left >= room || left < room-8<<10 || r.Recovered != 1 || h.text != numbers(500) {
		t.Errorf("with two routes %d bytes are left, report %+v", left, r)
	}
	if left, r, _ := with("test/one", asked{prompt: "count to 500"}); left != room || r.Recovered != 0 || r.Err == nil {
		t.Errorf("with one route %d bytes are left, report %+v", left, r)
	}
	if left, r, _ := with("test/two-cut", asked{prompt: "count to 500"}); left != room || r.Err == nil {
		t.Errorf("where a cut is an error %d bytes are left, report %+v", left, r)
	}
	if left, r, _ := with("test/two", asked{prompt: "count to 500", system: strings.Repeat("x", 40<<10)}); left != room || r.Err == nil {
		t.Errorf("with a large request %d bytes are left, report %+v", left, r)
	}
	kept.Take(room - 6<<10) // The transcript outgrows what is left.
	defer kept.Give(room - 6<<10)
	b := all.fresh(t)
	b.gateway = gateway.New(o)
	b.fault("alpha", "cut-after=1500t")
	_, _, r := b.keeping(b.styledCall(llm.Chat, "test/two", asked{prompt: "count to 2000", stream: true}), kept)
	if r.Recovered != 0 || app.AsError(r.Err) == nil || kept.Left() != 6<<10 {
		t.Errorf("%d bytes are left, report %+v", kept.Left(), r)
	}
}
