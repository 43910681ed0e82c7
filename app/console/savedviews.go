package console

import (
	"net/http"

	"umg/app"
	"umg/app/saved"
	requestpages "umg/views/requests"
	"umg/views/ui"
)

// savedRoutes keep named filters of the usage pages, for users who may see those pages.
func savedRoutes() []Route {
	post := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodPost, Path: "/views" + path, Right: app.ReadUsage, serve: withSaved(serve)}
	}
	return []Route{post("", (*Console).saveView), post("/rename", (*Console).renameView), post("/delete", (*Console).deleteView)}
}

// withSaved keeps the forms unknown where nothing is kept, and of pages that have no views.
func withSaved(serve func(*Console, *page) error) func(*Console, *page) error {
	return func(c *Console, p *page) error {
		if _, known := requestpages.SavedQuery(p.FormValue("page"), ""); !known || c.o.Saved == nil {
			return notFound(p)
		}
		return serve(c, p)
	}
}

func (p *page) savedOwner() saved.Owner {
	return saved.Owner{UserID: p.user.ID, AccountID: p.user.AccountID}
}

// savedViews are the reader's views of a page. Where they cannot be read now the page does without.
func (c *Console) savedViews(p *page, of saved.Page, here string) (requestpages.SavedViews, error) {
	if c.o.Saved == nil {
		return requestpages.SavedViews{}, nil
	}
	list, err := c.o.Saved.List(p.Request().Context(), p.savedOwner(), of)
	if absent, err := missing(p, err); err != nil || absent != nil {
		return requestpages.SavedViews{}, err
	}
	kept := make([]requestpages.SavedView, len(list))
	for i, v := range list {
		kept[i] = requestpages.SavedView{Name: v.Name, Query: v.Query}
	}
	return requestpages.NewSavedViews(string(of), here, kept, saved.Max), nil
}

func (c *Console) saveView(p *page) error {
	of := p.FormValue("page")
	query, _ := requestpages.SavedQuery(of, p.FormValue("query"))
	err := c.o.Saved.Save(p.Request().Context(), p.savedOwner(), saved.Page(of), p.FormValue("name"), query)
	return c.viewChanged(p, err, "The view is saved.")
}

func (c *Console) renameView(p *page) error {
	err := c.o.Saved.Rename(p.Request().Context(), p.savedOwner(), saved.Page(p.FormValue("page")), p.FormValue("view"), p.FormValue("name"))
	return c.viewChanged(p, err, "The view has its new name.")
}

func (c *Console) deleteView(p *page) error {
	err := c.o.Saved.Delete(p.Request().Context(), p.savedOwner(), saved.Page(p.FormValue("page")), p.FormValue("view"))
	return c.viewChanged(p, err, "The view is deleted.")
}

// viewChanged leads back to the same page, and shows the result of the change.
func (c *Console) viewChanged(p *page, err error, done string) error {
	of := p.FormValue("page")
	query, _ := requestpages.SavedQuery(of, p.FormValue("query"))
	switch app.KindOf(err) {
	case app.Invalid, app.Conflict, app.NotFound:
		return c.redirectWithToast(p, ui.Danger, app.AsError(err).Message, requestpages.SavedPath(of, query))
	}
	if err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, done, requestpages.SavedPath(of, query))
}
