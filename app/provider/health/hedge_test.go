package health_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

// The hedge budget allows hedgeBurst at once, and one more for each callsPerHedge calls.
const (
	hedgeBurst    = 10
	callsPerHedge = 10
)

// outpace makes an attempt that another route overtakes.
func outpace(t testing.TB, m *health.Monitor, r *catalog.Route, after time.Duration) {
	t.Helper()
	try, block := m.Begin(r, false)
	if block != "" {
		t.Fatalf("the attempt is not let through: %s", block)
	}
	try.Hedged(after)
	try.End(fault(provider.ClassEnded, 0), 0)
}

func TestARouteThatIsAlwaysOutpacedGivesWayForAWhileAndHasNotFailed(t *testing.T) {
	t.Parallel()
	m, c := monitor()
	r := upstream()
	for range 4 {
		outpace(t, m, r, time.Second)
	}
	call(t, m, r, nil)
	for range 4 {
		outpace(t, m, r, time.Second)
	}
	wantBlock(t, m, r, "")
	outpace(t, m, r, time.Second)
	wantBlock(t, m, r, health.Slow)
	if try, block := m.Begin(r, true); block != "" {
		t.Errorf("where no other route answers the block is %s", block)
	} else {
		try.End(fault(provider.ClassEnded, 0), 0)
	}
	if up := m.Report().Upstreams[0]; up.FailuresMinute != 0 || up.LastFault != "" || up.State != health.StateEjected || !up.Slow {
		t.Errorf("%+v", up)
	}
	c.advance(ejection)
	outpace(t, m, r, time.Second) // This call is the probe.
	wantBlock(t, m, r, health.Slow)
	c.advance(2 * ejection)
	call(t, m, r, nil)
	wantBlock(t, m, r, "")
	for range 5 {
		call(t, m, r, broken())
	}
	wantBlock(t, m, r, health.Ejected)
}

func TestAHedgeComesLaterThanAnswersUsuallyDo(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	answer := func(whole bool, first time.Duration) {
		try, _ := m.Begin(r, false)
		try.Whole = whole
		try.End(nil, first)
	}
	want := func(whole bool, least, most time.Duration) {
		t.Helper()
		try, _ := m.Begin(r, false)
		try.Whole = whole
		defer try.End(fault(provider.ClassClient, 0), 0)
		if after := try.HedgeAfter(nil); after < least || after > most {
			t.Errorf("a hedge comes after %s, want %s to %s; in one piece: %v", after, least, most, whole)
		}
	}
	want(false, 2*time.Second, 2*time.Second) // No answer is known yet.
	want(true, 4*time.Second, 4*time.Second)
	answer(false, 300*time.Millisecond)
	want(false, 2*time.Second, 2*time.Second) // One answer is too few.
	answer(false, 4*time.Second)
	want(false, 4*time.Second, 4500*time.Millisecond)
	for range 40 {
		answer(false, 300*time.Millisecond)
	}
	want(false, 300*time.Millisecond, 340*time.Millisecond)
	want(true, 4*time.Second, 4*time.Second) // Streams say nothing about answers in one piece.
	for range 40 {
		answer(true, 6*time.Second)
	}
	want(true, 6*time.Second, 6750*time.Millisecond)
	want(false, 300*time.Millisecond, 340*time.Millisecond)
	for range 1600 {
		answer(false, time.Millisecond)
	}
	want(false, 20*time.Millisecond, 20*time.Millisecond)
}

func TestAReportTellsHowSoonAnswersInOnePieceComeWhereFewAreStreamed(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	answer := func(whole bool, first time.Duration) {
		try, _ := m.Begin(r, false)
		try.Whole = whole
		try.End(nil, first)
	}
	for range 40 {
		answer(true, 4*time.Second)
	}
	if up := m.Report().Upstreams[0]; up.FirstByteP50 < 4*time.Second || up.FirstByteP95 < up.FirstByteP50 {
		t.Errorf("%+v", up)
	}
	for range 40 {
		answer(false, 300*time.Millisecond)
	}
	if up := m.Report().Upstreams[0]; up.FirstByteP50 < 300*time.Millisecond || up.FirstByteP95 > 400*time.Millisecond {
		t.Errorf("%+v", up)
	}
}

func TestAnswersThatAreOutpacedDoNotMoveThePercentile(t *testing.T) {
	t.Parallel()
	m, _ := monitor()
	r := upstream()
	r.Provider.Breaker.Failures = 1000
	for range 40 {
		try, _ := m.Begin(r, false)
		try.End(nil, 300*time.Millisecond)
	}
	first := time.Duration(0)
	for range 200 {
		try, _ := m.Begin(r, false)
		after := try.HedgeAfter(nil)
		if first == 0 {
			first = after
		}
		if after != first {
			t.Fatalf("a hedge came after %s, and comes after %s", first, after)
		}
		try.Hedged(after)
		try.End(fault(provider.ClassEnded, 0), 0)
	}
}

// race simulates the calls of a model with two routes, the first of which is hedged.
type race struct {
	simulation

	m             *health.Monitor
	first, second *catalog.Route
	callsEvery    time.Duration
	calls         int
	random        *rand.Rand
	firstContent  func(s *race) time.Duration // FirstContent returns the time until an answer of the first route begins.
	secondContent func(s *race) time.Duration
	hedges        int
	waits         []time.Duration // Waits are the times until the calls had content.
	overdraft     int             // Overdraft is the largest number of hedges beyond the budget.
	begun         int
}

func (s *race) simulate(t *testing.T) {
	t.Helper()
	s.random = rand.New(rand.NewPCG(3, 5))
	s.c = &clock{}
	s.m = health.New(health.Options{Now: s.c.now, Random: s.random.IntN})
	s.first, s.second = upstream(), upstream()
	s.second.Provider.ID = "other"
	s.first.Provider.Breaker = catalog.FileBreaker{}.Settings()
	for i := range s.calls {
		s.plan(time.Duration(i)*s.callsEvery, s.call)
	}
	s.run()
	if s.overdraft > 0 {
		t.Errorf("%d hedges more than a tenth of the calls and %d", s.overdraft, hedgeBurst)
	}
}

func (s *race) call() {
	s.begun++
	content := s.firstContent(s)
	block := s.m.Blocked(s.first)
	var try health.Try
	if block == "" {
		try, block = s.m.Begin(s.first, false)
	}
	if block != "" { // The call uses the second route only.
		s.m.PassedOver(s.first)
		other, _ := s.m.Begin(s.second, true)
		s.answer(other, s.now, s.secondContent(s))
		return
	}
	after := try.HedgeAfter([]catalog.Route{*s.first, *s.second})
	if content <= after {
		s.answer(try, s.now, content)
		return
	}
	began := s.now
	s.plan(began+after, func() {
		rival := s.secondContent(s)
		if !s.m.MayHedge(s.first) {
			s.answer(try, began, content)
			return
		}
		s.hedges++
		s.overdraft = max(s.overdraft, s.hedges-hedgeBurst-s.begun/callsPerHedge)
		if after+rival >= content {
			try.Hedged(0)
			s.answer(try, began, content)
			return
		}
		other, _ := s.m.Begin(s.second, true)
		s.plan(began+after+rival, func() {
			other.End(nil, rival)
			s.waits = append(s.waits, after+rival)
			try.Hedged(after)
			try.End(fault(provider.ClassEnded, 0), 0)
		})
	})
}

func (s *race) answer(try health.Try, began, content time.Duration) {
	s.plan(began+content, func() {
		s.waits = append(s.waits, content)
		try.End(nil, content)
	})
}

// wait is how long so many of a hundred calls waited at most.
func (s *race) wait(percent int) time.Duration {
	slices.Sort(s.waits)
	return s.waits[len(s.waits)*percent/100]
}

func constant(d time.Duration) func(*race) time.Duration {
	return func(*race) time.Duration { return d }
}

// spread is a time that is a tenth to nineteen tenths of a mean.
func spread(mean time.Duration) func(*race) time.Duration {
	return func(s *race) time.Duration { return mean/10 + time.Duration(s.random.Int64N(int64(mean)*9/5)) }
}

// either is one of two times, the second for so many of a hundred.
func either(one, other time.Duration, percent int) func(*race) time.Duration {
	return func(s *race) time.Duration {
		if s.random.IntN(100) < percent {
			return spread(other)(s)
		}
		return spread(one)(s)
	}
}

// turning is one time for the first half of the calls and then another.
func turning(one, other time.Duration) func(*race) time.Duration {
	return func(s *race) time.Duration {
		if s.begun > s.calls/2 {
			return spread(other)(s)
		}
		return spread(one)(s)
	}
}

func TestHedgesStayWithinTheirBudgetAndHelp(t *testing.T) {
	t.Parallel()
	const quick, slow = 300 * time.Millisecond, 8 * time.Second
	for _, c := range []struct {
		name          string
		first, second func(*race) time.Duration
		percent       int // This percentage of the calls waits at most waits.
		waits         time.Duration
		none          bool // None means that no hedge is made.
		erratic       bool // Erratic means that the first route is slow, but answers quickly now and then.
	}{
		{"all take the same time", constant(quick), constant(quick), 99, quick, true, false},
		{"times are spread", spread(quick), spread(quick), 99, 700 * time.Millisecond, false, false},
		{"one of twenty is slow", either(quick, slow, 4), spread(quick), 98, 2600 * time.Millisecond, false, false},
		{"one of four is slow", either(quick, slow, 25), spread(quick), 75, 2600 * time.Millisecond, false, false},
		{"half are slow", either(quick, slow, 50), spread(quick), 50, 4 * time.Second, false, false},
		{"the first route is slow", spread(slow), spread(quick), 80, 2600 * time.Millisecond, false, true},
		{"the first route hangs", constant(time.Minute), spread(quick), 80, 2600 * time.Millisecond, false, false},
		{"the first route becomes slow", turning(quick, slow), spread(quick), 90, 2600 * time.Millisecond, false, true},
		{"both are slow", spread(slow), spread(slow), 50, 9 * time.Second, false, false},
		{"the second route is slow", spread(quick), spread(slow), 99, 700 * time.Millisecond, false, false},
	} {
		for _, every := range []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 5 * time.Second} {
			t.Run(fmt.Sprintf("%s, a call every %s", c.name, every), func(t *testing.T) {
				t.Parallel()
				s := &race{callsEvery: every, calls: 4000, firstContent: c.first, secondContent: c.second}
				s.simulate(t)
				got, want := s.wait(c.percent), c.waits
				if c.erratic && every > time.Second {
					want = slow * 2 // The known answers are too few for more hedges than the budget allows.
				}
				t.Logf("%d hedges of %d calls; %d%% waited %s, half %s", s.hedges, s.calls, c.percent, got, s.wait(50))
				if got > want {
					t.Errorf("%d%% of the calls waited up to %s, want %s", c.percent, got, want)
				}
				if c.none && s.hedges > 0 {
					t.Errorf("%d hedges", s.hedges)
				}
			})
		}
	}
}
