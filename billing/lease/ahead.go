package lease

import (
	"time"

	"umg/app"
)

// How much credit a lease takes ahead of the calls that will need it: what lasts while the database is away for a minute, as
// long as the balance is large enough that others find credit too.
const (
	spendSeconds = 30 // how far back a purse's spend is looked at
	burstSeconds = 5  // the last of them, which count alone where they are busier
	aheadSeconds = 90 // of spend are taken
	lowSeconds   = 75 // more is taken before fewer are left
	aheadCalls   = 8  // calls like the largest lately, beside the spend: what runs at a time, and the first ones after a pause
	aheadShare   = 4  // a lease takes ahead no more than such a part of what it and its purse have
	smallBalance = 20 // with less than so many calls left the purse keeps all that no call needs
	topEvery     = time.Second
	usedWithin   = spendSeconds * time.Second // only a lease that is in use takes ahead
	recallRest   = 10 * time.Second           // nothing is taken ahead for so long after others needed what is here
)

// ahead is how much should be free in the lease. The caller holds mu.
func (l *lease) ahead(now time.Duration, seconds app.Amount) app.Amount {
	return max(l.spend.sum(now, spendSeconds)*seconds/spendSeconds, l.spend.sum(now, burstSeconds)*seconds/burstSeconds) +
		aheadCalls*l.asked.max()
}

// wanting is how much a take should ask for when one who asks misses so much. The caller holds mu.
func (l *lease) wanting(now time.Duration, missing app.Amount) app.Amount {
	return max(l.ahead(now, aheadSeconds), missing+l.waiting)
}

// low reports whether credit should be taken ahead now. The caller holds mu.
func (l *lease) low(now time.Duration) bool {
	busy := l.fresh || l.unsure || l.recalled || l.gone || l.flight != nil || now-l.toppedAt < topEvery
	if busy || l.exact || l.small() || now-l.used > usedWithin {
		return false
	}
	return l.free() < min(l.ahead(now, lowSeconds), l.share()*lowSeconds/aheadSeconds)
}

// small reports whether the purse has little left for others. The caller holds mu.
func (l *lease) small() bool { return l.purseFree/smallBalance < l.asked.max() }

// share is what the lease may have taken ahead. The caller holds mu.
func (l *lease) share() app.Amount { return (l.free() + l.purseFree) / aheadShare }

// runsLow reports whether credit should be taken ahead now.
func (l *lease) runsLow(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.low(now)
}

// beginAhead begins to take credit ahead, and says what to ask for. There is nothing to do when the lease is not low any more.
func (l *lease) beginAhead(now time.Duration) (a Ask, low bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.low(now) {
		return a, false
	}
	l.toppedAt = now
	l.flight = &flight{done: make(chan struct{}), sent: now}
	want := min(l.ahead(now, aheadSeconds), max(l.share(), l.free()+1)) - l.free()
	return Ask{Purse: l.purse, Want: want}, true
}

// largest is the largest amount of the last minutes.
type largest struct {
	since       time.Duration // of what is in now
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

// spend is what a purse spent in each of the last seconds.
type spend struct {
	second int64
	sums   [spendSeconds]app.Amount
}

func (s *spend) add(now time.Duration, cost app.Amount) {
	s.turn(int64(now / time.Second))
	s.sums[s.second%spendSeconds] += cost
}

// sum is what was spent in the last so many seconds.
func (s *spend) sum(now time.Duration, seconds int64) (total app.Amount) {
	s.turn(int64(now / time.Second))
	for second := s.second; second > s.second-seconds; second-- {
		total += s.sums[(second%spendSeconds+spendSeconds)%spendSeconds]
	}
	return total
}

// turn forgets the seconds that are too old.
func (s *spend) turn(second int64) {
	for range min(second-s.second, spendSeconds) {
		s.second++
		s.sums[s.second%spendSeconds] = 0
	}
	s.second = max(s.second, second)
}
