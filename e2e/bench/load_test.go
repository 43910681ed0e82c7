//go:build bench

package bench

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// quietTime is how long a program may work off what it put off, after the last answer of a run.
const quietTime = 100 * time.Millisecond

// load is how calls are sent: by so many clients that each wait for their answer, or at a rate a second.
type load struct {
	clients int
	// rate is in calls a second; zero for as fast as answers come.
	rate   float64
	warm   time.Duration
	during time.Duration
	// spread is the time over which the clients begin.
	spread time.Duration
}

// outcome is what one run of a load cost and how long its answers took. All but the totals leave out the warm-up.
type outcome struct {
	answers, refused, failed int
	// totalAnswers counts the answers of the warm-up too.
	totalAnswers int
	// cpu and database are processor times, and foreign is in percent of one CPU.
	cpu, database time.Duration
	foreign       float64
	took          time.Duration
	// first has the times to the first content, and whole those to the end; both are sorted.
	first, whole []time.Duration
	problem      error
}

// perCall is the processor time of the target for an answer, in microseconds.
func (o outcome) perCall() float64 { return microseconds(o.cpu, o.answers) }

// plus is both outcomes together. What is in percent is that of the larger one.
func (o outcome) plus(more outcome) outcome {
	o.answers, o.refused, o.failed = o.answers+more.answers, o.refused+more.refused, o.failed+more.failed
	o.totalAnswers, o.took = o.totalAnswers+more.totalAnswers, o.took+more.took
	o.cpu, o.database, o.foreign = o.cpu+more.cpu, o.database+more.database, max(o.foreign, more.foreign)
	o.first, o.whole = append(o.first, more.first...), append(o.whole, more.whole...)
	slices.Sort(o.first)
	slices.Sort(o.whole)
	if o.problem == nil {
		o.problem = more.problem
	}
	return o
}

func microseconds(d time.Duration, calls int) float64 {
	if calls == 0 {
		return 0
	}
	return float64(d.Nanoseconds()) / 1000 / float64(calls)
}

// percentile is of sorted times, in milliseconds.
func percentile(sorted []time.Duration, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)].Seconds() * 1000
}

// run sends calls with clients that keep their connections, first to warm up and then to measure. A phase ends when all of its answers
// have been read.
func run(t *testing.T, to target, r *request, l load) outcome {
	t.Helper()
	clients := make([]*client, l.clients)
	for i := range clients {
		clients[i] = &client{}
		defer clients[i].close()
	}
	var warm outcome
	if l.warm > 0 {
		warm = phase(clients, r, load{clients: l.clients, during: l.warm, spread: l.spread, rate: l.rate})
	}
	foreign := startForeignLoad(t)
	cpu, database := cpuTime(t, to.pids...), treeTime(t, to.database)
	o := phase(clients, r, l)
	time.Sleep(quietTime)
	o.cpu, o.database = cpuTime(t, to.pids...)-cpu, treeTime(t, to.database)-database
	o.foreign = foreign.percent(t)
	o.totalAnswers = warm.answers + o.answers
	o.failed += warm.failed
	if o.problem == nil {
		o.problem = warm.problem
	}
	return o
}

// phase sends calls for the time of the load, and waits for their answers.
func phase(clients []*client, r *request, l load) outcome {
	var all sync.WaitGroup
	var due atomic.Int64
	parts := make([]outcome, len(clients))
	began := time.Now()
	for i, c := range clients {
		// goroutine: the phase owns it and waits for it; it ends with the time of the load, and each call has a time limit.
		all.Go(func() {
			time.Sleep(l.spread * time.Duration(i) / time.Duration(len(clients)))
			for time.Since(began) < l.during {
				if l.rate > 0 {
					at := time.Duration(float64(due.Add(1)) / l.rate * float64(time.Second))
					if at >= l.during {
						return
					}
					time.Sleep(time.Until(began.Add(at)))
				}
				parts[i].add(c.call(r))
			}
		})
	}
	all.Wait()
	o := outcome{took: time.Since(began)}
	for _, p := range parts {
		o = o.plus(p)
	}
	return o
}

// refused reports whether the gateway declined the call because it was busy.
func (a answer) refused() bool {
	return a.err == nil && (a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests)
}

func (o *outcome) add(a answer) {
	switch {
	case a.succeeded():
		o.answers++
		o.first, o.whole = append(o.first, a.first), append(o.whole, a.whole)
	case a.refused():
		o.refused++
	default:
		o.failed++
		if o.problem == nil {
			o.problem = problem(a)
		}
	}
}
