package views

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views/ui"
)

// The two error modes of a key, as the forms send them.
const (
	ModeStandard   = "standard"
	ModeDocumented = "documented"
)

const (
	keysPath   = "/console/keys"
	keyNameMax = "80" // the longest name that the forms allow
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

// KeyBudget is what a key may spend in a period, and how far it has.
type KeyBudget struct {
	Limit    app.Amount
	Spent    app.Amount
	Left     app.Amount
	Period   string
	ResetsAt *time.Time // nil for a budget that does not reset
}

// periodWords say over what time a budget is spent.
var periodWords = map[string]string{"total": "in total", "day": "today", "week": "this week", "month": "this month"}

func (b KeyBudget) periodWords() string { return periodWords[b.Period] }

func (b KeyBudget) sumWords() string { return Dollars(b.Spent) + " of " + Dollars(b.Limit) }

func (b KeyBudget) spentWords() string { return b.sumWords() + " spent " + b.periodWords() }

func (b KeyBudget) leftWords() string {
	if b.Left <= 0 {
		return "used up"
	}
	return Dollars(b.Left) + " left"
}

// periodOptions are how often a budget is refilled.
var periodOptions = []ui.Option{
	{Value: "month", Label: "each month"},
	{Value: "week", Label: "each week"},
	{Value: "day", Label: "each day"},
	{Value: "total", Label: "in total, once"},
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

// KeyPath is the address of a key's page.
func KeyPath(id string) string { return keysPath + "/" + url.PathEscape(id) }

// path is where the key's own actions live.
func (k Key) path(action ...string) string {
	return strings.Join(append([]string{KeyPath(k.ID)}, action...), "/")
}

// modeWords name the error modes in a table.
var modeWords = map[string]string{
	ModeStandard:   "SDK or agent tool",
	ModeDocumented: "Program of your own",
}

// modeNotes say what a mode means in a few words.
var modeNotes = map[string]string{
	ModeStandard:   "errors as HTTP statuses",
	ModeDocumented: "errors in the body",
}

// modeOptions explain the choice by its consequences.
var modeOptions = []ui.Option{
	{
		Value: ModeStandard, Label: "An official SDK or agent tool",
		Text: "Errors come with their HTTP status (400, 402, 429 …), which SDKs need to raise them and to retry.",
	},
	{
		Value: ModeDocumented, Label: "A program written to our API document",
		Text: "Many chat errors come as HTTP 200 with a code in the body. Your program must check that code.",
	},
}

const keysIntro = "A key lets a program call any model on this account's credit. " +
	"Use one for each program, so that you can replace it alone."

// BudgetForm is the part of a form that is about a key's budget.
type BudgetForm struct {
	Limit       string // dollars as the user typed them
	LimitError  string
	Period      string
	PeriodError string
	Alerts      []string // hundredths of the budget at which alerts are sent
	AlertsError string
}

// alertOptions are the shares that a form offers, with those that the key has besides.
func (f BudgetForm) alertOptions() []ui.ChipOption {
	shares := []int{50, 75, 80, 90, 100}
	for _, text := range f.Alerts {
		if n, err := strconv.Atoi(text); err == nil && !slices.Contains(shares, n) && len(shares) < alertsShownMax {
			shares = append(shares, n)
		}
	}
	slices.Sort(shares)
	options := make([]ui.ChipOption, len(shares))
	for i, n := range shares {
		options[i] = ui.ChipOption{Value: strconv.Itoa(n), Label: strconv.Itoa(n) + "%"}
	}
	return options
}

const alertsShownMax = 16

// usualAlerts are what a new key has.
func usualAlerts() []string { return []string{"80", "100"} }

// KeyNew is the form for a new key, on a page of its own or in the dialog.
type KeyNew struct {
	Shell
	Form KeyForm
}

// KeyEdit is the page of one key: what it is, how it fares, and the form that changes it.
type KeyEdit struct {
	Shell
	Key  Key
	Form KeyForm
	// Fixed says that the reader may look at the key but not change it: one that manages the account, for a developer.
	Fixed bool
}

// KeyCreated shows a new key's secret, this once. The list comes along so that the page behind the dialog is current.
type KeyCreated struct {
	Shell
	Fresh    FreshKey
	Call     Call
	Language string
	Keys     []Key
}

// KeyRotate asks how long the old secret of a key goes on working.
type KeyRotate struct {
	Shell
	Key          Key
	Overlap      string // seconds, as the form sends them
	OverlapError string
}

// KeyRotated shows the new secret of a key, this once.
type KeyRotated struct {
	Shell
	Fresh FreshKey
	Call  Call
}

// overlaps are those that the key may have: none once its secret was found in public.
func (k KeyRotate) overlaps() []ui.Option {
	if k.Key.Leaked != nil {
		return overlapOptions[:1]
	}
	return overlapOptions
}

// overlap is the one that is chosen already.
func (k KeyRotate) overlap() string {
	if k.Key.Leaked != nil {
		return overlapOptions[0].Value
	}
	return k.Overlap
}

// KeyAsk asks before something is done with a key.
type KeyAsk struct {
	Shell
	Key Key
}

// KeyDelete asks before a key is deleted.
type KeyDelete struct {
	Shell
	Key       Key
	TypeName  bool // the key was used in the last 24 hours, so the user must type its name
	NameError string
}

// lastFour is the end of a masked key.
func lastFour(masked string) string {
	runes := []rune(masked)
	return "…" + string(runes[max(0, len(runes)-4):])
}
