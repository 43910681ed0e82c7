package keys

import (
	"slices"
	"strconv"

	"umg/views"
	"umg/views/codesample"
	"umg/views/ui"
)

const (
	nameMax = "80" // the longest name that the forms allow
)

// modeWords name the error modes in a table.
var modeWords = map[string]string{
	views.ModeStandard:   "SDK or agent tool",
	views.ModeDocumented: "Program of your own",
}

// modeNotes say what a mode means in a few words.
var modeNotes = map[string]string{
	views.ModeStandard:   "errors as HTTP statuses",
	views.ModeDocumented: "errors in the body",
}

// modeOptions explain the choice by its consequences.
var modeOptions = []ui.Option{
	{
		Value: views.ModeStandard, Label: "An official SDK or agent tool",
		Text: "Errors come with their HTTP status (400, 402, 429 …), which SDKs need to raise them and to retry.",
	},
	{
		Value: views.ModeDocumented, Label: "Documented statuses",
		Text: "Many chat errors are HTTP 200 with a code in the body. Your program must check that code.",
	},
}

const intro = "A key lets a program call any model on this account's credit. " +
	"Use a separate key per app so that you can rotate it independently."

// BudgetForm is the part of a form that is about a key's budget.
type BudgetForm struct {
	Limit       string // dollars as the user typed them
	LimitError  string
	Period      string
	PeriodError string
	Alerts      []string // hundredths of the budget at which alerts are sent
	AlertsError string
}

// alertOptions are the shares that a form offers, and other shares that the key already has.
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

// NewKey is the form for a new key, on a page of its own or in the dialog.
type NewKey struct {
	views.Shell
	Form Form
}

// Detail is the page of one key: its facts, its health, and the form that changes it.
type Detail struct {
	views.Shell
	Key  views.Key
	Form Form
	// Fixed says that the reader may look at the key but not change it: one that manages the account, for a developer.
	Fixed bool
}

// Created shows a new key's secret, this once. The list comes along so that the page behind the dialog is current.
type Created struct {
	views.Shell
	Fresh    views.FreshKey
	Call     codesample.Call
	Language string
	Keys     []views.Key
	Spend    map[string]views.KeySpend
}

// spendDecimals is how many decimals the spend of a key has in the list. The whole amount is its title.
const spendDecimals = 4

// Rotate asks how long the old secret of a key goes on working.
type Rotate struct {
	views.Shell
	Key          views.Key
	Overlap      string // seconds, as the form sends them
	OverlapError string
}

// Rotated shows the new secret of a key, this once.
type Rotated struct {
	views.Shell
	Fresh views.FreshKey
	Call  codesample.Call
}

// overlaps are those that the key may have: none once its secret was found in public.
func (k Rotate) overlaps() []ui.Option {
	if k.Key.Leaked != nil {
		return overlapOptions[:1]
	}
	return overlapOptions
}

// overlap is the one that is chosen already.
func (k Rotate) overlap() string {
	if k.Key.Leaked != nil {
		return overlapOptions[0].Value
	}
	return k.Overlap
}

// Question asks before something is done with a key.
type Question struct {
	views.Shell
	Key views.Key
}

// Delete asks before a key is deleted.
type Delete struct {
	views.Shell
	Key       views.Key
	TypeName  bool // the key was used in the last 24 hours, so the user must type its name
	NameError string
}
