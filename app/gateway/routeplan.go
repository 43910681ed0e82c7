package gateway

import (
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/provider/health"
)

const routesMax = 16

// plan is the order in which the routes of a model are tried: by order, and among equals by weight and chance. Each is
// drawn once, but those that may not be asked now are kept for the case that no other may be either.
type plan struct {
	routes  []catalog.Route
	random  func(n int) int
	left    [routesMax]bool
	held    [routesMax]bool // Held routes are tried last: they are ejected, or all of their credentials are cooling down.
	slow    [routesMax]bool // Slow routes are tried after the others have failed.
	paused  bool            // An operator has paused at least one route.
	current int             // Current is the route that is being tried.
	tried   bool            // At least one route was tried.
	again   bool            // The current route had its second try.
	turns   int             // Turns counts the credentials of the current route that were tried.
	forced  bool            // Only the held routes are left.
}

func newPlan(m *catalog.Model, random func(n int) int) plan {
	p := plan{routes: m.Routes[:min(len(m.Routes), routesMax)], random: random, current: -1}
	for i := range p.routes {
		_, p.left[i] = dialect.Of(p.routes[i].Style)
	}
	return p
}

// next is the route to try next. It is nil when none is left.
func (p *plan) next() *catalog.Route {
	p.current, p.again, p.turns = p.draw(), false, 0
	if p.current < 0 {
		return nil
	}
	p.left[p.current] = false
	return &p.routes[p.current]
}

// more reports whether a route is left.
func (p *plan) more() bool { return p.left != [routesMax]bool{} }

// hold puts the current route aside, which may not be asked now.
func (p *plan) hold(why health.Block) {
	switch why {
	case health.Ejected, health.Resting:
		p.held[p.current] = !p.forced
	case health.Slow:
		p.slow[p.current] = !p.forced
	case health.Paused:
		p.paused = true
	}
}

// forceSlow brings the routes back that are only slow, for when the others have failed.
func (p *plan) forceSlow() bool {
	p.left, p.slow = p.slow, [routesMax]bool{}
	p.forced = p.more()
	return p.forced
}

// force brings the routes back that were held: one of a model's routes is always asked.
func (p *plan) force() bool {
	p.left, p.held = p.held, [routesMax]bool{}
	p.forced = p.more()
	return p.forced
}

// draw picks one of the routes that are left and have the lowest order, by weight. It is -1 when none is left.
func (p *plan) draw() int {
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
