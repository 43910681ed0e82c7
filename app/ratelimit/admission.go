package ratelimit

import (
	"fmt"
	"strconv"
	"time"

	"umg/app"
)

// Class is a kind of request whose rate is counted apart from that of calls, for each account and in this replica alone.
type Class int

// The classes of requests.
const (
	Reads    Class = iota // requests that change nothing
	Changes               // requests that change what an account has, such as its keys, and are no calls
	Checks                // requests that read a body and charge nothing, such as dry runs and counts of tokens
	Calls                 // calls and their bodies, so that those of a minute do not come all at once
	Refusals              // requests that were refused
	classesCount
)

// Rate is how much of a class an account may do in a period, and at once. Numbers of zero are no limit.
type Rate struct {
	Requests, Bytes int64
	Period          time.Duration // zero: a minute
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
