package modelstatus

import (
	"cmp"
	"slices"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/billing/usage"
)

// State is the state of a model for callers.
type State string

// The states, in the order in which the first that applies decides.
const (
	Coming    State = "coming"      // It is announced and cannot be called yet.
	Ended     State = "ended"       // It was shut down.
	Paused    State = "paused"      // An operator lets no calls in, or the catalog does.
	Unserved  State = "unavailable" // None of its providers can be used.
	Failing   State = "failing"     // A tenth of its calls fail, or every provider was set aside because it fails.
	Degraded  State = "degraded"    // A hundredth of its calls fail.
	Available State = "available"
)

// CallsMin is how many calls it takes to judge a model.
const CallsMin = 20

// The shares of failed calls, in thousandths, from which a model is degraded and failing.
const (
	DegradedFrom = 10
	FailingFrom  = 100
)

// insteadMax is how many models a verdict names in place of another.
const insteadMax = 2

// Health is the calls by which a model is judged. Calls whose end their caller caused are in neither number.
type Health struct{ Succeeded, Failed int64 }

// Calls is how many calls there were.
func (h Health) Calls() int64 { return h.Succeeded + h.Failed }

// IsJudged reports whether there were enough calls to judge the model.
func (h Health) IsJudged() bool { return h.Calls() >= CallsMin }

// state is the state that the calls show.
func (h Health) state() State {
	switch {
	case !h.IsJudged():
		return Available
	case h.Failed*1000 >= FailingFrom*h.Calls():
		return Failing
	case h.Failed*1000 >= DegradedFrom*h.Calls():
		return Degraded
	}
	return Available
}

// Verdict is the state of a model at one moment.
type Verdict struct {
	State State
	// Reason is an operator's words for a pause, or the catalog's notice about the model. It may be empty.
	Reason string
	// NoRoute means that every provider was set aside, whatever the calls of the last 24 hours show.
	NoRoute bool
	Health  Health
	// Stats are the times and the speed of the calls.
	Stats usage.ModelStats
	// Instead are the models to call while this one is paused, failing, unavailable or ended, the best first.
	Instead []*catalog.Model
}

// IsCallable reports whether calls of the model are let in.
func (v Verdict) IsCallable() bool {
	return v.State == Available || v.State == Degraded || v.State == Failing
}

// needsOther reports whether callers should call another model.
func (v Verdict) needsOther() bool {
	return v.State == Paused || v.State == Failing || v.State == Unserved || v.State == Ended
}

// Board is the verdicts on all models of a snapshot at one moment.
type Board struct {
	verdicts map[string]Verdict
}

// Of is the verdict on a model. The state of a model that is not in the snapshot is Ended.
func (b Board) Of(modelID string) Verdict {
	v, known := b.verdicts[modelID]
	if !known {
		return Verdict{State: Ended}
	}
	return v
}

// instead returns the models to call in place of m: its fallbacks, its successor, and then models that can do all that m can, those with
// the nearest price first.
func (b Board) instead(m *catalog.Model, all []*catalog.Model) []*catalog.Model {
	var list []*catalog.Model
	add := func(other *catalog.Model) {
		v := b.verdicts[other.ID]
		if v.IsCallable() && v.State != Failing && other != m && !slices.Contains(list, other) && len(list) < insteadMax {
			list = append(list, other)
		}
	}
	for _, id := range append(slices.Clone(m.Fallbacks), m.Successor) {
		if i := slices.IndexFunc(all, func(other *catalog.Model) bool { return other.ID == id }); i >= 0 {
			add(all[i])
		}
	}
	if len(list) > 0 {
		return list
	}
	var able []*catalog.Model
	for _, other := range all {
		if replaces(other, m) {
			able = append(able, other)
		}
	}
	price := func(x *catalog.Model) app.Amount {
		own, _ := m.OutputPrice()
		others, _ := x.OutputPrice()
		return max(own-others, others-own)
	}
	slices.SortStableFunc(able, func(x, y *catalog.Model) int {
		return cmp.Or(cmp.Compare(deprecation(x), deprecation(y)), cmp.Compare(price(x), price(y)), cmp.Compare(x.ID, y.ID))
	})
	for _, other := range able {
		add(other)
	}
	return list
}

// deprecation is 1 for a deprecated model, which comes after the others.
func deprecation(m *catalog.Model) int {
	if m.DeprecatedAt != nil {
		return 1
	}
	return 0
}

// replaces reports whether a model can do what another one can.
func replaces(other, m *catalog.Model) bool {
	if other.Kind != m.Kind || !covers(other.Capabilities, m.Capabilities) || !covers(other.InputModalities, m.InputModalities) ||
		!covers(other.OutputModalities, m.OutputModalities) {
		return false
	}
	if m.Kind == catalog.KindVideo {
		return true
	}
	return slices.ContainsFunc(m.Styles, func(s llm.Style) bool { return other.Serves(s) })
}

// covers reports whether a list has everything that another one has.
func covers(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(list, w) })
}

// healthOf is the health that statistics show.
func healthOf(s *usage.ModelStats) Health { return Health{Succeeded: s.Answered, Failed: s.Failed} }

// ended reports whether a model was shut down before now.
func ended(m *catalog.Model, now time.Time) bool { return m.Ended(now) != nil }
