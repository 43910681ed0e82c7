package health

import (
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// These are the limits of the state.
const (
	upstreamsMax     = 1024 // This bounds the models of one provider.
	providersMax     = 1024
	forgottenAfter   = time.Hour // State without an attempt for so long belongs to an old catalog.
	retryWindow      = 10        // The window is in seconds.
	retryFloor       = 10        // So many retries in the window are always allowed.
	retryOneOf       = 10        // So many first attempts allow one more retry.
	secondsPerMinute = 60
)

// providerState is the state of a provider. Its lock also guards its upstreams.
type providerState struct {
	id string

	mu        sync.Mutex
	provider  *catalog.Provider // Provider has the credentials of the cooldowns.
	cooldowns []cooldown        // Cooldowns are those of the credentials for all models.
	running   int
	attempts  perSecond // Attempts counts first attempts and retries.
	retries   perSecond
	upstreams map[string]*upstream
}

// upstream is the state of one model of a provider.
type upstream struct {
	breaker     breaker
	firstBytes  histogram  // FirstBytes are times to the first byte of streams.
	wholes      histogram  // Wholes are durations of answers in one piece.
	hedgesSpent int        // HedgesSpent is the used part of the hedge budget, in tenths of a hedge.
	cooldowns   []cooldown // Cooldowns are those of the provider's credentials for this model.
	running     int
	usedAt      time.Duration
	lastFault   provider.Class
	lastStatus  int
	lastFaultAt time.Duration
	// unavailableLoggedAt is when the last line said that the provider cannot serve the model; zero means never.
	unavailableLoggedAt time.Duration
}

// lock returns the locked state of the provider of a route and that of its model, and adds them when they are new.
func (m *Monitor) lock(r *catalog.Route, now time.Duration) (*providerState, *upstream) {
	p := r.Provider
	m.mu.RLock()
	s := m.providers[p.ID]
	if s != nil {
		s.mu.Lock() // Locking before the map is free keeps drop from removing the state in between.
	}
	m.mu.RUnlock()
	if s == nil {
		s = m.add(p.ID)
	}
	s.update(p)
	return s, s.upstream(r.Model, now)
}

func (m *Monitor) add(id string) *providerState {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.providers[id]
	if s == nil {
		if len(m.providers) >= providersMax {
			m.drop(0)
		}
		s = &providerState{id: id, upstreams: map[string]*upstream{}}
		m.providers[id] = s
	}
	s.mu.Lock()
	return s
}

// update takes over the credentials of a snapshot. A cooldown stays with its credential, even at another index.
func (s *providerState) update(p *catalog.Provider) {
	if s.provider == p {
		return
	}
	former := s.provider
	s.provider = p
	s.cooldowns = moveCooldowns(s.cooldowns, former, p)
	for _, u := range s.upstreams {
		u.cooldowns = moveCooldowns(u.cooldowns, former, p)
	}
}

// upstream returns the state of a model, and adds it when it is new. The caller has called update.
func (s *providerState) upstream(model string, now time.Duration) *upstream {
	u := s.upstreams[model]
	if u == nil {
		if len(s.upstreams) >= upstreamsMax {
			s.evictIdle()
		}
		u = &upstream{cooldowns: make([]cooldown, len(s.cooldowns)), usedAt: now}
		s.upstreams[model] = u
	}
	return u
}

// evictIdle drops the idle model that was used least recently.
func (s *providerState) evictIdle() {
	oldest, at := "", time.Duration(-1)
	for model, u := range s.upstreams {
		if u.running == 0 && (at < 0 || u.usedAt < at) {
			oldest, at = model, u.usedAt
		}
	}
	if at >= 0 {
		delete(s.upstreams, oldest)
	}
}

// dropIdle drops the models and providers without a recent attempt, which belong to old catalogs.
func (m *Monitor) dropIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(forgottenAfter)
}

// drop removes the state of providers and routes that were idle for so long. It holds the map's lock, so that no caller
// finds a provider that is being removed.
func (m *Monitor) drop(idle time.Duration) {
	now := m.since()
	for id, s := range m.providers {
		s.mu.Lock()
		for model, u := range s.upstreams {
			if u.running == 0 && now-u.usedAt >= idle && !u.breaker.blocks(now) {
				delete(s.upstreams, model)
			}
		}
		if len(s.upstreams) == 0 {
			delete(m.providers, id)
		}
		s.mu.Unlock()
	}
}
