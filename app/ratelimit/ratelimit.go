// Package ratelimit is the turnstile before a call: how many calls an account may run at once, how many requests and tokens it
// may spend per minute, on all models and on one, and the same for one of its keys. It keeps everything in this process and in
// memory, or shares it with other replicas through Redis and goes on alone while that is away. It knows no request, no model and
// no money: it counts against the numbers it is handed.
package ratelimit

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"umg/app"
)

const (
	// ConcurrencyStandard is how many calls an account may run at once when nothing else is said.
	ConcurrencyStandard = 16

	tokensPerMinuteMx = 1 << 40
)

// Request is one call at the turnstile. Numbers of zero are no limit, except Concurrency, which is then 16.
type Request struct {
	AccountID   string
	Model       string
	Concurrency int // calls of the account at once

	Account Account // the account whose calls on all models are counted together

	ModelConcurrency  int // calls of the account at once on this model
	RequestsPerMinute int64
	RequestsPerDay    int64
	TokensPerMinute   int64
	Tokens            int64 // what the call will use, as far as one can tell

	Key Key // the key that makes the call, with limits of its own in addition to those above

	slot *Slot // the slot of a call that was admitted before its model was known; nil for others
}

// Account is what an account may do over all models and keys. Numbers of zero are no limit.
type Account struct {
	RequestsPerMinute int64
	TokensPerMinute   int64
}

// Key is one of an account's keys and what it may do over all models. Numbers of zero are no limit.
type Key struct {
	ID                string
	Concurrency       int
	RequestsPerMinute int64
	TokensPerMinute   int64
}

// limited reports whether anything need be counted for the key.
func (k Key) limited() bool {
	return k.ID != "" && (k.Concurrency > 0 || k.RequestsPerMinute > 0 || k.TokensPerMinute > 0)
}

// bounds are what one gate lets through. Zero is no limit.
type bounds struct{ places, requests, daily, tokens int64 }

// The gates that a call passes, in the order in which they refuse.
const (
	accountGate = iota
	modelGate
	keyGate
	gatesCount
)

// bounds are the numbers of the call's gates.
func (a *Request) bounds() [gatesCount]bounds {
	if a.Concurrency <= 0 {
		a.Concurrency = ConcurrencyStandard
	}
	b := [gatesCount]bounds{
		accountGate: {
			places: int64(a.Concurrency), requests: a.Account.RequestsPerMinute, tokens: min(a.Account.TokensPerMinute, tokensPerMinuteMx),
		},
		modelGate: {
			places: int64(a.ModelConcurrency), requests: a.RequestsPerMinute, daily: a.RequestsPerDay,
			tokens: min(a.TokensPerMinute, tokensPerMinuteMx),
		},
	}
	if a.Key.limited() {
		b[keyGate] = bounds{
			places: int64(a.Key.Concurrency), requests: a.Key.RequestsPerMinute, tokens: min(a.Key.TokensPerMinute, tokensPerMinuteMx),
		}
	}
	return b
}

// Options of a Limiter.
type Options struct {
	Now     app.Clock
	Account Account // the limits of an account with the usual limits, over all of its models and keys; none by default
}

// Limiter lets calls through. It is safe for many goroutines.
type Limiter struct {
	now     app.Clock
	account Account
	seed    maphash.Seed
	shards  [shardsCount]shard
	refused [whatsCount]atomic.Int64
	shared  *shared // nil for a replica that is alone

	refusedOf [classesCount]atomic.Int64
}

// New makes a Limiter that counts in this process. It panics when a required option is missing.
func New(o Options) *Limiter {
	app.RequireOptions("ratelimit.New", map[string]bool{
		"Options.Now": o.Now != nil,
	})
	return &Limiter{now: o.Now, account: o.Account, seed: maphash.MakeSeed()}
}

// Account is what an account with so many times the usual limits may do over all its models and keys.
func (l *Limiter) Account(factor int) Account {
	n := int64(max(factor, 1))
	return Account{RequestsPerMinute: l.account.RequestsPerMinute * n, TokensPerMinute: l.account.TokensPerMinute * n}
}

// Take lets a call through and counts it against all its limits, or against none, and reports which limit it met. The
// slot has what is left in both cases; the slot of a refused call need not be released. Take does not notice a caller
// who leaves: it takes no longer than the wait for Redis, and it would be uncertain whether such a call was counted.
func (l *Limiter) Take(a Request) (*Slot, error) {
	b := a.bounds()
	var s *Slot
	var met refusal
	if l.shared == nil {
		s, met = l.enter(&a, &b, check|count)
	} else {
		s, met = l.shared.take(l, &a, &b)
	}
	if met.what == nothing {
		return s, nil
	}
	l.refused[met.what].Add(1)
	return s, met.explain(&a, &b)
}

// Join counts an admitted call against the limits of its model and against all limits of tokens. The ask names the account and
// the key that were admitted. When it is refused, the slot still has what Admit counted.
func (s *Slot) Join(a Request) error {
	a.slot = s
	_, err := s.limiter.Take(a)
	return err
}

// What enter is to do. A call that other replicas have a say in is checked here, counted there, and then counted here.
const (
	check = 1 << iota
	count
)

// enter checks whether anything here blocks a call, and counts it here. Without counting there is a slot only for
// what is refused.
func (l *Limiter) enter(a *Request, b *[gatesCount]bounds, steps int) (*Slot, refusal) {
	now := l.now()
	sh := l.shard(a.AccountID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	acc := sh.account(a.AccountID, now)
	gates := acc.gates(a, b, now)
	if steps&check != 0 {
		if met := refusalOf(&gates, b, a.Tokens, a.slot != nil); met.what != nothing {
			s := a.slot
			if s == nil {
				s = &Slot{limiter: l, account: acc, released: true}
			}
			s.look(&gates)
			return s, met
		}
	}
	if steps&count == 0 {
		return nil, refusal{}
	}
	s := a.slot
	if s == nil {
		s = &Slot{limiter: l, account: acc, key: gates[keyGate]}
	}
	s.model = gates[modelGate]
	for i, g := range gates {
		switch {
		case g == nil:
		case i != modelGate && a.slot != nil:
			s.tokens[i] = g.spend(acc, a.Tokens, now)
		default:
			s.tokens[i] = g.enter(acc, a.Tokens, now)
		}
	}
	s.look(&gates)
	return s, refusal{}
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

// Slot is a call that was let through. It ends with exactly one Release.
type Slot struct {
	limiter  *Limiter
	account  *account
	model    *gate
	key      *gate             // nil for a key without limits of its own
	tokens   [gatesCount]int64 // tokens that each gate has counted
	requests Window
	left     Window
	lease    *lease // the lease of the places that other replicas know of; nil for a replica without Redis
	released bool
}

// look notes what is left in the tightest of the gates.
func (s *Slot) look(gates *[gatesCount]*gate) {
	s.requests, s.left = Window{}, Window{}
	for _, g := range gates {
		if g != nil {
			s.requests, s.left = tighter(s.requests, g.requests.window()), tighter(s.left, g.tokens.window())
		}
	}
}

// Release ends the call and corrects the tokens it was counted with to those it used. A second Release does nothing.
func (s *Slot) Release(usedTokens int64) {
	now := s.limiter.now()
	if s.end(usedTokens, now) && s.lease != nil {
		s.limiter.shared.settle(s.lease, usedTokens)
	}
}

// Withdraw ends a call as if it had never been let through, since it is to be counted against other limits. It takes the place of
// Release.
func (s *Slot) Withdraw() {
	now := s.limiter.now()
	if !s.end(0, now) {
		return
	}
	s.account.shard.mu.Lock()
	for _, g := range [gatesCount]*gate{&s.account.gate, s.model, s.key} {
		if g != nil {
			g.giveBack(s.account, now)
		}
	}
	s.account.shard.mu.Unlock()
	if s.lease != nil {
		s.limiter.shared.refund(s.lease)
	}
}

// giveBack takes a call that has left out of the count of requests.
func (g *gate) giveBack(a *account, now time.Time) {
	g.requests.fill(g.requests.limit, time.Minute, now)
	g.daily.fill(g.daily.limit, day, now)
	g.requests.take(-1)
	g.daily.take(-1)
	g.touch(a, now)
}

// end ends the call here, and reports whether it had not ended before.
func (s *Slot) end(usedTokens int64, now time.Time) bool {
	s.account.shard.mu.Lock()
	defer s.account.shard.mu.Unlock()
	if s.released {
		return false
	}
	s.released = true
	for i, g := range [gatesCount]*gate{&s.account.gate, s.model, s.key} {
		if g != nil {
			g.leave(s.account, usedTokens-s.tokens[i], now)
		}
	}
	return true
}

// leave ends a call, and corrects the tokens it was counted with by so many.
func (g *gate) leave(a *account, more int64, now time.Time) {
	g.running--
	g.tokens.fill(g.tokens.limit, time.Minute, now)
	g.tokens.take(more)
	g.touch(a, now)
}

// Requests is what is left after this call of the requests per minute, in the tightest of its limits.
func (s *Slot) Requests() Window { return s.requests }

// Tokens is what is left after this call of the tokens per minute, in the tightest of its limits.
func (s *Slot) Tokens() Window { return s.left }

// Accounts is how many accounts are remembered now.
func (l *Limiter) Accounts() int {
	n := 0
	for i := range l.shards {
		l.shards[i].mu.Lock()
		n += len(l.shards[i].accounts)
		l.shards[i].mu.Unlock()
	}
	return n
}
