package operator

import (
	"math"
	"testing"

	"umg/app"
	"umg/views/format"
)

// TestMarginShares checks shares of every size, and that bars are never wider than their table.
func TestMarginShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		revenue, cost app.Amount
		want          string
	}{
		{100, 60, "40%"}, {100, 100, "0%"}, {100, 160, "\u221260%"}, {100, 350, "\u2212250%"}, {0, 50, "–"}, {0, 0, "–"},
		{100_000_000 * app.Dollar, 40_000_000 * app.Dollar, "60%"}, {math.MaxInt64, math.MaxInt64 / 4, "75%"},
		{app.Dollar, 1000 * app.Dollar, "\u221299,900%"},
	} {
		l := MarginLine{Calls: 1, Revenue: c.revenue, PricedRevenue: c.revenue, Cost: c.cost}
		if got := format.Plain(l.share()); got != c.want {
			t.Errorf("cost %d of revenue %d is a margin of %s, want %s", c.cost, c.revenue, got, c.want)
		}
		if size := l.size(); size != int64(max(c.revenue, c.cost)) || len(l.bar(size)) == 0 && size > 0 {
			t.Errorf("cost %d of revenue %d has a bar of %d: %v", c.cost, c.revenue, size, l.bar(size))
		}
	}
}
