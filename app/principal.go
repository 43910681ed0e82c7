package app

import "slices"

// Principal is on whose behalf something runs: an account, and the user (console) or the key (API) that acts for it.
type Principal struct {
	AccountID string
	UserID    string // UserID is empty for API keys.
	KeyID     string // KeyID is empty in the console.
	SessionID string // SessionID is empty for API keys and commands.
	BudgetID  string // BudgetID is the credit account of the key's budget; empty for a key without one.
	Models    []string
	// Uncharged means that calls of the account are recorded, but need no credit and are not charged.
	Uncharged bool
	Rights    Rights // Rights are what the key's scopes or the member's role allow.
	From      Origin
}

// Origin is where a request came from, for the audit log.
type Origin struct {
	IP        string // IP is the client's address, as trusted proxies report it.
	Agent     string // Agent is the User-Agent, or the name of a command.
	RequestID string
}

// MayUse reports whether the principal may call the model. An empty list allows every model of the account.
func (p Principal) MayUse(model string) bool {
	return len(p.Models) == 0 || slices.Contains(p.Models, model)
}
