package views

import (
	"umg/views/format"
	"umg/views/ui"
)

const ledgerIntro = "Every movement of this account's credit, newest first. Nothing here is ever changed; a correction is another entry."

// Ledger is the list of movements of credit.
type Ledger struct {
	Shell
	Query   LedgerQuery
	Entries []LedgerEntry
	More    bool
}

func entryOptions() []ui.ChipOption {
	options := make([]ui.ChipOption, len(entryKinds))
	for i, k := range entryKinds {
		options[i] = ui.ChipOption{Value: k.kind, Label: k.label}
	}
	return options
}

// shown says how many there are on the page.
func (l Ledger) shown() string {
	text := format.CountOf(int64(len(l.Entries)), "entry", "entries")
	if l.More || l.Query.Before > 0 {
		text += " on this page"
	}
	return text
}
