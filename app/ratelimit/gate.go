package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	day              = 24 * time.Hour
	shardsCount      = 64
	sweptPerEntry    = 8 // The limiter examines this many accounts whenever it adds one.
	shardAccountsMax = 16 << 10
	accountModelsMax = 1024
	accountKeysMax   = 1024
)

type shard struct {
	mu       sync.Mutex
	accounts map[string]*account
}

func (l *Limiter) shard(accountID string) *shard {
	return &l.shards[maphash.String(l.seed, accountID)%shardsCount]
}

// account is what one account runs and spends: in all, on each model, and by each key that has limits of its own. It is
// guarded by its shard.
type account struct {
	gate

	shard  *shard
	fullAt time.Time // After fullAt all buckets are full again, and the account can be forgotten.
	models map[string]*gate
	keys   map[string]*gate

	classes *[classesCount]gate // Classes is nil until a request of some class is counted.
}

// gates are those of a call, brought up to now.
func (acc *account) gates(a *Request, b *[gatesCount]bounds, now time.Time) [gatesCount]*gate {
	found := [gatesCount]*gate{accountGate: &acc.gate, modelGate: find(acc.models, a.Model, accountModelsMax)}
	if a.Key.limited() {
		found[keyGate] = acc.keyGate(a.Key.ID)
	}
	for i, g := range found {
		if g != nil {
			g.fill(&b[i], now)
		}
	}
	return found
}

// keyGate finds or adds the gate of a key.
func (acc *account) keyGate(id string) *gate {
	if acc.keys == nil {
		acc.keys = make(map[string]*gate)
	}
	return find(acc.keys, id, accountKeysMax)
}

// gate counts the calls of an account, on one model, or by one key.
type gate struct {
	running                 int64
	requests, daily, tokens bucket
}

// fill brings the gate up to now.
func (g *gate) fill(b *bounds, now time.Time) {
	g.requests.fill(b.requests, time.Minute, now)
	g.daily.fill(b.daily, day, now)
	g.tokens.fill(b.tokens, time.Minute, now)
}

// enter counts a call, and returns the tokens it was counted with.
func (g *gate) enter(a *account, tokens int64, now time.Time) int64 {
	g.running++
	g.requests.take(1)
	g.daily.take(1)
	return g.spend(a, tokens, now)
}

// spend counts the tokens of a call that was counted without them, and returns how many that are.
func (g *gate) spend(a *account, tokens int64, now time.Time) int64 {
	counted := int64(g.tokens.need(tokens))
	g.tokens.take(counted)
	g.touch(a, now)
	return counted
}

// leave ends a call, and corrects the tokens it was counted with by so many.
func (g *gate) leave(a *account, more int64, now time.Time) {
	g.running--
	g.tokens.fill(g.tokens.limit, time.Minute, now)
	g.tokens.take(more)
	g.touch(a, now)
}

// giveBack takes a call that has left out of the count of requests.
func (g *gate) giveBack(a *account, now time.Time) {
	g.requests.fill(g.requests.limit, time.Minute, now)
	g.daily.fill(g.daily.limit, day, now)
	g.requests.take(-1)
	g.daily.take(-1)
	g.touch(a, now)
}

// touch notes when the gate's buckets are full again.
func (g *gate) touch(a *account, now time.Time) {
	fullAt := now.Add(max(g.requests.untilFull(), g.daily.untilFull(), g.tokens.untilFull()))
	if fullAt.After(a.fullAt) {
		a.fullAt = fullAt
	}
}

// account finds or adds an account. Whenever one is added, a few others of which nothing need be known any more are
// forgotten, so that the table is never much larger than what is in use.
func (s *shard) account(id string, now time.Time) *account {
	if acc, ok := s.accounts[id]; ok {
		return acc
	}
	if s.accounts == nil {
		s.accounts = make(map[string]*account)
	}
	crowd, looked := len(s.accounts) >= shardAccountsMax, 0
	for other, acc := range s.accounts { // The iteration begins at a random entry.
		if acc.running == 0 && (crowd || now.After(acc.fullAt)) {
			delete(s.accounts, other)
		}
		if looked++; looked >= sweptPerEntry {
			break
		}
	}
	acc := &account{shard: s, fullAt: now, models: make(map[string]*gate)}
	s.accounts[id] = acc
	return acc
}

// find finds or adds a gate. When there are too many, it removes one that has no running call.
func find(gates map[string]*gate, id string, most int) *gate {
	if g, ok := gates[id]; ok {
		return g
	}
	if len(gates) >= most {
		for other, g := range gates {
			if g.running == 0 {
				delete(gates, other)
				break
			}
		}
	}
	g := &gate{}
	gates[id] = g
	return g
}
