package console

import (
	"net/http"
	"strings"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	settingsPath = page.ConsolePath + "/settings"
	startPath    = page.ConsolePath + "/account/new"
)

// accountRoutes are the pages for users without an account, and the switch between accounts.
func (c *Console) accountRoutes() []page.Route {
	return []page.Route{
		{Method: http.MethodGet, Path: "/account/new", Serve: c.startPage},
		{Method: http.MethodPost, Path: "/account/new", Serve: c.start},
		{Method: http.MethodPost, Path: "/account/switch", Serve: c.switchAccount},
	}
}

// ofAccount has the beginnings of the paths of settings of an account. All other settings are those of a user.
var ofAccount = [...]string{"/settings/account", "/settings/members", "/settings/audit"}

// isUserPage reports whether a page is about the reader and not about an account, so that it works without one.
func isUserPage(path string) bool {
	for _, begin := range ofAccount {
		if strings.HasPrefix(path, begin) {
			return false
		}
	}
	return strings.HasPrefix(path, "/settings") || strings.HasPrefix(path, "/account/") || strings.HasPrefix(path, "/verify")
}

// switchAccount keeps in the session which account its user works in.
func (c *Console) switchAccount(p *page.Page) error {
	chosen := p.FormValue("account")
	u, err := c.o.Accounts.UserIn(p.Request().Context(), p.User.ID, chosen)
	if err != nil {
		return err
	}
	if chosen == "" || u.AccountID != chosen {
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	p.Session.Values[page.AccountValue] = chosen
	return c.RedirectWithToast(p, ui.Success, "You work in "+u.Account+" now.", page.SafeNext(p.FormValue("next")))
}

// startPage tells users who are a member of no account how to become one.
func (c *Console) startPage(p *page.Page) error {
	if p.User.AccountID != "" {
		return p.Redirect(http.StatusSeeOther, page.ConsolePath)
	}
	return c.Render(p, http.StatusOK, settingpages.StartPage(settingpages.Start{Shell: c.Shell(p)}))
}

// start makes an account for a user who has none.
func (c *Console) start(p *page.Page) error {
	made, err := c.o.Accounts.OpenAccount(p.Request().Context(), p.Principal(), p.FormValue("name"))
	if refusal := app.AsError(err); err != nil && refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	} else if err != nil {
		s := settingpages.Start{Shell: c.Shell(p), Name: p.FormValue("name"), NameError: refusal.Message}
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.StartPage(s))
	}
	return c.work(p, made, "You own "+made.Name+" now.")
}

// work leads to the overview of an account that the reader has just joined.
func (c *Console) work(p *page.Page, in account.Membership, said string) error {
	p.Session.Values[page.AccountValue] = in.AccountID
	return c.RedirectWithToast(p, ui.Success, said, page.ConsolePath)
}
