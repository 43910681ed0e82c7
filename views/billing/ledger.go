package billing

import (
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const ledgerIntro = "Every movement of this account's credit, newest first. Nothing here is ever changed; a correction is another entry."

// Ledger is the list of movements of credit.
type Ledger struct {
	views.Shell
	Query   views.LedgerQuery
	Entries []views.LedgerEntry
	More    bool
}

func entryOptions() []ui.ChipOption {
	options := make([]ui.ChipOption, len(views.EntryKinds))
	for i, k := range views.EntryKinds {
		options[i] = ui.ChipOption{Value: k.Kind, Label: k.Label}
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
