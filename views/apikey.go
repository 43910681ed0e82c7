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

// spentShare is how much of its budget a key has spent, in hundredths; -1 without one.
func (k Key) spentShare() int64 {
	if k.Budget == nil {
		return -1
	}
	return int64(k.Budget.share())
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
		return format.CountOf(max(1, int64(d/time.Hour)), "hour", "hours")
	}
	return format.CountOf(int64(d/(24*time.Hour)), "day", "days")
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
	return format.Capitalize(strings.Join(words, ", "))
}

// bounds say in short words where and with what the key is taken; empty for everywhere and everything.
func (k Key) bounds() string {
	var words []string
	if n := int64(len(k.Models)); n > 0 {
		words = append(words, format.CountOf(n, "model", "models"))
	}
	if n := int64(len(k.Addresses)); n > 0 {
		words = append(words, format.CountOf(n, "network", "networks"))
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

// The two error modes of a key, as the forms send them.
const (
	ModeStandard   = "standard"
	ModeDocumented = "documented"
)

// Key is one API key, without its secret.
type Key struct {
	ID        string
	Name      string
	Masked    string // such as sk-umg-ab…f3Qk
	Env       string
	ErrorMode string
	Disabled  bool
	CreatedAt time.Time
	CreatedBy string
	ByKey     string // name of the management key that made it, empty for a user
	LastUsed  *time.Time
	LastFrom  string // address of the last use, if known
	ExpiresAt *time.Time
	Budget    *KeyBudget // nil for no budget
	Alerts    []int      // hundredths of the budget at which alerts are sent, in ascending order
	Network   *KeyNetwork

	Scopes      []string
	Models      []string // empty for all models
	Addresses   []string // networks that may use the key, empty for all
	Requests    int64    // per minute; zero for the models' limits
	Tokens      int64    // per minute
	Concurrency int64
	LogContent  bool
	Strict      bool
	Leaked      *time.Time      // when a secret of it was found in public; nil after the rotation
	Previous    *PreviousSecret // set while the previous secret works
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

// status is the badge of a key at a moment.
func (k Key) status(now time.Time) verdict {
	switch k.state(now) {
	case stateDisabled:
		if k.Leaked != nil {
			return verdict{ui.Danger, "Leaked"}
		}
		return verdict{ui.Plain, "Disabled"}
	case stateExpired:
		return verdict{ui.Warning, "Expired"}
	case stateRotating:
		return verdict{ui.Info, "Rotating"}
	default:
		return verdict{ui.Success, "Active"}
	}
}

// The states of a key, as the address of the list names them.
const (
	stateActive   = "active"
	stateRotating = "rotating"
	stateDisabled = "disabled"
	stateExpired  = "expired"
)

func (k Key) state(now time.Time) string {
	switch {
	case k.Disabled:
		return stateDisabled
	case k.expired(now):
		return stateExpired
	case k.rotating(now):
		return stateRotating
	default:
		return stateActive
	}
}

func (k Key) expired(now time.Time) bool { return k.ExpiresAt != nil && !k.ExpiresAt.After(now) }

// rotating reports whether two secrets of the key work.
func (k Key) rotating(now time.Time) bool { return k.Previous != nil && k.Previous.Until.After(now) }

// manages reports whether the key is for managing the account, and so never spends.
func (k Key) manages() bool { return k.calls(ScopeManagement) }

// calls reports whether the key has a scope.
func (k Key) calls(scope string) bool { return slices.Contains(k.Scopes, scope) }

// path is where the key's own actions live.
func (k Key) path(action ...string) string {
	return strings.Join(append([]string{KeyPath(k.ID)}, action...), "/")
}

// lastFour is the end of a masked key.
func lastFour(masked string) string {
	runes := []rune(masked)
	return "…" + string(runes[max(0, len(runes)-4):])
}

// FreshKey is a key with its secret.
type FreshKey struct {
	Key    Key
	Secret string
}
