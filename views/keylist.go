package views

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/views/format"
	"umg/views/ui"
)

// Keys is the list of an account's keys.
type Keys struct {
	Shell
	Query KeyQuery
	Keys  []Key // all keys of the account
}

// KeyQuery says which keys are listed, in which order. It is the address of the page.
type KeyQuery struct {
	Text, State, Env, Kind, Health, Sort string
}

var (
	stateOptions = []ui.Option{
		{Value: stateActive, Label: "Active"}, {Value: stateRotating, Label: "Rotating"}, {Value: stateDisabled, Label: "Disabled"},
		{Value: stateExpired, Label: "Expired"},
	}
	keyKindOptions = []ui.Option{{Value: "inference", Label: "Calling models"}, {Value: ScopeManagement, Label: "Managing the account"}}
	healthOptions  = []ui.Option{
		{Value: "unused", Label: "Unused for 90 days"}, {Value: "expiring", Label: "Expires soon"},
		{Value: "unending", Label: "Never expires"}, {Value: "unbounded", Label: "No budget"},
		{Value: "network", Label: "Used from a new network"},
	}
	keySorts = []ui.Option{
		{Value: "", Label: "Newest first"}, {Value: "name", Label: "By name"}, {Value: "used", Label: "Last used first"},
		{Value: "spent", Label: "Most of budget spent first"}, {Value: "expires", Label: "Expires first"},
	}
)

// ParseKeyQuery reads an address; what cannot be meant is left out.
func ParseKeyQuery(v url.Values) KeyQuery {
	return KeyQuery{
		Text: filterText(v.Get("q")), Env: filterText(v.Get("env")), State: offered(v.Get("status"), stateOptions),
		Kind: offered(v.Get("kind"), keyKindOptions), Health: offered(v.Get("health"), healthOptions), Sort: offered(v.Get("sort"), keySorts),
	}
}

// Path is the address of the list for this query, without what says nothing.
func (q KeyQuery) Path() string {
	v := url.Values{}
	for name, value := range map[string]string{
		"q": q.Text, "status": q.State, "env": q.Env, "kind": q.Kind, "health": q.Health, "sort": q.Sort,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if len(v) == 0 {
		return keysPath
	}
	return keysPath + "?" + v.Encode()
}

// narrowed reports whether keys are left out.
func (q KeyQuery) narrowed() bool { return q.Text+q.State+q.Env+q.Kind+q.Health != "" }

func (q KeyQuery) matches(k Key, now time.Time) bool {
	text := strings.ToLower(strings.Join([]string{k.Name, k.ID, k.Masked, k.CreatedBy, k.ByKey}, "\n"))
	switch {
	case q.Text != "" && !strings.Contains(text, strings.ToLower(q.Text)):
	case q.State != "" && k.state(now) != q.State:
	case q.Env != "" && k.Env != q.Env:
	case q.Kind != "" && k.manages() != (q.Kind == ScopeManagement):
	case q.Health != "" && !slices.ContainsFunc(k.notes(now), func(n healthNote) bool { return n.name == q.Health }):
	default:
		return true
	}
	return false
}

// rows are the keys that match, in the order asked for; those that lack what they are ordered by come last.
func (l Keys) rows() []Key {
	rows := slices.DeleteFunc(slices.Clone(l.Keys), func(k Key) bool { return !l.Query.matches(k, l.Now) })
	switch l.Query.Sort {
	case "name":
		slices.SortStableFunc(rows, func(a, b Key) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	case "used":
		slices.SortStableFunc(rows, func(a, b Key) int { return -compareTimes(a.LastUsed, b.LastUsed) })
	case "spent":
		slices.SortStableFunc(rows, func(a, b Key) int { return cmp.Compare(b.spentShare(), a.spentShare()) })
	case "expires":
		slices.SortStableFunc(rows, func(a, b Key) int {
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

func (l Keys) found(shown int) string {
	if !l.Query.narrowed() {
		return format.CountOf(int64(shown), "key", "keys")
	}
	return format.Count(int64(shown)) + " of " + format.CountOf(int64(len(l.Keys)), "key", "keys")
}

// envs are the tags that the account's keys carry.
func (l Keys) envs() []ui.Option {
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
