package health

import (
	"time"

	"umg/app/catalog"
)

// Block is the reason why an attempt may not be made now. It is empty when the attempt may be made.
type Block string

// These are the blocks.
const (
	Ejected      Block = "ejected" // Calls of the model failed. The ejection has not ended, or its probe is in progress.
	Paused       Block = "paused"  // An operator has paused the provider.
	LimitReached Block = "crowded" // The provider's own limits are used up.
	// SpendCapReached means that a spend cap of the provider, or one of each of its credentials, is reached.
	SpendCapReached Block = "capped"
	CoolingDown     Block = "resting" // Every credential of the provider is in cooldown.
	Slow            Block = "slow"    // The route is ejected because another route answers sooner. It is used when the others have failed.
)

// Blocked returns the block that Begin would return, without starting an attempt.
func (m *Monitor) Blocked(r *catalog.Route) Block {
	if m.ProviderPaused(r.Provider.ID) {
		return Paused
	}
	now := m.since()
	s, u := m.lock(r, now)
	defer s.mu.Unlock()
	_, block := s.check(r, u, m.spentUp(r.Provider), now)
	return block
}

// check returns the credential for an attempt, or why it may not be made.
func (s *providerState) check(r *catalog.Route, u *upstream, spent spentUp, now time.Duration) (credential int, block Block) {
	limits := r.Provider.Limits
	switch {
	case limits.Concurrency > 0 && int64(s.running) >= limits.Concurrency,
		limits.RequestsPerMinute > 0 && s.attempts.last(secondsPerMinute, now) >= limits.RequestsPerMinute:
		return 0, LimitReached
	case spent.all:
		return 0, SpendCapReached
	case u.breaker.blocks(now) && u.breaker.slow, u.waitsForHedge(now):
		return 0, Slow
	case u.breaker.blocks(now):
		return 0, Ejected
	}
	credential, rests := s.pick(u, spent, now)
	if rests {
		return credential, CoolingDown
	}
	return credential, ""
}

// waitsForHedge reports whether a slow route is not probed yet, because the probe could have no hedge.
func (u *upstream) waitsForHedge(now time.Duration) bool {
	b := &u.breaker
	return b.ejected && b.slow && now < b.until+unhedgedProbeAfter && !u.mayHedge()
}

// pick returns the first credential that is not in cooldown, or else the one whose cooldown ends first. It leaves out credentials with a
// spend cap that is reached.
func (s *providerState) pick(u *upstream, spent spentUp, now time.Duration) (index int, rests bool) {
	var soonest time.Duration
	index = noCredentialIndex
	for i := range s.cooldowns {
		if spent.has(i) {
			continue
		}
		until := max(s.cooldowns[i].until, u.cooldowns[i].until)
		if until <= now {
			return i, false
		}
		if index == noCredentialIndex || until < soonest {
			index, soonest = i, until
		}
	}
	return max(0, index), true
}

// unhedgedProbeAfter is how long after its ejection a slow route is probed even without hedge budget.
const unhedgedProbeAfter = 2 * time.Minute
