package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/llm"
)

// failsUnseen checks a call of which nothing was sent.
func (b *bench) failsUnseen(client llm.Style, model string, a asked, kind app.Kind) {
	b.t.Helper()
	r, s, err := b.generate(b.styledCall(client, model, a))
	if e := app.AsError(err); e == nil || e.Kind != kind || s.status != 0 || s.text() != "" || r.Cost != 0 || r.Outcome == "succeeded" {
		b.t.Errorf("%v, status %d, report %+v: %s", err, s.status, r, s.text())
	}
	b.settled(0)
}

// breaksOff checks a stream that ends with an error behind its first words, and what it costs.
func (b *bench) breaksOff(client llm.Style, model, prompt, outcome string, tokensMax int64) {
	b.t.Helper()
	r, s, err := b.generate(b.styledCall(client, model, asked{prompt: prompt, stream: true}))
	must(b.t, err)
	h := b.listenTo(s, client, true)
	if h.err == nil || h.finish != "" && h.finish != "failed" || !h.told || h.cost != r.Cost || r.Err == nil || str(at(h.err, "message")) != r.Err.Message {
		b.t.Errorf("finish %q, error %v, report %+v: %s", h.finish, h.err, r, s.text())
	}
	if !r.Estimated || r.Outcome != outcome || r.Usage[0] == 0 || r.Usage[3] < 1 || r.Usage[3] > tokensMax || r.FinishReason != "" {
		b.t.Errorf("report %+v for %q", r, h.text)
	}
	if u := b.record(); u.Outcome != outcome || !u.Estimated || u.ErrorCode != r.Err.Code {
		b.t.Errorf("record %+v", u)
	}
	b.settled(r.Cost)
}

func TestEveryWayFailsAnAnswerWhoseEndMeansAFailure(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, word := range []string{"error", "insufficient_system_resource", "network_error", "sensitive", "abort"} {
		t.Run(word, func(t *testing.T) {
			eachStyleBothForms(t, i, all, func(b *bench, client, upstream llm.Style, stream bool) {
				b.fault("alpha", "finish="+word)
				if stream {
					b.breaksOff(client, on(upstream), "say 12 words", "cut", 14)
					return
				}
				b.failsUnseen(client, on(upstream), asked{prompt: "say 12 words"}, app.Upstream)
			})
		})
	}
}

// TestEveryWayFailsInTheFormThatWasNotAskedFor has upstreams that stream where JSON was asked for, and the other way round:
// nothing was sent when the failure shows.
func TestEveryWayFailsInTheFormThatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for i, c := range []struct {
		spec   string
		stream bool
		kind   app.Kind
	}{
		{"finish=error;stream-instead-of-json", false, app.Upstream},
		{"finish=error;json-instead-of-stream", true, app.Upstream},
		{"malformed-at=9;stream-instead-of-json", false, app.Upstream},
		{"chatter-after=10t;stream-instead-of-json", false, app.Timeout},
		{"malformed-at=1;json-instead-of-stream", true, app.Upstream},
		{"finish=network_error;stream-instead-of-json", false, app.Upstream},
		{"malformed-at=9;usage=none;stream-instead-of-json", false, app.Upstream},
	} {
		t.Run(c.spec, func(t *testing.T) {
			all := patient
			if c.kind == app.Timeout {
				all = hasty
			}
			eachStyle(t, "", i, all, func(b *bench, client, upstream llm.Style) {
				b.fault("alpha", c.spec)
				b.failsUnseen(client, on(upstream), asked{prompt: "count to 40", stream: c.stream}, c.kind)
			})
		})
	}
}

func TestEveryWayFailsAStreamWithAFrameThatCannotBeRead(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for i, spec := range []string{"malformed-at=12", "malformed-at=12;usage=none", "malformed-at=12;usage=every"} {
		t.Run(spec, func(t *testing.T) {
			eachStyle(t, " stream", i, all, func(b *bench, client, upstream llm.Style) {
				b.fault("alpha", spec)
				b.breaksOff(client, on(upstream), "count to 30", "cut", 13)
			})
		})
	}
}

func TestEveryWayEndsAStreamThatOnlyShowsThatItLives(t *testing.T) {
	t.Parallel()
	all := build(t, startMoney, hastyWait)
	eachStyle(t, " stream", 1, all, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "chatter-after=10t")
		b.breaksOff(client, on(upstream), "count to 50", "timed_out", 12)
	})
	eachStyle(t, " unseen", 0, all, func(b *bench, client, upstream llm.Style) {
		b.fault("alpha", "chatter-after=0")
		began := time.Now()
		b.failsUnseen(client, on(upstream), asked{prompt: "count to 50", stream: true}, app.Timeout)
		if took := time.Since(began); took > 5*time.Second {
			b.t.Errorf("it took %s", took)
		}
	})
}

// TestFailuresBeforeContentAreAnsweredElsewhere has a first route that fails in the new ways, and a second one of another style.
func TestFailuresBeforeContentAreAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for i, c := range []struct {
		spec   string
		stream bool
		all    *bench
	}{
		{"finish=error", false, patient}, {"finish=sensitive", false, patient}, {"malformed-at=1", true, patient}, {"malformed-at=2", true, patient},
		{"finish=error;json-instead-of-stream", true, patient}, {"finish=abort;stream-instead-of-json", false, patient},
		{"chatter-after=0", true, hasty}, {"chatter-after=2", true, hasty},
	} {
		client := llm.Styles()[i%len(llm.Styles())] // No client has anything of the answer that failed.
		t.Run(c.spec+" "+string(client), func(t *testing.T) {
			b := c.all.fresh(t)
			b.fault("alpha", c.spec)
			r, s, err := b.generate(b.styledCall(client, "test/over", asked{prompt: "count to 20", stream: c.stream}))
			must(t, err)
			h := b.listenTo(s, client, c.stream)
			if !strings.Contains(h.text, numbers(20)) || h.err != nil || r.Provider != "beta" || h.cost != r.Cost || r.Usage[3] != 20 || r.Estimated {
				t.Errorf("%q of %s, error %v, report %+v", h.text, r.Provider, h.err, r)
			}
			b.settled(r.Cost)
		})
	}
}

func TestFailuresBehindContentAreRecovered(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for i, spec := range []string{"malformed-at=16", "finish=error", "chatter-after=16t"} {
		for _, kind := range []string{"restart", "on"} {
			all := patient
			if strings.HasPrefix(spec, "chatter") {
				all = hasty
			}
			t.Run(spec+" "+kind, func(t *testing.T) {
				if kind == "on" && spec == "finish=error" {
					return // A provider that gets a whole answer adds nothing.
				}
				// TestAStreamThatIsCutGoesOnElsewhere goes on from every style to every style.
				eachStyle(t, "", i%2, all, func(b *bench, client, first llm.Style) {
					second := llm.Styles()[(slices.Index(llm.Styles(), first)+1+i)%len(llm.Styles())]
					b.fault("alpha", spec)
					r, s, err := b.generate(b.styledCall(client, "test/"+kind+"-"+string(first)+"-"+string(second), asked{prompt: "count to 40", stream: true}))
					must(b.t, err)
					h := b.listenTo(s, client, true)
					if h.text != numbers(40) || h.err != nil || !h.told || h.cost != r.Cost || r.Reason != "recovered" || r.Recovered != 1 {
						b.t.Errorf("%q, error %v, report %+v", h.text, h.err, r)
					}
					b.settled(r.Cost)
				})
			})
		}
	}
}
