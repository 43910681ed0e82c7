// Package limit is the turnstile before a call: how many calls an account may run at once, how many requests and tokens it
// may spend per minute on a model, and the same for one of its keys. It keeps everything in this process and in memory. It knows no
// request, no model and no money: it counts against the numbers it is handed.
package limit

import (
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"time"

	"umg/app"
)

const (
	// ConcurrencyStandard is how many calls an account may run at once when nothing else is said.
	ConcurrencyStandard = 16

	day               = 24 * time.Hour
	shardsCount       = 64
	sweptPerEntry     = 8 // accounts looked at whenever one is added
	shardAccountsMax  = 16 << 10
	accountModelsMax  = 1024
	accountKeysMax    = 1024
	waitWhenCrowded   = time.Second
	waitMax           = time.Minute // clients sleep as long as they are told, so they are never told more
	tokensPerMinuteMx = 1 << 40
	thisKey           = "this API key"
)

// Ask is one call at the turnstile. Numbers of zero are no limit, except Concurrency, which is then 16.
type Ask struct {
	AccountID   string
	Model       string
	Concurrency int // calls of the account at once

	ModelConcurrency  int // calls of the account at once on this model
	RequestsPerMinute int64
	RequestsPerDay    int64
	TokensPerMinute   int64
	Tokens            int64 // what the call will use, as far as one can tell

	Key Key // that makes the call, with limits of its own beside those above
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

// Options of a Limiter.
type Options struct{ Now app.Clock }

// Limiter lets calls through. It is safe for many goroutines.
type Limiter struct {
	now    app.Clock
	seed   maphash.Seed
	shards [shardsCount]shard
}

type shard struct {
	mu       sync.Mutex
	accounts map[string]*account
}

// account is what one account runs and spends. It is guarded by its shard.
type account struct {
	running int
	fullAt  time.Time // when all its buckets are full again, and it can be forgotten
	models  map[string]*gate
	keys    map[string]*gate // those with limits of their own
}

// gate counts the calls of an account on one model, or by one key.
type gate struct {
	running                 int
	requests, daily, tokens bucket
}

// fill brings the gate up to now.
func (g *gate) fill(perMinute, perDay, tokens int64, now time.Time) {
	g.requests.fill(perMinute, time.Minute, now)
	g.daily.fill(perDay, day, now)
	g.tokens.fill(min(tokens, tokensPerMinuteMx), time.Minute, now)
}

// enter counts a call, and returns the tokens it was counted with.
func (g *gate) enter(a *account, tokens int64, now time.Time) int64 {
	g.running++
	g.requests.take(1)
	g.daily.take(1)
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

// touch notes when the gate's buckets are full again.
func (g *gate) touch(a *account, now time.Time) {
	fullAt := now.Add(max(g.requests.untilFull(), g.daily.untilFull(), g.tokens.untilFull()))
	if fullAt.After(a.fullAt) {
		a.fullAt = fullAt
	}
}

// New makes a Limiter. It panics without a clock.
func New(o Options) *Limiter {
	if o.Now == nil {
		panic("limit: a limiter needs a clock")
	}
	return &Limiter{now: o.Now, seed: maphash.MakeSeed()}
}

// Take lets a call through and counts it against all its limits, or against none and says which one it met.
func (l *Limiter) Take(a Ask) (*Slot, error) {
	if a.Concurrency <= 0 {
		a.Concurrency = ConcurrencyStandard
	}
	now := l.now()
	sh := &l.shards[maphash.String(l.seed, a.AccountID)%shardsCount]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	acc := sh.account(a.AccountID, now)
	m := find(acc.models, a.Model, accountModelsMax)
	m.fill(a.RequestsPerMinute, a.RequestsPerDay, a.TokensPerMinute, now)
	var key *gate
	if a.Key.limited() {
		if acc.keys == nil {
			acc.keys = make(map[string]*gate)
		}
		key = find(acc.keys, a.Key.ID, accountKeysMax)
		key.fill(a.Key.RequestsPerMinute, 0, a.Key.TokensPerMinute, now)
	}
	if err := refusal(a, acc, m, key); err != nil {
		return nil, err
	}
	acc.running++
	s := &Slot{limiter: l, shard: sh, account: acc, model: m, key: key}
	s.tokens = m.enter(acc, a.Tokens, now)
	s.requests, s.left = m.requests.window(), m.tokens.window()
	if key != nil {
		s.keyTokens = key.enter(acc, a.Tokens, now)
		s.requests, s.left = tighter(s.requests, key.requests.window()), tighter(s.left, key.tokens.window())
	}
	return s, nil
}

// refusal says which limit stands in the way, if any.
func refusal(a Ask, acc *account, m, key *gate) *app.Error {
	switch {
	case acc.running >= a.Concurrency:
		return crowded("Too many concurrent requests: this account may run %d at a time. Wait for one to finish.", a.Concurrency)
	case a.ModelConcurrency > 0 && m.running >= a.ModelConcurrency:
		return crowded("Too many concurrent requests for "+a.Model+": this account may run %d at a time. Wait for one to finish.",
			a.ModelConcurrency)
	case !m.requests.allows(1):
		return spent("The %d requests per minute for %s are used up", a.RequestsPerMinute, a.Model, m.requests.wait(1))
	case !m.daily.allows(1):
		return spent("The %d requests per day for %s are used up", a.RequestsPerDay, a.Model, m.daily.wait(1))
	case !m.tokens.allows(a.Tokens):
		return spent("The %d tokens per minute for %s are used up", a.TokensPerMinute, a.Model, m.tokens.wait(a.Tokens))
	case key == nil:
		return nil
	}
	return keyRefusal(a, key)
}

func keyRefusal(a Ask, key *gate) *app.Error {
	switch {
	case a.Key.Concurrency > 0 && key.running >= a.Key.Concurrency:
		return crowded("Too many concurrent requests: this API key may run %d at a time. Wait for one to finish, or raise the key's limit.",
			a.Key.Concurrency)
	case !key.requests.allows(1):
		return spent("The %d requests per minute of %s are used up", a.Key.RequestsPerMinute, thisKey, key.requests.wait(1))
	case !key.tokens.allows(a.Tokens):
		return spent("The %d tokens per minute of %s are used up", a.Key.TokensPerMinute, thisKey, key.tokens.wait(a.Tokens))
	}
	return nil
}

func crowded(format string, most int) *app.Error {
	return app.Errorf(app.Exhausted, "max_concurrency_exceeded", format, most).After(waitWhenCrowded)
}

func spent(format string, most int64, name string, wait time.Duration) *app.Error {
	seconds := int64(math.Ceil(wait.Seconds()))
	return app.Errorf(app.Exhausted, "rate_limit_exceeded", "%s. Try again in %d s.", fmt.Sprintf(format, most, name), seconds).
		After(time.Duration(seconds) * time.Second)
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
	for other, acc := range s.accounts { // begins anywhere
		if acc.running == 0 && (crowd || now.After(acc.fullAt)) {
			delete(s.accounts, other)
		}
		if looked++; looked >= sweptPerEntry {
			break
		}
	}
	acc := &account{fullAt: now, models: make(map[string]*gate)}
	s.accounts[id] = acc
	return acc
}

// find finds or adds a gate. Where there are too many, one that nobody is in makes room.
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

// Slot is a call that was let through. It ends with exactly one Release.
type Slot struct {
	limiter   *Limiter
	shard     *shard
	account   *account
	model     *gate
	key       *gate // nil for a key without limits of its own
	tokens    int64
	keyTokens int64
	requests  Window
	left      Window
	released  bool
}

// Release ends the call and corrects the tokens it was counted with to those it used. A second Release does nothing.
func (s *Slot) Release(usedTokens int64) {
	now := s.limiter.now()
	s.shard.mu.Lock()
	defer s.shard.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	s.account.running--
	s.model.leave(s.account, usedTokens-s.tokens, now)
	if s.key != nil {
		s.key.leave(s.account, usedTokens-s.keyTokens, now)
	}
}

// Requests is what is left after this call of the model's requests, or of the key's where those are fewer.
func (s *Slot) Requests() Window { return s.requests }

// Tokens is what is left after this call of the model's tokens, or of the key's where those are fewer.
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
