package home

import (
	"math"
	"testing"

	"umg/app"
)

func TestBarsShowEveryDayWithSpend(t *testing.T) {
	t.Parallel()
	for _, days := range [][]app.Amount{{0, 1, 5_000_000_000}, {43}, {}, {0, 0}, {math.MaxInt64, 1}, {-5, 99, 100}} {
		list := shares(days)
		for i, a := range days {
			if (a > 0) != (list[i] > 0) || list[i] > 100 {
				t.Errorf("of %v day %d has a share of %d", days, i, list[i])
			}
		}
	}
}
