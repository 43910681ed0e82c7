package keys

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// List is the list of an account's keys.
type List struct {
	views.Shell
	Query Query
	Keys  []views.Key // all keys of the account
	// Spend is by the id of the key. Keys without calls are missing.
	Spend map[string]views.KeySpend
}

// Query says which keys are listed, in which order. It is the address of the page.
type Query struct {
	Text, State, Env, Kind, Health, Sort string
}

var (
	stateOptions = []ui.Option{
		{Value: views.StateActive, Label: "Active"}, {Value: views.StateRotating, Label: "Rotating"},
		{Value: views.StateDisabled, Label: "Disabled"},
		{Value: views.StateExpired, Label: "Expired"},
	}
	keyKindOptions = []ui.Option{{Value: "inference", Label: "Calling models"}, {Value: views.ScopeManagement, Label: "Managing the account"}}
	healthOptions  = []ui.Option{
		{Value: "unused", Label: "Unused for 90 days"}, {Value: "expiring", Label: "Expires soon"},
		{Value: "unending", Label: "Never expires"}, {Value: "unbounded", Label: "No budget"},
		{Value: "network", Label: "Used from a new network"},
	}
	sorts = []ui.Option{
		{Value: "", Label: "Newest first"}, {Value: "name", Label: "By name"}, {Value: "used", Label: "Last used first"},
		{Value: "spent", Label: "Most of budget spent first"},
		{Value: "spend", Label: "Highest spend this month first"}, {Value: "expires", Label: "Expires first"},
	}
)

// ParseQuery reads an address; what cannot be meant is left out.
func ParseQuery(v url.Values) Query {
	return Query{
		Text: views.FilterText(v.Get("q")), Env: views.FilterText(v.Get("env")), State: views.KnownOption(v.Get("status"), stateOptions),
		Kind: views.KnownOption(v.Get("kind"), keyKindOptions), Health: views.KnownOption(v.Get("health"), healthOptions),
		Sort: views.KnownOption(v.Get("sort"), sorts),
	}
}

// Path is the address of the list for this query, without what says nothing.
func (q Query) Path() string {
	v := url.Values{}
	for name, value := range map[string]string{
		"q": q.Text, "status": q.State, "env": q.Env, "kind": q.Kind, "health": q.Health, "sort": q.Sort,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return views.KeysPath
	}
	return views.KeysPath + "?" + v.Encode()
}

// narrowed reports whether keys are left out.
func (q Query) narrowed() bool { return q.Text+q.State+q.Env+q.Kind+q.Health != "" }

func (q Query) matches(k views.Key, now time.Time) bool {
	text := strings.ToLower(strings.Join([]string{k.Name, k.ID, k.Masked, k.CreatedBy, k.ByKey}, "\n"))
	switch {
	case q.Text != "" && !strings.Contains(text, strings.ToLower(q.Text)):
	case q.State != "" && k.State(now) != q.State:
	case q.Env != "" && k.Env != q.Env:
	case q.Kind != "" && k.Manages() != (q.Kind == views.ScopeManagement):
	case q.Health != "" && !slices.ContainsFunc(k.Notes(now), func(n views.HealthNote) bool { return n.Name == q.Health }):
	default:
		return true
	}
	return false
}

// rows are the keys that match, in the order asked for; those that lack what they are ordered by come last.
func (l List) rows() []views.Key {
	rows := slices.DeleteFunc(slices.Clone(l.Keys), func(k views.Key) bool { return !l.Query.matches(k, l.Now) })
	switch l.Query.Sort {
	case "name":
		slices.SortStableFunc(rows, func(a, b views.Key) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	case "used":
		slices.SortStableFunc(rows, func(a, b views.Key) int { return -compareTimes(a.LastUsed, b.LastUsed) })
	case "spent":
		slices.SortStableFunc(rows, func(a, b views.Key) int { return cmp.Compare(b.SpentShare(), a.SpentShare()) })
	case "spend":
		slices.SortStableFunc(rows, func(a, b views.Key) int { return cmp.Compare(l.Spend[b.ID].Month, l.Spend[a.ID].Month) })
	case "expires":
		slices.SortStableFunc(rows, func(a, b views.Key) int {
			if a.ExpiresAt == nil || b.ExpiresAt == nil {
				return -compareTimes(a.ExpiresAt, b.ExpiresAt)
			}
			return a.ExpiresAt.Compare(*b.ExpiresAt)
		})
	}
	return rows
}

// compareTimes puts what has no time before what has one.
func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(*b)
}

func (l List) found(shown int) string {
	if !l.Query.narrowed() {
		return format.CountOf(int64(shown), "key", "keys")
	}
	return format.Count(int64(shown)) + " of " + format.CountOf(int64(len(l.Keys)), "key", "keys")
}

// envs are the tags that the account's keys carry.
func (l List) envs() []ui.Option {
	var names []string
	for _, k := range l.Keys {
		if k.Env != "" {
			names = append(names, k.Env)
		}
	}
	slices.Sort(names)
	var options []ui.Option
	for _, name := range slices.Compact(names) {
		options = append(options, ui.Option{Value: name, Label: name})
	}
	return options
}
