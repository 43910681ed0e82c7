package gateway

import (
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/provider"
)

const routesMax = 16

// plan is the order in which the routes of a model are tried: by order, and among equals by weight and chance. A
// route may be tried a second time before the next one.
type plan struct {
	routes  []catalog.Route
	random  func(n int) int
	left    [routesMax]bool
	current int
	again   bool // the current route had its second try
}

func newPlan(m *catalog.Model, random func(n int) int) plan {
	p := plan{routes: m.Routes[:min(len(m.Routes), routesMax)], random: random, current: -1}
	for i := range p.routes {
		_, p.left[i] = dialect.Of(p.routes[i].Style)
	}
	return p
}

// next is the route to try after the last one failed so, and how long to wait before. It reports false when there is
// none.
func (p *plan) next(last *provider.Fault, wait time.Duration) (*catalog.Route, time.Duration, bool) {
	if last != nil {
		if last.Retry == provider.Nowhere {
			return nil, 0, false
		}
		if last.Retry == provider.Here && !p.again && last.After <= retryAfterMax {
			p.again = true
			jitter := time.Duration(p.random(int(wait) + 1))
			return &p.routes[p.current], max(wait+jitter, last.After), true
		}
	}
	p.current, p.again = p.draw(), false
	if p.current < 0 {
		return nil, 0, false
	}
	p.left[p.current] = false
	return &p.routes[p.current], 0, true
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
