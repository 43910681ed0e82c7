package views

import "umg/app"

// KeySpendDays is how many days the bars of a key show, with today as the last.
const KeySpendDays = 30

// KeySpend is what a key cost lately, in days of UTC. The zero value is a key without calls.
type KeySpend struct {
	Today, Month app.Amount
	ByDay        [KeySpendDays]app.Amount
	Model        string // the model that was called last; empty without calls in these days
}

// Used reports whether the key made calls in the days that are shown.
func (s KeySpend) Used() bool { return s.Model != "" }

// Shares are the days as percents of the dearest one. A day that cost anything has one percent at least.
func (s KeySpend) Shares() []int {
	const whole = 100
	var most app.Amount
	for _, v := range s.ByDay {
		most = max(most, v)
	}
	list := make([]int, len(s.ByDay))
	for i, v := range s.ByDay {
		if v > 0 {
			list[i] = max(1, int(float64(v)/float64(most)*whole))
		}
	}
	return list
}
