package health

import (
	"errors"
	"time"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/errorclass"
)

// Try is one attempt that may be made. It ends with exactly one End. End does nothing for an attempt that was blocked.
type Try struct {
	Credential int  // Credential is the index of the credential to use.
	Whole      bool // Whole is set by the caller for an answer in one piece.

	monitor  *Monitor
	route    *catalog.Route
	provider *providerState
	upstream *upstream
	began    time.Duration
	number   int64  // Number counts the attempts of the route in the order in which they begin.
	epoch    uint32 // Epoch is the epoch of the breaker when the attempt began.
	ejected  bool   // The route was ejected when the attempt began.
	probe    bool

	slowAfter     time.Duration // First content after this time means that the route is slow; zero for none.
	outpacedAfter time.Duration // OutpacedAfter is when the hedge that answered first had begun; zero for none.
}

// Answered records the first content of an answer. It ends an ejection early, because the stream may take minutes to end. The call is
// optional.
func (t *Try) Answered() {
	if t.monitor == nil || !t.ejected {
		return
	}
	t.provider.mu.Lock()
	defer t.provider.mu.Unlock()
	now := t.monitor.since()
	if b := &t.upstream.breaker; b.epoch == t.epoch && b.ejected && !t.slow(now-t.began) {
		b.close(now)
		t.epoch = b.epoch // A later cut of the stream counts as a failure.
	}
}

// End records the result of the attempt. The fault is nil for a whole answer, and when the client left a healthy one. FirstByte is zero
// when there was no content.
func (t Try) End(f *provider.Fault, firstByte time.Duration) {
	if t.monitor == nil {
		return
	}
	now := t.monitor.since()
	ejected, refused := t.settle(f, firstByte, now)
	switch {
	case ejected == 0:
	case f == nil || f.Class == provider.ClassEnded:
		t.monitor.o.Log.Warn("route ejected", "reason", "slow", "provider", t.route.Provider.ID,
			"model", t.route.Model, "for", ejected)
	default:
		t.monitor.o.Log.Warn("route ejected", "reason", "failing", "provider", t.route.Provider.ID, "model", t.route.Model,
			"for", ejected, "last", string(f.Class), "status", f.Status, "meaning", string(f.Meaning))
	}
	if refused > 0 {
		t.logRefused(f, refused)
	}
	t.logUnavailable(f, now)
}

// settle records the outcome. It returns the lengths of a new ejection of the route and of a new cooldown of the credential.
func (t Try) settle(f *provider.Fault, firstByte, now time.Duration) (ejected, refused time.Duration) {
	s, u := t.provider, t.upstream
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	u.running--
	u.usedAt = now
	v, waited := t.outcome(f, firstByte, now)
	if waited > 0 {
		u.waits(t.Whole).add(waited, now)
	}
	u.breaker.window.count(now, v)
	if v.failed() {
		u.lastFault, u.lastStatus, u.lastFaultAt = f.Class, f.Status, now
	}
	refused = s.settleCredential(t, f, now)
	return u.breaker.end(t, v, now, t.route.Provider.Breaker, t.monitor.o.Random), refused
}

// outcome returns the outcome of the attempt, and how long its content took if that is known. An outpaced attempt counts with the delay
// of its hedge, so that the percentile does not change.
func (t *Try) outcome(f *provider.Fault, firstByte, now time.Duration) (v outcome, waited time.Duration) {
	switch {
	case t.outpacedAfter > 0 && f != nil && f.Class == provider.ClassEnded:
		return outcomeOutpaced, max(t.outpacedAfter-time.Microsecond, time.Microsecond)
	case f == nil && t.slow(firstByte):
		return outcomeOutpaced, firstByte
	case firstByte > 0:
		return outcomeOf(f, 0), firstByte
	}
	return outcomeOf(f, now-t.began), 0
}

// unavailableLogPause is the least time between two log lines that say that a provider cannot serve a model.
const unavailableLogPause = 10 * time.Minute

// logRefused logs that a credential was refused and is in cooldown for a while.
func (t Try) logRefused(f *provider.Fault, cooldown time.Duration) {
	t.monitor.o.Log.Error("provider credential refused, cooling down", "provider", t.route.Provider.ID, "model", t.route.Model,
		"credential", t.Credential+1, "status", f.Status, "meaning", string(f.Meaning), "for", cooldown, "error", reasonOf(f),
		"advice", f.Advice)
}

// logUnavailable logs that a provider cannot serve a model, because the route is wrong or the quota is used up. Such faults come with each
// call and eject nothing, so most of them are left out.
func (t Try) logUnavailable(f *provider.Fault, now time.Duration) {
	if f == nil || f.Meaning != errorclass.Route && f.Meaning != errorclass.Quota {
		return
	}
	t.provider.mu.Lock()
	last := t.upstream.unavailableLoggedAt
	isNews := last == 0 || now-last >= unavailableLogPause
	if isNews {
		t.upstream.unavailableLoggedAt = max(now, 1) // Zero means that there was no line.
	}
	t.provider.mu.Unlock()
	if !isNews {
		return
	}
	t.monitor.o.Log.Error("provider model unavailable", "provider", t.route.Provider.ID, "model", t.route.Model,
		"credential", t.Credential+1, "status", f.Status, "meaning", string(f.Meaning), "error", reasonOf(f))
}

// reasonOf is why an attempt failed, as an operator may read it. It has the words of the provider without the credential.
func reasonOf(f *provider.Fault) error {
	if f.Err == nil {
		return f
	}
	if cause := errors.Unwrap(f.Err); cause != nil {
		return cause
	}
	return f.Err
}
