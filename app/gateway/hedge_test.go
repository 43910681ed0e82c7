package gateway_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/simulator"
)

// warm makes as many quick calls to the hedged model as it takes to know how soon its first route answers to such calls.
func (b *bench) warm(more string) {
	b.t.Helper()
	const calls, stallsMax = 20, 2
	stalls := 0
	for n := 0; n < calls*(1+stalls); n++ {
		r, _, err := b.generate(b.call("test/hedged", "hi", more))
		must(b.t, err)
		// The machine stalled for half a second. After twenty more calls, the stall is none of the slowest calls.
		if r.Hedged && stalls < stallsMax {
			stalls++
			continue
		}
		if r.Hedged || r.Attempts != 1 || r.Provider != "alpha" {
			b.t.Fatalf("report %+v", r)
		}
	}
	if stalls > 0 {
		b.control("DELETE", "requests", nil)
	}
}

// of is the last request that a provider has seen, when it has ended.
func (b *bench) of(provider string) simulator.Request {
	b.t.Helper()
	b.finished(len(b.sim.Requests()))
	for _, r := range slices.Backward(b.sim.Requests()) {
		if r.Provider == provider {
			return r
		}
	}
	b.t.Fatalf("%s was not asked", provider)
	return simulator.Request{}
}

func TestALateFirstRouteIsOvertakenByTheNext(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, more := range []string{streamed, ""} {
		b, m := all.fresh(t).watched()
		b.warm(more)
		b.open(startMoney)
		b.fault("alpha", "slow-first=1500ms")
		b.fault("beta", "slow-first=30ms")
		r, s, err := b.generate(b.call("test/hedged", "count to 20", more))
		must(t, err)
		if !r.Hedged || r.Attempts != 2 || r.Provider != "beta" || r.Usage[3] != 20 || r.Estimated || !strings.Contains(s.text(), "20") {
			t.Errorf("report %+v: %s", r, s.text())
		}
		b.settled(r.Cost)
		if u := b.record(); u.Provider != "beta" || u.UpstreamModel != "up-hedged-b" || u.Attempts != 2 || u.Cost != cost(r.Usage[0], 20) {
			t.Errorf("record %+v", u)
		} else if won, lost := u.Trail.Attempts[0], u.Trail.Attempts[1]; won.Provider != "beta" || won.Cause != "" || lost.Provider != "alpha" ||
			lost.Cause != "ended" || lost.Start >= won.Start || lost.Took <= 0 {
			t.Errorf("attempts %+v", u.Trail.Attempts)
		}
		// The answer is as late as the 95th percentile of the first route and the first byte of the second.
		if r.FirstByte > 700*time.Millisecond {
			t.Errorf("the answer began after %s", r.FirstByte)
		}
		lost, won := b.of("alpha"), b.of("beta")
		if !lost.ClientLeft || lost.Finished.Sub(won.Started) > 130*time.Millisecond {
			t.Errorf("the loser ended %s after the winner was asked: %+v", lost.Finished.Sub(won.Started), lost)
		}
		idle(t, m)
		for _, up := range m.Report().Upstreams {
			if up.FailuresMinute != 0 {
				t.Errorf("to be overtaken counts as a failure: %+v", up)
			}
		}
	}
}

func TestASecondRouteThatIsLaterLoses(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.warm(streamed)
	b.open(startMoney)
	b.fault("alpha", "slow-first=250ms")
	b.fault("beta", "slow-first=1500ms")
	r, s, err := b.generate(b.call("test/hedged", "count to 20", withUsage))
	must(t, err)
	a := readStream(t, s.text())
	if !r.Hedged || r.Attempts != 2 || r.Provider != "alpha" || a.text != "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20" || a.usage.cost(t) != r.Cost {
		t.Errorf("report %+v: %s", r, s.text())
	}
	b.settled(r.Cost)
	if tries := b.record().Trail.Attempts; len(tries) != 2 || tries[0].Cause != "ended" || tries[1].Provider != "alpha" || tries[1].Cause != "" {
		t.Errorf("attempts %+v", tries)
	}
	if lost := b.of("beta"); !lost.ClientLeft || lost.Finished.Sub(lost.Started) > 600*time.Millisecond {
		t.Errorf("the loser went on: %+v", lost)
	}
	idle(t, m)
}

func TestAHedgeThatFailsToo(t *testing.T) {
	t.Parallel()
	all := setup(t, startMoney)
	for _, c := range []struct {
		alpha, beta string
		provider    string // An empty provider means that none answers.
		code        string
		attempts    int
	}{
		{"slow-first=200ms", "status=503", "alpha", "", 2},
		{"slow-first=200ms", "status=422;code=odd_value", "alpha", "", 2},
		{"slow-first=100ms;status=503", "slow-first=300ms", "beta", "", 2},
		{"slow-first=200ms;status=503", "status=429;retry-after=30", "", "rate_limit_exceeded", 2},
	} {
		b, m := all.fresh(t).watched()
		b.warm(streamed)
		b.open(startMoney)
		b.fault("alpha", c.alpha)
		b.fault("beta", c.beta)
		r, _, err := b.generate(b.call("test/hedged", "count to 5", streamed))
		if e := app.AsError(err); c.provider == "" && (e == nil || e.Code != c.code) || c.provider != "" && (err != nil || r.Provider != c.provider) {
			t.Errorf("%+v: %v, report %+v", c, err, r)
		}
		if !r.Hedged || r.Attempts != c.attempts {
			t.Errorf("%+v: report %+v", c, r)
		}
		b.settled(r.Cost)
		idle(t, m)
	}
}

func TestHedgesStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	b, m := setup(t, 100*app.Dollar).watched()
	b.warm(streamed)
	b.fault("alpha", "slow-first=200ms")
	const calls, floor, share = 60, 10, 10
	var (
		all    sync.WaitGroup
		hedges atomic.Int64
	)
	for range calls {
		c := b.call("test/hedged", "hi", streamed)
		c.LimitFactor = calls
		all.Go(func() {
			r, err := b.gateway.Generate(t.Context(), c, &sink{})
			if err != nil {
				t.Error(err)
			}
			if r.Hedged {
				hedges.Add(1)
			}
		})
	}
	all.Wait()
	if n := hedges.Load(); n == 0 || n > floor+calls/share {
		t.Errorf("%d of %d calls had a second attempt", n, calls)
	}
	idle(t, m)
}

func TestAClientThatLeavesEndsBothAttempts(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.warm(streamed)
	b.fault("alpha", "hold")
	b.fault("beta", "hold")
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.gateway.Generate(ctx, b.call("test/hedged", "hi", streamed), &sink{})
	}()
	b.control("GET", "waiting?at_least=2&timeout=5s", nil)
	leave()
	<-ended
	if lost := b.of("beta"); !lost.ClientLeft {
		t.Errorf("%+v", lost)
	}
	idle(t, m)
}

func TestAFirstRouteThatIsSlowGivesWayAndIsAskedWhenTheOthersFail(t *testing.T) {
	t.Parallel()
	const ejectedAfter = 5
	b, m := setup(t, startMoney).watched()
	b.warm(streamed)
	b.fault("alpha", "slow-first=900ms")
	for range ejectedAfter {
		r, _, err := b.generate(b.call("test/hedged", "hi", streamed))
		must(t, err)
		if !r.Hedged || r.Provider != "beta" {
			t.Fatalf("report %+v", r)
		}
	}
	r, _, err := b.generate(b.call("test/hedged", "hi", streamed))
	must(t, err)
	if r.Hedged || r.Attempts != 1 || r.Provider != "beta" {
		t.Errorf("the next call is asked of the slow route again: %+v", r)
	}
	b.fault("beta", "status=422;code=odd_value")
	if _, _, err := b.generate(b.call("test/hedged", "hi", streamed)); app.AsError(err).Code != "odd_value" {
		t.Errorf("a refusal for good is not told: %v", err)
	}
	b.fault("beta", "status=503")
	b.open(startMoney)
	r, _, err = b.generate(b.call("test/hedged", "count to 5", streamed))
	must(t, err)
	if r.Provider != "alpha" || r.Usage[3] != 5 {
		t.Errorf("the slow route is not asked though the others fail: %+v", r)
	}
	b.settled(r.Cost)
	idle(t, m)
}

func TestALateFirstTokenIsHedgedThoughNothingIsKnownOfItsRoute(t *testing.T) {
	t.Parallel()
	const standard, latest = 2 * time.Second, 3500 * time.Millisecond
	b, m := setup(t, startMoney).watched()
	b.fault("alpha", "slow-first=6s")
	r, _, err := b.generate(b.call("test/two", "count to 5", streamed))
	must(t, err)
	if !r.Hedged || r.Provider != "beta" || r.FirstByte < standard || r.FirstByte > latest {
		t.Errorf("report %+v", r)
	}
	b.settled(r.Cost)
	idle(t, m)
}

func TestAModelThatSaysSoIsNotHedged(t *testing.T) {
	t.Parallel()
	b, m := setup(t, startMoney).watched()
	b.fault("alpha", "slow-first=2500ms")
	r, _, err := b.generate(b.call("test/unhedged", "count to 5", streamed))
	must(t, err)
	if r.Hedged || r.Attempts != 1 || r.Provider != "alpha" || b.asked("beta") != 0 {
		t.Errorf("report %+v", r)
	}
	b.settled(r.Cost)
	idle(t, m)
}
