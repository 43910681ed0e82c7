package lease

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

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
