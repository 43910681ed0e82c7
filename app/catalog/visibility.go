package catalog

import (
	"regexp"
	"slices"
	"sync"
)

const (
	// accountsMax bounds the accounts that a model names.
	accountsMax = 1000
	// viewListsMax bounds the accounts for which a snapshot keeps the list of models as JSON. It is made for each request of the others.
	viewListsMax = 100
)

// accountID is what the id of an account looks like.
var accountID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// IsVisibleTo reports whether an account sees the model and may call it. An empty id is a visitor without an account.
func (m *Model) IsVisibleTo(account string) bool {
	return len(m.Accounts) == 0 || m.accounts[account]
}

// IsAllowed reports whether a list of models that are allowed has the model, by its id or by an alias. May looks up one id, as
// app.Principal.MayUse does.
func (m *Model) IsAllowed(may func(id string) bool) bool {
	return may == nil || may(m.ID) || slices.ContainsFunc(m.Aliases, may)
}

// For is the snapshot as an account sees it: models that are only for other accounts do not exist in it. An empty id is a visitor without
// an account. Everything that a snapshot shows to a customer comes from For; operators see the whole.
func (s *Snapshot) For(account string) *Snapshot {
	if s.views == nil || s.narrowed {
		return s
	}
	return s.views.of(s, account)
}

// views are the parts of a snapshot that accounts see. All accounts that no model names share one.
type views struct {
	public *view
	named  map[string]*view
}

// view is one part of a snapshot. It is made when it is first used.
type view struct {
	account  string
	keepList bool
	once     sync.Once
	snapshot *Snapshot
}

// newViews prepares the views of models; nil when every account sees all of them.
func newViews(models []*Model) *views {
	v := &views{public: &view{keepList: true}, named: map[string]*view{}}
	restricted := false
	for _, m := range models {
		restricted = restricted || len(m.Accounts) > 0
		for _, account := range m.Accounts {
			if v.named[account] == nil {
				v.named[account] = &view{account: account, keepList: len(v.named) < viewListsMax}
			}
		}
	}
	if !restricted {
		return nil
	}
	return v
}

func (v *views) of(whole *Snapshot, account string) *Snapshot {
	one := v.named[account]
	if one == nil {
		one = v.public
	}
	one.once.Do(func() { one.snapshot = whole.narrow(one) })
	return one.snapshot
}

// narrow is the snapshot with the models of a view.
func (s *Snapshot) narrow(v *view) *Snapshot {
	part := *s
	part.narrowed, part.account = true, v.account
	part.models = slices.DeleteFunc(slices.Clone(s.models), func(m *Model) bool { return !m.IsVisibleTo(v.account) })
	part.list, part.etag = nil, ""
	if v.keepList {
		part.list = part.renderList(nil)
		part.etag = ETag(part.list)
	}
	return &part
}

// checkAccounts adds the problems of the accounts that models name. What a model leads to must be visible to every account that sees the
// model, so that no account hears of a model that it may not call.
func checkAccounts(p problems, models []FileModel, byID map[string]*FileModel) {
	for i := range models {
		m, at := &models[i], p.at("models[%d]", i)
		if len(m.Accounts) > accountsMax {
			at.addf("accounts", "%d accounts are more than %d", len(m.Accounts), accountsMax)
		}
		for j, account := range m.Accounts {
			if !accountID.MatchString(account) {
				at.addf("accounts", "%q is not the id of an account", account)
			}
			if slices.Contains(m.Accounts[:j], account) {
				at.addf("accounts", "%q is there twice", account)
			}
		}
		leadsTo := func(field, id string) {
			if other := byID[id]; id != "" && other != nil && !m.isSeenWith(other) {
				at.addf(field, "%s is visible to fewer accounts than this model", id)
			}
		}
		leadsTo("successor", m.Successor)
		leadsTo("longer_context", m.LongerContext)
		for _, id := range m.Fallbacks {
			leadsTo("fallbacks", id)
		}
	}
}

// accountSet are the accounts that see the model, for a quick look at each call.
func (m *FileModel) accountSet() map[string]bool {
	set := make(map[string]bool, len(m.Accounts))
	for _, account := range m.Accounts {
		set[account] = true
	}
	return set
}

// isSeenWith reports whether every account that sees the model also sees another.
func (m *FileModel) isSeenWith(other *FileModel) bool {
	if len(other.Accounts) == 0 {
		return true
	}
	return len(m.Accounts) > 0 && !slices.ContainsFunc(m.Accounts, func(id string) bool { return !slices.Contains(other.Accounts, id) })
}
