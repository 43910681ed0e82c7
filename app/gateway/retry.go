package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/health"
)

// noneRetryAfter is when a client may try again whose call no provider could take.
const noneRetryAfter = 5 * time.Second

// buildRequest finds the way to a route, or says why there is none.
type buildRequest func(*run, *catalog.Route) error

// routeLoop goes over the routes of a model until one of them answers.
type routeLoop struct {
	run   *run
	chart buildRequest
	late  bool // The client already has a part of the answer: no route is tried twice, and each attempt costs a retry.
	hedge bool // The hedge runs beside the first attempt: it has no retry, and the hedge budget paid for it.
}

// openNextRoute opens another route for an answer that was cut after it had begun. It ends the attempt that was cut, with its
// fault, and then asks routes that this call has not asked yet, each once, within the bounds of every attempt: health,
// credentials, the provider's retry budget, attemptsMax and the time the whole call may take. After the routes of the
// model come those of the fallback models that may go on with the answer. It asks none after a fault that no other route
// can help.
//
// For each of these routes chart sets r.way to the way to it, r.chart being the way that goes without a word of what was
// delivered, or returns why there is none, whereupon the route is passed over. It needs the body of the call, which
// keepBody must have kept.
//
// When it returns nil then r.route, r.answer, r.frames, r.stream and r.tally are those of the new attempt, whose first
// content is in the batch (r.room), as after open. The tally starts at zero, so the caller keeps what the client has of
// the answer before, and has sent all that was pending. Otherwise the answer ends with the returned error: that of the
// cut, or the reason why the call itself is over.
func (r *run) openNextRoute(ctx context.Context, cut *provider.Fault, chart func(*catalog.Route) error) error {
	r.endTry(cut)
	r.drop()
	if cut.Retry == provider.Nowhere && !r.outlasts(cut) {
		return cut
	}
	on := func(_ *run, route *catalog.Route) error { return chart(route) }
	err := (&routeLoop{run: r, chart: on, late: true}).open(ctx)
	if err == nil || r.fallOn(ctx, on) {
		return nil
	}
	if ctx.Err() == nil && !r.expired() {
		return cut
	}
	return err
}

// open tries the routes of the model until one of them answers: with a whole body, or with the first content of a
// stream. Nothing was sent to the client before, so every failure of a provider up to here costs nothing and shows
// nowhere. A client that leaves pays for the attempt that was under way.
func (w *routeLoop) open(ctx context.Context) error {
	r := w.run
	var last *provider.Fault
	var soonest time.Duration
	for r.attempts < attemptsMax+r.attemptsMore {
		begun, err := w.advance(ctx, last)
		if err != nil && last == nil {
			return err
		}
		if fault, ok := err.(*provider.Fault); ok { //nolint:errorlint // A fault is never wrapped, and no other error of the gateway is one.
			last = fault
		}
		if !begun {
			break
		}
		r.attempts++
		last = w.attempt(ctx)
		if r.opened(last); last == nil {
			r.try.Answered()
			r.tryFirst = r.gateway.o.Now().Sub(r.tryAt)
			return nil
		}
		if r.outlasts(last) {
			last.Retry = provider.Elsewhere
		}
		soonest = minRetryAfter(soonest, last)
		r.endTry(last)
		r.drop()
		r.out.tell(droppedHeader, "")
		if last.Class != provider.ClassClient { // The client's class decides who pays for the delivered part.
			r.undo()
		}
		r.clear()
	}
	if last == nil {
		return r.unavailable()
	}
	r.hideUpstreamName(last.Err)
	return last
}

func (w *routeLoop) attempt(ctx context.Context) *provider.Fault {
	switch {
	case w.late:
		return w.run.attemptOn(ctx)
	case w.run.hedges():
		return w.run.race(ctx)
	}
	return w.run.attempt(ctx, w.run.route)
}

// minRetryAfter tells the client of a provider that turned the call away the shortest wait that any of them has named so far, as
// it may be served when that is over. The try itself still ends with its provider's own word.
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

// advance begins the next try after the last one failed so: another credential, the same route once more, or the next
// one. It reports false when there is none.
func (w *routeLoop) advance(ctx context.Context, last *provider.Fault) (bool, error) {
	if last != nil {
		switch {
		case last.Retry == provider.Nowhere:
			return false, nil
		case w.run.nextCredential(last):
			return true, nil
		}
		if !w.late {
			if again, err := w.run.retrySameRoute(ctx, last); again || err != nil {
				return again, err
			}
		}
	}
	if ctx.Err() != nil {
		return false, provider.FaultOf(ctx, ctx.Err())
	}
	if w.run.expired() {
		return false, provider.NewFault(provider.ClassTotal, provider.ErrTotal)
	}
	return w.nextRoute()
}

// nextCredential goes on with another credential of the route, when the last one was refused or must wait. There are no more turns
// than credentials.
func (r *run) nextCredential(last *provider.Fault) bool {
	if last.Class != provider.ClassCredential && last.Class != provider.ClassRateLimited {
		return false
	}
	if r.plan.turns++; r.plan.turns >= len(r.route.Provider.Credentials) || r.expired() {
		return false
	}
	try, block := r.gateway.o.Health.Begin(r.route, false)
	if block != "" {
		return false
	}
	if try.Credential == r.try.Credential {
		try.End(abandonedFault(), 0)
		return false
	}
	r.take(try)
	return true
}

// retrySameRoute tries the same route once more, after a while that is chance, and not before the upstream wants it, unless the call
// would be over by then. Where there is no other route it is asked although it may be ejected by now.
func (r *run) retrySameRoute(ctx context.Context, last *provider.Fault) (bool, error) {
	p, o := &r.plan, &r.gateway.o
	if last.Retry != provider.Here || p.again || p.forced || last.After > retryAfterMax {
		return false, nil
	}
	wait := last.After + time.Duration(o.Random(int(o.RetryWait)+1))
	if left, bounded := r.timeLeft(); bounded && wait >= left || !o.Health.MayRetry(r.route.Provider.ID) {
		return false, nil
	}
	p.again = true
	if err := r.rest(ctx, wait); err != nil {
		return false, provider.FaultOf(ctx, err)
	}
	if r.expired() {
		return false, provider.NewFault(provider.ClassTotal, provider.ErrTotal)
	}
	try, block := o.Health.Begin(r.route, !p.more() && !r.sparing)
	if block != "" {
		return false, nil
	}
	r.take(try)
	return true, nil
}

// nextRoute begins the next route that can carry the call and may be asked.
func (w *routeLoop) nextRoute() (bool, error) {
	r := w.run
	for {
		route, err := r.pick(w.chart)
		if route == nil {
			return false, err
		}
		if w.late && !r.gateway.o.Health.MayRetry(route.Provider.ID) {
			continue
		}
		try, block := r.gateway.o.Health.Begin(route, r.plan.forced)
		if block == "" {
			r.route, r.plan.tried = route, true
			r.take(try)
			return true, nil
		}
		r.plan.hold(block)
	}
}

// pick draws the next route that can carry the call and that nothing speaks against. When none was tried yet and
// something speaks against them all, those that are only in bad health are taken all the same, unless a fallback model is
// left to ask. Without any it says why none can carry the call, if that is the reason.
func (r *run) pick(find buildRequest) (*catalog.Route, error) {
	if route := r.next; route != nil {
		r.next = nil
		return route, nil
	}
	var refusal error
	for {
		route := r.plan.next()
		switch {
		case route != nil:
		case r.plan.forceSlow():
			continue
		case r.sparing && r.plan.held != [routesMax]bool{}:
			return nil, nil
		case !r.sparing && !r.plan.tried && r.plan.force():
			continue
		default:
			return nil, refusal
		}
		if block := r.gateway.o.Health.Blocked(route); block != "" && !r.plan.forced {
			if block == health.Slow {
				r.gateway.o.Health.PassedOver(route)
			}
			r.plan.hold(block)
			continue
		}
		err := find(r, route)
		if err == nil {
			return route, nil
		}
		if refusal == nil {
			refusal = err
		}
	}
}

// take notes the try that has begun.
func (r *run) take(try health.Try) {
	try.Whole = !r.head.Stream
	r.try, r.trying, r.tryAt, r.tryFirst = try, true, r.gateway.o.Now(), 0
}

// endTry says how the try went, if one is on its way.
func (r *run) endTry(fault *provider.Fault) {
	if r.trying {
		r.trying = false
		r.try.End(fault, r.tryFirst)
		r.ended(fault)
	}
}

// abandonedFault is how a try ends that says nothing of its provider: it was not made, or given up here.
func abandonedFault() *provider.Fault { return &provider.Fault{Class: provider.ClassEnded} }

// timeLeft is what is left of the time the whole call may take, over all its attempts.
func (r *run) timeLeft() (time.Duration, bool) {
	timeout := cmp.Or(r.callTimeout, r.model.Timeout)
	if timeout <= 0 {
		return 0, false
	}
	return r.started.Add(timeout).Sub(r.gateway.o.Now()), true
}

// totalOf is how long an attempt on a route may take: its own time, and no longer than the call may.
func (r *run) totalOf(route *catalog.Route) time.Duration {
	total := route.Timeouts.Total
	if left, bounded := r.timeLeft(); bounded && (total <= 0 || left < total) {
		return max(left, 1)
	}
	return total
}

// expired reports whether the call has used up its time.
func (r *run) expired() bool {
	left, bounded := r.timeLeft()
	return bounded && left <= 0
}

// outlasts reports whether a try has ended because its own time was over, while the call has some left for another.
func (r *run) outlasts(fault *provider.Fault) bool {
	return fault.Class == provider.ClassTotal && !r.expired()
}

// unavailable is the client's error when no route could be called.
func (r *run) unavailable() *app.Error {
	if r.plan.paused {
		return ErrModelPaused(r.model.ID, "")
	}
	return app.Errorf(app.Unavailable, codeNoProvider,
		"No provider of %s can take this call right now. Try again in %d s, or choose another model.", r.model.ID, noneRetryAfter/time.Second).
		After(noneRetryAfter)
}

func pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// recordAttemptResult ends the try whose answer was sent on, by how that ended.
func (r *run) recordAttemptResult(err error) {
	fault, failed := errors.AsType[*provider.Fault](err)
	if err != nil && !failed {
		fault = abandonedFault()
	}
	r.endTry(fault)
}
