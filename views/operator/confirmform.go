package operator

import (
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	"umg/views/ui"
)

// The kinds of what operators do to an account and its people beside moving credit.
const (
	ActionLimits     = "limits"
	ActionRefund     = "refund"
	ActionReset      = "reset-link"
	ActionDisableMFA = "disable-mfa"
	ActionOperator   = "operator"
)

// ConfirmForm asks before an operator's change, says in a sentence what it does, and takes the password again.
type ConfirmForm struct {
	views.Shell
	Title string
	Text  string // Text says in a sentence what will happen.
	// Back is the page that the form was opened on, and BackTitle its name.
	Back, BackTitle string
	Action          string // Action is the path that the form is sent to.
	Facts           []ConfirmFact
	Hidden          []HiddenField
	Fields          []ConfirmField
	Buttons         []ConfirmButton
	Own             bool // The reader is a member of the account.
	PasswordError   string
	FormError       string
}

// ConfirmFact is a line of what the form is about.
type ConfirmFact struct{ Name, Value string }

// ConfirmField is a field of the form.
type ConfirmField struct {
	Name, Label, Value, Hint, Error string
	Long                            bool // Long fields have several lines.
	Optional                        bool
	CharsMax                        int
	InputMode                       string
}

// ConfirmButton sends the form. Value tells the buttons of one form apart.
type ConfirmButton struct {
	Value, Text string
	Icon        ui.IconName
	Variant     ui.Variant
}

// PlaceError puts a refusal beside its field, and above the form when the field is none of it.
func (f *ConfirmForm) PlaceError(field, problem string) {
	if field == "current_password" {
		f.PasswordError = problem
		return
	}
	for i := range f.Fields {
		if f.Fields[i].Name == field {
			f.Fields[i].Error = problem
			return
		}
	}
	f.FormError = problem
}

// autofocus reports whether a field gets the focus: the first one with an error, or the first one of a new form.
func (f ConfirmForm) autofocus(i int) bool {
	for j, field := range f.Fields {
		if field.Error != "" {
			return i == j
		}
	}
	return i == 0 && f.PasswordError == ""
}

func (f ConfirmField) id() string { return "confirm-" + f.Name }

func (f ConfirmField) attrs() templ.Attributes {
	a := templ.Attributes{"maxlength": strconv.Itoa(f.CharsMax)}
	if f.InputMode != "" {
		a["inputmode"] = f.InputMode
	}
	if !f.Optional {
		a["required"] = true
	}
	return a
}

// ResetLink is a link to set a new password, which is shown once.
type ResetLink struct {
	views.Shell
	Email string
	URL   string
	Back  string
}

// Topup is a purchase of credit as operators see it.
type Topup struct {
	ID        string
	Amount    app.Amount
	Refunded  app.Amount
	State     views.Badge
	Auto      bool
	CreatedAt time.Time
	// Refundable top-ups can be given back to their card.
	Refundable bool
}

func (v AccountDetail) refundPath(t Topup) string {
	return v.Account.actionPath(ActionRefund) + "?" + url.Values{"topup": {t.ID}}.Encode()
}

func (v AccountDetail) personPath(p Person, kind string) string {
	return v.Account.path() + "/people/" + url.PathEscape(p.ID) + "/" + kind
}

// personActions are what operators can do for a member of an account.
type personAction struct{ kind, text string }

func (p Person) actions() []personAction {
	list := []personAction{{ActionReset, "Reset link"}}
	if p.SecondStep {
		list = append(list, personAction{ActionDisableMFA, "Disable codes"})
	}
	if !p.Operator {
		list = append(list, personAction{ActionOperator, "Make operator"})
	}
	return list
}
