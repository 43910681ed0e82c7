package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/provider"
	"umg/app/provider/health"
)

// noneRetryAfter is the RetryAfter of a call that no provider could serve.
const noneRetryAfter = 5 * time.Second

// routeLoop goes over the routes of a model until one of them answers.
type routeLoop struct {
	*pipeline
	plan    *routePlan
	builder *requestBuilder
	// resume is set when the client already has a part of the answer. Then no route is tried twice, and each attempt counts as a retry.
	resume *recovery
}

// routes is the loop over the routes of the model for a fresh answer.
func (p *pipeline) routes() *routeLoop {
	return &routeLoop{pipeline: p, plan: &p.plan, builder: &p.builder}
}

// resumedRoutes is the loop over the routes of the model that may continue the answer.
func (p *pipeline) resumedRoutes() *routeLoop {
	return &routeLoop{pipeline: p, plan: &p.plan, builder: &p.builder, resume: p.recovery}
}

// open tries the routes of the model until one of them answers with a whole body or with the first content of a stream. The client
// has got nothing of such an answer, so the failures before it are retried silently and are not charged. A client that leaves pays
// for the attempt in progress.
func (l *routeLoop) open(ctx context.Context) error {
	p := l.pipeline
	var last *provider.Fault
	var soonest time.Duration
	for p.attempts < attemptsMax+p.fallbacks.attemptsMore {
		a, err := l.nextAttempt(ctx, last)
		if err != nil && last == nil {
			return err
		}
		if fault, ok := err.(*provider.Fault); ok { //nolint:errorlint // A fault is never wrapped, and no other error of the gateway is one.
			last = fault
		}
		if a == nil {
			break
		}
		p.attempt = a
		p.attempts++
		a.bind(ctx, p.attempts)
		last = l.try(ctx, a)
		a = p.attempt // A hedge may have taken its place.
		if a.endWait(last) {
			p.trace.add(a)
		}
		if last == nil {
			a.health.Answered()
			a.firstByte = p.gateway.o.Now().Sub(a.startedAt)
			return nil
		}
		if p.hasTimeAfter(last) {
			last.Retry = provider.Elsewhere
		}
		soonest = minRetryAfter(soonest, last)
		p.endAttempt(a, last)
		received := a.base()
		if last.Class == provider.ClassClient { // The client's class decides who pays for the received part.
			received = a.stats
		}
		p.received = &received
		a.close()
		p.response.setHeader(droppedHeader, "")
	}
	if last == nil {
		return p.errNoProvider()
	}
	p.attempt.hideUpstreamName(last.Err)
	return last
}

// minRetryAfter sets RetryAfter of the error of a rate-limited provider to the shortest wait that any provider of the call has named
// so far, since that provider may serve the call then. It returns the shortest wait.
func minRetryAfter(wait time.Duration, fault *provider.Fault) time.Duration {
	if fault.Class != provider.ClassRateLimited {
		return wait
	}
	if wait == 0 || fault.Err.RetryAfter < wait {
		wait = fault.Err.RetryAfter
	}
	fault.Err.RetryAfter = wait
	return wait
}

// nextAttempt begins the next attempt after the fault of the last one: with another credential, on the same route again, or on the
// next route. It returns nil when there is none.
func (l *routeLoop) nextAttempt(ctx context.Context, last *provider.Fault) (*attempt, error) {
	if last != nil {
		if last.Retry == provider.Nowhere {
			return nil, nil
		}
		if a := l.nextCredential(last); a != nil {
			return a, nil
		}
		if l.resume == nil {
			if a, err := l.retrySameRoute(ctx, last); a != nil || err != nil {
				return a, err
			}
		}
	}
	if ctx.Err() != nil {
		return nil, provider.FaultOf(ctx, ctx.Err())
	}
	if l.expired() {
		return nil, provider.NewFault(provider.ClassTotal, provider.ErrTotal)
	}
	return l.nextRoute()
}

// nextCredential begins an attempt with another credential of the route, when the last one was refused or must wait. There are no
// more such attempts than credentials.
func (l *routeLoop) nextCredential(last *provider.Fault) *attempt {
	if last.Class != provider.ClassCredential && last.Class != provider.ClassRateLimited {
		return nil
	}
	a := l.attempt
	if l.plan.credentials++; l.plan.credentials >= len(a.route.Provider.Credentials) || l.expired() {
		return nil
	}
	try, block := l.gateway.o.Health.Begin(a.route, false)
	if block != "" {
		return nil
	}
	if try.Credential == a.health.Credential {
		try.End(abandonedFault(), 0)
		return nil
	}
	return l.newAttempt(candidate{a.route, a.exchange}, try)
}

// retrySameRoute tries the same route once more, after a random wait that is at least as long as the upstream demands, unless the
// timeout of the call ends sooner. If there is no other route, it tries the route even when that was ejected in the meantime.
func (l *routeLoop) retrySameRoute(ctx context.Context, last *provider.Fault) (*attempt, error) {
	a, o := l.attempt, &l.gateway.o
	if last.Retry != provider.Here || l.plan.retried || l.plan.forced || last.After > retryAfterMax {
		return nil, nil
	}
	wait := last.After + time.Duration(o.Random(int(o.RetryWait)+1))
	if left, bounded := l.timeLeft(); bounded && wait >= left || !o.Health.MayRetry(a.route.Provider.ID) {
		return nil, nil
	}
	l.plan.retried = true
	l.request.Timing.begin(o.Now()) // The wait counts as waiting for the provider.
	err := app.Sleep(ctx, wait)
	l.request.Timing.end(o.Now())
	if err != nil {
		return nil, provider.FaultOf(ctx, err)
	}
	if l.expired() {
		return nil, provider.NewFault(provider.ClassTotal, provider.ErrTotal)
	}
	try, block := o.Health.Begin(a.route, !l.plan.hasMore() && !l.fallbacks.skipEjected)
	if block != "" {
		return nil, nil
	}
	return l.newAttempt(candidate{a.route, a.exchange}, try), nil
}

// nextRoute begins an attempt on the next available route that can express the call. It returns nil when there is none.
func (l *routeLoop) nextRoute() (*attempt, error) {
	for {
		c, err := l.pick()
		if c.route == nil {
			return nil, err
		}
		if l.resume != nil && !l.gateway.o.Health.MayRetry(c.route.Provider.ID) {
			continue
		}
		try, block := l.gateway.o.Health.Begin(c.route, l.plan.forced)
		if block == "" {
			l.plan.tried = true
			return l.newAttempt(c, try), nil
		}
		l.plan.postpone(block)
	}
}

// newAttempt begins an attempt on a route, with the credential that health has chosen.
func (l *routeLoop) newAttempt(c candidate, try health.Try) *attempt {
	try.Whole = !l.head.Stream
	a := &l.space.attempt
	if l.space.attemptUsed {
		a = new(attempt)
	}
	l.space.attemptUsed = true
	*a = attempt{
		call: &l.call, route: c.route, exchange: c.exchange, builder: l.builder, resume: l.resume, deadlines: &l.response.deadlines,
		health: try, active: true, startedAt: l.gateway.o.Now(), memory: memoryReservation{budget: l.gateway.o.Memory},
	}
	a.stats = a.base()
	return a
}

// try makes an attempt. The first attempt of a call of a hedged model may get a hedge beside it.
func (l *routeLoop) try(ctx context.Context, a *attempt) *provider.Fault {
	switch {
	case l.resume != nil:
		return l.tryResume(ctx, a)
	case l.model.Hedge && l.attempts == 1 && l.plan.hasMore():
		return l.race(ctx, a)
	}
	return l.tryOnce(a)
}

// stats describes the received part of the answer: that of the attempt in progress, or the part before it when that has failed.
func (p *pipeline) stats() *dialect.StreamStats {
	if p.attempt == nil || p.attempt.closed {
		if p.received == nil {
			return &dialect.StreamStats{}
		}
		return p.received
	}
	return &p.attempt.stats
}

// expired reports whether the call has used up its time.
func (c *call) expired() bool {
	left, bounded := c.timeLeft()
	return bounded && left <= 0
}

// abandonedFault ends an attempt whose result must not count for its provider, since it was not sent or the gateway gave it up.
func abandonedFault() *provider.Fault { return &provider.Fault{Class: provider.ClassEnded} }

// hasTimeAfter reports whether an attempt has ended by its own timeout while the call has time for another one.
func (c *call) hasTimeAfter(fault *provider.Fault) bool {
	return fault.Class == provider.ClassTotal && !c.expired()
}

// errNoProvider is the client's error when no route could be called.
func (p *pipeline) errNoProvider() *app.Error {
	if p.plan.paused {
		return ErrModelPaused(p.model.ID, "")
	}
	return app.Errorf(app.Unavailable, codeNoProvider,
		"No provider of %s can take this call right now. Try again in %d s, or choose another model.", p.model.ID, noneRetryAfter/time.Second).
		After(noneRetryAfter)
}
