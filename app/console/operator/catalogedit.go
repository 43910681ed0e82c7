package operator

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// These are the steps of a form that changes the catalog: it is filled in, its effects are shown, and the change is made.
const (
	stepAsk = "ask"
	stepDo  = "do"
	// stepChange leads back from the question to the form.
	stepChange = "change"
)

// codeChanged is the error code of catalog.Edit when another version is in force.
const codeChanged = "catalog_changed"

// edit is one change that an operator makes to the catalog. The form carries the version that it was opened at, and the question before
// the change shows what follows from it.
type edit struct {
	// ask is the question: its title, its address and the words of its button.
	ask operatorpages.CatalogConfirm
	// note says in the history what was done.
	note string
	// change returns the file after the change. An app.Error names the field of the form as its parameter.
	change func(catalog.File) (catalog.File, error)
	// form shows the form with what was entered and what is wrong with it. It is nil where the question is all there is.
	form func(status int, f operatorpages.CatalogForm) error
	// about is the object of the catalog that the form is about, and field the field of the form for a path in it, or an empty text.
	about subject
	field func(path string) string
	// effects are what else follows, in sentences; it may be nil.
	effects func(old, next catalog.File) []string
	// said is the sentence about the change that was made, and to the page that it leads to.
	said, to string
}

// subject is a provider or a model of the catalog.
type subject struct{ kind, id string }

// runEdit answers a form that changes the catalog.
func (c *Console) runEdit(p *page.Page, e *edit) error {
	ctx := p.Request().Context()
	old, inForce, err := catalog.ExportVersion(ctx, c.o.DB)
	if err != nil {
		return err
	}
	opened, _ := strconv.ParseInt(p.FormValue("version"), 10, 64)
	f := operatorpages.CatalogForm{Version: inForce, Errors: map[string]string{}}
	if p.FormValue("step") == stepChange && e.form != nil {
		f.Version = opened
		return e.form(http.StatusOK, f)
	}
	if opened != inForce && opened != 0 {
		if f.Conflict, err = c.conflictSince(ctx, opened); err != nil {
			return err
		}
		if e.form != nil {
			return e.form(http.StatusConflict, f)
		}
	}
	next, err := e.change(old)
	if err != nil {
		return c.refuseEdit(p, e, f, err)
	}
	changes, err := change.Preview(old, next)
	if err != nil {
		return c.refuseEdit(p, e, f, app.Errorf(app.Invalid, "invalid_catalog", "%s", err))
	}
	if len(changes.Problems) > 0 {
		e.placeProblems(&f, next, changes.Problems)
		return c.showEdit(p, e, http.StatusUnprocessableEntity, f)
	}
	if len(changes.Diff) == 0 {
		return c.RedirectWithToast(p, ui.Info, "Nothing changed.", e.to)
	}
	c.completeQuestion(p, e, old, next, changes)
	switch {
	case f.Conflict != nil:
		return c.showQuestion(p, e, http.StatusConflict, f)
	case p.FormValue("step") != stepDo:
		return c.showQuestion(p, e, http.StatusOK, f)
	}
	return c.makeEdit(p, e, f)
}

// makeEdit makes the change, once prices below cost are allowed and the operator has proved who they are.
func (c *Console) makeEdit(p *page.Page, e *edit, f operatorpages.CatalogForm) error {
	if len(e.ask.BelowCost) > 0 && !e.ask.Allowed {
		f.Errors["below_cost"] = "Allow prices below cost, or go back and change them."
	}
	err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	switch refusal := app.AsError(err); {
	case err == nil:
	case refusal.Param == "current_password":
		f.Errors["current_password"] = refusal.Message
	case refusal.Kind == app.Exhausted:
		f.Problem = refusal.Message
		return c.showQuestion(p, e, http.StatusTooManyRequests, f)
	default:
		return err
	}
	if len(f.Errors) > 0 {
		return c.showQuestion(p, e, http.StatusUnprocessableEntity, f)
	}
	by := catalog.HistoryAction{By: p.User.Email, Note: e.note, BelowCost: true}
	_, err = catalog.Edit(p.Request().Context(), c.o.DB, by, f.Version, e.change)
	if err != nil && app.KindOf(err) == app.Conflict && app.AsError(err).Code == codeChanged {
		return c.runEdit(p, e) // It finds the other version now.
	}
	if err != nil {
		return c.refuseEdit(p, e, f, err)
	}
	return c.Done(p, nil, e.said, e.to)
}

// completeQuestion fills in what the question shows.
func (c *Console) completeQuestion(p *page.Page, e *edit, old, next catalog.File, changes change.Changes) {
	e.ask.Changes = changes.Diff
	before := catalog.BelowCost(old)
	e.ask.BelowCost = slices.DeleteFunc(changes.BelowCost, func(line string) bool { return slices.Contains(before, line) })
	e.ask.Allowed = p.FormValue("below_cost") == "true"
	e.ask.Customers = customerLines(changes)
	if e.effects != nil {
		e.ask.Effects = e.effects(old, next)
	}
	e.ask.CanChange, e.ask.Fields = e.form != nil, nil
	for _, name := range slices.Sorted(maps.Keys(p.Request().PostForm)) {
		switch name {
		case "version", "step", "current_password", "below_cost":
			continue
		}
		for _, value := range p.Request().PostForm[name] {
			e.ask.Fields = append(e.ask.Fields, operatorpages.HiddenField{Name: name, Value: value})
		}
	}
}

// customerLines are what customers will see, in sentences.
func customerLines(changes change.Changes) (lines []string) {
	for _, m := range changes.New {
		line := m.Name + " (" + m.ID + ") is new"
		if len(m.Accounts) > 0 {
			line += " for " + strconv.Itoa(len(m.Accounts)) + " accounts"
		}
		lines = append(lines, line+": "+strings.Join(m.Prices, "; "))
	}
	for _, id := range changes.Gone {
		lines = append(lines, id+" is gone: calls of it fail.")
	}
	for _, price := range changes.Prices {
		line := price.Model + ": " + price.Text
		if price.From != "" {
			line += ", from " + price.From
		}
		lines = append(lines, line)
	}
	return lines
}

// showEdit shows the form again, or the question where there is no form.
func (c *Console) showEdit(p *page.Page, e *edit, status int, f operatorpages.CatalogForm) error {
	if e.form != nil {
		return e.form(status, f)
	}
	return c.showQuestion(p, e, status, f)
}

func (c *Console) showQuestion(p *page.Page, e *edit, status int, f operatorpages.CatalogForm) error {
	e.ask.Shell, e.ask.CatalogForm = c.Shell(p), f
	// The theme form returns to this path.
	e.ask.Path = e.ask.Back
	return c.Render(p, status, operatorpages.CatalogConfirmPage(e.ask))
}

// conflictSince is the latest change of the catalog, and everything that is different since a version.
func (c *Console) conflictSince(ctx context.Context, opened int64) (*operatorpages.CatalogConflict, error) {
	found := &operatorpages.CatalogConflict{}
	latest, err := c.o.Catalog.History(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if len(latest) > 0 {
		found.By, found.At = latest[0].By, latest[0].At
	}
	found.Changes, err = c.o.Catalog.Since(ctx, opened)
	if kind := app.KindOf(err); err != nil && (kind == app.NotFound || kind == app.Conflict) {
		found.Whole, err = true, nil
	}
	return found, err
}

// refuseEdit shows the form again with the error of a change, or returns the error if it is none of the form.
func (c *Console) refuseEdit(p *page.Page, e *edit, f operatorpages.CatalogForm, err error) error {
	refusal, isRefusal := errors.AsType[*app.Error](err)
	if !isRefusal || refusal.Kind == app.NotFound {
		return err
	}
	status := http.StatusUnprocessableEntity
	if refusal.Kind == app.Conflict {
		status = http.StatusConflict
	}
	if refusal.Param != "" && e.form != nil {
		f.Errors[refusal.Param] = refusal.Message
	} else {
		f.Problem = refusal.Message
	}
	if wrong, ok := errors.AsType[*fieldsError](err); ok {
		maps.Copy(f.Errors, wrong.fields)
	}
	return c.showEdit(p, e, status, f)
}

// placeProblems puts the problems of a file beside the fields that they are about, and the others above the form.
func (e *edit) placeProblems(f *operatorpages.CatalogForm, next catalog.File, problems []catalog.FileError) {
	prefix := e.about.prefix(next)
	var others []string
	for _, problem := range problems {
		path, isOwn := strings.CutPrefix(problem.Path, prefix)
		name := ""
		if isOwn && e.field != nil && e.form != nil {
			name = e.field(path)
		}
		switch {
		case name != "" && f.Errors[name] == "":
			f.Errors[name] = path + ": " + problem.Text + "."
		case name == "":
			others = append(others, cmp.Or(path, problem.Path)+": "+problem.Text+".")
		}
	}
	const shown = 5
	if len(others) > shown {
		others = append(others[:shown], "And more.")
	}
	f.Problem = strings.Join(others, " ")
}

// prefix is how the paths of problems begin that are about the object.
func (s subject) prefix(f catalog.File) string {
	switch s.kind {
	case "model":
		for i := range f.Models {
			if f.Models[i].ID == s.id {
				return "models[" + strconv.Itoa(i) + "]."
			}
		}
	case "provider":
		for i := range f.Providers {
			if f.Providers[i].ID == s.id {
				return "providers[" + strconv.Itoa(i) + "]."
			}
		}
	}
	// No path begins like this.
	return "\x00"
}

// fieldsError are the fields of a form that were not understood.
type fieldsError struct {
	fields map[string]string
}

// Error lists the fields.
func (e *fieldsError) Error() string {
	return "wrong fields: " + strings.Join(slices.Sorted(maps.Keys(e.fields)), ", ")
}

// fieldReader reads the fields of a form and collects what is wrong with them.
type fieldReader struct {
	p      *page.Page
	errors map[string]string
}

func newFieldReader(p *page.Page) *fieldReader {
	return &fieldReader{p: p, errors: map[string]string{}}
}

// text is a field without the spaces around it.
func (r *fieldReader) text(name string) string { return strings.TrimSpace(r.p.FormValue(name)) }

// number reads a whole number; an empty field is zero. The error stands at the field called at.
func (r *fieldReader) number(name, at string) int64 {
	text := strings.ReplaceAll(r.text(name), ",", "")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		r.errors[at] = "Enter a whole number."
		return 0
	}
	return n
}

// lines are the lines of a field that are not empty.
func (r *fieldReader) lines(name string) (list []string) {
	for line := range strings.Lines(r.p.FormValue(name)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// err is the error with everything that is wrong; nil for a right form.
func (r *fieldReader) err() error {
	if len(r.errors) == 0 {
		return nil
	}
	return app.Errorf(app.Invalid, "invalid_form", "Correct the marked fields.").Because(&fieldsError{r.errors})
}
