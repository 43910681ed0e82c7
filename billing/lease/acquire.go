package lease

import (
	"errors"
	"time"

	"umg/app"
)

// acquisition is one caller's acquisition of an amount from one credit account. Its steps never wait, so the driver decides how to
// wait: it calls step until done, makes the requested take and passes the result to answer, awaits another caller's step, or
// pauses.
type acquisition struct {
	lease       *lease
	want, least app.Amount
	since       time.Duration // Refusals of takes that were sent before this time do not apply.
	retries     int           // This counts the retries after other replicas were asked to return credit.
	asks        int
	rest        bool // The account cannot grant all of want, so the acquisition asks for what there is.
	need        app.Amount
	waits       app.Amount // This is its part of the lease's waiting total.
}

// verdict is what an acquisition needs next.
type verdict uint8

const (
	reserved verdict = iota // The amount in got is reserved.
	refused                 // The reason is in err.
	asks                    // The driver must ask the database: call take, then answer.
	await                   // Another step runs at the database, and the driver waits for its end.
	pause                   // Other replicas were asked to return credit, so the driver pauses and steps again.
	moved                   // The lease was dropped, so the driver starts again with its replacement.
)

// next is a verdict with its values.
type next struct {
	verdict verdict
	got     app.Amount
	err     error
	ask     Ask
	flight  *pendingTake
	pause   time.Duration
}

func newAcquisition(l *lease, want, least app.Amount, now time.Duration) *acquisition {
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
	return &acquisition{lease: l, want: want, least: least, since: now}
}

// end must follow every acquisition, whatever its result.
func (q *acquisition) end() {
	q.lease.mu.Lock()
	q.lease.users--
	q.stopWaiting()
	q.lease.mu.Unlock()
}

func (q *acquisition) stopWaiting() {
	q.lease.waiting -= q.waits
	q.waits = 0
}

// step tries to reserve, and returns what is needed when it cannot.
func (q *acquisition) step(now time.Duration) next {
	l := q.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	q.stopWaiting()
	if l.gone {
		return next{verdict: moved}
	}
	if l.free() >= q.want || q.rest && l.free() >= q.least && q.asks >= asksMax {
		return q.take(now)
	}
	if l.refused.err != nil && q.since <= l.refused.sent {
		if n, decided := q.handleRefusal(l.refused.err, now); decided {
			return n
		}
	}
	if l.flight != nil {
		q.waits = q.want
		l.waiting += q.waits
		return next{verdict: await, flight: l.flight}
	}
	if q.asks >= asksMax {
		return next{verdict: refused, err: errBusy()}
	}
	q.asks++
	l.flight = &pendingTake{done: make(chan struct{}), sent: now}
	missing := q.want - l.free()
	l.asked.add(now, q.want)
	a := Ask{CreditAccountID: l.creditAccountID, Need: missing, Want: l.takeAmount(now, missing)}
	if q.rest {
		a.Need = min(missing, q.need)
		a.Want = a.Need
	}
	return next{verdict: asks, ask: a, flight: l.flight}
}

// answer ends the take that the acquisition asked for, and continues.
func (q *acquisition) answer(row Row, err error, now time.Duration) (n next, backward bool) {
	l := q.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.flight.sent
	defer l.endFlight()
	l.used = now
	if err == nil {
		backward = l.adopt(row)
		l.recalled = false
		l.refused = refusal{sent: -1}
		if !backward && (l.free() >= q.want || q.rest && l.free() >= q.least) {
			return q.take(now), false
		}
		return next{verdict: await, flight: l.flight}, backward
	}
	l.unsure = l.unsure || isAway(err) // A refusal does not show what an earlier step granted.
	l.refused = refusal{sent: sent, err: err}
	if !isAway(err) {
		l.fundedUntil = 0
	}
	if n, decided := q.handleRefusal(err, now); decided {
		return n, false
	}
	return next{verdict: await, flight: l.flight}, false
}

func (q *acquisition) take(now time.Duration) next {
	l := q.lease
	got := min(q.want, l.free())
	l.reserved += got
	l.asked.add(now, got)
	l.used = now
	l.fundedUntil = now + fundedFor
	return next{verdict: reserved, got: got}
}

// handleRefusal applies a refusal to this acquisition. It returns false when the driver should ask the database for less.
func (q *acquisition) handleRefusal(err error, now time.Duration) (next, bool) {
	var short *InsufficientCredit
	free := q.lease.free()
	if !errors.As(err, &short) {
		if isAway(err) && free >= q.least && free > 0 {
			return q.take(now), true
		}
		return next{verdict: refused, err: err}, true
	}
	available := max(short.Balance.Available(), 0)
	switch {
	case free >= q.least && (available == 0 || q.asks >= asksMax) && free > 0:
		return q.take(now), true
	case available > 0 && free+available >= q.least && q.asks < asksMax:
		q.rest, q.need = true, min(available, q.want-free)
		return next{}, false
	case (short.Elsewhere || q.lease.unsure) && q.retries < retriesMax:
		q.retries++
		q.rest = false
		p := retryPauses[q.retries-1]
		q.since = now + p
		return next{verdict: pause, pause: p}, true
	}
	return next{verdict: refused, err: short}, true
}

// errBusy is for a caller who lost the credit to other calls again and again.
func errBusy() *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"Too many calls of this account ask for credit at once. Nothing was charged; try again in a second.").After(time.Second)
}
