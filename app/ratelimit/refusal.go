package ratelimit

import (
	"math"
	"time"

	"umg/app"
)

const (
	waitWhenCrowded = time.Second
	waitMin         = time.Second
	waitMax         = time.Minute // Clients sleep as long as Retry-After says, so it is never longer.
)

// A gate counts these. The numbers are those of the script.
const (
	nothing = iota
	places
	requests
	daily
	tokens
	whatsCount
)

// refusal is the limit that a call has met: of which gate, of what, and how long until there is enough.
type refusal struct {
	gate, what int
	wait       time.Duration
}

// refusalOf says which limit refuses a call, if any. The gates are up to now. An admitted call has its place and its request
// in the account and the key already.
func refusalOf(gates *[gatesCount]*gate, b *[gatesCount]bounds, n int64, admitted bool) refusal {
	for i, g := range gates {
		if g == nil {
			continue
		}
		if admitted && i != modelGate {
			if !g.tokens.allows(n) {
				return refusal{i, tokens, g.tokens.wait(n)}
			}
			continue
		}
		switch {
		case b[i].places > 0 && g.running >= b[i].places:
			return refusal{i, places, waitWhenCrowded}
		case !g.requests.allows(1):
			return refusal{i, requests, g.requests.wait(1)}
		case !g.daily.allows(1):
			return refusal{i, daily, g.daily.wait(1)}
		case !g.tokens.allows(n):
			return refusal{i, tokens, g.tokens.wait(n)}
		}
	}
	return refusal{}
}

// explain says in words what a call has met.
func (r refusal) explain(a *Request, b *[gatesCount]bounds) *app.Error {
	if r.what == places {
		where, who, hint := "", "this account", ""
		switch r.gate {
		case modelGate:
			where = " for " + a.Model
		case keyGate:
			who, hint = "this API key", ", or raise the key's limit"
		}
		return app.Errorf(app.Exhausted, "max_concurrency_exceeded",
			"Too many concurrent requests%s: %s may run %d at a time. Wait for one to finish%s.", where, who, b[r.gate].places, hint).
			After(waitWhenCrowded)
	}
	most, unit, period := b[r.gate].requests, "request", "minute"
	switch r.what {
	case daily:
		most, period = b[r.gate].daily, "day"
	case tokens:
		most, unit = b[r.gate].tokens, "token"
	}
	plural, verb := "s", "are"
	if most == 1 {
		plural, verb = "", "is"
	}
	of := [gatesCount]string{accountGate: "of this account", modelGate: "for " + a.Model, keyGate: "of this API key"}[r.gate]
	seconds := int64(math.Ceil(min(waitMax, max(waitMin, r.wait)).Seconds()))
	return app.Errorf(app.Exhausted, "rate_limit_exceeded", "The %d %s%s per %s %s %s used up. Try again in %d s.",
		most, unit, plural, period, of, verb, seconds).After(time.Duration(seconds) * time.Second)
}
