package gateway

import (
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/dialect"
)

// effortField is the member of the messages style that names an effort.
const effortField = "output_config.effort"

// leaveHintsOut takes out of the request the hints that the model does not take, or puts the nearest value that it takes in
// their place. A bound on the output stays as it came: the one that goes upstream is lowered with what depends on it.
func (r *run) leaveHintsOut(hints []catalog.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	var changes []dialect.Change
	r.without = slices.Clone(r.without)
	for i := range hints {
		h := &hints[i]
		listed := []string{h.Listed()}
		switch {
		case h.Thinking:
			fit := dialect.FitThinking(r.call.Body, &r.model.Thinking, r.outputAsked())
			changes = append(changes, fit.Changes...)
			listed, r.effortAdded = fit.Listed, r.effortAdded || fit.EffortAdded
		case r.effortAdded && h.Field == effortField:
			changes = append(changes, dialect.Change{At: h.At, With: h.Instead})
			listed = nil
		case !h.Bound:
			changes = append(changes, dialect.Change{At: h.At, With: h.Instead})
		}
		for _, one := range listed {
			r.listHint(one)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b dialect.Change) int { return a.At - b.At })
	if err := r.spareCopy(); err != nil {
		return err
	}
	return r.replaceBody(dialect.Amend(r.call.Body, changes))
}

// listHint notes what became of a hint. One that was changed before, for a model that did not answer, is listed with the value that the
// client sent, and not at all where it has that value again.
func (r *run) listHint(listed string) {
	field, values, _ := strings.Cut(listed, "=")
	_, now, _ := strings.Cut(values, "->")
	for i, earlier := range r.without {
		name, change, _ := strings.Cut(earlier, "=")
		if name != field && !strings.HasPrefix(name, field+".") {
			continue
		}
		r.without = slices.Delete(r.without, i, i+1)
		sent, _, changed := strings.Cut(change, "->")
		if changed && now == sent {
			return
		}
		if changed && now != "" {
			listed = field + "=" + sent + "->" + now
		}
		break
	}
	r.without = append(r.without, listed)
}

// outputAsked is the output that the request may have by its own bound and the model's, in tokens of each choice.
func (r *run) outputAsked() int64 {
	most := r.model.MaxOutputTokens
	if most <= 0 {
		most = outputStandard
	}
	if r.head.MaxTokens > 0 {
		most = min(most, r.head.MaxTokens)
	}
	return most
}
