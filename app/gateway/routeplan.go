package gateway

import (
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/provider/health"
)

const routesMax = 16

// routePlan is the sequence in which the routes of a model are tried: by their order, and within the same order at random by weight.
// Each route is drawn once. Routes that are unavailable now are kept for the case that no other route is available.
type routePlan struct {
	routes   []catalog.Route
	random   func(n int) int
	left     [routesMax]bool
	deferred [routesMax]bool // Deferred routes are tried last: they are ejected, or all of their credentials are cooling down.
	slow     [routesMax]bool // Slow routes are tried after the others have failed.
	paused   bool            // An operator has paused at least one route.
	current  int             // Current is the route that is being tried.
	picked   candidate       // Picked is a route that can express the call and was not tried yet; empty when there is none.
	tried    bool            // At least one route was tried.
	retried  bool            // The current route had its second try.
	// credentials counts the credentials of the current route that were tried.
	credentials int
	forced      bool // Only the deferred routes are left.
}

// candidate is a route that can express the call, and the exchange with it.
type candidate struct {
	route    *catalog.Route
	exchange *translate.Exchange
}

// dropped lists the parts of the request that are not sent to the route, as the value of a header.
func (c candidate) dropped() string {
	if c.exchange == nil {
		return ""
	}
	return c.exchange.Dropped()
}

func newRoutePlan(m *catalog.Model, random func(n int) int) routePlan {
	p := routePlan{routes: m.Routes[:min(len(m.Routes), routesMax)], random: random, current: -1}
	for i := range p.routes {
		_, p.left[i] = dialect.Of(p.routes[i].Style)
	}
	return p
}

// planRoutes picks the first available route that can express the call. A call that no route can express is refused here, before
// any credit is held and anything is sent.
func (p *pipeline) planRoutes() (err error) {
	p.plan = newRoutePlan(p.model, p.gateway.o.Random)
	if p.plan.picked, err = p.routes().pick(); p.plan.picked.route == nil && err == nil {
		return p.errNoProvider()
	}
	return err
}

// pick draws the next available route that can express the call. When no route was tried yet and none is available, it takes a
// deferred one anyway, unless a fallback model can be tried. When there is no route it returns an empty candidate, and the reason
// if none can express the call.
func (l *routeLoop) pick() (candidate, error) {
	if c := l.plan.picked; c.route != nil {
		l.plan.picked = candidate{}
		return c, nil
	}
	var refusal error
	for {
		route := l.plan.next()
		switch {
		case route != nil:
		case l.plan.forceSlow():
			continue
		case l.fallbacks.skipEjected && l.plan.deferred != [routesMax]bool{}:
			return candidate{}, nil
		case !l.fallbacks.skipEjected && !l.plan.tried && l.plan.force():
			continue
		default:
			return candidate{}, refusal
		}
		if block := l.gateway.o.Health.Blocked(route); block != "" && !l.plan.forced {
			if block == health.Slow {
				l.gateway.o.Health.PassedOver(route)
			}
			l.plan.postpone(block)
			continue
		}
		exchange, err := l.builder.build(route, l.funding.estimate.output)
		if err == nil {
			if l.resume != nil {
				l.resume.prefill(route, exchange)
			}
			return candidate{route, exchange}, nil
		}
		if refusal == nil {
			refusal = err
		}
	}
}

// next draws the next route. It is nil when none is left.
func (p *routePlan) next() *catalog.Route {
	p.current, p.retried, p.credentials = p.draw(), false, 0
	if p.current < 0 {
		return nil
	}
	p.left[p.current] = false
	return &p.routes[p.current]
}

// hasMore reports whether a route is left.
func (p *routePlan) hasMore() bool { return p.left != [routesMax]bool{} }

// postpone puts the current route aside, because it is unavailable now.
func (p *routePlan) postpone(why health.Block) {
	switch why {
	case health.Ejected, health.CoolingDown:
		p.deferred[p.current] = !p.forced
	case health.Slow:
		p.slow[p.current] = !p.forced
	case health.Paused:
		p.paused = true
	}
}

// forceSlow brings back the slow routes, after the others have failed.
func (p *routePlan) forceSlow() bool {
	p.left, p.slow = p.slow, [routesMax]bool{}
	p.forced = p.hasMore()
	return p.forced
}

// force brings back the deferred routes, since a call always tries at least one route of its model.
func (p *routePlan) force() bool {
	p.left, p.deferred = p.deferred, [routesMax]bool{}
	p.forced = p.hasMore()
	return p.forced
}

// draw picks one of the remaining routes of the lowest order, at random by weight. It is -1 when none is left.
func (p *routePlan) draw() int {
	order, sum := 0, 0
	for i := range p.routes {
		r := &p.routes[i]
		switch {
		case !p.left[i]:
		case sum == 0 || r.Order < order:
			order, sum = r.Order, max(1, r.Weight)
		case r.Order == order:
			sum += max(1, r.Weight)
		}
	}
	if sum == 0 {
		return -1
	}
	mark := p.random(sum)
	for i := range p.routes {
		if r := &p.routes[i]; p.left[i] && r.Order == order {
			if mark -= max(1, r.Weight); mark < 0 {
				return i
			}
		}
	}
	return -1
}
