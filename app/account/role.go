package account

import (
	"slices"

	"umg/app"
)

// Role is the role of a user in an account.
type Role string

// The roles.
const (
	Owner     Role = "owner"
	Admin     Role = "admin"
	Developer Role = "developer"
	Billing   Role = "billing"
)

// roles maps each role to its rights and to its description.
var roles = []struct {
	role    Role
	rights  app.Rights
	meaning string
}{
	{Owner, app.OwnAccount | adminRights, "Everything, with owners and the account itself"},
	{Admin, adminRights, "Everything but owners and the end of the account"},
	{Developer, app.Spend | app.UseVideos | app.UseAssets | app.ReadModels | app.ReadUsage | app.UseWebhooks | app.ManageKeys |
		app.ReadContent, "Models, playground, videos, assets, keys, webhooks and usage"},
	{Billing, app.ReadModels | app.ReadUsage | app.ManageMoney, "Credit, payments and usage"},
}

const adminRights = app.Spend | app.UseVideos | app.UseAssets | app.ReadModels | app.ReadUsage | app.UseWebhooks | app.ManageKeys |
	app.ManageMembers | app.ManageMoney | app.ManageAccount | app.ReadContent

// Roles are all roles, the one with the most rights first.
func Roles() []Role {
	list := make([]Role, len(roles))
	for i, r := range roles {
		list[i] = r.role
	}
	return list
}

// Rights are what a role may do; nothing for an unknown one.
func (r Role) Rights() app.Rights {
	for _, row := range roles {
		if row.role == r {
			return row.rights
		}
	}
	return 0
}

// Meaning is what a role may do, in a few words for people.
func (r Role) Meaning() string {
	for _, row := range roles {
		if row.role == r {
			return row.meaning
		}
	}
	return ""
}

// Scope is a word for what a key may do.
type Scope string

// Management is the scope of keys that manage the account by API. Such a key can never spend.
const Management Scope = "management"

// scopes say which rights each scope stands for. The database knows the words as well.
var scopes = []struct {
	scope    Scope
	rights   app.Rights
	standard bool // part of a key without explicit scopes
	meaning  string
}{
	{"inference:text", app.CallText, true, "Have text generated"},
	{"inference:video", app.MakeVideos, true, "Have videos made and changed"},
	{"videos", app.UseVideos, true, "See, download and delete videos"},
	{"assets", app.UseAssets, true, "Make, see and delete assets"},
	{"models:read", app.ReadModels, true, "See models and their contracts"},
	{"usage:read", app.ReadUsage, true, "See usage, cost and credit"},
	{"webhooks", app.UseWebhooks, true, "Manage webhook endpoints"},
	{Management, app.ManageKeys | app.ManageMembers | app.ManageMoney | app.ManageAccount, false,
		"Manage keys, members, billing and settings by API; never spends"},
}

// managementExcludes are the rights that no key has beside the management scope.
const managementExcludes = app.Spend | app.UseVideos | app.UseAssets

// Scopes are all scopes, in the order in which they are shown.
func Scopes() []Scope {
	list := make([]Scope, len(scopes))
	for i, s := range scopes {
		list[i] = s.scope
	}
	return list
}

// StandardScopes are those of a key about which nothing was said.
func StandardScopes() []Scope {
	var list []Scope
	for _, s := range scopes {
		if s.standard {
			list = append(list, s.scope)
		}
	}
	return list
}

// Meaning is what a scope allows, in a few words for people.
func (s Scope) Meaning() string {
	for _, row := range scopes {
		if row.scope == s {
			return row.meaning
		}
	}
	return ""
}

// rightsOf is what a key with these scopes may do.
func rightsOf(list []Scope) (all app.Rights) {
	for _, s := range scopes {
		if slices.Contains(list, s.scope) {
			all |= s.rights
		}
	}
	return all
}

// scopesFor words a set of rights for a refusal.
func scopesFor(need app.Rights) (list []Scope) {
	for _, s := range scopes {
		if s.rights&need != 0 {
			list = append(list, s.scope)
		}
	}
	return list
}
