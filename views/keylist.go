package views

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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

func offered(value string, options []ui.Option) string {
	if slices.ContainsFunc(options, func(o ui.Option) bool { return o.Value == value }) {
		return value
	}
	return ""
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

// spentShare is how much of its budget a key has spent, in hundredths; -1 without one.
func (k Key) spentShare() int64 {
	if k.Budget == nil {
		return -1
	}
	return int64(k.Budget.share())
}

// share is how much of the budget is spent, in hundredths from 0 to 100. What is nearly all is not all.
func (b KeyBudget) share() int {
	switch {
	case b.Limit <= 0 || b.Spent >= b.Limit:
		return 100
	case b.Spent <= 0:
		return 0
	}
	return max(1, min(99, int(b.Spent/max(b.Limit/100, 1))))
}

// tone warns of a budget that is nearly spent.
func (b KeyBudget) tone() ui.Tone {
	switch share := b.share(); {
	case share >= 100:
		return ui.Danger
	case share >= 80:
		return ui.Warning
	}
	return ui.Brand
}

func (l Keys) found(shown int) string {
	if !l.Query.narrowed() {
		return counted(int64(shown), "key", "keys")
	}
	return Count(int64(shown)) + " of " + counted(int64(len(l.Keys)), "key", "keys")
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

const (
	unusedAfter  = 90 * 24 * time.Hour
	expiringWhen = 14 * 24 * time.Hour
)

// healthNote is a warning about a key.
type healthNote struct {
	name   string // value of the note in the list's filter
	tone   ui.Tone
	text   string
	advice string
}

// notes are what is to be said about how safe the key is. A key that is off has none.
func (k Key) notes(now time.Time) []healthNote {
	if k.Disabled || k.expired(now) {
		return nil
	}
	var notes []healthNote
	since, text := k.CreatedAt, "Never used in "
	if k.LastUsed != nil {
		since, text = *k.LastUsed, "Unused for "
	}
	if idle := now.Sub(since); idle >= unusedAfter {
		notes = append(notes, healthNote{
			"unused", ui.Warning, text + daysOf(idle), "Disable it if nothing needs it, and delete it once that is certain.",
		})
	}
	if n := k.Network; n != nil {
		notes = append(notes, healthNote{
			"network", ui.Warning, "Used from a new network " + n.Network + ", " + n.Since.UTC().Format("2 Jan"),
			"If you do not know this network, rotate the key. Under “Limits and restrictions” you can name the addresses that may use it.",
		})
	}
	switch {
	case k.ExpiresAt == nil:
		notes = append(notes, healthNote{"unending", ui.Info, "Never expires", "With an expiry date, a forgotten key ends by itself."})
	case k.ExpiresAt.Sub(now) <= expiringWhen:
		notes = append(notes, healthNote{
			"expiring", ui.Warning, "Expires in " + daysOf(k.ExpiresAt.Sub(now)), "Programs that use it are refused then. Change its expiry below.",
		})
	}
	if k.Budget == nil && !k.manages() {
		notes = append(notes, healthNote{"unbounded", ui.Info, "No budget", "Only the account's credit limits what it may spend."})
	}
	return notes
}

// healthy says that there is nothing to note.
func (k Key) healthy(now time.Time) string {
	if k.Disabled || k.expired(now) {
		return "It is off, and every call with it is refused"
	}
	return "In use, with a budget and an expiry date"
}

// warnings are the notes that cannot wait.
func (k Key) warnings(now time.Time) []healthNote {
	return slices.DeleteFunc(k.notes(now), func(n healthNote) bool { return n.tone != ui.Warning })
}

// daysOf is a span in whole days, or what is left of a day in hours.
func daysOf(d time.Duration) string {
	if d < 48*time.Hour {
		return counted(max(1, int64(d/time.Hour)), "hour", "hours")
	}
	return counted(int64(d/(24*time.Hour)), "day", "days")
}

// may says in short words what a key may do.
func (k Key) may() string {
	var words []string
	for _, s := range k.Scopes {
		if s == ScopeManagement {
			continue
		}
		words = append(words, cmp.Or(scopeWords[s], s))
	}
	switch {
	case k.manages() && len(words) == 0:
		return "Management"
	case k.manages():
		return "Management, " + strings.Join(words, ", ")
	case len(words) == len(scopeWords)-1:
		return "All calls"
	}
	return titled(strings.Join(words, ", "))
}

// bounds say in short words where and with what the key is taken; empty for everywhere and everything.
func (k Key) bounds() string {
	var words []string
	if n := int64(len(k.Models)); n > 0 {
		words = append(words, counted(n, "model", "models"))
	}
	if n := int64(len(k.Addresses)); n > 0 {
		words = append(words, counted(n, "network", "networks"))
	}
	return strings.Join(words, " · ")
}

// alertWords return the shares of a key's budget at which alerts are sent.
func (k Key) alertWords() string {
	if len(k.Alerts) == 0 {
		return "no alerts"
	}
	words := make([]string, len(k.Alerts))
	for i, share := range k.Alerts {
		words[i] = strconv.Itoa(share) + "%"
	}
	return "alerts at " + strings.Join(words, ", ")
}

// limits are the key's own limits, each in a few words.
func (k Key) limits() []string {
	var words []string
	if k.Requests > 0 {
		words = append(words, Count(k.Requests)+" req/min")
	}
	if k.Tokens > 0 {
		words = append(words, Count(k.Tokens)+" tok/min")
	}
	if k.Concurrency > 0 {
		words = append(words, Count(k.Concurrency)+" at once")
	}
	return words
}

// madeBy is who made the key.
func (k Key) madeBy() string {
	if k.ByKey != "" {
		return "by the key " + k.ByKey
	}
	if k.CreatedBy != "" {
		return "by " + k.CreatedBy
	}
	return ""
}
