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
	Concurrency int // The account may run this many calls at once.

	Account Account // Account has limits for the calls on all models together.

	ModelConcurrency  int // The account may run this many calls at once on this model.
	RequestsPerMinute int64
	RequestsPerDay    int64
	TokensPerMinute   int64
	Tokens            int64 // Tokens is an estimate of what the call will use.

	Key Key // Key makes the call and may have limits in addition to those above.

	slot *Slot // Slot is set if the call was admitted before its model was known; otherwise it is nil.
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

// A call passes these gates, and they refuse in this order.
const (
	accountGate = iota
	modelGate
	keyGate
	gatesCount
)

// Options configure a Limiter.
type Options struct {
	Now     app.Clock
	Account Account // Account has the usual limits of an account over all models and keys; zero means no limit.
}

// Limiter lets calls through. It is safe for many goroutines.
type Limiter struct {
	now     app.Clock
	account Account
	seed    maphash.Seed
	shards  [shardsCount]shard
	refused [whatsCount]atomic.Int64
	shared  *shared // Shared is nil if the replica counts alone.

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

// These are the steps of enter. A call that other replicas have a say in is checked here, counted there, and then counted here.
const (
	check = 1 << iota
	count
)

// Slot is a call that was let through. It ends with exactly one Release.
type Slot struct {
	limiter  *Limiter
	account  *account
	model    *gate
	key      *gate             // A key without limits of its own has a nil gate.
	tokens   [gatesCount]int64 // Tokens is what each gate has counted.
	requests Window
	left     Window
	lease    *lease // Lease has the places that other replicas know of. It is nil without Redis.
	released bool
}

// Release ends the call and corrects the tokens it was counted with to those it used. A second Release does nothing.
func (s *Slot) Release(usedTokens int64) {
	now := s.limiter.now()
	if s.end(usedTokens, now) && s.lease != nil {
		s.limiter.shared.settle(s.lease, usedTokens)
	}
}

// Withdraw ends a call as if it had never been let through, since it is to be counted against other limits. It takes the place of Release.
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
