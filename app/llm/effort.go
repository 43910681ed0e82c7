package llm

import (
	"cmp"
	"strconv"
)

type effortBudget struct {
	effort Effort
	tokens int64
}

// budgets are the published numbers of tokens for each effort.
var budgets = []effortBudget{
	{"none", 0}, {"minimal", 1024}, {"low", 1024}, {"medium", 8192}, {"high", 24576}, {"xhigh", 32768}, {"max", 65536},
}

// BudgetOf returns how many tokens of thinking an effort stands for. It reports false for an unknown effort.
func BudgetOf(e Effort) (int64, bool) {
	for _, b := range budgets {
		if b.effort == e {
			return b.tokens, true
		}
	}
	return 0, false
}

// NamedEffort returns the effort of a request, or the one that its budget stands for.
func (o *ReasoningOptions) NamedEffort() Effort { return cmp.Or(o.Effort, EffortOf(o.Budget)) }

// EffortOf returns the effort that a budget of tokens stands for. It is empty when the budget is left to the model or is absent.
func EffortOf(budget Number) Effort {
	n, err := strconv.ParseInt(string(budget), 10, 64)
	switch {
	case err != nil || n < 0:
		return ""
	case n == 0:
		return "none"
	case n <= 1024:
		return "low"
	case n <= 8192:
		return "medium"
	case n <= 24576:
		return "high"
	}
	return "xhigh"
}
