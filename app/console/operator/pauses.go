package operator

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/gateway"
	"umg/app/provider/health"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	rootPath     = page.ConsolePath + "/operator"
	queryTimeMax = 2 * time.Second // This is the timeout of the database queries of a page.
	eventsShown  = 8
)

// pageRoutes are the pages for operators. They do not exist for other users.
func (c *Console) pageRoutes() []page.Route {
	a, watched := page.Area{Operator: true}, page.Area{Operator: true, Missing: c.o.Health == nil}
	return []page.Route{
		watched.Get("/operator", c.traffic),
		watched.Get("/operator/pause", c.askPause), watched.Post("/operator/pause", c.pause),
		watched.Get("/operator/resume", c.askResume), watched.Post("/operator/resume", c.resume),
		a.Get("/operator/metrics", c.metrics),
		a.Get("/operator/margin", c.margin), a.Get("/operator/margin.csv", c.marginCSV),
		a.Get("/operator/catalog", c.catalogHistory), a.Get("/operator/catalog/:version", c.catalogVersion),
		a.Get("/operator/catalog/:version/catalog.yaml", c.catalogFile),
		a.Get("/operator/queues", c.queues), a.Get("/operator/queues/live", c.queuesLive),
		a.Get("/operator/trials", c.trials), a.Post("/operator/trials/codes", c.makeCode), a.Get("/operator/trials/codes/new", c.newCode),
		a.Get("/operator/trials/codes/:code/end", c.askEndCode), a.Post("/operator/trials/codes/:code/end", c.endCode),
	}
}

// traffic shows what every replica sees. Without the store it is what this one sees.
func (c *Console) traffic(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	t := operatorpages.Traffic{Shell: c.Shell(p), Query: operatorpages.ParseTrafficQuery(p.QueryParams())}
	reports, err := c.o.Health.Reports(ctx)
	var history []health.PauseEvent
	if err == nil {
		history, err = c.o.Health.History(ctx, eventsShown)
	}
	if t.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	for i, r := range reports {
		t.Replicas = append(t.Replicas, operatorpages.TrafficReplica{Name: r.Replica, At: r.At, Own: i == 0})
	}
	asked := p.QueryParam("replica")
	if i := slices.IndexFunc(reports, func(r health.Report) bool { return r.Replica == asked }); asked != "" && i >= 0 {
		t.Query.Replica = asked
		t.Replica, reports = asked, reports[i:i+1]
	}
	for _, d := range history {
		t.PauseEvents = append(t.PauseEvents, operatorpages.PauseEvent{
			Paused: d.Action == health.ActionPaused, Kind: d.Kind, ID: d.ID, Reason: d.Reason, By: d.By, At: d.At,
		})
	}
	slices.SortStableFunc(t.Replicas, func(a, b operatorpages.TrafficReplica) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(reports, func(a, b health.Report) int { return strings.Compare(a.Replica, b.Replica) })
	c.newHealthView(reports, c.board(p)).fill(&t)
	c.fillCallers(ctx, &t)
	p.ReplaceURL(t.Query.Path())
	return c.Render(p, http.StatusOK, operatorpages.TrafficPage(t))
}

// fillCallers adds the accounts that are refused most, or those that the search finds. The page works without them.
func (c *Console) fillCallers(ctx context.Context, t *operatorpages.Traffic) {
	if c.o.Actions == nil || t.Failure != nil {
		return
	}
	list, refused, err := c.o.Actions.Refused(ctx)
	if err == nil && t.Query.Text != "" {
		list, err = c.o.Actions.Callers(ctx, t.Query.Text)
	}
	t.Callers.Late = err != nil
	for _, one := range list {
		t.Callers.List = append(t.Callers.List, operatorpages.Caller{
			AccountID: one.AccountID, Account: one.Account, Key: one.KeyID, Refused: one.Refused, RefusedMost: one.RefusedMost,
			Counted: t.Query.Text != "", Calls: one.Calls, Failed: one.Failed, FirstByte: one.FirstByte(),
		})
	}
	for i := range t.Models {
		t.Models[i].Refused = refused[t.Models[i].ID]
	}
}

// askPause asks before a model or a provider is paused, and says what clients will get.
func (c *Console) askPause(p *page.Page) error {
	return c.renderPause(p, http.StatusOK, p.QueryParam("kind"), p.QueryParam("id"), "", "")
}

func (c *Console) renderPause(p *page.Page, status int, kind, id, reason, problem string) error {
	snapshot := c.o.Catalog.Snapshot()
	a := operatorpages.TrafficAsk{Shell: c.Shell(p), Kind: kind, ID: id, ReasonError: problem}
	// The theme form returns to this path.
	a.Path = rootPath
	switch kind {
	case health.KindModel:
		if _, known := snapshot.Model(id); !known {
			return page.ErrNotFound()
		}
		a.Pause = pauseOf(health.Pause{Kind: kind, Reason: reason}, id)
	case health.KindProvider:
		if _, known := snapshot.Provider(id); !known {
			return page.ErrNotFound()
		}
		a.Stranded, a.Others = c.dependents(id)
		a.Pause = pauseOf(health.Pause{Kind: kind, Reason: reason}, firstOf(a.Stranded))
	default:
		return page.ErrNotFound()
	}
	return c.Render(p, status, operatorpages.TrafficAskPage(a))
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// pauseOf returns a pause with the error that clients of a model get during it. The reason for pausing a provider is not shown to clients.
func pauseOf(pause health.Pause, modelID string) operatorpages.TrafficPause {
	reason := pause.Reason
	if pause.Kind == health.KindProvider {
		reason = ""
	}
	told := gateway.ErrModelPaused(modelID, reason)
	return operatorpages.TrafficPause{
		Reason: pause.Reason, By: pause.By, At: pause.At, Status: page.Status(told.Kind), Code: told.Code, Told: told.Message,
		Wait: told.RetryAfter,
	}
}

func (c *Console) pause(p *page.Page) error {
	kind, id, reason := p.FormValue("kind"), p.FormValue("id"), p.FormValue("reason")
	snapshot := c.o.Catalog.Snapshot()
	_, isModel := snapshot.Model(id)
	_, isProvider := snapshot.Provider(id)
	if kind == health.KindModel && !isModel || kind == health.KindProvider && !isProvider {
		return page.ErrNotFound()
	}
	err := c.o.Health.Pause(p.Request().Context(), health.Pause{Kind: kind, ID: id, Reason: reason, By: p.User.Email})
	if refusal, ok := page.Refusal(err); ok && refusal.Param == "reason" {
		return c.renderPause(p, http.StatusUnprocessableEntity, kind, id, reason, refusal.Message)
	}
	return c.Done(p, err, "Paused "+id+". New calls stay away from it within a second.", rootPath)
}

// askResume asks before a paused model or provider is resumed.
func (c *Console) askResume(p *page.Page) error {
	kind, id := p.QueryParam("kind"), p.QueryParam("id")
	for _, pause := range c.o.Health.Pauses() {
		if pause.Kind == kind && pause.ID == id {
			a := operatorpages.TrafficAsk{Shell: c.Shell(p), Kind: kind, ID: id, Paused: true, Pause: pauseOf(pause, id)}
			a.Path = rootPath
			return c.Render(p, http.StatusOK, operatorpages.TrafficAskPage(a))
		}
	}
	return page.ErrNotFound()
}

func (c *Console) resume(p *page.Page) error {
	id := p.FormValue("id")
	err := c.o.Health.Resume(p.Request().Context(), p.FormValue("kind"), id, p.User.Email)
	if err != nil && app.KindOf(err) == app.NotFound { // Another operator has already ended the pause.
		return c.RedirectWithToast(p, ui.Info, app.AsError(err).Message, rootPath)
	}
	return c.Done(p, err, "Resumed "+id+". Calls go there again within a second.", rootPath)
}

// dependents returns the models that would have no route without a provider, and the models that would have another. Paused routes do
// not count.
func (c *Console) dependents(providerID string) (stranded, others []string) {
	for _, m := range c.o.Catalog.Snapshot().Models() {
		if !m.Available {
			continue
		}
		served, elsewhere := c.served(m, providerID)
		switch {
		case served && elsewhere:
			others = append(others, m.ID)
		case served:
			stranded = append(stranded, m.ID)
		}
	}
	return stranded, others
}

func (c *Console) served(m *catalog.Model, providerID string) (by, elsewhere bool) {
	for _, r := range m.Routes {
		switch {
		case r.Provider.ID == providerID:
			by = true
		case !c.o.Health.ProviderPaused(r.Provider.ID):
			elsewhere = true
		}
	}
	return by, elsewhere
}

// count parses a number of an address. For an invalid number it returns the error of an unknown page.
func count(text string) (int64, error) {
	var n int64
	for _, r := range text {
		if r < '0' || r > '9' || n > 1<<53 {
			return 0, app.Errorf(app.NotFound, "not_found", "There is no such page.")
		}
		n = n*10 + int64(r-'0')
	}
	return n, nil
}
