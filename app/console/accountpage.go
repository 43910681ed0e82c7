package console

import (
	"net/http"
	"strings"

	"umg/app"
	"umg/app/account"
	"umg/views"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	settingsPath = consolePath + "/settings"
	startPath    = consolePath + "/account/new"
)

// accountRoutes are about the account the reader works in, and about having one.
func accountRoutes() []Route {
	return []Route{
		{Method: http.MethodGet, Path: "/account/new", serve: (*Console).startPage},
		{Method: http.MethodPost, Path: "/account/new", serve: (*Console).start},
		{Method: http.MethodPost, Path: "/account/switch", serve: (*Console).switchAccount},
	}
}

// ofAccount begin the paths of the settings that are about an account; the others are about its members' own selves.
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

// toStart leads a user who is a member of no account to the page that says so.
func (p *page) toStart() error { return p.redirect(startPath) }

// choices are the accounts that the reader may work in. A page that cannot list them offers none.
func (c *Console) choices(p *page) []views.AccountChoice {
	list, err := c.o.Accounts.Memberships(p.Request().Context(), p.user.ID)
	if err != nil {
		return nil
	}
	choices := make([]views.AccountChoice, len(list))
	for i, m := range list {
		choices[i] = views.AccountChoice{ID: m.AccountID, Name: m.Name, Role: string(m.Role), Current: m.AccountID == p.user.AccountID}
	}
	return choices
}

// switchAccount keeps in the session which account its user works in.
func (c *Console) switchAccount(p *page) error {
	chosen := p.FormValue("account")
	u, err := c.o.Accounts.UserIn(p.Request().Context(), p.user.ID, chosen)
	if err != nil {
		return err
	}
	if chosen == "" || u.AccountID != chosen {
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	p.session.Values[accountValue] = chosen
	return c.redirectWithToast(p, ui.Success, "You work in "+u.Account+" now.", safeNext(p.FormValue("next")))
}

// startPage is for users who are a member of no account: it says so and how to change it.
func (c *Console) startPage(p *page) error {
	if p.user.AccountID != "" {
		return p.Redirect(http.StatusSeeOther, consolePath)
	}
	return c.render(p, http.StatusOK, settingpages.StartPage(settingpages.Start{Shell: c.shell(p)}))
}

// start makes an account for a user who has none.
func (c *Console) start(p *page) error {
	made, err := c.o.Accounts.OpenAccount(p.Request().Context(), p.principal(), p.FormValue("name"))
	if refusal := app.AsError(err); err != nil && refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	} else if err != nil {
		s := settingpages.Start{Shell: c.shell(p), Name: p.FormValue("name"), NameError: refusal.Message}
		return c.render(p, http.StatusUnprocessableEntity, settingpages.StartPage(s))
	}
	return c.work(p, made, "You own "+made.Name+" now.")
}

// work leads to the overview of an account that the reader has just become a member of.
func (c *Console) work(p *page, in account.Membership, said string) error {
	p.session.Values[accountValue] = in.AccountID
	return c.redirectWithToast(p, ui.Success, said, consolePath)
}
