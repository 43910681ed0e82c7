package health

import (
	"errors"
	"time"

	"umg/app/provider"
	"umg/app/provider/errorclass"
)

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
