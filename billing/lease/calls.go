package lease

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing/journal"
)

// call is one that runs: what it reserved, and from where its marks stand in the journal.
type call struct {
	book            *book
	account, budget *lease // nil for a call that costs nothing, and for a key without a budget
	amount          app.Amount
	first           journal.LSN // of its marks, 0 before there is one
	began           time.Duration
	settling        bool // its settlement is on its way; it takes no more marks
}

// doubted notes that the call's cost may not be in the books.
func (c call) doubted() {
	for _, l := range [...]*lease{c.account, c.budget} {
		if l != nil {
			l.doubted()
		}
	}
}

// calls are all calls that run, by their ids.
type calls struct {
	seed    maphash.Seed
	running atomic.Int64
	shards  [shardCount]callShard
}

type callShard struct {
	mu    sync.Mutex
	calls map[string]call
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

// add keeps a call. It says no when its id is in use.
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

// change lets do alter a call in its place, unless there is none or it is being settled.
func (c *calls) change(id string, do func(*call)) bool {
	s := c.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	one, exists := s.calls[id]
	if !exists || one.settling {
		return false
	}
	do(&one)
	s.calls[id] = one
	return true
}

// find is the call of an id.
func (c *calls) find(id string) (call, bool) {
	s := c.shard(id)
	s.mu.Lock()
	one, exists := s.calls[id]
	s.mu.Unlock()
	return one, exists && !one.settling
}

// remove ends a call.
func (c *calls) remove(id string) {
	s := c.shard(id)
	s.mu.Lock()
	_, exists := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if exists {
		c.running.Add(-1)
	}
}

// has reports whether a call runs or is being settled.
func (c *calls) has(id string) bool {
	s := c.shard(id)
	s.mu.Lock()
	_, exists := s.calls[id]
	s.mu.Unlock()
	return exists
}

// firstMark is the position of the first mark of the oldest call, or next when no call has one. Positions from next on
// must not have been given out when the look begins.
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
