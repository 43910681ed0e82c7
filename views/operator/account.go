package operator

import (
	"net/url"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// AccountDetail is all that operators see of one account.
type AccountDetail struct {
	views.Shell
	Account     Account
	Own         bool // the reader is a member of the account
	LimitFactor int
	PaidAt      *time.Time
	FrozenAt    *time.Time
	FrozenBy    string // empty when no operator froze it
	Credit      views.Credit
	Leased      app.Amount // credit leased by replicas
	Free        app.Amount // credit that could be taken back now
	Members     []Person
	Entries     []Entry
	Topups      []Topup // newest first
	History     []views.AuditEntry
}

// Person is a member of an account.
type Person struct {
	ID                             string
	Email, Name, Role              string
	Verified, SecondStep, Operator bool
	Self                           bool // the person is the reader
	SignedInAt                     *time.Time
}

// Entry is a movement of credit, and the operator who moved it.
type Entry struct {
	views.LedgerEntry

	By string
}

// actions returns the adjustments that make sense now.
func (v AccountDetail) actions() []operatorAction {
	if v.Account.Closed {
		return nil
	}
	list := []operatorAction{actionNamed(ActionAdd), actionNamed(ActionTake), actionNamed(ActionFreeze)}
	if v.Account.Frozen {
		list[2] = actionNamed(ActionUnfreeze)
	}
	if v.Account.Frozen && v.Account.Indebted { // a payment would unfreeze it, unless an operator freezes it
		forGood := actionNamed(ActionFreeze)
		forGood.title = "Freeze for good"
		list = append(list, forGood)
	}
	return list
}

// The things that operators do to an account.
const (
	ActionAdd      = "add"
	ActionTake     = "take"
	ActionFreeze   = "freeze"
	ActionUnfreeze = "unfreeze"
)

// operatorAction holds the texts of an adjustment.
type operatorAction struct {
	kind, title string
	icon        ui.IconName
	hint        string // hint of the reason field
}

var operatorActions = []operatorAction{
	{ActionAdd, "Add credit", ui.IconPlus, "Visible to account members in the ledger and the audit log."},
	{ActionTake, "Take credit back", ui.IconScissors, "Visible to account members in the ledger and the audit log."},
	{ActionFreeze, "Freeze", ui.IconPause, "Visible to account members on every console page and in the audit log."},
	{ActionUnfreeze, "Unfreeze", ui.IconPlay, "Visible to account members in the audit log."},
}

func actionNamed(kind string) operatorAction {
	for _, d := range operatorActions {
		if d.kind == kind {
			return d
		}
	}
	return operatorAction{kind: kind, title: kind}
}

// AccountAction is the form of something that an operator does to an account, and the question before it is done.
type AccountAction struct {
	views.Shell
	Account Account
	Kind    string
	Own     bool // the reader is a member of the account
	Free    app.Amount

	Amount, Reason           string // the text that the operator typed
	AmountError, ReasonError string

	Asks          bool       // the page asks for confirmation
	Value         app.Amount // the parsed amount
	Once          string     // idempotency name: the adjustment is made once
	PasswordError string
	FormError     string
}

func (d AccountAction) details() operatorAction { return actionNamed(d.Kind) }

func (d AccountAction) action() string { return d.Account.actionPath(d.Kind) }

// changePath leads from the question back to the form as it was.
func (d AccountAction) changePath() string {
	values := url.Values{"reason": {d.Reason}}
	if d.moves() {
		values.Set("amount", d.Amount)
	}
	return d.action() + "?" + values.Encode()
}

func (d AccountAction) moves() bool { return d.Kind == ActionAdd || d.Kind == ActionTake }

// title is the heading of the form, or the question.
func (d AccountAction) title() string {
	if !d.Asks {
		return d.details().title + ": " + d.Account.Name
	}
	switch d.Kind {
	case ActionAdd:
		return "Add " + format.Dollars(d.Value) + " to " + d.Account.Name + "?"
	case ActionTake:
		return "Take " + format.Dollars(d.Value) + " back from " + d.Account.Name + "?"
	}
	return d.details().title + " " + d.Account.Name + "?"
}

// verb is what the button says that does it.
func (d AccountAction) verb() string {
	switch d.Kind {
	case ActionAdd:
		return "Add " + format.Dollars(d.Value)
	case ActionTake:
		return "Take " + format.Dollars(d.Value) + " back"
	}
	return d.details().title
}

// after is the balance when it is done.
func (d AccountAction) after() app.Amount {
	if d.Kind == ActionTake {
		return d.Account.Balance - d.Value
	}
	return d.Account.Balance + d.Value
}

// stateAfter is the state of the account after the action.
func (d AccountAction) stateAfter() views.Badge {
	a := d.Account
	a.Frozen, a.Indebted = d.Kind == ActionFreeze, false
	return a.verdict()
}

// debt says what becomes of what the account owes, empty where it owes nothing.
func (d AccountAction) debt() string {
	if d.Account.Owed == 0 || d.Kind == ActionTake || d.Kind == ActionFreeze {
		return ""
	}
	return "It owes " + format.Dollars(d.Account.Owed) +
		". What is free of its credit pays that first, so its balance may be lower within moments."
}

// amountHint says what can be typed.
func (d AccountAction) amountHint() string {
	if d.Kind == ActionTake {
		return "Dollars. At most " + format.Dollars(d.Free) + " is free now: the rest is spent or reserved by what runs."
	}
	return "Dollars, such as 25 or 0.000001. It does not expire."
}

// effect describes what an adjustment does in addition to moving money.
func (d AccountAction) effect() string {
	switch d.Kind {
	case ActionFreeze:
		return "New calls are refused within a second, on every replica. What runs goes on to its end and is charged. Keys and data stay."
	case ActionUnfreeze:
		return "Its calls are taken again within a second, on every replica."
	}
	return ""
}
