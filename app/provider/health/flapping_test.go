package health_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

// outage is a route that is down again and again, and the calls that are made to it.
type outage struct {
	down, up      time.Duration // The phases alternate, and the route is up first.
	callsEvery    time.Duration
	failsAfter    time.Duration // While the route is down, an attempt fails after this time.
	answersAfter  time.Duration // A whole answer takes this long; its content begins after contentAfter.
	class         provider.Class
	phases        int           // The simulation has this many phases of each kind.
	firstByteWait time.Duration // FirstByteWait is the timeout of the route.
}

// outageResult is what the calls of an outage have met.
type outageResult struct {
	attemptsMax int           // AttemptsMax is the most attempts in one phase of being down.
	unusedMax   time.Duration // UnusedMax is the longest time from a recovery to the next attempt that was answered.
}

// event is a step of the simulation.
type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulation runs steps in the order of their times, on the clock of a monitor.
type simulation struct {
	c     *clock
	now   time.Duration
	queue events
}

func (s *simulation) plan(at time.Duration, do func()) { heap.Push(&s.queue, event{at, do}) }

func (s *simulation) run() {
	for len(s.queue) > 0 {
		next := heap.Pop(&s.queue).(event)
		s.c.advance(next.at - s.now)
		s.now = next.at
		next.do()
	}
}

// outageRun simulates the calls of an outage. They do what the gateway does: a call whose attempt fails tries the route once more
// if the retry budget allows it, and then goes to another route.
type outageRun struct {
	outage
	simulation

	m       *health.Monitor
	r       *catalog.Route
	random  *rand.Rand
	result  outageResult
	phase   int // Phase is the phase of the last attempt that was counted.
	count   int
	usedFor int // UsedFor is the phase after which the route was used again.
}

func (o outage) run(t *testing.T) outageResult {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(o.callsEvery)))
	c := &clock{}
	s := &outageRun{
		outage: o, simulation: simulation{c: c}, m: health.New(health.Options{Now: c.now, Random: random.IntN}), r: upstream(), random: random, phase: -1, usedFor: -1,
	}
	s.r.Provider.Breaker, s.r.Timeouts.FirstByte = catalog.FileBreaker{}.Settings(), o.firstByteWait
	end := time.Duration(o.phases) * (o.down + o.up)
	for at := time.Duration(random.Int64N(int64(o.callsEvery))); at < end+o.up; at += o.callsEvery {
		s.plan(at, func() { s.attempt(false) })
	}
	s.simulation.run()
	return s.result
}

// phaseAt is the number of the period at a time, and whether the route is down then.
func (s *outageRun) phaseAt(at time.Duration) (int, bool) {
	period := s.up + s.down
	return int(at / period), at%period >= s.up
}

// attempt is the first or second attempt of a call on the route.
func (s *outageRun) attempt(again bool) {
	try, block := s.m.Begin(s.r, false)
	if block != "" {
		return
	}
	phase, down := s.phaseAt(s.now)
	if !down {
		s.used(phase)
		s.plan(s.now+contentAfter, func() { try.Answered() })
		s.plan(s.now+s.answersAfter, func() { try.End(nil, contentAfter) })
		return
	}
	if s.phase != phase {
		s.phase, s.count = phase, 0
	}
	s.count++
	s.result.attemptsMax = max(s.result.attemptsMax, s.count)
	s.plan(s.now+s.failsAfter, func() {
		try.End(fault(s.class, 500), 0)
		if !again && s.class == provider.ClassServer && s.m.MayRetry(s.r.Provider.ID) {
			s.plan(s.now+time.Duration(s.random.Int64N(int64(100*time.Millisecond))), func() { s.attempt(true) })
		}
	})
}

// used notes how long the route was not used after it recovered, for each recovery once.
func (s *outageRun) used(phase int) {
	if phase == 0 || s.usedFor == phase {
		return
	}
	recovered := time.Duration(phase) * (s.up + s.down)
	if s.phase == phase-1 { // Otherwise no attempt found the route down.
		s.result.unusedMax = max(s.result.unusedMax, s.now-recovered)
	}
	s.usedFor = phase
}

// contentAfter is when the content of an answer begins while the route is up.
const contentAfter = 300 * time.Millisecond

// These are the bounds of the default settings.
const (
	unusedMax   = 30 * time.Second
	attemptsMax = 15 // The bound holds for a phase of outageShort in which failures are quick.
	outageShort = time.Minute
)

func TestAFlappingRouteIsUsedSoonAfterItRecoversAndSeldomAskedWhileItIsDown(t *testing.T) {
	t.Parallel()
	for _, seconds := range []int{1, 2, 5, 10, 20, 30, 60, 120, 300, 600} {
		half := time.Duration(seconds) * time.Second / 2
		for _, every := range slices.Concat(quickest, []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second}) {
			for _, fails := range []time.Duration{time.Millisecond, 20 * time.Millisecond} {
				o := outage{
					down: half, up: half, callsEvery: every, failsAfter: fails,
					answersAfter: contentAfter, class: provider.ClassServer, phases: 6, firstByteWait: time.Minute,
				}
				o.check(t)
			}
		}
	}
}

func TestARouteThatWasDownForLongIsUsedSoonAfterItRecovers(t *testing.T) {
	t.Parallel()
	for _, down := range []time.Duration{41 * time.Second, 53 * time.Second, outageShort, 2 * time.Minute, 10 * time.Minute} {
		for _, every := range slices.Concat(quickest, []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second}) {
			for _, answers := range []time.Duration{contentAfter, 20 * time.Second} {
				o := outage{
					down: down, up: 3 * time.Minute, callsEvery: every, failsAfter: 10 * time.Millisecond,
					answersAfter: answers, class: provider.ClassServer, phases: 4, firstByteWait: time.Minute,
				}
				o.check(t)
			}
		}
	}
}

func TestARouteThatWasSilentIsUsedSoonAfterItAnswersAgain(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, time.Minute} {
		for _, down := range []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute} {
			for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 10 * time.Second} {
				o := outage{
					down: down, up: 3 * time.Minute, callsEvery: every, failsAfter: wait, answersAfter: contentAfter,
					class: provider.ClassFirstByte, phases: 4, firstByteWait: wait,
				}
				o.check(t)
			}
		}
	}
}

func (o outage) check(t *testing.T) {
	t.Helper()
	got := o.run(t)
	name := fmt.Sprintf("down %s, up %s, a call every %s, %s after %s", o.down, o.up, o.callsEvery, o.class, o.failsAfter)
	t.Logf("%s: %d attempts, unused for %s", name, got.attemptsMax, got.unusedMax)
	if got.unusedMax > unusedMax {
		t.Errorf("%s: not used for %s after it recovered", name, got.unusedMax)
	}
	if got.attemptsMax > attemptsMax && o.down <= outageShort && o.class == provider.ClassServer {
		t.Errorf("%s: asked %d times while it was down", name, got.attemptsMax)
	}
}
