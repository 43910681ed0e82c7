package views

import (
	"time"

	"umg/app"
	"umg/views/ui"
)

// The two error modes of a key, as the forms send them.
const (
	ModeStandard   = "standard"
	ModeDocumented = "documented"
)

// keyNameMax is the longest name that the forms take.
const keyNameMax = "80"

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
	LastUsed  *time.Time
	ExpiresAt *time.Time
	Budget    *KeyBudget // nil for none
}

// KeyBudget is what a key may spend in a period, and how far it has.
type KeyBudget struct {
	Limit    app.Amount
	Spent    app.Amount
	Left     app.Amount
	Period   string
	ResetsAt *time.Time // nil for one that is not refilled
}

// periodWords say over what time a budget is spent.
var periodWords = map[string]string{"total": "in total", "day": "today", "week": "this week", "month": "this month"}

func (b KeyBudget) spentWords() string {
	return Dollars(b.Spent) + " of " + Dollars(b.Limit) + " spent " + periodWords[b.Period]
}

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
	switch {
	case k.Disabled:
		return verdict{ui.Plain, "Disabled"}
	case k.ExpiresAt != nil && !k.ExpiresAt.After(now):
		return verdict{ui.Warning, "Expired"}
	default:
		return verdict{ui.Success, "Active"}
	}
}

// path is where the key's own actions live.
func (k Key) path(action string) string { return "/console/keys/" + k.ID + "/" + action }

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

// envOptions are the environment tags a key can carry.
var envOptions = []ui.Option{
	{Value: "", Label: "None"},
	{Value: "development", Label: "Development"},
	{Value: "staging", Label: "Staging"},
	{Value: "production", Label: "Production"},
}

// KeyForm is the form for a new key, first shown or shown again with what was wrong.
type KeyForm struct {
	Name      string
	NameError string
	Env       string
	EnvError  string
	Mode      string
	ModeError string
	FormError string
	Budget    BudgetForm
}

// BudgetForm is the part of a form that is about a key's budget.
type BudgetForm struct {
	Limit       string // dollars as they were typed
	LimitError  string
	Period      string
	PeriodError string
	FormError   string
}

// NewKeyForm is the form as it is first shown: most keys are for an SDK.
func NewKeyForm() KeyForm { return KeyForm{Mode: ModeStandard, Budget: BudgetForm{Period: "month"}} }

// KeyBudgetEdit is the form of a key's budget.
type KeyBudgetEdit struct {
	Shell
	Key  Key
	Form BudgetForm
}

// Keys is the list of an account's keys.
type Keys struct {
	Shell
	Keys []Key
}

// KeyNew is the form for a new key, on a page of its own or in the dialog.
type KeyNew struct {
	Shell
	Form KeyForm
}

// KeyCreated shows a new key's secret, this once. The list comes along so that the page behind the dialog is current.
type KeyCreated struct {
	Shell
	Fresh    FreshKey
	Call     Call
	Language string
	Keys     []Key
}

// KeyDelete asks before a key is deleted.
type KeyDelete struct {
	Shell
	Key       Key
	TypeName  bool // the key was used in the last 24 hours, so its name must be typed
	NameError string
}

// lastFour is the end of a masked key.
func lastFour(masked string) string {
	runes := []rune(masked)
	return "…" + string(runes[max(0, len(runes)-4):])
}
