package views

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/views/format"
	"umg/views/ui"
)

// ScopeManagement is the scope of keys that manage the account and never spend.
const ScopeManagement = "management"

// scopeWords name the scopes where there is little room.
var scopeWords = map[string]string{
	"inference:text": "text", "inference:video": "video", "videos": "videos", "assets": "assets", "models:read": "models",
	"usage:read": "usage", "webhooks": "webhooks", ScopeManagement: "management",
}

// SpentShare is how much of its budget a key has spent, in hundredths; -1 without one.
func (k Key) SpentShare() int64 {
	if k.Budget == nil {
		return -1
	}
	return int64(k.Budget.Share())
}

const (
	unusedAfter  = 90 * 24 * time.Hour
	expiringWhen = 14 * 24 * time.Hour
)

// HealthNote is a warning about a key.
type HealthNote struct {
	Name   string // Name is the note's value in the filter of the list.
	Tone   ui.Tone
	Text   string
	Advice string
}

// Notes are what is to be said about how safe the key is. A key that is off has none.
func (k Key) Notes(now time.Time) []HealthNote {
	if k.Disabled || k.Expired(now) {
		return nil
	}
	var notes []HealthNote
	since, text := k.CreatedAt, "Never used in "
	if k.LastUsed != nil {
		since, text = *k.LastUsed, "Unused for "
	}
	if idle := now.Sub(since); idle >= unusedAfter {
		notes = append(notes, HealthNote{
			"unused", ui.Warning, text + daysOf(idle), "Disable it if nothing needs it, and delete it once that is certain.",
		})
	}
	if n := k.Network; n != nil {
		notes = append(notes, HealthNote{
			"network", ui.Warning, "Used from a new network " + n.Network + ", " + n.Since.UTC().Format(format.ShortDayForm),
			"If you do not know this network, rotate the key. Under “Limits and restrictions” you can name the addresses that may use it.",
		})
	}
	switch {
	case k.ExpiresAt == nil:
		notes = append(notes, HealthNote{"unending", ui.Info, "Never expires", "With an expiry date, a forgotten key ends by itself."})
	case k.ExpiresAt.Sub(now) <= expiringWhen:
		notes = append(notes, HealthNote{
			"expiring", ui.Warning, "Expires in " + daysOf(k.ExpiresAt.Sub(now)), "Programs that use it are refused then. Change its expiry below.",
		})
	}
	if k.Budget == nil && !k.Manages() {
		notes = append(notes, HealthNote{"unbounded", ui.Info, "No budget", "Only the account's credit limits what it may spend."})
	}
	return notes
}

// Healthy says that there is nothing to note.
func (k Key) Healthy(now time.Time) string {
	if k.Disabled || k.Expired(now) {
		return "It is off, and every call with it is refused"
	}
	return "In use, with a budget and an expiry date"
}

// Warnings are the notes that cannot wait.
func (k Key) Warnings(now time.Time) []HealthNote {
	return slices.DeleteFunc(k.Notes(now), func(n HealthNote) bool { return n.Tone != ui.Warning })
}

// daysOf is a span in whole days, or what is left of a day in hours.
func daysOf(d time.Duration) string {
	if d < 48*time.Hour {
		return format.CountOf(max(1, int64(d/time.Hour)), "hour", "hours")
	}
	return format.CountOf(int64(d/(24*time.Hour)), "day", "days")
}

// May says in short words what a key may do.
func (k Key) May() string {
	var words []string
	for _, s := range k.Scopes {
		if s == ScopeManagement {
			continue
		}
		words = append(words, cmp.Or(scopeWords[s], s))
	}
	switch {
	case k.Manages() && len(words) == 0:
		return "Management"
	case k.Manages():
		return "Management, " + strings.Join(words, ", ")
	case len(words) == len(scopeWords)-1:
		return "All calls"
	}
	return format.Capitalize(strings.Join(words, ", "))
}

// Bounds say in short words where and with what the key is taken; empty for everywhere and everything.
func (k Key) Bounds() string {
	var words []string
	if n := int64(len(k.Models)); n > 0 {
		words = append(words, format.CountOf(n, "model", "models"))
	}
	if n := int64(len(k.Addresses)); n > 0 {
		words = append(words, format.CountOf(n, "network", "networks"))
	}
	return strings.Join(words, " · ")
}

// AlertWords return the shares of a key's budget at which alerts are sent.
func (k Key) AlertWords() string {
	if len(k.Alerts) == 0 {
		return "no alerts"
	}
	words := make([]string, len(k.Alerts))
	for i, share := range k.Alerts {
		words[i] = strconv.Itoa(share) + "%"
	}
	return "alerts at " + strings.Join(words, ", ")
}

// Limits are the key's own limits, each in a few words.
func (k Key) Limits() []string {
	var words []string
	if k.Requests > 0 {
		words = append(words, format.Count(k.Requests)+" req/min")
	}
	if k.Tokens > 0 {
		words = append(words, format.Count(k.Tokens)+" tok/min")
	}
	if k.Concurrency > 0 {
		words = append(words, format.Count(k.Concurrency)+" at once")
	}
	return words
}

// MadeBy names the person or the key that created the key.
func (k Key) MadeBy() string {
	if k.ByKey != "" {
		return "by the key " + k.ByKey
	}
	if k.CreatedBy != "" {
		return "by " + k.CreatedBy
	}
	return ""
}

// These are the error modes of a key, as the forms send them.
const (
	ModeStandard   = "standard"
	ModeDocumented = "documented"
)

// Key is one API key, without its secret.
type Key struct {
	ID        string
	Name      string
	Masked    string // Masked is the secret in the form sk-umg-ab…f3Qk.
	Env       string
	ErrorMode string
	Disabled  bool
	CreatedAt time.Time
	CreatedBy string
	ByKey     string // ByKey names the management key that made the key; empty for a user.
	LastUsed  *time.Time
	LastFrom  string // LastFrom is the address of the last use; empty if unknown.
	ExpiresAt *time.Time
	Budget    *KeyBudget // Budget is nil for a key without a budget.
	Alerts    []int      // Alerts are the hundredths of the budget at which alerts are sent, in ascending order.
	Network   *KeyNetwork

	Scopes      []string
	Models      []string // Models is empty for a key that may call all models.
	Addresses   []string // Addresses are the networks that may use the key; empty for all.
	Requests    int64    // Requests is the limit per minute; zero leaves the models' limits.
	Tokens      int64    // Tokens is the limit per minute.
	Concurrency int64
	LogContent  bool
	Strict      bool
	Leaked      *time.Time      // Leaked is when a secret of the key was found in public; nil after the rotation.
	Previous    *PreviousSecret // Previous is set while the previous secret works.
}

// KeyNetwork is a network from which a key was used that it was not used from lately.
type KeyNetwork struct {
	Network string
	Since   time.Time
}

// PreviousSecret is the secret of before a rotation, which still works.
type PreviousSecret struct {
	LastFour string
	Until    time.Time
	LastUsed *time.Time
}

// Status is the badge of a key at a moment.
func (k Key) Status(now time.Time) Badge {
	switch k.State(now) {
	case StateDisabled:
		if k.Leaked != nil {
			return Badge{ui.Danger, "Leaked"}
		}
		return Badge{ui.Plain, "Disabled"}
	case StateExpired:
		return Badge{ui.Warning, "Expired"}
	case StateRotating:
		return Badge{ui.Info, "Rotating"}
	default:
		return Badge{ui.Success, "Active"}
	}
}

// These are the states of a key, as the address of the list names them.
const (
	StateActive   = "active"
	StateRotating = "rotating"
	StateDisabled = "disabled"
	StateExpired  = "expired"
)

// State is one of the states of a key at a moment.
func (k Key) State(now time.Time) string {
	switch {
	case k.Disabled:
		return StateDisabled
	case k.Expired(now):
		return StateExpired
	case k.Rotating(now):
		return StateRotating
	default:
		return StateActive
	}
}

// Expired reports whether the key has ended.
func (k Key) Expired(now time.Time) bool { return k.ExpiresAt != nil && !k.ExpiresAt.After(now) }

// Rotating reports whether two secrets of the key work.
func (k Key) Rotating(now time.Time) bool { return k.Previous != nil && k.Previous.Until.After(now) }

// Manages reports whether the key is for managing the account, and so never spends.
func (k Key) Manages() bool { return k.Calls(ScopeManagement) }

// Calls reports whether the key has a scope.
func (k Key) Calls(scope string) bool { return slices.Contains(k.Scopes, scope) }

// Path is where the key's own actions live.
func (k Key) Path(action ...string) string {
	return strings.Join(append([]string{KeyPath(k.ID)}, action...), "/")
}

// LastFour is the end of a masked key.
func LastFour(masked string) string {
	runes := []rune(masked)
	return "…" + string(runes[max(0, len(runes)-4):])
}

// FreshKey is a key with its secret.
type FreshKey struct {
	Key    Key
	Secret string
}
