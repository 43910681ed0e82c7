package lease

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing/journal"
)

// These limits apply to the leases in memory.
const (
	shardCount  = 64
	idleAfter   = 5 * time.Second  // Free credit unused for this long is returned to a credit account that has little left.
	keepFor     = time.Hour        // Free credit unused for this long is returned to any credit account.
	forgetAfter = 60 * time.Second // A lease without credit that is unused for this long is removed from memory.
	leaseTrust  = 75 * time.Second // A lease is valid for this long after the last successful renewal was sent.
	retriesMax  = 3                // A take is repeated this often while other replicas hold credit of the account.
	asksMax     = 8                // One acquisition makes at most this many takes, whatever their result.
)

// retryPauses is how long an acquisition waits for other replicas to return credit: 300 ms in all.
var retryPauses = [retriesMax]time.Duration{60 * time.Millisecond, 100 * time.Millisecond, 140 * time.Millisecond}

// leaseTable holds every lease of one epoch in memory. Its authority ends when its renewals end: what is reserved may still be
// settled, but nothing more is reserved.
type leaseTable struct {
	replica Replica
	seed    maphash.Seed
	valid   atomic.Int64 // The book is valid until this time, in nanoseconds of the monotonic clock.
	over    atomic.Bool  // Once set, the epoch has ended and stays ended.
	closing atomic.Bool  // Once set, the replica takes no more calls.
	shards  [shardCount]leaseShard
}

type leaseShard struct {
	mu     sync.RWMutex
	leases map[string]*lease
}

func newBook(r Replica, validUntil time.Duration) *leaseTable {
	b := &leaseTable{replica: r, seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].leases = make(map[string]*lease)
	}
	b.valid.Store(int64(validUntil))
	return b
}

// live reports whether no other replica can have declared this epoch lost.
func (b *leaseTable) live(now time.Duration) bool {
	return int64(now) < b.valid.Load() && !b.over.Load()
}

// trusted reports whether the replica may take calls.
func (b *leaseTable) trusted(now time.Duration) bool { return b.live(now) && !b.closing.Load() }

func (b *leaseTable) trust(until time.Duration) { b.valid.Store(int64(until)) }

func (b *leaseTable) shard(creditAccountID string) *leaseShard {
	return &b.shards[maphash.String(b.seed, creditAccountID)%shardCount]
}

// find returns the lease of a credit account, or nil when there is none.
func (b *leaseTable) find(creditAccountID string) *lease {
	s := b.shard(creditAccountID)
	s.mu.RLock()
	l := s.leases[creditAccountID]
	s.mu.RUnlock()
	return l
}

// open returns the lease of a credit account, and adds an empty one when there is none.
func (b *leaseTable) open(creditAccountID string, now time.Duration) *lease {
	if l := b.find(creditAccountID); l != nil {
		return l
	}
	s := b.shard(creditAccountID)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[creditAccountID]
	if l == nil {
		l = &lease{creditAccountID: creditAccountID, used: now, fresh: true, refused: refusal{sent: -1}, toppedAt: now - topEvery}
		s.leases[creditAccountID] = l
	}
	return l
}

// each calls visit for every lease, one shard at a time.
func (b *leaseTable) each(visit func(*lease)) {
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

// forget drops a lease that has neither credit nor anything that the ledger does not know yet. The next call for the credit
// account starts from the state in the database.
func (b *leaseTable) forget(l *lease, now time.Duration, applied journal.LSN) {
	s := b.shard(l.creditAccountID)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	inUse := l.reserved != 0 || l.free() != 0 || l.users != 0 || l.flight != nil
	if inUse || now-l.used < forgetAfter || l.unsure || l.doubt || l.last > applied {
		return
	}
	delete(s.leases, l.creditAccountID)
	l.gone = true
}

// lease is the credit of one account or key budget that this epoch may spend. Granted credit is either returned, spent,
// reserved by a running call, or free.
type lease struct {
	creditAccountID string

	mu                                 sync.Mutex
	granted, returned, spent, reserved app.Amount
	waiting                            app.Amount  // This is the total amount wanted by acquisitions that wait for the running step.
	users                              int         // This many acquisitions may still reserve credit.
	last                               journal.LSN // This is the position of the last settlement charged to the lease.
	used                               time.Duration
	spend                              spend
	creditAccountFree                  app.Amount    // This is the free credit of the account after the last step.
	asked                              largest       // This is the largest amount that one call wanted lately.
	toppedAt                           time.Duration // This is when credit was last taken ahead or recalled.
	refused                            refusal
	flight                             *pendingTake // This is the running step at the database. There is at most one.
	fresh                              bool         // The database was not asked about the lease yet.
	unsure                             bool         // The outcome of a step is unknown, so the database may have granted more.
	doubt                              bool         // More may count as spent here than the ledger has charged.
	exact                              bool         // Credit that no call needs must be returned at once.
	recalled                           bool         // Another replica needs the free credit.
	gone                               bool         // The lease was dropped from memory, so the caller must look it up again.

	// fundedUntil is how long the account counts as having credit because a call got some. Zero means that it does not.
	fundedUntil time.Duration
}

// pendingTake is one step at the database. Its done channel is closed when the outcome is in the lease.
type pendingTake struct {
	done chan struct{}
	sent time.Duration
}

// refusal is why the database granted nothing. It also answers every acquisition that began before the step was sent.
type refusal struct {
	sent time.Duration
	err  error
}

func (l *lease) free() app.Amount { return l.granted - l.returned - l.spent - l.reserved }

// reserve sets an amount aside and reports whether the lease had enough. Every call runs it, so it must stay fast.
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

// release ends a reservation: the cost is spent and the rest is free again. It reports whether free credit should be returned
// now.
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

// backStep is the database step that returns free credit.
type backStep uint8

const (
	nothing backStep = iota
	giving           // This step returns credit up to a total.
	asking           // This step takes nothing, and so learns what a step with an unknown outcome granted.
)

// beginReturn removes the free credit from the lease for good and returns the sum that the database must reach. It returns
// nothing while another step runs; a later pass looks at the lease again.
func (l *lease) beginReturn(now time.Duration, applied journal.LSN) (total app.Amount, s backStep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free()
	switch {
	case l.flight != nil || free <= 0 && !l.unsure && !l.canDiscard(now, applied):
		return 0, nothing
	case l.fresh:
		s = asking
	case l.unsure && !l.spare(now):
		s = giving // The total stays as it was: the answer shows what the database has.
	default:
		s = giving
		l.returned += max(free, 0)
		l.recalled = false
	}
	l.flight = &pendingTake{done: make(chan struct{}), sent: now}
	return l.returned, s
}

// landed ends the running step: it copies the database's state into the lease, or records that the state is unknown. It
// reports whether the database went back to an earlier time.
func (l *lease) landed(row Row, err error) (backward bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.doubt && l.reserved == 0 && l.used <= l.flight.sent {
		l.fresh, l.doubt = true, false
	}
	if err == nil {
		backward = l.adopt(row)
	} else if isAway(err) { // A refusal does not show what an earlier step granted.
		l.unsure = true
	}
	l.endFlight()
	return backward
}

// doubted records that the last cost may not be in the ledger. The lease adopts the database's state once it is idle and
// every other settlement is applied.
func (l *lease) doubted() {
	l.mu.Lock()
	l.doubt = true
	l.mu.Unlock()
}

func (l *lease) canDiscard(now time.Duration, applied journal.LSN) bool {
	return l.doubt && l.reserved == 0 && l.users == 0 && l.last <= applied && now-l.used >= idleAfter
}

// callBack records that another replica needs the free credit, unless the lease was used within the rest period. It reports
// whether there is something to return.
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

// adopt copies a row into the lease. Sums only grow within an epoch, so a smaller sum means that the database is older than
// the lease.
func (l *lease) adopt(row Row) (backward bool) {
	l.creditAccountFree = row.Free
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
	l.unsure = row.Returned < l.returned // A smaller sum means that a return was lost.
	return false
}

// idle reports whether the lease's free credit should go back.
func (l *lease) idle(now time.Duration, applied journal.LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsure || l.canDiscard(now, applied) {
		return true
	}
	return l.spare(now)
}

// spare reports whether free credit should go back. The caller holds mu.
func (l *lease) spare(now time.Duration) bool {
	return l.free() > 0 && (l.exact && l.users == 0 || l.recalled || now-l.used >= l.restMax())
}

// restMax is how long free credit may stay here unused. It may stay long while the account has at least as much left, because
// a call after a pause then needs no database. Other replicas recall it when they need it.
func (l *lease) restMax() time.Duration {
	if l.exact || l.creditAccountFree < l.free() || l.small() {
		return idleAfter
	}
	return keepFor
}
