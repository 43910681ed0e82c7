package console

import (
	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// savedRoutes are the forms for saved filters of the usage pages.
func (c *Console) savedRoutes() []page.Route {
	a := page.Area{Right: app.ReadUsage}
	return []page.Route{
		a.Post("/views", c.ofSavedPage(c.saveView)), a.Post("/views/rename", c.ofSavedPage(c.renameView)),
		a.Post("/views/delete", c.ofSavedPage(c.deleteView)),
	}
}

// ofSavedPage rejects the forms of pages that have no saved views.
func (c *Console) ofSavedPage(serve page.Handler) page.Handler {
	return func(p *page.Page) error {
		if _, known := requestpages.SavedQuery(p.FormValue("page"), ""); !known {
			return page.ErrNotFound()
		}
		return serve(p)
	}
}

func savedOwner(p *page.Page) account.ViewOwner {
	return account.ViewOwner{UserID: p.User.ID, AccountID: p.User.AccountID}
}

// savedViews returns the views that the reader has saved for a page. A page whose views cannot be read has none.
func (c *Console) savedViews(p *page.Page, of account.ViewPage, here string) (requestpages.SavedViews, error) {
	list, err := c.o.Accounts.SavedViews(p.Request().Context(), savedOwner(p), of)
	if absent, err := page.Unavailable(p, err); err != nil || absent != nil {
		return requestpages.SavedViews{}, err
	}
	kept := make([]requestpages.SavedView, len(list))
	for i, v := range list {
		kept[i] = requestpages.SavedView{Name: v.Name, Query: v.Query}
	}
	return requestpages.NewSavedViews(string(of), here, kept, account.SavedViewsMax), nil
}

func (c *Console) saveView(p *page.Page) error {
	of := p.FormValue("page")
	query, _ := requestpages.SavedQuery(of, p.FormValue("query"))
	err := c.o.Accounts.SaveView(p.Request().Context(), savedOwner(p), account.ViewPage(of), p.FormValue("name"), query)
	return c.viewChanged(p, err, "The view is saved.")
}

func (c *Console) renameView(p *page.Page) error {
	of := account.ViewPage(p.FormValue("page"))
	err := c.o.Accounts.RenameView(p.Request().Context(), savedOwner(p), of, p.FormValue("view"), p.FormValue("name"))
	return c.viewChanged(p, err, "The view has its new name.")
}

func (c *Console) deleteView(p *page.Page) error {
	err := c.o.Accounts.DeleteView(p.Request().Context(), savedOwner(p), account.ViewPage(p.FormValue("page")), p.FormValue("view"))
	return c.viewChanged(p, err, "The view is deleted.")
}

// viewChanged leads back to the same page, and shows the result of the change.
func (c *Console) viewChanged(p *page.Page, err error, done string) error {
	of := p.FormValue("page")
	query, _ := requestpages.SavedQuery(of, p.FormValue("query"))
	switch app.KindOf(err) {
	case app.Invalid, app.Conflict, app.NotFound:
		return c.RedirectWithToast(p, ui.Danger, app.AsError(err).Message, requestpages.SavedPath(of, query))
	}
	return c.Done(p, err, done, requestpages.SavedPath(of, query))
}
