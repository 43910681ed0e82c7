package health

import (
	"cmp"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// These are the lengths of cooldowns.
const (
	rateLimitCooldown    = 10 * time.Second
	rejectedCooldown     = time.Minute
	forbiddenCooldown    = 10 * time.Second
	rejectedCooldownMax  = 10 * time.Minute
	statusForbidden      = 403
	cooldownDoublingsMax = 6
	noCredentialIndex    = -1
)

// cooldown is the period in which a credential is not used.
type cooldown struct {
	since, until time.Duration
	times        int // Times counts cooldowns in a row.
	class        provider.Class
	status       int
}

func (r cooldown) active(now time.Duration) bool { return now < r.until }

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
