package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/llm"
	"umg/billing/usage"
	"umg/views"
	"umg/views/format"
	homepages "umg/views/home"
)

const (
	testLookEvery = time.Second
	testLateAfter = time.Minute
	testAgeMax    = time.Hour // A test that started earlier belongs to a stale page.
	testCallsMax  = 3
)

// recipeRoutes are the pages about setting up tools.
func (c *Console) recipeRoutes() []page.Route {
	const one = "/recipes/:tool"
	return []page.Route{
		{Method: http.MethodGet, Path: "/recipes", Serve: c.recipes},
		{Method: http.MethodGet, Path: one, Serve: c.recipe},
		{Method: http.MethodPost, Path: one + "/key", Right: app.ManageKeys, Serve: c.recipeKey},
		{Method: http.MethodGet, Path: one + "/calls", Right: app.ReadUsage, Serve: c.recipeCalls},
	}
}

func (c *Console) recipes(p *page.Page) error {
	return c.Render(p, http.StatusOK, homepages.RecipesPage(homepages.RecipeList{Shell: c.Shell(p)}))
}

// recipeAt fills the page about the tool that the path names.
func (c *Console) recipeAt(p *page.Page) (homepages.RecipeDetail, error) {
	r, ok := homepages.RecipeOf(p.Param("tool"))
	if !ok {
		return homepages.RecipeDetail{}, page.ErrNotFound()
	}
	d := homepages.RecipeDetail{
		Shell: c.Shell(p), Recipe: r, Language: p.Language(), MayKey: p.User.Role.Rights().Has(app.ManageKeys),
	}
	c.fillModels(p, &d, p.FormValue("model"))
	var err error
	if d.MayKey {
		d.KeyHint, err = c.keyHint(p)
	}
	return d, err
}

func (c *Console) recipe(p *page.Page) error {
	d, err := c.recipeAt(p)
	if err != nil {
		return err
	}
	switch since := p.QueryParam("since"); {
	case since == "now":
		now := c.o.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
		return p.Redirect(http.StatusSeeOther, homepages.RecipePath(d.Recipe.ID)+"?since="+now+"&model="+url.QueryEscape(d.Model.ID))
	case since != "" && p.User.Role.Rights().Has(app.ReadUsage):
		if err := c.fillTest(p.Request().Context(), p, &d); err != nil {
			return err
		}
	}
	if d.ModelError != "" {
		return c.Render(p, http.StatusUnprocessableEntity, homepages.RecipePage(d))
	}
	return c.Render(p, http.StatusOK, homepages.RecipePage(d))
}

// fillModels finds the models that fit the tool, and chooses the requested one or else the best.
func (c *Console) fillModels(p *page.Page, d *homepages.RecipeDetail, asked string) {
	n := d.Recipe.Needs
	fitting, others := c.catalogFor(p).Fitting(catalog.Needs{
		Style: llm.Style(d.Recipe.Style), Tools: n.Tools, Effort: n.Effort, ContextMin: n.ContextMin, OutputMin: n.OutputMin,
	})
	for _, m := range fitting {
		d.Models = append(d.Models, recipeModel(m, nil))
	}
	for _, o := range others {
		d.Others = append(d.Others, recipeModel(o.Model, o.Reasons))
	}
	if len(d.Models) == 0 {
		return
	}
	d.Model = d.Models[0]
	named := func(m homepages.RecipeModel) bool { return m.ID == asked }
	if i := slices.IndexFunc(d.Models, named); i >= 0 {
		d.Model = d.Models[i]
	} else if i := slices.IndexFunc(d.Others, named); i >= 0 {
		d.ModelError = "The model " + asked + " cannot be used with " + d.Recipe.Name + ": it " + d.Others[i].Why() + "."
	} else if asked != "" {
		d.ModelError = "The model that was asked for is not in the catalog. Choose one from the list."
	}
}

func recipeModel(m *catalog.Model, reasons []string) homepages.RecipeModel {
	r := homepages.RecipeModel{ID: m.ID, Context: m.ContextTokens, MaxOutput: m.MaxOutputTokens, Reasons: reasons}
	if price, priced := m.OutputPrice(); priced {
		r.Price = format.Dollars(price)
	}
	return r
}

// fillTest reads the calls that arrived since the test began. It ignores a test that began longer than testAgeMax ago.
func (c *Console) fillTest(ctx context.Context, p *page.Page, d *homepages.RecipeDetail) error {
	now := c.o.Now()
	since, err := time.Parse(time.RFC3339, p.QueryParam("since"))
	isRecent := err == nil && !since.After(now.Add(time.Minute)) && now.Sub(since) <= testAgeMax
	if !isRecent {
		return nil
	}
	d.Now, d.Since, d.Late = now, since, now.Sub(since) >= testLateAfter
	d.Arrived, err = c.arrivedSince(ctx, p, since)
	return err
}

// arrivedSince returns the calls since a moment, also rejected ones, newest first. Calls from the console are left out.
func (c *Console) arrivedSince(ctx context.Context, p *page.Page, since time.Time) ([]homepages.Arrival, error) {
	names, err := c.keyNames(p)
	if err != nil {
		return nil, err
	}
	found, err := c.o.Reports.Records(ctx, usage.RecordQuery{AccountID: p.User.AccountID, From: since, Limit: testCallsMax})
	if err != nil {
		return nil, err
	}
	var list []homepages.Arrival
	for _, r := range found.Records {
		if r.KeyID != "" {
			logged := viewRequest(r, names)
			list = append(list, homepages.Arrival{At: r.StartedAt, ID: r.RequestID, Logged: &logged})
		}
	}
	if c.o.RecentCalls != nil {
		calls, err := c.o.RecentCalls.List(ctx, p.User.AccountID, p.RealIP(), later(since, p.User.CreatedAt))
		if err != nil {
			return nil, err
		}
		for _, call := range calls {
			list = append(list, *viewArrival(call, names))
		}
	}
	slices.SortStableFunc(list, func(a, b homepages.Arrival) int { return b.At.Compare(a.At) })
	return list[:min(len(list), testCallsMax)], nil
}

// recipeCalls keeps the test of a recipe up to date by events. Requests that accept no events are redirected to the page.
func (c *Console) recipeCalls(p *page.Page) error {
	d, err := c.recipeAt(p)
	if err != nil {
		return err
	}
	if !p.AcceptsEvents() {
		return p.Redirect(http.StatusSeeOther, homepages.RecipePath(d.Recipe.ID))
	}
	told := ""
	return c.StreamEvents(p, testLookEvery, func(ctx context.Context) (views.LiveEvent, bool, error) {
		if err := c.fillTest(ctx, p, &d); err != nil {
			return views.LiveEvent{}, false, err
		}
		mark := "waits"
		if d.Late {
			mark = "late"
		}
		for _, a := range d.Arrived {
			mark += " " + a.ID
		}
		if mark == told {
			return views.LiveEvent{}, false, nil
		}
		told = mark
		return views.LiveEvent{HTML: homepages.RecipeCalls(d)}, true, nil
	})
}

// recipeKey makes a key for the tool. Errors for the key have standard statuses, as tools expect.
func (c *Console) recipeKey(p *page.Page) error {
	d, err := c.recipeAt(p)
	if err != nil {
		return err
	}
	key, secret, err := c.o.APIKeys.Create(p.Request().Context(), p.Principal(), apikey.Spec{
		Name: d.Recipe.Name, ErrorMode: apikey.Standard, Scopes: app.StandardScopes(),
	})
	status := http.StatusOK
	if err != nil {
		refusal := app.AsError(err)
		if refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
			return err
		}
		d.KeyError, status = refusal.Message, http.StatusUnprocessableEntity
	} else {
		d.Fresh = &views.FreshKey{Key: viewKey(key), Secret: secret}
	}
	return c.Render(p, status, homepages.RecipePage(d))
}
