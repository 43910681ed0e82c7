package ratelimit

import (
	"fmt"
	"hash/maphash"
	"math"
	"strconv"
	"sync"
	"time"

	"umg/app"
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

// Window is the state of one limit, as headers tell it. A Limit of zero means that there is none.
type Window struct {
	Limit, Remaining int64
	Reset            time.Duration // Reset is the time until nothing of the limit is in use.
}

// tighter is the window of which less is left.
func tighter(one, other Window) Window {
	if one.Limit == 0 || other.Limit > 0 && other.Remaining < one.Remaining {
		return other
	}
	return one
}

// bucket holds at most a period's worth and fills evenly. It can be overdrawn by one period, when a call used more
// than it was counted with.
type bucket struct {
	limit  int64 // Limit is per period; zero means no limit.
	period time.Duration
	level  float64
	at     time.Time
}

// fill brings the bucket up to now. A changed limit starts with its share of what was left.
func (b *bucket) fill(limit int64, period time.Duration, now time.Time) {
	switch {
	case limit <= 0:
		*b = bucket{at: now}
		return
	case b.limit == 0:
		*b = bucket{limit: limit, period: period, level: float64(limit), at: now}
		return
	case b.limit != limit:
		b.level *= float64(limit) / float64(b.limit)
		b.limit = limit
	}
	if gone := now.Sub(b.at); gone > 0 {
		b.level = min(float64(limit), b.level+float64(gone)/float64(b.period)*float64(limit))
		b.at = now
	}
}

// need is what a call must find in the bucket. A call larger than a whole period needs a full one, or it could never be made.
func (b *bucket) need(n int64) float64 { return float64(min(n, b.limit)) }

// dust forgives what fractions lose to rounding.
const dust = 1e-6

func (b *bucket) allows(n int64) bool { return b.limit == 0 || b.level+dust >= b.need(n) }

func (b *bucket) take(n int64) {
	if b.limit > 0 {
		b.level = min(float64(b.limit), max(-float64(b.limit), b.level-float64(n)))
	}
}

// wait is how long until the bucket allows n.
func (b *bucket) wait(n int64) time.Duration {
	missing := b.need(n) - b.level
	return time.Duration(missing / float64(b.limit) * float64(b.period))
}

// untilFull is how long until nothing is missing.
func (b *bucket) untilFull() time.Duration {
	if b.limit == 0 {
		return 0
	}
	return time.Duration((float64(b.limit) - b.level) / float64(b.limit) * float64(b.period))
}

func (b *bucket) window() Window {
	if b.limit == 0 {
		return Window{}
	}
	return Window{
		Limit: b.limit, Remaining: int64(math.Max(0, math.Floor(b.level+dust))), Reset: b.untilFull().Round(time.Millisecond),
	}
}

// Class is a kind of request whose rate is counted apart from that of calls, for each account and in this replica alone.
type Class int

// These are the classes of requests.
const (
	Reads    Class = iota // Reads are requests that change nothing.
	Changes               // Changes change what an account has, such as its keys, and are no calls.
	Checks                // Checks read a body and charge nothing, such as dry runs and counts of tokens.
	Calls                 // Calls are calls and their bodies. Their rate spreads the calls of a minute.
	Refusals              // Refusals are requests that were refused.
	classesCount
)

// Rate is how much of a class an account may do in a period, and at once. Numbers of zero are no limit.
type Rate struct {
	Requests, Bytes int64
	Period          time.Duration // Zero means a minute.
}

// Admit lets a call in before its body is read. It counts one place and one request of the account and of the key in this
// replica; Join counts the rest once the model is known. The slot ends with exactly one Release, also when Join is never called.
// It says what is left when the call is refused as well; the slot of a refused call need not be released.
func (l *Limiter) Admit(a Request) (*Slot, error) {
	s := &Slot{}
	return s, l.AdmitTo(s, a)
}

// AdmitTo is Admit in the memory of a slot that is not in use.
func (l *Limiter) AdmitTo(s *Slot, a Request) error {
	b := a.bounds()
	b[modelGate] = bounds{}
	now := l.now()
	sh := l.shard(a.AccountID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	acc := sh.account(a.AccountID, now)
	gates := [gatesCount]*gate{accountGate: &acc.gate}
	if a.Key.limited() {
		gates[keyGate] = acc.keyGate(a.Key.ID)
	}
	for i, g := range gates {
		if g != nil {
			g.fill(&b[i], now)
		}
	}
	if met := refusalOf(&gates, &b, 0, false); met.what != nothing {
		*s = Slot{limiter: l, account: acc, released: true}
		s.look(&gates)
		l.refused[met.what].Add(1)
		return met.explain(&a, &b)
	}
	*s = Slot{limiter: l, account: acc, key: gates[keyGate]}
	for _, g := range gates {
		if g != nil {
			g.enter(acc, 0, now)
		}
	}
	s.look(&gates)
	return nil
}

// Join counts an admitted call against the limits of its model and against all limits of tokens. The ask names the account and
// the key that were admitted. When it is refused, the slot still has what Admit counted.
func (s *Slot) Join(a Request) error {
	a.slot = s
	_, err := s.limiter.Take(a)
	return err
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

// enter checks whether anything here blocks a call, and counts it here. Without counting there is a slot only for what is refused.
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

// look notes what is left in the tightest of the gates.
func (s *Slot) look(gates *[gatesCount]*gate) {
	s.requests, s.left = Window{}, Window{}
	for _, g := range gates {
		if g != nil {
			s.requests, s.left = tighter(s.requests, g.requests.window()), tighter(s.left, g.tokens.window())
		}
	}
}

// Count counts a request of an account, and the bytes of its body as far as they are known, against the rate of a class. The
// window tells what is left, also when the request is refused.
func (l *Limiter) Count(accountID string, c Class, r Rate, bytes int64) (Window, error) {
	now := l.now()
	sh := l.shard(accountID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	acc := sh.account(accountID, now)
	if acc.classes == nil {
		acc.classes = new([classesCount]gate)
	}
	if r.Period <= 0 {
		r.Period = time.Minute
	}
	g := &acc.classes[c]
	g.requests.fill(r.Requests, r.Period, now)
	g.tokens.fill(r.Bytes, r.Period, now)
	var err error
	switch {
	case !g.requests.allows(1):
		err = c.refuse(fmt.Sprintf("%d %s in %s", r.Requests, c.noun(), spoken(r.Period)), g.requests.wait(1))
	case !g.tokens.allows(bytes):
		err = c.refuse(fmt.Sprintf("%d MiB of the bodies of %s in %s", r.Bytes>>20, c.noun(), spoken(r.Period)), g.tokens.wait(bytes))
	default:
		g.requests.take(1)
		g.tokens.take(int64(g.tokens.need(bytes)))
		g.touch(acc, now)
	}
	if err != nil {
		l.refusedOf[c].Add(1)
	}
	return g.requests.window(), err
}

// Correct adds bytes to those that a request was counted with, or takes some of them back. It must not add up to less than none.
func (l *Limiter) Correct(accountID string, c Class, more int64) {
	now := l.now()
	sh := l.shard(accountID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	acc, ok := sh.accounts[accountID]
	if !ok || acc.classes == nil {
		return
	}
	g := &acc.classes[c]
	g.tokens.fill(g.tokens.limit, g.tokens.period, now)
	g.tokens.take(more)
	g.touch(acc, now)
}

// noun is what requests of the class are called in errors.
func (c Class) noun() string {
	return [classesCount]string{
		Reads: "read requests", Changes: "requests that change something", Checks: "dry runs and token counts", Calls: "calls",
		Refusals: "refusals",
	}[c]
}

// spoken is a period of a rate in whole seconds, as errors say it.
func spoken(period time.Duration) string {
	if period == time.Minute {
		return "a minute"
	}
	return strconv.FormatInt(int64(period/time.Second), 10) + " s"
}

func (c Class) refuse(what string, wait time.Duration) error {
	seconds := int64(min(waitMax, max(waitMin, wait+time.Second-1)) / time.Second)
	return app.Errorf(app.Exhausted, "rate_limit_exceeded", "The %s of this account are used up. Try again in %d s.", what, seconds).
		After(time.Duration(seconds) * time.Second)
}

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
