package app

import "slices"

// Principal is on whose behalf something runs: an account, and the user (console) or the key (API) that acts for it.
type Principal struct {
	AccountID string
	UserID    string // empty for API keys
	KeyID     string // empty in the console
	BudgetID  string // the purse of the key's budget, empty for a key without one
	Models    []string
}

// MayUse reports whether the principal may call the model. An empty list allows every model of the account.
func (p Principal) MayUse(model string) bool {
	return len(p.Models) == 0 || slices.Contains(p.Models, model)
}
