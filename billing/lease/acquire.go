package lease

import (
	"errors"
	"time"

	"umg/app"
)

// creditWaitMax is how long a call waits while the database is unavailable for credit that other calls of the account set free.
const creditWaitMax = 5 * time.Second

// acquisition is one caller's acquisition of an amount from one credit account. Its steps never wait, so the manager
// decides how to wait: it calls step until done, makes the requested take and passes the result to answer, awaits another
// caller's step, or pauses.
type acquisition struct {
	lease         *lease
	want, least   app.Amount
	began         time.Duration
	since         time.Duration // Refusals of takes that were sent before this time do not apply.
	retries       int           // This counts the retries after other replicas were asked to return credit.
	takes         int
	acceptsLess   bool // The account cannot grant all of want, so the acquisition asks for what there is.
	need          app.Amount
	waitingAmount app.Amount // This is its part of the lease's waiting total.
}

// verdict is what an acquisition needs next.
type verdict uint8

const (
	reserved     verdict = iota // The amount in got is reserved.
	refused                     // The reason is in err.
	needsTake                   // The manager must ask the database: call take, then answer.
	stepsAgain                  // The manager steps again at once, with what the answer has changed.
	awaitsCredit                // The manager waits until the lease may have more free credit, or until pause has passed.
	needsPause                  // Other replicas were asked to return credit, so the manager pauses and steps again.
	leaseDropped                // The lease was dropped, so the acquisition starts again with its replacement.
)

// nextAction is a verdict with its values.
type nextAction struct {
	verdict verdict
	amount  app.Amount
	err     error
	ask     TakeRequest
	changed <-chan struct{}
	pause   time.Duration
}

func newAcquisition(l *lease, want, least app.Amount, now time.Duration) *acquisition {
	l.mu.Lock()
	l.users++
	l.mu.Unlock()
	return &acquisition{lease: l, want: want, least: least, began: now, since: now}
}

// end must follow every acquisition, whatever its result.
func (a *acquisition) end() {
	a.lease.mu.Lock()
	a.lease.users--
	a.stopWaiting()
	a.lease.mu.Unlock()
}

func (a *acquisition) stopWaiting() {
	a.lease.waiting -= a.waitingAmount
	a.waitingAmount = 0
}

// step tries to reserve, and returns what is needed when it cannot.
func (a *acquisition) step(now time.Duration) nextAction {
	l := a.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	a.stopWaiting()
	if l.dropped {
		return nextAction{verdict: leaseDropped}
	}
	if l.free() >= a.want || a.acceptsLess && l.free() >= a.least && a.takes >= takesMax {
		return a.take(now)
	}
	if l.refused.err != nil && a.since <= l.refused.sent {
		if n, decided := a.handleRefusal(l.refused.err, now); decided {
			return n
		}
	}
	if l.pending != nil {
		a.waitingAmount = a.want
		l.waiting += a.waitingAmount
		return nextAction{verdict: awaitsCredit, changed: l.nextChange(a.least), pause: creditWaitMax}
	}
	if a.takes >= takesMax {
		return nextAction{verdict: refused, err: errTooManyTakes()}
	}
	a.takes++
	l.pending = &pendingTake{sent: now}
	missing := a.want - l.free()
	l.largestWanted.add(now, a.want)
	request := TakeRequest{CreditAccountID: l.creditAccountID, Need: missing, Want: l.takeAmount(now, missing)}
	if a.acceptsLess {
		request.Need = min(missing, a.need)
		request.Want = request.Need
	}
	return nextAction{verdict: needsTake, ask: request}
}

// answer ends the take that the acquisition asked for, and continues.
func (a *acquisition) answer(row LeaseState, err error, now time.Duration) (n nextAction, backward bool) {
	l := a.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := l.pending.sent
	defer l.endPending()
	l.used = now
	if err == nil {
		backward = l.adopt(row)
		l.recalled = false
		l.refused = refusal{sent: -1}
		if !backward && (l.free() >= a.want || a.acceptsLess && l.free() >= a.least) {
			return a.take(now), false
		}
		return nextAction{verdict: stepsAgain}, backward
	}
	l.uncertain = l.uncertain || isUnavailable(err) // A refusal does not show what an earlier step granted.
	l.refused = refusal{sent: sent, err: err}
	if !isUnavailable(err) {
		l.fundedUntil = 0
	}
	if n, decided := a.handleRefusal(err, now); decided {
		return n, false
	}
	return nextAction{verdict: stepsAgain}, false
}

func (a *acquisition) take(now time.Duration) nextAction {
	l := a.lease
	got := min(a.want, l.free())
	l.reserved += got
	l.largestWanted.add(now, got)
	l.used = now
	l.fundedUntil = now + fundedFor
	return nextAction{verdict: reserved, amount: got}
}

// handleRefusal applies a refusal to this acquisition. It returns false when the manager should ask the database for less.
func (a *acquisition) handleRefusal(err error, now time.Duration) (nextAction, bool) {
	var short *InsufficientCredit
	free := a.lease.free()
	if !errors.As(err, &short) {
		switch wait := a.began + creditWaitMax - now; {
		case isUnavailable(err) && free >= a.least && free > 0:
			return a.take(now), true
		case isUnavailable(err) && a.lease.reserved > 0 && wait > 0: // Calls that end set credit free.
			return nextAction{verdict: awaitsCredit, changed: a.lease.nextChange(a.least), pause: wait}, true
		}
		return nextAction{verdict: refused, err: err}, true
	}
	available := max(short.Balance.Available(), 0)
	switch {
	case free >= a.least && (available == 0 || a.takes >= takesMax) && free > 0:
		return a.take(now), true
	case available > 0 && free+available >= a.least && a.takes < takesMax:
		a.acceptsLess, a.need = true, min(available, a.want-free)
		return nextAction{}, false
	case (short.Elsewhere || a.lease.uncertain) && a.retries < retriesMax:
		a.retries++
		a.acceptsLess = false
		p := retryPauses[a.retries-1]
		a.since = now + p
		return nextAction{verdict: needsPause, pause: p}, true
	}
	return nextAction{verdict: refused, err: short}, true
}

// errTooManyTakes is for a caller whose takes were all used up by other calls.
func errTooManyTakes() *app.Error {
	return app.Errorf(app.Unavailable, "service_unavailable",
		"Too many calls of this account ask for credit at once. Nothing was charged; try again in a second.").After(time.Second)
}
