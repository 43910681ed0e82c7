package console

import (
	"net/http"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const accountSettingsPath = settingsPath + "/account"

// accountSettingsRoutes are the pages of the settings of an account.
func (c *Console) accountSettingsRoutes() []page.Route {
	const base = "/settings/account"
	return []page.Route{
		{Method: http.MethodGet, Path: base, Serve: c.accountSettings},
		{Method: http.MethodPost, Path: base, Right: app.ManageAccount, Serve: c.renameAccount},
		{Method: http.MethodGet, Path: base + "/export", Right: app.ManageAccount, Serve: c.exportAccount},
		{Method: http.MethodGet, Path: base + "/delete", Right: app.OwnAccount, Serve: c.askDeleteAccount},
		{Method: http.MethodPost, Path: base + "/delete", Right: app.OwnAccount, Serve: c.deleteAccount},
	}
}

func (c *Console) viewAccount(p *page.Page) (settingpages.AccountSettings, error) {
	a, err := c.o.Accounts.Account(p.Request().Context(), p.Principal())
	if err != nil {
		return settingpages.AccountSettings{}, err
	}
	owner := p.User.Role == app.RoleOwner
	kept, err := c.contentSettings(p)
	return settingpages.AccountSettings{
		Shell: c.Shell(p), ID: a.ID, Name: a.Name, CreatedAt: a.CreatedAt, Members: a.Members, Owner: owner,
		MayRename: p.User.Role.Rights().Has(app.ManageAccount), OnlyOwner: owner && a.Owners == 1, Content: kept,
	}, err
}

func (c *Console) accountSettings(p *page.Page) error {
	v, err := c.viewAccount(p)
	return page.Show(c.Renderer, p, http.StatusOK, settingpages.AccountPage, v, err)
}

func (c *Console) renameAccount(p *page.Page) error {
	name := p.FormValue("name")
	err := c.o.Accounts.RenameAccount(p.Request().Context(), p.Principal(), name)
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Invalid {
		v, err := c.viewAccount(p)
		if err != nil {
			return err
		}
		v.Name, v.NameError = name, refusal.Message
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.AccountPage(v))
	}
	return c.Done(p, err, "The account has a new name.", accountSettingsPath)
}

// exportPieceMax is how long the reader may take to receive one piece of an export.
const exportPieceMax = 30 * time.Second

// exportAccount streams everything the account has.
func (c *Console) exportAccount(p *page.Page) error {
	e, err := c.o.Accounts.Export(p.Request().Context(), p.Principal())
	if err != nil {
		return err
	}
	if err := c.SaveSession(p); err != nil {
		return err
	}
	h := p.Response().Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+e.Name+`"`)
	p.Response().WriteHeader(http.StatusOK)
	return e.WriteTo(p.Request().Context(), &deadlineWriter{p.Response(), c.o.Now})
}

// deadlineWriter sets a new write deadline before each piece of a long answer.
type deadlineWriter struct {
	to  http.ResponseWriter
	now app.Clock
}

// Write passes a piece on.
func (w *deadlineWriter) Write(b []byte) (int, error) {
	// Some writers support no deadline, so the error is ignored.
	_ = http.NewResponseController(w.to).SetWriteDeadline(w.now().Add(exportPieceMax))
	return w.to.Write(b)
}

func (c *Console) viewDelete(p *page.Page) settingpages.AccountDelete {
	b := c.Balance(p)
	return settingpages.AccountDelete{Shell: c.Shell(p), Name: p.User.Account, Credit: b.Available, CreditKnown: b.Known}
}

func (c *Console) askDeleteAccount(p *page.Page) error {
	return c.Render(p, http.StatusOK, settingpages.AccountDeletePage(c.viewDelete(p)))
}

func (c *Console) deleteAccount(p *page.Page) error {
	err := c.o.Accounts.CloseAccount(p.Request().Context(), p.Principal(), account.CloseRequest{
		Password: p.FormValue("password"), Name: p.FormValue("name"),
	})
	if err == nil {
		delete(p.Session.Values, page.AccountValue)
		return c.RedirectWithToast(p, ui.Success, "The account was deleted.", page.ConsolePath)
	}
	v, refusal := c.viewDelete(p), app.AsError(err)
	switch {
	case refusal.Param == "current_password":
		v.PasswordError = refusal.Message
	case refusal.Param == "name":
		v.NameError = refusal.Message
	case refusal.Kind == app.Invalid || refusal.Kind == app.Unauthenticated || refusal.Kind == app.Conflict || refusal.Kind == app.Exhausted:
		v.FormError = refusal.Message
	default:
		return err
	}
	return c.Render(p, http.StatusUnprocessableEntity, settingpages.AccountDeletePage(v))
}
