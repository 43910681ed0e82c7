package operator

import (
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// HiddenField is a field of a form that is carried from one step to the next.
type HiddenField struct{ Name, Value string }

// CatalogConflict tells that another operator changed the catalog since a form was opened.
type CatalogConflict struct {
	// By is the person who made the change. It is empty for the gateway itself.
	By string
	At time.Time
	// Changes has the lines of the difference since the form was opened.
	Changes []string
	// Whole is set when the difference is not known, because the earlier catalog is not kept any more.
	Whole bool
}

// CatalogForm is what the forms have in common that change the catalog.
type CatalogForm struct {
	// Version is the version of the catalog that the form was opened at.
	Version int64
	// Problem says why the form was not accepted. It is shown above all fields.
	Problem  string
	Conflict *CatalogConflict
	// Errors has sentences by the name of the field that they are about.
	Errors map[string]string
}

// Error is the sentence about a field; empty without one.
func (f CatalogForm) Error(field string) string { return f.Errors[field] }

// version is the field that carries the version.
func (f CatalogForm) version() string { return format.Int64(f.Version) }

// CatalogConfirm asks before the catalog is changed, with everything that will follow.
type CatalogConfirm struct {
	views.Shell
	CatalogForm
	Title, Text string
	// Verb is the text of the button.
	Verb string
	// Action is the address of the form.
	Action string
	// Back is the address of the page that the reader came from.
	Back     string
	BackText string
	Fields   []HiddenField
	// Changes has the lines of the difference.
	Changes []string
	// Customers has a sentence for each thing that customers will see.
	Customers []string
	// Effects has a sentence for each other thing that follows.
	Effects []string
	// BelowCost lists the prices below cost, which the reader must allow.
	BelowCost []string
	// Allowed is set when the reader allows prices below cost.
	Allowed     bool
	Destructive bool
	// CanChange is set when the reader can change the form before it is sent.
	CanChange bool
}

func (c CatalogConfirm) variant() ui.Variant {
	if c.Destructive {
		return ui.Destructive
	}
	return ui.Primary
}

// who is the author of the other change.
func (c CatalogConflict) who() string {
	if c.By == "" {
		return "the gateway itself"
	}
	return c.By
}
