package views

import (
	"net/url"
	"time"

	"umg/app"
	"umg/views/ui"
)

// OperatorAccountView is all that operators see of one account.
type OperatorAccountView struct {
	Shell
	Account     OperatorAccount
	Own         bool // the reader is a member of the account
	LimitFactor int
	PaidAt      *time.Time
	FrozenAt    *time.Time
	FrozenBy    string // empty when no operator froze it
	Credit      Credit
	Leased      app.Amount // credit leased by replicas
	Free        app.Amount // credit that could be taken back now
	Members     []OperatorPerson
	Entries     []OperatorEntry
	History     []AuditEntry
}

// OperatorPerson is a member of an account.
type OperatorPerson struct {
	Email, Name, Role              string
	Verified, SecondStep, Operator bool
	Self                           bool // the person is the reader
	SignedInAt                     *time.Time
}

// OperatorEntry is a movement of credit, and the operator who moved it.
type OperatorEntry struct {
	LedgerEntry

	By string
}

// deeds returns the adjustments that make sense now.
func (v OperatorAccountView) deeds() []operatorDeed {
	if v.Account.Closed {
		return nil
	}
	list := []operatorDeed{deedNamed(DeedAdd), deedNamed(DeedTake), deedNamed(DeedFreeze)}
	if v.Account.Frozen {
		list[2] = deedNamed(DeedUnfreeze)
	}
	if v.Account.Frozen && v.Account.Indebted { // a payment would unfreeze it, unless an operator freezes it
		forGood := deedNamed(DeedFreeze)
		forGood.title = "Freeze for good"
		list = append(list, forGood)
	}
	return list
}

// The things that operators do to an account.
const (
	DeedAdd      = "add"
	DeedTake     = "take"
	DeedFreeze   = "freeze"
	DeedUnfreeze = "unfreeze"
)

// operatorDeed holds the texts of an adjustment.
type operatorDeed struct {
	kind, title string
	icon        ui.IconName
	hint        string // hint of the reason field
}

var operatorDeeds = []operatorDeed{
	{DeedAdd, "Add credit", ui.IconPlus, "The people of the account read it in their ledger and their audit log."},
	{DeedTake, "Take credit back", ui.IconScissors, "The people of the account read it in their ledger and their audit log."},
	{DeedFreeze, "Freeze", ui.IconPause, "The people of the account read it on every page of the console, and in their audit log."},
	{DeedUnfreeze, "Unfreeze", ui.IconPlay, "The people of the account read it in their audit log."},
}

func deedNamed(kind string) operatorDeed {
	for _, d := range operatorDeeds {
		if d.kind == kind {
			return d
		}
	}
	return operatorDeed{kind: kind, title: kind}
}

// OperatorDeed is the form of something that an operator does to an account, and the question before it is done.
type OperatorDeed struct {
	Shell
	Account OperatorAccount
	Kind    string
	Own     bool // the reader is a member of the account
	Free    app.Amount

	Amount, Reason           string // as the operator typed them
	AmountError, ReasonError string

	Asks          bool       // the page asks for confirmation
	Value         app.Amount // the parsed amount
	Once          string     // idempotency name: the adjustment is made once
	PasswordError string
	FormError     string
}

func (d OperatorDeed) deed() operatorDeed { return deedNamed(d.Kind) }

func (d OperatorDeed) action() string { return d.Account.deedPath(d.Kind) }

// changePath leads from the question back to the form as it was.
func (d OperatorDeed) changePath() string {
	values := url.Values{"reason": {d.Reason}}
	if d.moves() {
		values.Set("amount", d.Amount)
	}
	return d.action() + "?" + values.Encode()
}

func (d OperatorDeed) moves() bool { return d.Kind == DeedAdd || d.Kind == DeedTake }

// title is the heading of the form, or the question.
func (d OperatorDeed) title() string {
	if !d.Asks {
		return d.deed().title + ": " + d.Account.Name
	}
	switch d.Kind {
	case DeedAdd:
		return "Add " + Dollars(d.Value) + " to " + d.Account.Name + "?"
	case DeedTake:
		return "Take " + Dollars(d.Value) + " back from " + d.Account.Name + "?"
	}
	return d.deed().title + " " + d.Account.Name + "?"
}

// verb is what the button says that does it.
func (d OperatorDeed) verb() string {
	switch d.Kind {
	case DeedAdd:
		return "Add " + Dollars(d.Value)
	case DeedTake:
		return "Take " + Dollars(d.Value) + " back"
	}
	return d.deed().title
}

// after is the balance when it is done.
func (d OperatorDeed) after() app.Amount {
	if d.Kind == DeedTake {
		return d.Account.Balance - d.Value
	}
	return d.Account.Balance + d.Value
}

// stateAfter is what the account is in when it is done.
func (d OperatorDeed) stateAfter() verdict {
	a := d.Account
	a.Frozen, a.Indebted = d.Kind == DeedFreeze, false
	return a.verdict()
}

// debt says what becomes of what the account owes, empty where it owes nothing.
func (d OperatorDeed) debt() string {
	if d.Account.Owed == 0 || d.Kind == DeedTake || d.Kind == DeedFreeze {
		return ""
	}
	return "It owes " + Dollars(d.Account.Owed) + ". What is free of its credit pays that first, so its balance may be lower within moments."
}

// amountHint says what can be typed.
func (d OperatorDeed) amountHint() string {
	if d.Kind == DeedTake {
		return "Dollars. At most " + Dollars(d.Free) + " is free now: the rest is spent or reserved by what runs."
	}
	return "Dollars, such as 25 or 0.000001. It does not expire."
}

// effect describes what an adjustment does besides moving money.
func (d OperatorDeed) effect() string {
	switch d.Kind {
	case DeedFreeze:
		return "New calls are refused within a second, on every replica. What runs goes on to its end and is charged. Keys and data stay."
	case DeedUnfreeze:
		return "Its calls are taken again within a second, on every replica."
	}
	return ""
}
