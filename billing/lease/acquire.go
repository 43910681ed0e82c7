package lease

import (
	"errors"
	"time"

	"umg/app"
)

// creditWaitMax is how long a call waits while the database is unavailable for credit that other calls of the account set free.
const creditWaitMax = 5 * time.Second

// acquisition is one caller's acquisition of an amount from one credit account. Its steps never wait, so the manager decides how to wait:
// it calls step until done, makes the requested take and passes the result to answer, awaits another caller's step, or pauses.
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

// These constants decide how much credit a lease takes ahead of the calls that will need it. The amount lasts while the
// database is away for a minute, as long as the balance is large enough for other replicas to find credit too.
const (
	spendSeconds = 30 // Spend is averaged over this many seconds.
	burstSeconds = 5  // The last seconds also count alone, because a burst may be busier than the average.
	aheadSeconds = 90 // A lease takes this many seconds of spend ahead.
	lowSeconds   = 75 // A lease takes more when it has fewer seconds of spend left.
	aheadCalls   = 8  // The lease also covers this many of the largest recent calls, for parallel calls and the first calls after a pause.
	aheadShare   = 4  // A lease takes at most a quarter of its own and its credit account's free credit ahead.
	smallBalance = 20 // A credit account with fewer calls left keeps all credit that no call needs.
	topEvery     = time.Second
	usedWithin   = spendSeconds * time.Second // Only a lease that was used this recently takes credit ahead.
	recallPause  = 10 * time.Second           // A lease takes nothing ahead for this long after another replica recalled its credit.
)

// ahead is how much should be free in the lease, in nano-dollars. The caller holds mu.
func (l *lease) ahead(now time.Duration, seconds app.Amount) app.Amount {
	return max(l.spend.sum(now, spendSeconds)*seconds/spendSeconds, l.spend.sum(now, burstSeconds)*seconds/burstSeconds) +
		aheadCalls*l.largestWanted.max()
}

// takeAmount is how much a take should ask for when its caller lacks the missing amount. The caller holds mu.
func (l *lease) takeAmount(now time.Duration, missing app.Amount) app.Amount {
	return max(l.ahead(now, aheadSeconds), missing+l.waiting)
}

// low reports whether credit should be taken ahead now. The caller holds mu.
func (l *lease) low(now time.Duration) bool {
	busy := l.unread || l.uncertain || l.recalled || l.dropped || l.pending != nil || now-l.takenAheadAt < topEvery
	if busy || l.returnImmediately || l.small() || now-l.used > usedWithin {
		return false
	}
	return l.free() < min(l.ahead(now, lowSeconds), l.share()*lowSeconds/aheadSeconds)
}

// small reports whether the credit account has little left for other replicas. The caller holds mu.
func (l *lease) small() bool { return l.creditAccountFree/smallBalance < l.largestWanted.max() }

// share is the most that the lease may take ahead. The caller holds mu.
func (l *lease) share() app.Amount { return (l.free() + l.creditAccountFree) / aheadShare }

// runsLow reports whether credit should be taken ahead now.
func (l *lease) runsLow(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.low(now)
}

// beginAhead starts a take of credit ahead and returns what to ask for. It returns false when the lease is no longer low.
func (l *lease) beginAhead(now time.Duration) (a TakeRequest, low bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.low(now) {
		return a, false
	}
	l.takenAheadAt = now
	l.pending = &pendingTake{sent: now}
	want := min(l.ahead(now, aheadSeconds), max(l.share(), l.free()+1)) - l.free()
	return TakeRequest{CreditAccountID: l.creditAccountID, Want: want}, true
}

// largest is the largest amount of the last five to ten minutes.
type largest struct {
	since       time.Duration // The value of now covers the time from this point on.
	now, before app.Amount
}

// largestFor is how long an amount counts at least.
const largestFor = 5 * time.Minute

func (l *largest) add(now time.Duration, amount app.Amount) {
	switch passed := now - l.since; {
	case passed >= 2*largestFor:
		l.since, l.now, l.before = now, 0, 0
	case passed >= largestFor:
		l.since, l.now, l.before = now, 0, l.now
	}
	l.now = max(l.now, amount)
}

func (l *largest) max() app.Amount { return max(l.now, l.before) }

// spend is what a credit account spent in each of the last seconds.
type spend struct {
	second int64
	sums   [spendSeconds]app.Amount
}

func (s *spend) add(now time.Duration, cost app.Amount) {
	s.clearOld(int64(now / time.Second))
	s.sums[s.second%spendSeconds] += cost
}

// sum is what was spent in the given number of last seconds.
func (s *spend) sum(now time.Duration, seconds int64) (total app.Amount) {
	s.clearOld(int64(now / time.Second))
	for second := s.second; second > s.second-seconds; second-- {
		total += s.sums[(second%spendSeconds+spendSeconds)%spendSeconds]
	}
	return total
}

// clearOld clears the seconds that are too old.
func (s *spend) clearOld(second int64) {
	for range min(second-s.second, spendSeconds) {
		s.second++
		s.sums[s.second%spendSeconds] = 0
	}
	s.second = max(s.second, second)
}
