package lease

import (
	"time"

	"umg/app"
)

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
