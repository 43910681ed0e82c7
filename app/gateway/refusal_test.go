package gateway_test

import (
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/llm"
)

func TestARefusalOfTheFirstRouteIsFinalAlsoBesideAHedge(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for name, c := range map[string]struct{ alpha, beta, code string }{
		"a filter is not gone round":           {"slow-first=200ms;content-filter", "slow-first=400ms", "content_filter"},
		"a second that fails hides no refusal": {"slow-first=200ms;context-length", "slow-first=400ms;status=503", "context_length_exceeded"},
		"nor does one that answers":            {"slow-first=200ms;status=422;code=odd_value", "slow-first=400ms", "odd_value"},
	} {
		b, m := all.fresh(t).watched()
		b.warm(streamed)
		b.open(startMoney)
		b.fault("alpha", c.alpha)
		b.fault("beta", c.beta)
		r, _, err := b.generate(b.call("test/hedged", "count to 5", streamed))
		if e := app.AsError(err); e == nil || e.Code != c.code || r.Provider != "alpha" || !r.Hedged || r.Attempts != 2 {
			t.Errorf("%s: %v, report %+v", name, err, r)
		}
		b.settled(0)
		idle(t, m)
	}
}

func TestAWaitThatOutlastsTheCallIsNotWaited(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.fault("gamma", "status=429;retry-after=1")
	r, _, err := b.generate(b.call("test/brief", "count to 3", ""))
	must(t, err)
	if r.Provider != "beta" || r.Attempts != 2 || r.Duration > 900*time.Millisecond {
		t.Errorf("report %+v", r)
	}
	b.settled(r.Cost)
	idle(t, m)
}

func TestTheBeginningThatAnotherProviderWasGivenIsNoInput(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("alpha", "cut-after=50t")
	b.fault("gamma", "cut-after=30t")
	r, s, err := b.generate(b.styledCall(llm.Chat, "test/on-chat-messages", asked{prompt: "count to 400", stream: true}))
	must(t, err)
	h := b.listenTo(s, llm.Chat, true)
	if h.err == nil || !strings.HasPrefix(numbers(400), h.text) || r.Recovered != 1 || h.cost != r.Cost {
		t.Errorf("%q, report %+v", h.text, r)
	}
	if r.Usage[0] > 45 || r.Usage[3] < 75 || r.Usage[3] > 85 {
		t.Errorf("charged %v for a prompt of three words and 80 numbers", r.Usage)
	}
	b.settled(r.Cost)
}

func TestCountingSaysNothingOfHowAModelAnswers(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	c := b.call("test/on-messages", "hi", "")
	b.fault("alpha", "status=500")
	for range 6 {
		if _, err := b.gateway.CountTokens(t.Context(), c); err == nil {
			t.Fatal("it counts")
		}
	}
	if up := m.Report().Upstreams[0]; up.Ejections != 0 || up.FailuresMinute != 0 {
		t.Errorf("counting has ejected it: %+v", up)
	}
	for range 3 { // Each call makes two attempts.
		_, _, err := b.generate(b.call("test/on-messages", "hi", ""))
		if app.KindOf(err) != app.Upstream {
			t.Fatal(err)
		}
		b.control("DELETE", "faults", nil)
		_, err = b.gateway.CountTokens(t.Context(), c)
		must(t, err)
		b.fault("alpha", "status=500")
	}
	if up := m.Report().Upstreams[0]; up.Ejections != 1 || up.State != "ejected" {
		t.Errorf("counting keeps it from being ejected: %+v", up)
	}
	idle(t, m)
}
