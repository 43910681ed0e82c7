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
	shardCount   = 64
	idleAfter    = 5 * time.Second  // Free credit unused for this long is returned to a credit account that has little left.
	keepFor      = time.Hour        // Free credit unused for this long is returned to any credit account.
	discardAfter = 60 * time.Second // A lease without credit that is unused for this long is removed from memory.
	leaseTrust   = 75 * time.Second // A lease is valid for this long after the last successful renewal was sent.
	retriesMax   = 3                // A take is repeated this often while other replicas hold credit of the account.
	takesMax     = 8                // One acquisition makes at most this many takes, whatever their result.
)

// retryPauses is how long an acquisition waits for other replicas to return credit: 300 ms in all.
var retryPauses = [retriesMax]time.Duration{60 * time.Millisecond, 100 * time.Millisecond, 140 * time.Millisecond}

// leaseTable holds every lease of one epoch in memory. Its authority ends when its renewals end: what is reserved may still be
// settled, but nothing more is reserved.
type leaseTable struct {
	replica Replica
	seed    maphash.Seed
	valid   atomic.Int64 // The table is valid until this time, in nanoseconds of the monotonic clock.
	over    atomic.Bool  // Once set, the epoch has ended and stays ended.
	closing atomic.Bool  // Once set, the replica takes no more calls.
	shards  [shardCount]leaseShard
}

type leaseShard struct {
	mu     sync.RWMutex
	leases map[string]*lease
}

func newLeaseTable(r Replica, validUntil time.Duration) *leaseTable {
	b := &leaseTable{replica: r, seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].leases = make(map[string]*lease)
	}
	b.valid.Store(int64(validUntil))
	return b
}

// live reports whether no other replica can have declared this epoch lost.
func (t *leaseTable) live(now time.Duration) bool {
	return int64(now) < t.valid.Load() && !t.over.Load()
}

// trusted reports whether the replica may take calls.
func (t *leaseTable) trusted(now time.Duration) bool { return t.live(now) && !t.closing.Load() }

func (t *leaseTable) trust(until time.Duration) { t.valid.Store(int64(until)) }

func (t *leaseTable) shard(creditAccountID string) *leaseShard {
	return &t.shards[maphash.String(t.seed, creditAccountID)%shardCount]
}

// find returns the lease of a credit account, or nil when there is none.
func (t *leaseTable) find(creditAccountID string) *lease {
	s := t.shard(creditAccountID)
	s.mu.RLock()
	l := s.leases[creditAccountID]
	s.mu.RUnlock()
	return l
}

// open returns the lease of a credit account, and adds an empty one when there is none.
func (t *leaseTable) open(creditAccountID string, now time.Duration) *lease {
	if l := t.find(creditAccountID); l != nil {
		return l
	}
	s := t.shard(creditAccountID)
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leases[creditAccountID]
	if l == nil {
		l = &lease{creditAccountID: creditAccountID, used: now, unread: true, refused: refusal{sent: -1}, takenAheadAt: now - topEvery}
		s.leases[creditAccountID] = l
	}
	return l
}

// each calls visit for every lease, one shard at a time.
func (t *leaseTable) each(visit func(*lease)) {
	for i := range t.shards {
		s := &t.shards[i]
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

// discard drops a lease that has neither credit nor anything that the ledger does not know yet. The next call for the credit
// account starts from the state in the database.
func (t *leaseTable) discard(l *lease, now time.Duration, applied journal.LSN) {
	s := t.shard(l.creditAccountID)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	inUse := l.reserved != 0 || l.free() != 0 || l.users != 0 || l.pending != nil
	if inUse || now-l.used < discardAfter || l.uncertain || l.doubtful || l.last > applied {
		return
	}
	delete(s.leases, l.creditAccountID)
	l.dropped = true
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
	largestWanted                      largest       // This is the largest amount that one call wanted lately.
	takenAheadAt                       time.Duration // This is when credit was last taken ahead or recalled.
	refused                            refusal
	pending                            *pendingTake  // This is the running step at the database. There is at most one.
	changed                            chan struct{} // It is closed when changeLeast is free or a step ends; nil without waiters.
	changeLeast                        app.Amount    // This is the least amount that one of those who wait can use.
	unread                             bool          // The database was not asked about the lease yet.
	uncertain                          bool          // The outcome of a step is unknown, so the database may have granted more.
	doubtful                           bool          // More may count as spent here than the ledger has charged.
	returnImmediately                  bool          // Credit that no call needs must be returned at once.
	recalled                           bool          // Another replica needs the free credit.
	dropped                            bool          // The lease was dropped from memory, so the caller must look it up again.

	// fundedUntil is how long the account counts as having credit because a call got some. Zero means that it does not.
	fundedUntil time.Duration
}

// pendingTake is one step at the database.
type pendingTake struct{ sent time.Duration }

// refusal is why the database granted nothing. It also answers every acquisition that began before the step was sent.
type refusal struct {
	sent time.Duration
	err  error
}

func (l *lease) free() app.Amount { return l.granted - l.returned - l.spent - l.reserved }

// returnStep is the database step that returns free credit.
type returnStep uint8

const (
	noStep       returnStep = iota
	returnCredit            // This step returns credit up to a total.
	readState               // This step takes nothing, and so learns what a step with an unknown outcome granted.
)

// beginReturn removes the free credit from the lease for good and returns the sum that the database must reach. It returns
// nothing while another step runs; a later pass looks at the lease again.
func (l *lease) beginReturn(now time.Duration, applied journal.LSN) (total app.Amount, s returnStep) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := l.free()
	switch {
	case l.pending != nil || free <= 0 && !l.uncertain && !l.canDiscard(now, applied):
		return 0, noStep
	case l.unread:
		s = readState
	case l.uncertain && !l.hasSpare(now):
		s = returnCredit // The total stays as it was: the answer shows what the database has.
	default:
		s = returnCredit
		l.returned += max(free, 0)
		l.recalled = false
	}
	l.pending = &pendingTake{sent: now}
	return l.returned, s
}

// finishStep ends the running step: it copies the database's state into the lease, or records that the state is unknown. It
// reports whether the database went back to an earlier time.
func (l *lease) finishStep(row LeaseState, err error) (backward bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.doubtful && l.reserved == 0 && l.used <= l.pending.sent {
		l.unread, l.doubtful = true, false
	}
	if err == nil {
		backward = l.adopt(row)
	} else if isUnavailable(err) { // A refusal does not show what an earlier step granted.
		l.uncertain = true
	}
	l.endPending()
	return backward
}

// markDoubtful records that the last cost may not be in the ledger. The lease adopts the database's state once it is idle and
// every other settlement is applied.
func (l *lease) markDoubtful() {
	l.mu.Lock()
	l.doubtful = true
	l.mu.Unlock()
}

func (l *lease) canDiscard(now time.Duration, applied journal.LSN) bool {
	return l.doubtful && l.reserved == 0 && l.users == 0 && l.last <= applied && now-l.used >= idleAfter
}

// recall records that another replica needs the free credit, unless the lease was used within the rest period. It reports
// whether there is something to return.
func (l *lease) recall(now, rest time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now-l.used < rest {
		return false
	}
	l.recalled, l.takenAheadAt = true, now+recallPause
	return l.free() > 0 || l.uncertain
}

func (l *lease) endPending() {
	if l.pending != nil {
		l.pending = nil
		l.signalChange()
	}
}

// nextChange returns a channel that is closed when at least the given amount is free, or when the running step ends. The caller holds mu.
func (l *lease) nextChange(least app.Amount) <-chan struct{} {
	if l.changed == nil {
		l.changed, l.changeLeast = make(chan struct{}), least
	}
	l.changeLeast = min(l.changeLeast, least)
	return l.changed
}

// signalChange wakes everyone who waits for a change of the lease. The caller holds mu.
func (l *lease) signalChange() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// adopt copies a row into the lease. Sums only grow within an epoch, so a smaller sum means that the database is older than
// the lease.
func (l *lease) adopt(row LeaseState) (backward bool) {
	l.creditAccountFree = row.Free
	l.returnImmediately = row.ReturnImmediately
	if l.unread {
		l.granted, l.returned, l.spent, l.unread = row.Granted, row.Returned, row.Spent, false
		l.uncertain = false
		return false
	}
	if row.Granted < l.granted || row.Returned < l.returned && !l.uncertain {
		return true
	}
	l.granted = row.Granted
	l.uncertain = row.Returned < l.returned // A smaller sum means that a return was lost.
	return false
}

// idle reports whether the lease's free credit should go back.
func (l *lease) idle(now time.Duration, applied journal.LSN) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uncertain || l.canDiscard(now, applied) {
		return true
	}
	return l.hasSpare(now)
}

// atRest reports whether nothing but a use, or much time, can make the lease return credit, or take some ahead.
func (l *lease) atRest(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now-l.used > idleAfter && l.pending == nil && !l.uncertain && !l.doubtful && !l.recalled &&
		(!l.returnImmediately || l.free() <= 0)
}

// hasSpare reports whether free credit should go back. The caller holds mu.
func (l *lease) hasSpare(now time.Duration) bool {
	return l.free() > 0 && (l.returnImmediately && l.users == 0 || l.recalled || now-l.used >= l.idleMax())
}

// idleMax is how long free credit may stay here unused. It may stay long while the account has at least as much left, because
// a call after a pause then needs no database. Other replicas recall it when they need it.
func (l *lease) idleMax() time.Duration {
	if l.returnImmediately || l.creditAccountFree < l.free() || l.small() {
		return idleAfter
	}
	return keepFor
}
