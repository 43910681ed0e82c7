package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"umg/app"
	"umg/app/apidocs"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/modelstatus"
	"umg/app/ratelimit"
	"umg/views"
	modelpages "umg/views/models"
)

const viewCookie = "umg_models"

// modelRoutes are the pages about models. Visitors may read them, without the parts about an account.
func (c *Console) modelRoutes() []page.Route {
	a := page.Area{Open: true}
	return []page.Route{
		a.Get("/models", c.models), a.Get("/models/*", c.model), a.Get("/compare", c.compare),
		a.Get("/model/price", c.modelPrice),
		{Method: http.MethodGet, Path: "/model/limits", Right: app.ReadModels, Serve: c.modelLimits},
		{Method: http.MethodGet, Path: "/model/last", Right: app.ReadUsage, Serve: c.modelLast},
		a.Get("/model/api.md", c.modelDocument("text/plain; charset=utf-8", (*apidocs.Documents).Markdown)),
		a.Get("/model/openapi.json", c.modelDocument("application/json", (*apidocs.Documents).OpenAPI)),
	}
}

func (c *Console) models(p *page.Page) error {
	q := modelpages.ParseQuery(p.QueryParams())
	if q.View != "" && q.View != p.Cookie(viewCookie) {
		c.SetPreference(p, page.Preference{Name: viewCookie, Value: q.View})
	}
	p.ReplaceURL(q.Path())
	l := modelpages.List{
		Shell: c.Shell(p), Query: q, All: c.viewModels(p), Cards: cmp.Or(q.View, p.Cookie(viewCookie)) == modelpages.ViewCards,
	}
	if p.User.AccountID != "" && p.User.Role.Rights().Has(app.ManageKeys) {
		keys, err := c.o.APIKeys.List(p.Request().Context(), p.Principal())
		if err != nil {
			return err
		}
		for _, k := range keys {
			l.Keys = append(l.Keys, modelpages.KeyAllows{ID: k.ID, Name: k.Name, Models: k.Models})
		}
	}
	return c.Render(p, http.StatusOK, modelpages.ListPage(l))
}

// viewModels returns all models with their state, and what is left of the limits of the reader's account.
func (c *Console) viewModels(p *page.Page) []views.Model {
	found := c.catalogFor(p).Models()
	models := c.pickedModels(p)
	if p.User.AccountID == "" {
		return models
	}
	for i, left := range c.o.Gateway.Headroom(p.User.AccountID, p.LimitFactor(), found) {
		addLeft(&models[i].Limits, left)
	}
	return models
}

// pickedModels returns all models with their state, for lists to choose from.
func (c *Console) pickedModels(p *page.Page) []views.Model {
	found, board := c.catalogFor(p).Models(), c.board(p)
	models := make([]views.Model, len(found))
	for i, m := range found {
		models[i] = viewModel(m, board, p.LimitFactor())
	}
	return models
}

// board is the verdicts on the models that the reader's account sees.
func (c *Console) board(p *page.Page) modelstatus.Board {
	return c.o.Status.Board(p.Request().Context(), c.catalogFor(p))
}

// compare shows the models that the address names side by side.
func (c *Console) compare(p *page.Page) error {
	asked := modelpages.ParseMarked(p.QueryParams()["m"])
	d := modelpages.Comparison{Shell: c.Shell(p), Only: p.QueryParam("only") == "differences"}
	all := c.viewModels(p)
	for _, id := range asked {
		i := slices.IndexFunc(all, func(m views.Model) bool { return m.ID == id })
		if i < 0 {
			d.Unknown = append(d.Unknown, id)
			continue
		}
		d.Models = append(d.Models, all[i])
	}
	for _, m := range all {
		if !slices.Contains(asked, m.ID) {
			d.Others = append(d.Others, m)
		}
	}
	return c.Render(p, http.StatusOK, modelpages.ComparePage(d))
}

func viewModel(m *catalog.Model, board modelstatus.Board, factor int) views.Model {
	verdict := board.Of(m.ID)
	v := views.Model{
		ID: m.ID, Name: m.Name, Description: m.Description, Owner: m.Owner, Kind: string(m.Kind), Capabilities: m.Capabilities,
		Input: m.InputModalities, Output: m.OutputModalities, ContextTokens: m.ContextTokens, MaxOutput: m.MaxOutputTokens,
		Prices: viewPrices(m.Prices, m.Kind == catalog.KindText), Limits: viewLimits(m, int64(factor)),
		Sizes: m.Sizes, Seconds: m.Seconds, State: views.ModelState(verdict.State),
		Notice: verdict.Reason, Released: m.CreatedAt, Deprecated: m.DeprecatedAt, Shutdown: m.ShutdownAt, Parameters: m.Parameters,
		Successor: m.Successor, Fallbacks: m.Fallbacks, Now: viewNow(&verdict),
	}
	for _, s := range m.Served() {
		v.Styles = append(v.Styles, views.Style(s))
	}
	v.SizePrices = viewSizePrices(m.Sizes, m.SizePrices)
	v.Conditions = viewConditions(&m.RateCard)
	return v
}

// viewNow is how a model does by a verdict.
func viewNow(v *modelstatus.Verdict) views.ModelNow {
	n := views.ModelNow{
		Answered: v.Health.Succeeded, Failed: v.Health.Failed, Judged: v.Health.IsJudged(), NoRoute: v.NoRoute,
		FirstByteP50: v.Stats.FirstByteP50, FirstByteP95: v.Stats.FirstByteP95,
		DurationP50: v.Stats.DurationP50, DurationP95: v.Stats.DurationP95, Speed: v.Stats.SpeedP50,
	}
	for _, one := range v.Instead {
		n.Instead = append(n.Instead, views.ModelRef{ID: one.ID, Name: one.Name})
	}
	return n
}

// viewLimits returns the limits of a model as the rate limiter applies them to the account.
func viewLimits(m *catalog.Model, factor int64) views.Limits {
	l := views.Limits{
		RequestsPerMinute: m.Limits.RequestsPerMinute * factor, RequestsPerDay: m.Limits.RequestsPerDay * factor,
		TokensPerMinute: m.Limits.TokensPerMinute * factor, Concurrency: m.Limits.Concurrency * factor,
		JobsPerDay: m.Limits.JobsPerDay * factor, JobsRunning: m.Limits.JobsRunning * factor,
	}
	if m.Kind == catalog.KindText {
		l.UsualConcurrency = ratelimit.ConcurrencyStandard * factor
		l.Concurrency = cmp.Or(l.Concurrency, l.UsualConcurrency)
	}
	return l
}

// addLeft adds what is left of the limits of the model and of the account. A model has no more concurrent calls left than its account.
func addLeft(l *views.Limits, left ratelimit.Headroom) {
	places := left.Account.Places.Remaining
	if left.Model.Places.Limit > 0 {
		places = min(places, left.Model.Places.Remaining)
	}
	l.AccountRequests, l.AccountTokens = left.Account.Requests.Limit, left.Account.Tokens.Limit
	l.Left = &views.LimitsLeft{
		RequestsPerMinute: left.Model.Requests.Remaining, RequestsPerDay: left.Model.Daily.Remaining,
		TokensPerMinute: left.Model.Tokens.Remaining, Concurrency: places,
		AccountRequests: left.Account.Requests.Remaining, AccountTokens: left.Account.Tokens.Remaining,
	}
}

// catalogFor is the catalog as the reader's account sees it. A visitor sees what all accounts see.
func (c *Console) catalogFor(p *page.Page) *catalog.Snapshot {
	return c.o.Catalog.Snapshot().For(p.User.AccountID)
}

// modelAt finds the model that the rest of the path, or the parameter, names.
func (c *Console) modelAt(p *page.Page, id string) (*catalog.Model, error) {
	if plain, err := url.PathUnescape(id); err == nil {
		id = plain
	}
	if m, ok := c.catalogFor(p).Model(id); ok {
		return m, nil
	}
	return nil, app.Errorf(app.NotFound, "model_not_found", "There is no such model.")
}

// keyHint returns the masked key for code samples. It is empty without a key.
func (c *Console) keyHint(p *page.Page) (string, error) {
	keys, err := c.listKeys(p)
	if err != nil {
		return "", err
	}
	k, _ := exampleKey(keys, c.o.Now())
	return k.Masked, nil
}

// exampleKey is the newest key that works and answers with true statuses, as the SDKs of the examples expect; else the newest that works.
func exampleKey(keys []views.Key, now time.Time) (newest views.Key, ok bool) {
	for _, k := range keys {
		if k.Disabled || k.ExpiresAt != nil && !k.ExpiresAt.After(now) {
			continue
		}
		if k.ErrorMode == views.ModeStandard {
			return k, true
		}
		if !ok {
			newest, ok = k, true
		}
	}
	return newest, ok
}

// modelDocument serves the documents that the API serves at /v1/model/api.md and openapi.json, to readers without a key.
func (c *Console) modelDocument(
	contentType string, document func(*apidocs.Documents, *catalog.Snapshot, *catalog.Model) apidocs.Document,
) page.Handler {
	return func(p *page.Page) error {
		m, err := c.modelAt(p, p.QueryParam("model"))
		if err != nil {
			return err
		}
		p.Response().Header().Set("Content-Disposition", "inline")
		return p.Blob(http.StatusOK, contentType, document(c.o.Documents, c.o.Catalog.Snapshot(), m).Body)
	}
}
