package catalog

import (
	"cmp"
	"fmt"
	"slices"

	"umg/app"
	"umg/app/llm"
	"umg/billing"
)

// Needs are what a tool asks of a model. The zero value asks for nothing.
type Needs struct {
	Style      llm.Style
	Tools      bool  // it sends functions
	Effort     bool  // it sends how hard to think
	ContextMin int64 // tokens
	OutputMin  int64 // tokens
}

// Misfit is a text model that cannot do what a tool needs, and each reason in words that follow its name.
type Misfit struct {
	Model   *Model
	Reasons []string
}

// Fitting splits the text models of the catalog into those that meet the needs today, the best first, and the others. The
// best is one that stays, that knows code where tools are needed, and that costs least among those.
func (s *Snapshot) Fitting(n Needs) (fitting []*Model, others []Misfit) {
	for _, m := range s.models {
		if m.Kind != KindText {
			continue
		}
		if reasons := s.misfit(m, n); len(reasons) > 0 {
			others = append(others, Misfit{Model: m, Reasons: reasons})
		} else {
			fitting = append(fitting, m)
		}
	}
	slices.SortStableFunc(fitting, func(a, b *Model) int {
		return cmp.Or(
			cmp.Compare(unwanted(a.DeprecatedAt != nil), unwanted(b.DeprecatedAt != nil)),
			cmp.Compare(unwanted(n.Tools && !a.codes()), unwanted(n.Tools && !b.codes())),
			cmp.Compare(a.OutputPrice(), b.OutputPrice()),
			cmp.Compare(a.ID, b.ID),
		)
	})
	return fitting, others
}

func (s *Snapshot) misfit(m *Model, n Needs) (reasons []string) {
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
		reasons = append(reasons, "takes no effort")
	}
	if m.ContextTokens < n.ContextMin {
		reasons = append(reasons, fmt.Sprintf("has a context of %d tokens, not %d", m.ContextTokens, n.ContextMin))
	}
	if m.MaxOutputTokens < n.OutputMin {
		reasons = append(reasons, fmt.Sprintf("writes at most %d tokens, not %d", m.MaxOutputTokens, n.OutputMin))
	}
	return reasons
}

func (m *Model) codes() bool { return slices.Contains(m.Capabilities, "code") }

// OutputPrice is what a million tokens out cost. A model without such a price comes last.
func (m *Model) OutputPrice() app.Amount {
	rate, priced := m.RateCard.Rate(billing.OutputTokens)
	if !priced {
		return 1 << 62
	}
	return rate.Amount * app.Amount(millionTokens/max(rate.Per, 1))
}

func unwanted(is bool) int {
	if is {
		return 1
	}
	return 0
}
