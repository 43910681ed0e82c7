package lease

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing/journal"
)

// The book's own limits.
const (
	shardCount  = 64
	idleAfter   = 5 * time.Second  // free credit that nobody used for so long goes back to a purse with little left,
	keepFor     = time.Hour        // and after so long to any
	forgetAfter = 60 * time.Second // a lease without credit that nobody used for so long is forgotten
	leaseTrust  = 75 * time.Second // after the request of the last renewal that worked
	retriesMax  = 3                // of a take whose purse has credit in other replicas
	asksMax     = 8                // takes of one quest, whatever they answer
)

// retryPauses is how long a quest waits for other replicas to give credit back: 300 ms in all.
var retryPauses = [retriesMax]time.Duration{60 * time.Millisecond, 100 * time.Millisecond, 140 * time.Millisecond}

// book is every lease of one run, in memory. Its authority ends when its renewals do: what it then still holds may be
// settled, but nothing more is reserved.
type book struct {
	replica Replica
	seed    maphash.Seed
	valid   atomic.Int64 // until when, in nanoseconds of the monotonic clock
	over    atomic.Bool  // for good
	closing atomic.Bool  // no more calls are taken
	shards  [shardCount]leaseShard
}

type leaseShard struct {
	mu     sync.RWMutex
	leases map[string]*lease
}

func newBook(r Replica, validUntil time.Duration) *book {
	b := &book{replica: r, seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].leases = make(map[string]*lease)
	}
	b.valid.Store(int64(validUntil))
	return b
}

// live reports whether nobody else can have taken this run for lost.
func (b *book) live(now time.Duration) bool { return int64(now) < b.valid.Load() && !b.over.Load() }

// trusted reports whether calls may be taken.
func (b *book) trusted(now time.Duration) bool { return b.live(now) && !b.closing.Load() }

func (b *book) trust(until time.Duration) { b.valid.Store(int64(until)) }

func (b *book) shard(purse string) *leaseShard {
	return &b.shards[maphash.String(b.seed, purse)%shardCount]
}

// find is the lease of a purse, nil when there is none.
func (b *book) find(purse string) *lease {
	s := b.shard(purse)
	s.mu.RLock()
	l := s.leases[purse]
	s.mu.RUnlock()
	return l
}

// open is the lease of a purse, empty when it is new.
func (b *book) open(purse string, now time.Duration) *lease {
	if l := b.find(purse); l != nil {
		return l
	}
	s := b.shard(purse)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[purse]
	if l == nil {
		l = &lease{purse: purse, used: now, fresh: true, refused: refusal{sent: -1}, toppedAt: now - topEvery}
		s.leases[purse] = l
	}
	return l
}

// each visits every lease, one shard at a time.
func (b *book) each(visit func(*lease)) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.RLock()
		all := make([]*lease, 0, len(s.leases))
		for _, l := range s.leases {
			all = append(all, l)
		}
		s.mu.RUnlock()
		for _, l := range all {
			visit(l)
		}
	}
}

// forget drops a lease that has neither credit nor anything the books do not know yet. Whoever comes for the purse next
// begins with what the books say of it.
func (b *book) forget(l *lease, now time.Duration, applied journal.LSN) {
	s := b.shard(l.purse)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	inUse := l.reserved != 0 || l.free() != 0 || l.users != 0 || l.flight != nil
	if inUse || now-l.used < forgetAfter || l.unsure || l.doubt || l.last > applied {
		return
	}
	delete(s.leases, l.purse)
	l.gone = true
}

// lease is the credit of one purse that this run may spend. What was granted is either returned, spent, reserved by a
// call that runs, or free.
type lease struct {
	purse string

	mu                                 sync.Mutex
	granted, returned, spent, reserved app.Amount
	waiting                            app.Amount  // what those want who wait for the step that runs
	users                              int         // quests that may still reserve
	last                               journal.LSN // of the last settlement against it
	used                               time.Duration
	spend                              spend
	purseFree                          app.Amount    // what the purse had for anybody after the last step
	asked                              largest       // wanted by one call
	toppedAt                           time.Duration // when credit was taken ahead last, or others needed it
	refused                            refusal
	flight                             *flight // the step at the books that runs now; there is one at a time
	fresh                              bool    // the books were not asked yet
	unsure                             bool    // a step's outcome is unknown, so the books may have granted more
	doubt                              bool    // more may count as spent here than the books have charged
	exact                              bool    // nothing may stay here without need
	recalled                           bool    // somebody else needs what is free
	gone                               bool    // it was forgotten; look it up again

	// fundedUntil is how long the purse counts as having credit because a call got some. Zero means that it does not.
	fundedUntil time.Duration
}

// flight is one step at the books. It is closed when its outcome is in the lease.
type flight struct {
	done chan struct{}
	sent time.Duration
}

// refusal is why the books gave nothing, good for everybody who asked before it was sent.
type refusal struct {
	sent time.Duration
	err  error
}

func (l *lease) free() app.Amount { return l.granted - l.returned - l.spent - l.reserved }

// reserve sets an amount aside. It is the hot path.
func (l *lease) reserve(now time.Duration, amount app.Amount) bool {
	l.mu.Lock()
	ok := !l.gone && l.free() >= amount
	if ok {
		l.reserved += amount
		l.used = now
		l.asked.add(now, amount)
		l.fundedUntil = now + fundedFor
	}
	l.mu.Unlock()
	return ok
}

// release ends a reservation: the cost is spent and the rest free again. It says whether free credit should go back now.
func (l *lease) release(now time.Duration, reserved, cost app.Amount, at journal.LSN) (giveBack bool) {
	l.mu.Lock()
	l.reserved -= reserved
	l.spent += cost
	l.used = now
	l.last = max(l.last, at)
	if cost > 0 {
		l.spend.add(now, cost)
	}
	giveBack = (l.exact || l.recalled) && l.free() > 0
	l.mu.Unlock()
	return giveBack
}

// backStep is what must be done at the books to give free credit back.
type backStep uint8

const (
	nothing backStep = iota
	giving           // return so much in all
	asking           // take nothing, to learn what an unknown step has granted
)

// beginReturn takes what is free out of the lease, for good, and says which sum the books must reach. There is nothing to
// do when another step runs; the lease is then looked at again later.
func (l *lease) beginReturn(now time.Duration, applied journal.LSN) (total app.Amount, s backStep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free()
	switch {
	case l.flight != nil || free <= 0 && !l.unsure && !l.clearable(now, applied):
		return 0, nothing
	case l.fresh:
		s = asking
	case l.unsure && !l.spare(now):
		s = giving // nothing more than was given before: the answer tells what the books have
	default:
		s = giving
		l.returned += max(free, 0)
		l.recalled = false
	}
	l.flight = &flight{done: make(chan struct{}), sent: now}
	return l.returned, s
}

// landed ends the step that runs: the lease takes over what the books say, or notes that it does not know. It says
// whether the books went back to an earlier time.
func (l *lease) landed(row Row, err error) (backward bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.doubt && l.reserved == 0 && l.used <= l.flight.sent {
		l.fresh, l.doubt = true, false
	}
	if err == nil {
		backward = l.adopt(row)
	} else if isAway(err) { // a refusal does not tell what an earlier step has granted
		l.unsure = true
	}
	l.endFlight()
	return backward
}

// doubted notes that the last cost may not be in the books. What the books have of the lease is taken over when nobody
// has used it for a while and they have everything else.
func (l *lease) doubted() {
	l.mu.Lock()
	l.doubt = true
	l.mu.Unlock()
}

func (l *lease) clearable(now time.Duration, applied journal.LSN) bool {
	return l.doubt && l.reserved == 0 && l.users == 0 && l.last <= applied && now-l.used >= idleAfter
}

// callBack notes that somebody else needs what is free, unless it was used within the rest, and says whether there is
// something to give.
func (l *lease) callBack(now, rest time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now-l.used < rest {
		return false
	}
	l.recalled, l.toppedAt = true, now+recallRest
	return l.free() > 0 || l.unsure
}

func (l *lease) endFlight() {
	if l.flight != nil {
		close(l.flight.done)
		l.flight = nil
	}
}

// adopt takes over a row. Sums only grow within an epoch, so less than before means that the books are older than the
// lease.
func (l *lease) adopt(row Row) (backward bool) {
	l.purseFree = row.Free
	l.exact = row.Exact
	if l.fresh {
		l.granted, l.returned, l.spent, l.fresh = row.Granted, row.Returned, row.Spent, false
		l.unsure = false
		return false
	}
	if row.Granted < l.granted || row.Returned < l.returned && !l.unsure {
		return true
	}
	l.granted = row.Granted
	l.unsure = row.Returned < l.returned // a return got lost
	return false
}

// idle reports whether the lease's free credit should go back.
func (l *lease) idle(now time.Duration, applied journal.LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsure || l.clearable(now, applied) {
		return true
	}
	return l.spare(now)
}

// spare reports whether free credit should go back. The caller holds mu.
func (l *lease) spare(now time.Duration) bool {
	return l.free() > 0 && (l.exact && l.users == 0 || l.recalled || now-l.used >= l.restMax())
}

// restMax is how long free credit may stay here unused. A purse that has at least as much for others lets it stay, so that a call
// after a pause needs no database; others ask for it when they need it.
func (l *lease) restMax() time.Duration {
	if l.exact || l.purseFree < l.free() || l.small() {
		return idleAfter
	}
	return keepFor
}
