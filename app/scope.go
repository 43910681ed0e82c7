package app

import (
	"slices"
)

// Scope is the name of a set of rights that an API key may have.
type Scope string

// ScopeManagement is the scope of keys that manage the account by API. Such a key can never spend.
const ScopeManagement Scope = "management"

// scopes maps each scope to its rights and to its description. The database lists the names as well.
var scopes = []struct {
	scope    Scope
	rights   Rights
	standard bool // Keys without explicit scopes have it.
	meaning  string
}{
	{"inference:text", CallText, true, "Generate text"},
	{"inference:video", MakeVideos, true, "Create and remix videos"},
	{"videos", UseVideos, true, "View, download and delete videos"},
	{"assets", UseAssets, true, "Create, view and delete assets"},
	{"models:read", ReadModels, true, "View models and their contracts"},
	{"usage:read", ReadUsage, true, "View usage, cost and credit"},
	{"webhooks", UseWebhooks, true, "Manage webhook endpoints"},
	{ScopeManagement, ManageKeys | ManageMembers | ManageMoney | ManageAccount, false,
		"Manage keys, members, billing and settings by API; never spends"},
}

// ManagementExcludes are the rights that a key with the management scope cannot have.
const ManagementExcludes = Spend | UseVideos | UseAssets

// Scopes are all scopes, in the order in which they are shown.
func Scopes() []Scope {
	list := make([]Scope, len(scopes))
	for i, s := range scopes {
		list[i] = s.scope
	}
	return list
}

// StandardScopes are those of a key without explicit scopes.
func StandardScopes() []Scope {
	var list []Scope
	for _, s := range scopes {
		if s.standard {
			list = append(list, s.scope)
		}
	}
	return list
}

// Meaning describes to people what a scope allows.
func (s Scope) Meaning() string {
	for _, row := range scopes {
		if row.scope == s {
			return row.meaning
		}
	}
	return ""
}

// RightsOfScopes are what a key with these scopes may do.
func RightsOfScopes(list []Scope) (all Rights) {
	for _, s := range scopes {
		if slices.Contains(list, s.scope) {
			all |= s.rights
		}
	}
	return all
}

// ScopesFor are the scopes that give one of the needed rights.
func ScopesFor(need Rights) (list []Scope) {
	for _, s := range scopes {
		if s.rights&need != 0 {
			list = append(list, s.scope)
		}
	}
	return list
}

// ExcludedByManagement reports whether a key with the management scope cannot have this one.
func (s Scope) ExcludedByManagement() bool { return RightsOfScopes([]Scope{s})&ManagementExcludes != 0 }
