package health

import (
	"cmp"
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// Limits of the state, and the lengths of cooldowns.
const (
	upstreamsMax         = 1024 // This bounds the models of one provider.
	providersMax         = 1024
	forgottenAfter       = time.Hour // State without an attempt for so long belongs to an old catalog.
	retryWindow          = 10        // The window is in seconds.
	retryFloor           = 10        // So many retries in the window are always allowed.
	retryOneOf           = 10        // So many first attempts allow one more retry.
	rateLimitCooldown    = 10 * time.Second
	rejectedCooldown     = time.Minute
	forbiddenCooldown    = 10 * time.Second
	rejectedCooldownMax  = 10 * time.Minute
	statusForbidden      = 403
	cooldownDoublingsMax = 6
	secondsPerMinute     = 60
	noCredentialIndex    = -1
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
	// unavailableLoggedAt is when the last line said that the provider cannot serve the model; zero for never.
	unavailableLoggedAt time.Duration
}

// cooldown is the period in which a credential is not used.
type cooldown struct {
	since, until time.Duration
	times        int // Times counts cooldowns in a row.
	class        provider.Class
	status       int
}

func (r cooldown) active(now time.Duration) bool { return now < r.until }

// lock returns the locked state of a provider, and adds it when it is new.
func (m *Monitor) lock(p *catalog.Provider) *providerState {
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
	return s
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

func moveCooldowns(old []cooldown, former, p *catalog.Provider) []cooldown {
	rests := make([]cooldown, max(1, len(p.Credentials)))
	if former == nil {
		return rests
	}
	for i := range p.Credentials {
		for j := range former.Credentials {
			if former.Credentials[j] == p.Credentials[i] {
				rests[i] = old[j]
			}
		}
	}
	return rests
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

// settleCredential updates the cooldown of the credential of an attempt. It returns the length of a new cooldown of a rejected credential.
func (s *providerState) settleCredential(t Try, f *provider.Fault, now time.Duration) time.Duration {
	i := s.indexOf(t)
	if i == noCredentialIndex {
		return 0
	}
	all, one := &s.cooldowns[i], &t.upstream.cooldowns[i]
	switch {
	case f == nil:
		all.endAfterSuccess(t.began)
		one.endAfterSuccess(t.began)
	case f.Class == provider.ClassRateLimited:
		if until := now + cmp.Or(f.After, rateLimitCooldown); until > one.until {
			*one = cooldown{since: now, until: until, class: f.Class, status: f.Status}
		}
	case f.Class == provider.ClassCredential && f.Status == statusForbidden: // It often forbids only the model or this request.
		return one.extend(f, now, forbiddenCooldown)
	case f.Class == provider.ClassCredential:
		return all.extend(f, now, rejectedCooldown)
	}
	return 0
}

// endAfterSuccess ends a cooldown after a successful attempt that began during it.
func (r *cooldown) endAfterSuccess(began time.Duration) {
	if r.until > 0 && began >= r.since {
		*r = cooldown{}
	}
}

// extend begins a cooldown, which is longer each time. It returns zero when a cooldown is active already.
func (r *cooldown) extend(f *provider.Fault, now, first time.Duration) time.Duration {
	if r.active(now) && r.class == provider.ClassCredential {
		return 0
	}
	times := r.times
	wait := min(first<<min(times, cooldownDoublingsMax), rejectedCooldownMax)
	*r = cooldown{since: now, until: now + wait, times: times + 1, class: f.Class, status: f.Status}
	return wait
}

// indexOf returns the index of the credential of an attempt in the current catalog.
func (s *providerState) indexOf(t Try) int {
	if s.provider == t.route.Provider {
		return t.Credential
	}
	was, now := t.route.Provider.Credentials, s.provider.Credentials
	if t.Credential < len(was) {
		for i := range now {
			if now[i] == was[t.Credential] && i < len(t.upstream.cooldowns) {
				return i
			}
		}
	}
	return noCredentialIndex
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
