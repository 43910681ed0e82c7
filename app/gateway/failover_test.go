package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider/health"
	"umg/billing"
)

// failovers are models with two routes and nothing said of how they fail over, in each style.
func failovers() string {
	var b strings.Builder
	for _, s := range llm.Styles() {
		fmt.Fprintf(&b, "  - {id: test/primary-%s, fallbacks: [test/spare-%s], STYLED [{provider: alpha, model: up-primary, style: %s, order: 1}, "+
			"{provider: beta, model: up-secondary, style: %s, order: 2}]}\n", s, s, s, s)
		fmt.Fprintf(&b, "  - {id: test/unreachable-%s, STYLED [{provider: refusing, model: up-primary, style: %s, order: 1}, "+
			"{provider: beta, model: up-secondary, style: %s, order: 2}]}\n", s, s, s)
		fmt.Fprintf(&b, "  - {id: test/spare-%s, STYLED [{provider: gamma, model: up-spare, style: %s}]}\n", s, s)
	}
	return b.String()
}

// failover is one call in a scenario.
type failover struct {
	b      *bench
	t      *testing.T
	style  llm.Style
	stream bool
}

// model is one of the models in the style of the client.
func (f failover) model(name string) string { return "test/" + name + "-" + string(f.style) }

const (
	failoverPrompt = "count to 40"
	failoverLength = 40
)

// rescue makes a call, which must be answered whole by a provider, and be charged for that answer once. It returns what was reported.
func (f failover) rescue(model, provider string, attemptsMax int) gateway.Report {
	f.t.Helper()
	before := f.b.balance().Posted
	c := f.b.styledCall(f.style, model, asked{prompt: failoverPrompt, stream: f.stream, bound: 200})
	c.LimitFactor = 1000
	r, s, err := f.b.generate(c)
	if err != nil {
		f.t.Fatalf("%v: %+v", err, r)
	}
	h := f.b.listenTo(s, f.style, f.stream)
	if h.text != numbers(failoverLength) && (f.stream || !strings.Contains(h.text, numbers(failoverLength))) || h.err != nil || r.Err != nil {
		f.t.Fatalf("the answer is %q, error %v, report %+v", h.text, h.err, r)
	}
	if r.FinishReason != "stop" && r.FinishReason != "end_turn" && r.FinishReason != "completed" && r.FinishReason != "STOP" {
		f.t.Errorf("the answer ends with %q", r.FinishReason)
	}
	if r.Provider != provider || r.Attempts > attemptsMax || r.Outcome != "succeeded" {
		f.t.Errorf("answered by %s after %d attempts, want %s and at most %d: %+v", r.Provider, r.Attempts, provider, attemptsMax, r)
	}
	output := r.Usage[meter.OutputTokens]
	if !h.told || h.cost != r.Cost || output < failoverLength-2 || output > failoverLength+2 || r.Cost != cost(r.Usage[meter.InputTokens], output) {
		f.t.Errorf("the client got the cost %s for %v, the report says %s", h.cost, r.Usage, r.Cost)
	}
	if after := f.b.balance().Posted; before-after != r.Cost || f.b.reserved() != 0 {
		f.t.Errorf("%s was charged, and %s is reserved, where the answer cost %s", before-after, f.b.reserved(), r.Cost)
	}
	f.recorded(r, c.ID)
	return r
}

// recorded checks that the account has one record of a call, which names who answered.
func (f failover) recorded(r gateway.Report, id string) {
	f.t.Helper()
	all, err := f.b.reports.Requests(f.t.Context(), f.b.account, 1000)
	must(f.t, err)
	all = slices.DeleteFunc(all, func(u billing.UsageRecord) bool { return u.RequestID != id })
	if len(all) != 1 || all[0].Provider != r.Provider || all[0].UpstreamModel != r.UpstreamModel || all[0].Model != r.Model || all[0].Cost != r.Cost ||
		all[0].Attempts != r.Attempts || all[0].Overrun != 0 {
		f.t.Errorf("%d records %+v, report %+v", len(all), all, r)
	}
}

// spare is a scenario in which the first provider fails so that the second answers.
func spare(spec string, attemptsMax int) func(f failover) {
	return spareAsked(spec, attemptsMax, attemptsMax-1)
}

// spareAsked is spare where the provider may see more requests than there are attempts.
func spareAsked(spec string, attemptsMax, requestsMax int) func(f failover) {
	return func(f failover) {
		f.b.fault("alpha", spec)
		f.rescue(f.model("primary"), "beta", attemptsMax)
		if n := f.b.asked("alpha"); n == 0 || n > requestsMax {
			f.t.Errorf("the first provider was asked %d times", n)
		}
	}
}

// forms is a scenario that differs for streams and for answers in one piece.
func forms(stream, whole func(f failover)) func(f failover) {
	return func(f failover) {
		if f.stream {
			stream(f)
		} else {
			whole(f)
		}
	}
}

// Attempts until another provider answers: one failure, or two where the first provider is tried once more.
const (
	onceThenSpare  = 2
	twiceThenSpare = 3
)

// failoverScenarios are what a provider can do to a call that another could answer. All settings but the timeouts are the usual ones.
var failoverScenarios = []struct {
	name  string
	hasty bool // Hasty sets short timeouts for the first provider.
	do    func(f failover)
}{
	{"01 internal error", false, spare("status=500", twiceThenSpare)},
	{"02 bad gateway", false, spare("status=502", twiceThenSpare)},
	{"02 unavailable", false, spare("status=503", twiceThenSpare)},
	{"02 overloaded", false, spare("status=529", twiceThenSpare)},
	{"02 burst of errors", false, failover.burst},
	{"03 too many requests", false, spare("status=429", twiceThenSpare)},
	{"04 too many requests for long", false, spare("status=429;retry-after=3000", onceThenSpare)},
	{"05 credential unknown", false, spare("auth", onceThenSpare)},
	{"05 credential forbidden", false, spare("status=403", onceThenSpare)},
	{"06 payment required", false, spare("status=402", onceThenSpare)},
	{"06 quota used up", false, spare("status=429;code=insufficient_quota", twiceThenSpare)},
	{"07 connection refused", false, func(f failover) { f.rescue(f.model("unreachable"), "beta", twiceThenSpare) }},
	// A reset on a connection that carried calls before looks like a stale connection: its request is sent once more.
	{"08 reset before headers", false, spareAsked("reset", twiceThenSpare, twiceThenSpare)},
	{"09 cut midway", false, forms(spare("cut-after=16t", onceThenSpare), spare("cut-after=1", twiceThenSpare))},
	{"09 reset midway", false, forms(spare("reset-after=16t;pace=1ms", onceThenSpare), spare("reset-after=1", twiceThenSpare))},
	{"09 ended midway", false, forms(spare("end-after=16t", onceThenSpare), spare("end-after=1", twiceThenSpare))},
	{"10 slow first token", false, failover.slow},
	{"11 silent after the request", true, spare("stall", onceThenSpare)},
	{"12 stalled midway", true, forms(spare("stall-after=16t", onceThenSpare), spare("stall-after=1", onceThenSpare))},
	{"13 empty answer", false, spare("empty", onceThenSpare)},
	{"13 page in place of an answer", false, spare("html", onceThenSpare)},
	{"13 truncated JSON", false, spare("truncated-json", onceThenSpare)},
	{"14 error in an answer", false, spare("error-in-200", twiceThenSpare)},
	{"14 error before content", false, forms(spare("error-after=0;status=500", twiceThenSpare), spare("error-in-200", twiceThenSpare))},
	{"15 flapping", false, failover.flapping},
	{"16 no provider of the model", false, failover.otherModel},
}

// burst is a provider that fails a few calls, and another that answers them all.
func (f failover) burst() {
	const calls, ejectedAfter = 8, 5
	f.b.fault("alpha", "status=503")
	for range calls {
		f.rescue(f.model("primary"), "beta", twiceThenSpare)
	}
	if n := f.b.asked("alpha"); n > ejectedAfter {
		f.t.Errorf("the first provider was asked %d times", n)
	}
}

// slow is a provider whose content comes seconds late, after it was quick before.
func (f failover) slow() {
	const quickCalls, latest = 20, 2 * time.Second
	for range quickCalls {
		if r := f.rescue(f.model("primary"), "alpha", 1); r.Hedged {
			f.t.Logf("a quick call was hedged: %+v", r)
		}
	}
	f.b.fault("alpha", "slow-first=5s")
	r := f.rescue(f.model("primary"), "beta", onceThenSpare)
	if !r.Hedged || r.FirstByte > latest {
		f.t.Errorf("answered after %s: %+v", r.FirstByte, r)
	}
}

// flapping is a provider that is down for a minute, in which it is asked at most fifteen times, and is used again at most half a
// minute after that.
func (f failover) flapping() {
	const down, every, attemptsMax, unusedMax = time.Minute, 2 * time.Second, 15, 30 * time.Second
	start, passed := time.Now(), time.Duration(0)
	o := f.b.options
	o.Health = health.New(health.Options{Now: func() time.Time { return start.Add(passed) }, Random: o.Random})
	f.b.gateway = gateway.New(o)
	f.rescue(f.model("primary"), "alpha", 1)
	f.b.control(http.MethodDelete, "requests", nil)
	f.b.fault("alpha", "status=503")
	for ; passed < down; passed += every {
		f.rescue(f.model("primary"), "beta", twiceThenSpare)
	}
	if n := f.b.asked("alpha"); n == 0 || n > attemptsMax {
		f.t.Errorf("it was asked %d times while it was down", n)
	}
	f.b.control(http.MethodDelete, "faults", nil)
	f.b.control(http.MethodDelete, "requests", nil)
	for ; f.b.asked("alpha") == 0; passed += every {
		if passed > down+unusedMax {
			f.t.Fatalf("it is not used %s after it recovered", passed-down)
		}
		c := f.b.styledCall(f.style, f.model("primary"), asked{prompt: "hi", stream: f.stream})
		c.LimitFactor = 1000
		_, _, err := f.b.generate(c)
		must(f.t, err)
	}
	f.rescue(f.model("primary"), "alpha", 1)
}

// otherModel is a model whose providers are all down, and another that serves its calls.
func (f failover) otherModel() {
	const attemptsMax = 5
	f.b.fault("alpha", "status=503")
	f.b.fault("beta", "reset")
	if r := f.rescue(f.model("primary"), "gamma", attemptsMax); r.Model != f.model("spare") {
		f.t.Errorf("the answer is of %s", r.Model)
	}
}

// TestFailoverScenarios plays each scenario in one piece in one style, and as a stream in the next one. What a failure looks like in each
// style is in the tests of app/dialect and app/provider/errorclass, and TestEveryWayChargesNothingBeforeTheFirstByte.
func TestFailoverScenarios(t *testing.T) {
	t.Parallel()
	patient, hasty := setup(t, startMoney), build(t, startMoney, hastyWait)
	for i, scenario := range failoverScenarios {
		t.Run(scenario.name, func(t *testing.T) {
			for j, form := range []string{"json", "stream"} {
				style := llm.Styles()[(i+j)%len(llm.Styles())]
				t.Run(string(style)+"/"+form, func(t *testing.T) {
					all := patient
					if scenario.hasty {
						all = hasty
					}
					scenario.do(failover{b: all.fresh(t), t: t, style: style, stream: form == "stream"})
				})
			}
		})
	}
}
