// Package limit is the turnstile before a text call: how many calls an account may run at once, and how many requests
// and tokens it may spend per minute on a model. It keeps everything in this process and in memory. It knows no
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
	waitWhenCrowded   = time.Second
	waitMax           = time.Minute // clients sleep as long as they are told, so they are never told more
	tokensPerMinuteMx = 1 << 40
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
	models  map[string]*model
}

type model struct {
	running                 int
	fullAt                  time.Time
	requests, daily, tokens bucket
}

// touch notes when the model's buckets are full again.
func (m *model) touch(a *account, now time.Time) {
	m.fullAt = now.Add(max(m.requests.untilFull(), m.daily.untilFull(), m.tokens.untilFull()))
	if m.fullAt.After(a.fullAt) {
		a.fullAt = m.fullAt
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
	m := acc.model(a.Model)
	m.requests.fill(a.RequestsPerMinute, time.Minute, now)
	m.daily.fill(a.RequestsPerDay, day, now)
	m.tokens.fill(min(a.TokensPerMinute, tokensPerMinuteMx), time.Minute, now)
	if err := refusal(a, acc, m); err != nil {
		return nil, err
	}
	acc.running++
	m.running++
	m.requests.take(1)
	m.daily.take(1)
	counted := int64(m.tokens.need(a.Tokens))
	m.tokens.take(counted)
	m.touch(acc, now)
	return &Slot{
		limiter: l, shard: sh, account: acc, model: m, tokens: counted,
		requests: m.requests.window(), left: m.tokens.window(),
	}, nil
}

// refusal says which limit stands in the way, if any.
func refusal(a Ask, acc *account, m *model) *app.Error {
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
	acc := &account{fullAt: now, models: make(map[string]*model)}
	s.accounts[id] = acc
	return acc
}

func (a *account) model(id string) *model {
	if m, ok := a.models[id]; ok {
		return m
	}
	if len(a.models) >= accountModelsMax {
		for other, m := range a.models {
			if m.running == 0 {
				delete(a.models, other)
				break
			}
		}
	}
	m := &model{}
	a.models[id] = m
	return m
}

// Slot is a call that was let through. It ends with exactly one Release.
type Slot struct {
	limiter  *Limiter
	shard    *shard
	account  *account
	model    *model
	tokens   int64
	requests Window
	left     Window
	released bool
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
	s.model.running--
	s.model.tokens.fill(s.model.tokens.limit, time.Minute, now)
	s.model.tokens.take(usedTokens - s.tokens)
	s.model.touch(s.account, now)
}

// Requests is what is left of the model's requests after this call; Tokens the same for its tokens.
func (s *Slot) Requests() Window { return s.requests }

// Tokens is what is left of the model's tokens after this call.
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
