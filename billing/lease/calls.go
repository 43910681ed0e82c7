package lease

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing/journal"
)

// call is one running call: what it reserved, and where its marks begin in the journal.
type call struct {
	table           *leaseTable
	account, budget *lease // The account is nil for a call that costs nothing or is uncharged, the budget for a key without one.
	amount          app.Amount
	first           journal.LSN // This is the position of its first mark, or 0 before there is one.
	base            *markBase   // Changes refer to this mark. It is nil before the second mark, and without a journal.
	began           time.Duration
	isSettling      bool // Its settlement has begun, so it takes no more marks.
}

// markDoubtful records that the ledger may not have the call's cost.
func (c call) markDoubtful() {
	for _, l := range [...]*lease{c.account, c.budget} {
		if l != nil {
			l.markDoubtful()
		}
	}
}

// calls holds all running calls by id.
type calls struct {
	seed    maphash.Seed
	running atomic.Int64
	shards  [shardCount]callShard
}

type callShard struct {
	mu    sync.Mutex
	calls map[string]call
	space call // This is the call that is being changed.
}

func newCalls() *calls {
	c := &calls{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].calls = make(map[string]call)
	}
	return c
}

func (c *calls) shard(id string) *callShard {
	return &c.shards[maphash.String(c.seed, id)%shardCount]
}

// add adds a call. It returns false when the id is in use.
func (c *calls) add(id string, one call) bool {
	s := c.shard(id)
	s.mu.Lock()
	_, exists := s.calls[id]
	if !exists {
		s.calls[id] = one
	}
	s.mu.Unlock()
	if !exists {
		c.running.Add(1)
	}
	return !exists
}

// change applies do to a call in place. It returns false when there is no such call or its settlement has begun.
func (c *calls) change(id string, do func(*call)) bool {
	s := c.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	one, exists := s.calls[id]
	if !exists || one.isSettling {
		return false
	}
	s.space = one
	do(&s.space)
	s.calls[id], s.space = s.space, call{}
	return true
}

// has reports whether a call runs or is being settled.
func (c *calls) has(id string) bool {
	s := c.shard(id)
	s.mu.Lock()
	_, exists := s.calls[id]
	s.mu.Unlock()
	return exists
}

// firstMark is the position of the first mark of the oldest call, or next when no call has a mark. No position from next on
// may have been assigned when firstMark begins.
func (c *calls) firstMark(next journal.LSN) journal.LSN {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for _, one := range s.calls {
			if one.first != 0 {
				next = min(next, one.first)
			}
		}
		s.mu.Unlock()
	}
	return next
}
