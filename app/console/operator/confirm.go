package operator

import (
	"errors"
	"net/http"

	"umg/app"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
)

// confirmed runs an operator's change after their password, and shows the form again with what was refused. The change reports the
// field of a refusal as the parameter of its error. Its result is what renders or redirects after the change.
func (c *Console) confirmed(p *page.Page, f operatorpages.ConfirmForm, change func() (after func() error, err error)) error {
	for _, field := range f.Fields {
		if field.Error != "" {
			return c.showConfirm(p, http.StatusUnprocessableEntity, f)
		}
	}
	err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	if err == nil {
		var after func() error
		if after, err = change(); err == nil {
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

// showConfirm renders the form. The theme form returns to the page that it was opened on.
func (c *Console) showConfirm(p *page.Page, status int, f operatorpages.ConfirmForm) error {
	f.Shell = c.Shell(p)
	f.Path = f.Back
	return c.Render(p, status, operatorpages.ConfirmFormPage(f))
}
