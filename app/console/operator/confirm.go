package operator

import (
	"context"
	"errors"
	"net/http"

	"umg/app"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// confirmed runs an operator's change after their password, once for each form, and shows the form again with what was refused. The
// change reports the field of a refusal as the parameter of its error. Its result is what renders or redirects after the change.
func (c *Console) confirmed(p *page.Page, f operatorpages.ConfirmForm, change func() (after func() error, err error)) error {
	for _, field := range f.Fields {
		if field.Error != "" {
			return c.showConfirm(p, http.StatusUnprocessableEntity, f)
		}
	}
	err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	if err == nil {
		var after func() error
		if after, err = c.changeOnce(p, f, change); err == nil {
			return after()
		}
	}
	refusal, ok := errors.AsType[*app.Error](err)
	if !ok {
		return err
	}
	status := http.StatusUnprocessableEntity
	switch refusal.Kind {
	case app.NotFound, app.Internal:
		return err
	case app.Exhausted, app.Conflict, app.Unavailable:
		status = page.Status(refusal.Kind)
	}
	f.PlaceError(refusal.Param, refusal.Message)
	return c.showConfirm(p, status, f)
}

// changeOnce makes the change of a form that was not used before. A form whose change is refused can be sent again.
func (c *Console) changeOnce(
	p *page.Page, f operatorpages.ConfirmForm, change func() (after func() error, err error),
) (after func() error, err error) {
	id := c.formID(p)
	first, err := c.o.Actions.UseForm(p.Request().Context(), id, f.Action, p.User.Email)
	if err != nil {
		return nil, err
	}
	if !first {
		return func() error {
			return c.RedirectWithToast(p, ui.Info, "That was done already. Nothing was done a second time.", f.Back)
		}, nil
	}
	if after, err = change(); err != nil {
		err = errors.Join(err, c.o.Actions.ReleaseForm(context.WithoutCancel(p.Request().Context()), id))
	}
	return after, err
}

// formID is the id of the form that was sent, and a new one where none was.
func (c *Console) formID(p *page.Page) string {
	if id := p.FormValue("form_id"); actionForm.MatchString(id) {
		return id
	}
	return c.o.Actions.Once()
}

// showConfirm renders the form. The theme form returns to the page that it was opened on.
func (c *Console) showConfirm(p *page.Page, status int, f operatorpages.ConfirmForm) error {
	f.Shell = c.Shell(p)
	f.Path = f.Back
	f.ID = c.formID(p)
	return c.Render(p, status, operatorpages.ConfirmFormPage(f))
}
