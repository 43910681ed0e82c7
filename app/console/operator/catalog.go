package operator

import (
	"context"
	"net/http"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	operatorpages "umg/views/operator"
)

const versionsShown = 50

// catalogHistory lists the catalogs that were put in force, a page at a time.
func (c *Console) catalogHistory(p *page.Page) error {
	before, err := count(p.QueryParam("before"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	h := operatorpages.CatalogHistory{Shell: c.Shell(p), Current: c.o.Catalog.Snapshot().Version(), Newer: before > 0}
	versions, err := c.o.Catalog.History(ctx, before, versionsShown+1)
	if h.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	if len(versions) > versionsShown {
		versions = versions[:versionsShown]
		h.Older = versions[versionsShown-1].Number
	}
	for _, v := range versions {
		h.Versions = append(h.Versions, viewVersion(v))
	}
	return c.Render(p, http.StatusOK, operatorpages.CatalogHistoryPage(h))
}

func viewVersion(v catalog.Version) operatorpages.CatalogVersion {
	return operatorpages.CatalogVersion{
		Number: v.Number, At: v.At, By: v.By, Note: v.Note, Changes: v.Changes, Whole: v.Whole, Kept: v.Kept,
	}
}

// catalogVersion shows what one version of the catalog changed, and how it differs from the present one.
func (c *Console) catalogVersion(p *page.Page) error {
	number, err := count(p.Param("version"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	version, err := c.o.Catalog.Past(ctx, number)
	if err != nil {
		return err
	}
	v := operatorpages.CatalogChange{Shell: c.Shell(p), Version: viewVersion(version), Current: c.o.Catalog.Snapshot().Version()}
	if number != v.Current {
		v.Since, err = c.o.Catalog.Since(ctx, number)
		if err != nil && app.KindOf(err) != app.NotFound && app.KindOf(err) != app.Conflict {
			return err
		}
		if err != nil {
			v.Problem = app.AsError(err).Message
		}
	}
	return c.Render(p, http.StatusOK, operatorpages.CatalogVersionPage(v))
}

// catalogFile serves the file of a version, so that operators can compare it or apply it again.
func (c *Console) catalogFile(p *page.Page) error {
	number, err := count(p.Param("version"))
	if err != nil {
		return err
	}
	file, err := c.o.Catalog.PastFile(p.Request().Context(), number)
	if err != nil {
		return err
	}
	p.Response().Header().Set("Content-Disposition", `attachment; filename="catalog-`+p.Param("version")+`.yaml"`)
	return p.Blob(http.StatusOK, "application/yaml", file)
}
