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
	By      string // empty for the gateway itself
	At      time.Time
	Changes []string // lines of the difference since the form was opened
	Whole   bool     // the difference is not known, because the earlier catalog is not kept any more
}

// CatalogForm is what the forms have in common that change the catalog.
type CatalogForm struct {
	Version  int64  // version of the catalog that the form was opened at
	Problem  string // why the form was not accepted, above all fields
	Conflict *CatalogConflict
	Errors   map[string]string // sentences by the name of the field that they are about
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
	Verb        string // the words of the button
	Action      string // address of the form
	Back        string // address of the page that the reader came from
	BackText    string
	Fields      []HiddenField
	Changes     []string // lines of the difference
	Customers   []string // what customers will see, a sentence each
	Effects     []string // what else follows, a sentence each
	BelowCost   []string // prices below cost, which must be allowed
	Allowed     bool     // the reader allows prices below cost
	Destructive bool
	CanChange   bool // the form can be changed before it is sent
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
