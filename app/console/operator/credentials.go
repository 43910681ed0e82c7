package operator

import (
	"context"
	"net/http"
	"slices"

	"umg/app"
	"umg/app/console/page"
	"umg/app/provider/credentialstore"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const credentialsPath = rootPath + "/credentials"

// credentialRoutes are the pages about sealed credentials.
func (c *Console) credentialRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.Credentials == nil}
	return []page.Route{
		a.Get("/operator/credentials", c.credentials), a.Post("/operator/credentials", c.setCredential),
		a.Get("/operator/credentials/new", c.newCredential),
		a.Get("/operator/credentials/:name/delete", c.askDeleteCredential), a.Post("/operator/credentials/:name/delete", c.deleteCredential),
	}
}

// credentials lists the sealed credentials without their values.
func (c *Console) credentials(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	v := operatorpages.Credentials{Shell: c.Shell(p)}
	list, err := c.o.Credentials.List(ctx)
	var history []credentialstore.Event
	if err == nil {
		history, err = c.o.Credentials.History(ctx, eventsShown)
	}
	if v.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	for i := range list {
		v.List = append(v.List, viewCredential(&list[i]))
	}
	for _, e := range history {
		v.Events = append(v.Events, operatorpages.CredentialEvent{
			Deleted: e.Action == credentialstore.ActionDeleted, Name: e.Name, LastFour: e.LastFour, By: e.By, At: e.At,
		})
	}
	return c.Render(p, http.StatusOK, operatorpages.CredentialsPage(v))
}

func viewCredential(one *credentialstore.Credential) operatorpages.Credential {
	return operatorpages.Credential{
		Name: one.Name, LastFour: one.LastFour, KeyID: one.KeyID, Unreadable: !one.IsReadable, ChangedBy: one.ChangedBy,
		ChangedAt: one.ChangedAt, Providers: one.Providers,
	}
}

// newCredential shows the form for a credential.
func (c *Console) newCredential(p *page.Page) error {
	return c.renderCredential(p, http.StatusOK, operatorpages.CredentialForm{Name: p.QueryParam("name"), Replaces: p.QueryParam("name") != ""})
}

func (c *Console) renderCredential(p *page.Page, status int, f operatorpages.CredentialForm) error {
	f.Shell = c.Shell(p)
	// The theme form returns to this path.
	f.Path = credentialsPath + "/new"
	return c.Render(p, status, operatorpages.CredentialFormPage(f))
}

// setCredential stores a credential, or shows the form again, without the credential, with what is invalid.
func (c *Console) setCredential(p *page.Page) error {
	f := operatorpages.CredentialForm{Name: p.FormValue("name")}
	err := c.o.Credentials.Set(p.Request().Context(), f.Name, p.FormValue("value"), p.User.Email)
	if refusal, ok := page.Refusal(err); ok {
		page.PlaceRefusal(refusal, &f.Problem, map[string]*string{"name": &f.NameError, "value": &f.ValueError})
		return c.renderCredential(p, http.StatusUnprocessableEntity, f)
	}
	return c.Done(p, err, "Stored "+f.Name+". All servers use it within a second.", credentialsPath)
}

// findCredential returns a credential by the name in the path.
func (c *Console) findCredential(p *page.Page) (operatorpages.Credential, error) {
	list, err := c.o.Credentials.List(p.Request().Context())
	if err != nil {
		return operatorpages.Credential{}, err
	}
	i := slices.IndexFunc(list, func(one credentialstore.Credential) bool { return one.Name == p.Param("name") })
	if i < 0 {
		return operatorpages.Credential{}, page.ErrNotFound()
	}
	return viewCredential(&list[i]), nil
}

// askDeleteCredential asks before a credential is deleted.
func (c *Console) askDeleteCredential(p *page.Page) error {
	return c.renderDeletion(p, http.StatusOK, "")
}

func (c *Console) renderDeletion(p *page.Page, status int, problem string) error {
	one, err := c.findCredential(p)
	if err != nil {
		return err
	}
	d := operatorpages.CredentialDelete{Shell: c.Shell(p), Credential: one, Problem: problem}
	return c.Render(p, status, operatorpages.CredentialDeletePage(d))
}

// deleteCredential deletes a credential. Deleting it a second time changes nothing.
func (c *Console) deleteCredential(p *page.Page) error {
	name := p.Param("name")
	err := c.o.Credentials.Delete(p.Request().Context(), name, p.User.Email)
	switch {
	case err != nil && app.KindOf(err) == app.NotFound: // Another operator has already deleted the credential.
		return c.RedirectWithToast(p, ui.Info, app.AsError(err).Message, credentialsPath)
	case err != nil && app.KindOf(err) == app.Conflict:
		return c.renderDeletion(p, http.StatusConflict, app.AsError(err).Message)
	}
	return c.Done(p, err, "Deleted "+name+".", credentialsPath)
}
