package llm

import (
	"slices"
	"strconv"
)

// ThinkingBudgetMin is the least budget of tokens for thinking in the messages style.
const ThinkingBudgetMin = 1024

// SignatureMark begins the signatures that a translation sends to clients: gw1.<maker>.<signature of the provider>. Only its maker can
// read a signature, so the maker must be part of it.
const SignatureMark = "gw1."

// ThinkingForms says which settings for thinking the providers of a model refuse in the messages style. The zero value refuses none.
type ThinkingForms struct {
	// NoBudget says that thinking.type enabled, with a budget of tokens, is refused.
	NoBudget bool
	// NoAdaptive says that thinking.type adaptive is refused. With NoBudget the model does not think at all.
	NoAdaptive bool
	// NoEffort says that output_config.effort is refused.
	NoEffort bool
	// Efforts are the supported efforts. An empty list means all efforts.
	Efforts []Effort
}

// Effort returns the supported effort of the messages style that is nearest to a budget of tokens, the lower one of two. It is empty
// when the model supports no effort or the budget asks for no thinking.
func (f *ThinkingForms) Effort(budget Number) Effort {
	asked := EffortOf(budget)
	if f.NoEffort || asked == "" || asked == "none" {
		return ""
	}
	at := slices.IndexFunc(budgets, func(b effortBudget) bool { return b.effort == asked })
	best, distance := Effort(""), len(budgets)
	for i, b := range budgets {
		if b.effort == "none" || b.effort == "minimal" || len(f.Efforts) > 0 && !slices.Contains(f.Efforts, b.effort) {
			continue
		}
		if d := max(i-at, at-i); d < distance {
			best, distance = b.effort, d
		}
	}
	return best
}

// ThinkingBudget is the budget of tokens that replaces adaptive thinking: half of the maximum output, at most the budget of the effort
// if there is one, and at least ThinkingBudgetMin. It reports false when the maximum output is too small for that. A maximum of zero
// means an unknown one.
func ThinkingBudget(e Effort, outputMost int64) (int64, bool) {
	n := outputMost / 2
	if tokens, known := BudgetOf(e); known && tokens > 0 && (outputMost <= 0 || tokens < n) {
		n = tokens
	}
	n = max(n, ThinkingBudgetMin)
	return n, outputMost <= 0 || n < outputMost
}

// budgetAsked reports whether a budget asks for a number of tokens, and does not leave it to the model.
func (o *ReasoningOptions) budgetAsked() bool {
	n, err := strconv.ParseInt(string(o.Budget), 10, 64)
	return err == nil && n > 0
}

// AsksAmount reports whether the options say how much to think: by an effort or by a budget of tokens.
func (o *ReasoningOptions) AsksAmount() bool {
	return o.Effort != "" && o.Effort != "none" || o.budgetAsked()
}
