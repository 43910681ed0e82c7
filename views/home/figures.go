package home

import (
	"math"
	"strconv"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
)

// Spending is what was spent and called, by days in UTC, each beside the period before it.
type Spending struct {
	Today, Yesterday app.Amount // Yesterday ends at the same hour as Today.
	ByHour           []app.Amount
	Month, LastMonth app.Amount // LastMonth ends at the same day and hour as Month.
	ByDay            []app.Amount

	Requests, RequestsBefore int64 // Requests counts the last 30 days, and RequestsBefore the 30 days before.
	RequestsByDay            []int64
	Failed, FailedBefore     int64
	FailedByDay              []int64
}

// Speed is how long text calls took that were answered in the last 24 hours.
type Speed struct {
	Calls  int  // Calls is the number of calls in the sample.
	Capped bool // Capped means that the sample has only the latest calls.

	Whole, First             Quantiles // First is until the first token of streams.
	WholeBefore, FirstBefore Quantiles
	ByHour                   []time.Duration // ByHour has the median of each hour; zero without calls.
}

// Quantiles are the times that half of all calls and nineteen of twenty took at most.
type Quantiles struct{ P50, P95 time.Duration }

// TopModels are the models that most was spent on this month.
type TopModels struct {
	Models []ModelSpend
	Spend  app.Amount // Spend is that on all models.
}

// ModelSpend is what a model cost.
type ModelSpend struct {
	Model    string
	Spend    app.Amount
	Requests int64
}

// Failures are the latest calls that failed, of the last week.
type Failures struct{ Requests []views.Request }

// Recent are the latest calls of all.
type Recent struct{ Requests []views.Request }

const percentWhole = 100

// shares are values as percents of the greatest. What is not nothing is one percent at least.
func shares[T ~int64](values []T) []int {
	var most T
	for _, v := range values {
		most = max(most, v)
	}
	list := make([]int, len(values))
	for i, v := range values {
		switch {
		case most <= 0 || v <= 0:
		case most > math.MaxInt64/percentWhole:
			list[i] = min(max(1, int(v/(most/percentWhole))), percentWhole)
		default:
			list[i] = max(1, int(v*percentWhole/most))
		}
	}
	return list
}

// change is how a figure compares with the one of the period before, empty where there is none to compare with.
func change(now, before int64) string {
	const manifold = 10
	if before <= 0 || now < 0 {
		return ""
	}
	more := now - before
	percent := max(more, -more) * percentWhole / before
	switch {
	case now/before >= manifold:
		return format.Count(now/before) + "×"
	case percent == 0:
		return "±0%"
	case more > 0:
		return "+" + strconv.FormatInt(percent, 10) + "%"
	default:
		return "\u2212" + strconv.FormatInt(percent, 10) + "%"
	}
}

// medianOf says over which calls the median is taken.
func (s Speed) medianOf() string {
	if s.Calls == 1 {
		return "Of one call"
	}
	return "Median of the " + s.calls()
}

func (s Speed) calls() string {
	if s.Capped {
		return "latest " + format.Count(int64(s.Calls)) + " calls"
	}
	return format.CountOf(int64(s.Calls), "call", "calls")
}

// share is a model's spend as a percent of the dearest's, for the length of its bar.
func (t TopModels) share(m ModelSpend) int {
	spends := make([]app.Amount, len(t.Models))
	for i, one := range t.Models {
		spends[i] = one.Spend
	}
	all := shares(spends)
	for i, one := range t.Models {
		if one.Model == m.Model {
			return all[i]
		}
	}
	return 0
}

// RecentMax is how many of the latest requests the overview shows.
const RecentMax = 8

func (t *TopModels) any() bool { return t != nil && len(t.Models) > 0 }

func (f *Failures) any() bool { return f != nil && len(f.Requests) > 0 }

func (r *Recent) any() bool { return r != nil && len(r.Requests) > 0 }

// last is the newest request that is shown, for the events that tell of newer ones.
func (r *Recent) last() string { return RecentMark(r.Requests) }

// RecentMark says how far a list of requests, the newest first, has come.
func RecentMark(list []views.Request) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].ID
}

func runningWords(n int) string {
	if n == 1 {
		return "1 video is being made"
	}
	return format.Count(int64(n)) + " videos are being made"
}

// daysLeft says how many days there are until a moment, of which the last may have begun.
func daysLeft(until, now time.Time) string {
	const day = 24 * time.Hour
	return format.CountOf(int64((until.Sub(now)+day-1)/day), "day", "days") + " left"
}
