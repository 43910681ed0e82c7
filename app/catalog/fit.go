package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"umg/app"
	"umg/app/llm"
	"umg/app/meter"
)

// Needs are the requirements of a tool. The zero value requires nothing.
type Needs struct {
	Style llm.Style
	// Tools means that the tool sends functions.
	Tools bool
	// Effort means that the tool sends a reasoning effort.
	Effort bool
	// ContextMin and OutputMin are numbers of tokens.
	ContextMin int64
	OutputMin  int64
}

// Misfit is a text model that does not meet the needs. Each reason follows the name of the model in a sentence.
type Misfit struct {
	Model   *Model
	Reasons []string
}

// Fitting splits the text models into those that meet the needs today, the best first, and the others. Models that are not deprecated
// come first, then models that write code when tools are needed, then the cheapest.
func (s *Snapshot) Fitting(n Needs) (fitting []*Model, others []Misfit) {
	for _, m := range s.models {
		if m.Kind != KindText {
			continue
		}
		if reasons := s.misfitReasons(m, n); len(reasons) > 0 {
			others = append(others, Misfit{Model: m, Reasons: reasons})
		} else {
			fitting = append(fitting, m)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *Model) int {
		aPrice, aPriced := a.OutputPrice()
		bPrice, bPriced := b.OutputPrice()
		return cmp.Or(
			cmp.Compare(unwanted(a.DeprecatedAt != nil), unwanted(b.DeprecatedAt != nil)),
			cmp.Compare(unwanted(n.Tools && !a.codes()), unwanted(n.Tools && !b.codes())),
			cmp.Compare(unwanted(!aPriced), unwanted(!bPriced)),
			cmp.Compare(aPrice, bPrice),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return fitting, others
}

func (s *Snapshot) misfitReasons(m *Model, n Needs) (reasons []string) {
	if !m.Available || m.Paused || m.ended(s.loadedAt) {
		return []string{"cannot be called right now"}
	}
	if !m.Serves(n.Style) {
		return []string{fmt.Sprintf("does not answer in the %s style", n.Style)}
	}
	if n.Tools && !slices.Contains(m.Parameters, "tools") {
		reasons = append(reasons, "takes no tools")
	}
	if n.Effort && !slices.Contains(m.Parameters, "reasoning_effort") {
		reasons = append(reasons, "takes no reasoning effort")
	}
	if m.ContextTokens < n.ContextMin {
		reasons = append(reasons, "has a context of "+tokensInsteadOf(m.ContextTokens, n.ContextMin))
	}
	if m.MaxOutputTokens < n.OutputMin {
		reasons = append(reasons, "writes at most "+tokensInsteadOf(m.MaxOutputTokens, n.OutputMin))
	}
	return reasons
}

// tokensInsteadOf describes how many tokens a model takes and how many are needed.
func tokensInsteadOf(tokens, needed int64) string {
	group := func(n int64) string { return app.GroupThousands(strconv.FormatInt(n, 10)) }
	return group(tokens) + " tokens instead of " + group(needed)
}

func (m *Model) codes() bool { return slices.Contains(m.Capabilities, "code") }

// OutputPrice returns the price of a million output tokens, and whether the model has one.
func (m *Model) OutputPrice() (price app.Amount, priced bool) {
	rate, priced := m.RateCard.Rate(meter.OutputTokens)
	if !priced {
		return 0, false
	}
	return rate.Amount * app.Amount(millionTokens/max(rate.Per, 1)), true
}

// unwanted orders the models without a drawback before those with it.
func unwanted(drawback bool) int {
	if drawback {
		return 1
	}
	return 0
}
