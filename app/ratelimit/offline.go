package ratelimit

import (
	"strconv"
	"sync"
	"time"
)

// offlineGatesMax bounds the gates whose use is remembered while Redis is away. What further ones used is not carried over.
const offlineGatesMax = 16 << 10

// offlineUse is what this replica let through while Redis was away, less what the limits have refilled since. The replica writes it to
// Redis when Redis is back: its buckets have refilled once for all replicas, while each replica let a whole limit through.
type offlineUse struct {
	mu    sync.Mutex
	gates map[string]*offlineGate
}

// offlineGate is one gate's use: what is missing in its buckets.
type offlineGate struct {
	gate

	keys   []string // Keys are the keys of the script.
	bounds bounds
}

// add counts a call that was let through alone.
func (u *offlineUse) add(le *lease, now time.Time) {
	u.change(le, now, func(g *offlineGate) {
		g.requests.take(1)
		g.daily.take(1)
		g.tokens.take(int64(g.tokens.need(le.tokens)))
	})
}

// correct replaces the tokens that a call was counted with by those it used.
func (u *offlineUse) correct(le *lease, used int64, now time.Time) {
	u.change(le, now, func(g *offlineGate) { g.tokens.take(used - int64(g.tokens.need(le.tokens))) })
}

// remove takes a call out that was never made.
func (u *offlineUse) remove(le *lease, now time.Time) {
	u.change(le, now, func(g *offlineGate) {
		g.requests.take(-1)
		g.daily.take(-1)
		g.tokens.take(-int64(g.tokens.need(le.tokens)))
	})
}

// change applies a change to each gate of a call that has a rate.
func (u *offlineUse) change(le *lease, now time.Time, apply func(*offlineGate)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, b := range le.bounds {
		if b.requests == 0 && b.daily == 0 && b.tokens == 0 {
			continue
		}
		keys := le.keys[2*i : 2*i+2]
		g := u.gates[keys[0]]
		if g == nil {
			if g = u.insert(keys, now); g == nil {
				continue
			}
		}
		g.bounds = b
		g.fill(&g.bounds, now)
		apply(g)
	}
}

// insert makes a gate, and nil when there are too many even without those that used nothing lately.
func (u *offlineUse) insert(keys []string, now time.Time) *offlineGate {
	if len(u.gates) >= offlineGatesMax {
		u.forget(now)
	}
	if len(u.gates) >= offlineGatesMax {
		return nil
	}
	if u.gates == nil {
		u.gates = map[string]*offlineGate{}
	}
	g := &offlineGate{keys: keys}
	u.gates[keys[0]] = g
	return g
}

// forget removes the gates whose use has been refilled.
func (u *offlineUse) forget(now time.Time) {
	for name, g := range u.gates {
		g.fill(&g.bounds, now)
		if g.missing() == [3]float64{} {
			delete(u.gates, name)
		}
	}
}

// missing is the use of a gate: requests a minute, requests a day, tokens a minute.
func (g *gate) missing() (n [3]float64) {
	for i, b := range [3]*bucket{&g.requests, &g.daily, &g.tokens} {
		if b.limit > 0 && float64(b.limit)-b.level > dust {
			n[i] = float64(b.limit) - b.level
		}
	}
	return n
}

// carryOver is one gate's use at one moment, on its way to Redis.
type carryOver struct {
	name    string
	missing [3]float64
	step    scriptArgs
}

// pending is the use of all gates now.
func (u *offlineUse) pending(now time.Time, hold time.Duration) []carryOver {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget(now)
	all := make([]carryOver, 0, len(u.gates))
	for name, g := range u.gates {
		n := g.missing()
		args := []string{"carry", millis(hold), decimal(n[0]), decimal(n[2]), decimal(n[1])}
		for _, bound := range [...]int64{g.bounds.places, g.bounds.requests, g.bounds.daily, g.bounds.tokens} {
			args = append(args, strconv.FormatInt(bound, 10))
		}
		all = append(all, carryOver{name, n, scriptArgs{g.keys, args}})
	}
	return all
}

// carried takes out what Redis knows now.
func (u *offlineUse) carried(all []carryOver) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range all {
		if g := u.gates[c.name]; g != nil {
			for i, b := range [3]*bucket{&g.requests, &g.daily, &g.tokens} {
				b.level = min(float64(b.limit), b.level+c.missing[i])
			}
		}
	}
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', 6, 64) }
