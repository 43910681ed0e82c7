package console

import (
	"net/http"
	"time"

	"umg/app"
	"umg/app/account"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const accountSettingsPath = settingsPath + "/account"

// accountSettingsRoutes are about the account itself.
func accountSettingsRoutes() []Route {
	const base = "/settings/account"
	return []Route{
		{Method: http.MethodGet, Path: base, serve: (*Console).accountSettings},
		{Method: http.MethodPost, Path: base, Right: app.ManageAccount, serve: (*Console).renameAccount},
		{Method: http.MethodGet, Path: base + "/export", Right: app.ManageAccount, serve: (*Console).exportAccount},
		{Method: http.MethodGet, Path: base + "/delete", Right: app.OwnAccount, serve: (*Console).askDeleteAccount},
		{Method: http.MethodPost, Path: base + "/delete", Right: app.OwnAccount, serve: (*Console).deleteAccount},
	}
}

func (c *Console) viewAccount(p *page) (settingpages.AccountSettings, error) {
	a, err := c.o.Accounts.Account(p.Request().Context(), p.principal())
	if err != nil {
		return settingpages.AccountSettings{}, err
	}
	owner := p.user.Role == account.Owner
	kept, err := c.contentSettings(p)
	return settingpages.AccountSettings{
		Shell: c.shell(p), ID: a.ID, Name: a.Name, CreatedAt: a.CreatedAt, Members: a.Members, Owner: owner,
		MayRename: p.user.Role.Rights().Has(app.ManageAccount), OnlyOwner: owner && a.Owners == 1, Content: kept,
	}, err
}

func (c *Console) accountSettings(p *page) error {
	v, err := c.viewAccount(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, settingpages.AccountPage(v))
}

func (c *Console) renameAccount(p *page) error {
	name := p.FormValue("name")
	err := c.o.Accounts.RenameAccount(p.Request().Context(), p.principal(), name)
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Invalid {
		v, err := c.viewAccount(p)
		if err != nil {
			return err
		}
		v.Name, v.NameError = name, refusal.Message
		return c.render(p, http.StatusUnprocessableEntity, settingpages.AccountPage(v))
	}
	if err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, "The account has a new name.", accountSettingsPath)
}

// exportPieceMax is how long a reader may take over one piece of an export.
const exportPieceMax = 30 * time.Second

// exportAccount streams everything the account has.
func (c *Console) exportAccount(p *page) error {
	e, err := c.o.Accounts.Export(p.Request().Context(), p.principal())
	if err != nil {
		return err
	}
	if err := c.o.Sessions.Save(p.Request(), p.Response(), p.session); err != nil {
		return err
	}
	h := p.Response().Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+e.Name+`"`)
	p.Response().WriteHeader(http.StatusOK)
	return e.WriteTo(p.Request().Context(), &deadlineWriter{p.Response(), c.o.Now})
}

// deadlineWriter gives each piece of a long answer time of its own.
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

func (c *Console) viewDelete(p *page) settingpages.AccountDelete {
	b := c.balanceOf(p)
	return settingpages.AccountDelete{Shell: c.shell(p), Name: p.user.Account, Credit: b.Available, CreditKnown: b.Known}
}

func (c *Console) askDeleteAccount(p *page) error {
	return c.render(p, http.StatusOK, settingpages.AccountDeletePage(c.viewDelete(p)))
}

func (c *Console) deleteAccount(p *page) error {
	err := c.o.Accounts.CloseAccount(p.Request().Context(), p.principal(), account.CloseRequest{
		Password: p.FormValue("password"), Name: p.FormValue("name"),
	})
	if err == nil {
		delete(p.session.Values, accountValue)
		return c.redirectWithToast(p, ui.Success, "The account was deleted.", consolePath)
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
	return c.render(p, http.StatusUnprocessableEntity, settingpages.AccountDeletePage(v))
}
