package gateway

import (
	"strings"
	"testing"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider/health"
)

// draws are the numbers a plan is dealt.
func draws(numbers ...int) func(int) int {
	return func(n int) int {
		d := numbers[0]
		numbers = numbers[1:]
		return min(d, n-1)
	}
}

func planOf(random func(int) int) routePlan {
	m := &catalog.Model{Routes: []catalog.Route{
		{ID: "a", Style: llm.Chat, Order: 1, Weight: 1}, {ID: "b", Style: llm.Chat, Order: 1, Weight: 3},
		{ID: "m", Style: "morse", Order: 1, Weight: 100}, {ID: "c", Style: llm.Chat, Order: 2, Weight: 1},
	}}
	return newRoutePlan(m, random)
}

// ids draws all routes, and puts those aside that are blocked.
func (p *routePlan) ids(blocks map[string]health.Block) string {
	var ids []string
	for r := p.next(); r != nil; r = p.next() {
		if why := blocks[r.ID]; why != "" {
			p.postpone(why)
			continue
		}
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

func TestRoutesAreTriedByOrderAndWeight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		draws []int
		want  string
	}{
		{[]int{0, 0, 0}, "a b c"},
		{[]int{1, 0, 0}, "b a c"},
		{[]int{3, 0, 0}, "b a c"},
	} {
		p := planOf(draws(c.draws...))
		if got := p.ids(nil); got != c.want || p.hasMore() {
			t.Errorf("draws %v: %s, want %s", c.draws, got, c.want)
		}
	}
}

func TestRoutesInBadHealthComeBackOnce(t *testing.T) {
	t.Parallel()
	p := planOf(draws(0, 0, 0, 0, 0))
	if got := p.ids(map[string]health.Block{"a": health.Ejected, "b": health.Paused, "c": health.CoolingDown}); got != "" || !p.paused {
		t.Errorf("%q were let through, paused %t", got, p.paused)
	}
	if !p.force() || p.ids(nil) != "a c" {
		t.Error("those that are not paused do not come back")
	}
	if p.force() {
		t.Error("they come back twice")
	}
	crowded := planOf(draws(0, 0, 0))
	if crowded.ids(map[string]health.Block{"a": health.LimitReached, "b": health.LimitReached, "c": health.LimitReached}); crowded.force() || crowded.paused {
		t.Error("a provider whose limits are used up is asked all the same")
	}
}

func TestRoutesThatAreSlowAreAskedLast(t *testing.T) {
	t.Parallel()
	p := planOf(draws(0, 0, 0, 0, 0))
	if got := p.ids(map[string]health.Block{"a": health.Slow, "b": health.Ejected}); got != "c" {
		t.Errorf("%q were let through", got)
	}
	p.tried = true
	if !p.forceSlow() || !p.forced || p.ids(nil) != "a" {
		t.Error("the slow one does not come back")
	}
	if p.forceSlow() {
		t.Error("it comes back twice")
	}
}

func TestWeightsAreShares(t *testing.T) {
	t.Parallel()
	first := map[string]int{}
	for i := range 400 {
		p := planOf(func(n int) int { return i % n })
		first[p.next().ID]++
	}
	if first["a"] != 100 || first["b"] != 300 {
		t.Errorf("%v", first)
	}
}
