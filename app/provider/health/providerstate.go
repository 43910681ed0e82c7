package health

import (
	"cmp"
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// Limits of what is remembered, and of how long credentials rest.
const (
	upstreamsMax         = 1024 // limit for the upstream models of one provider
	providersMax         = 1024
	forgottenAfter       = time.Hour // without an attempt: a model or provider of a former catalog
	retryWindow          = 10        // seconds
	retryFloor           = 10        // retries in that time, however few first attempts there are
	retryOneOf           = 10        // first attempts earn a retry
	rateLimitCooldown    = 10 * time.Second
	rejectedCooldown     = time.Minute
	forbiddenCooldown    = 10 * time.Second
	rejectedCooldownMax  = 10 * time.Minute
	statusForbidden      = 403
	cooldownDoublingsMax = 6
	secondsPerMinute     = 60
	noCredentialIndex    = -1
)

// providerState is what is known of a provider. Its lock guards its upstreams too.
type providerState struct {
	id string

	mu        sync.Mutex
	provider  *catalog.Provider // the provider that the credentials belong to; snapshots never change, so the address identifies the version
	cooldowns []cooldown        // the cooldowns of its credentials for all of its models
	running   int
	attempts  perSecond // all of them
	retries   perSecond
	upstreams map[string]*upstream
}

// upstream is what is known of one model of a provider.
type upstream struct {
	breaker     breaker
	firstBytes  histogram  // times until the first byte of streams
	wholes      histogram  // durations of answers in one piece
	hedgesSpent int        // tenths of a hedge that are spent of the hedge budget
	cooldowns   []cooldown // the cooldowns of the provider's credentials for this model
	running     int
	usedAt      time.Duration
	lastFault   provider.Class
	lastStatus  int
	lastFaultAt time.Duration
}

// cooldown is a credential that is not used for a while.
type cooldown struct {
	since, until time.Duration
	times        int // cooldowns in a row
	class        provider.Class
	status       int
}

func (r cooldown) active(now time.Duration) bool { return now < r.until }

// update takes over the credentials of a snapshot. What is known of a credential goes with it when it only moved, and ends with it.
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

// upstream finds or adds a model. The caller has called know.
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

// evictIdle forgets the idle model that was used longest ago.
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

// check says whether an attempt may be made, and with which credential.
func (s *providerState) check(r *catalog.Route, u *upstream, now time.Duration) (credential int, block Block) {
	limits := r.Provider.Limits
	switch {
	case limits.Concurrency > 0 && int64(s.running) >= limits.Concurrency,
		limits.RequestsPerMinute > 0 && s.attempts.last(secondsPerMinute, now) >= limits.RequestsPerMinute:
		return 0, LimitReached
	case u.breaker.blocks(now) && u.breaker.slow, u.waitsForHedge(now):
		return 0, Slow
	case u.breaker.blocks(now):
		return 0, Ejected
	}
	credential, rests := s.pick(u, now)
	if rests {
		return credential, CoolingDown
	}
	return credential, ""
}

// pick is the first credential that does not rest, or else the one whose rest ends first.
func (s *providerState) pick(u *upstream, now time.Duration) (index int, rests bool) {
	var soonest time.Duration
	for i := range s.cooldowns {
		until := max(s.cooldowns[i].until, u.cooldowns[i].until)
		if until <= now {
			return i, false
		}
		if i == 0 || until < soonest {
			index, soonest = i, until
		}
	}
	return index, true
}

// settleCredential books what an outcome says of the credential. It returns for how long one rests that was refused just now.
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
	case f.Class == provider.ClassCredential && f.Status == statusForbidden: // often it forbids the model, or what this one call asked
		return one.extend(f, now, forbiddenCooldown)
	case f.Class == provider.ClassCredential:
		return all.extend(f, now, rejectedCooldown)
	}
	return 0
}

// endAfterSuccess ends a rest when an attempt went well that began after it. One that began before says nothing about it.
func (r *cooldown) endAfterSuccess(began time.Duration) {
	if r.until > 0 && began >= r.since {
		*r = cooldown{}
	}
}

// extend begins a rest, longer each time. What others find out while it rests is no news.
func (r *cooldown) extend(f *provider.Fault, now, first time.Duration) time.Duration {
	if r.active(now) && r.class == provider.ClassCredential {
		return 0
	}
	times := r.times
	wait := min(first<<min(times, cooldownDoublingsMax), rejectedCooldownMax)
	*r = cooldown{since: now, until: now + wait, times: times + 1, class: f.Class, status: f.Status}
	return wait
}

// indexOf is where the credential of an attempt stands today; the catalog may have changed since.
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

// retriesLeft is what the retry budget has now. Attempts are counted when they begin, so the retries among them are taken off.
func (s *providerState) retriesLeft(now time.Duration) int64 {
	retries := s.retries.last(retryWindow, now)
	firsts := max(0, s.attempts.last(retryWindow, now)-retries)
	return max(0, firsts/retryOneOf+retryFloor-retries)
}

// dropIdle drops the models and providers that had no attempt for long: those of former catalogs.
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
