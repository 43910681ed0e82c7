package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/provider/health"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	operatorPath    = consolePath + "/operator"
	operatorTimeMax = 2 * time.Second // timeout of the database queries of a page
	eventsShown     = 8
)

// operatorRoutes are the pages of who runs the gateway. To all others there is no such page.
func operatorRoutes() []Route {
	get := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodGet, Path: "/operator" + path, Operator: true, serve: serve}
	}
	post := func(path string, serve func(*Console, *page) error) Route {
		return Route{Method: http.MethodPost, Path: "/operator" + path, Operator: true, serve: serve}
	}
	return []Route{
		get("", withHealth((*Console).traffic)),
		get("/pause", withHealth((*Console).askPause)), post("/pause", withHealth((*Console).pause)),
		get("/resume", withHealth((*Console).askResume)), post("/resume", withHealth((*Console).resume)),
		get("/metrics", (*Console).metrics),
		get("/catalog", (*Console).catalogHistory), get("/catalog/:version", (*Console).catalogVersion),
		get("/catalog/:version/catalog.yaml", (*Console).catalogFile),
		get("/queues", (*Console).queues), get("/queues/live", (*Console).queuesLive),
		get("/trials", (*Console).trials), post("/trials/codes", (*Console).makeCode), get("/trials/codes/new", (*Console).newCode),
		get("/trials/codes/:code/end", (*Console).askEndCode), post("/trials/codes/:code/end", (*Console).endCode),
	}
}

// withHealth keeps the pages unknown where the server has no health monitor.
func withHealth(serve func(*Console, *page) error) func(*Console, *page) error {
	return func(c *Console, p *page) error {
		if c.o.Health == nil {
			return notFound(p)
		}
		return serve(c, p)
	}
}

// traffic shows what every replica sees. Without the store it is what this one sees.
func (c *Console) traffic(p *page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), operatorTimeMax)
	defer cancel()
	t := operatorpages.Traffic{Shell: c.shell(p)}
	reports, err := c.o.Health.Reports(ctx)
	var deeds []health.PauseEvent
	if err == nil {
		deeds, err = c.o.Health.History(ctx, eventsShown)
	}
	if t.Failure, err = missing(p, err); err != nil {
		return err
	}
	for i, r := range reports {
		t.Replicas = append(t.Replicas, operatorpages.TrafficReplica{Name: r.Replica, At: r.At, Own: i == 0})
	}
	asked := p.QueryParam("replica")
	if i := slices.IndexFunc(reports, func(r health.Report) bool { return r.Replica == asked }); asked != "" && i >= 0 {
		t.Replica, reports = asked, reports[i:i+1]
	}
	for _, d := range deeds {
		t.PauseEvents = append(t.PauseEvents, operatorpages.PauseEvent{
			Paused: d.Action == health.ActionPaused, Kind: d.Kind, ID: d.ID, Reason: d.Reason, By: d.By, At: d.At,
		})
	}
	slices.SortStableFunc(t.Replicas, func(a, b operatorpages.TrafficReplica) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(reports, func(a, b health.Report) int { return strings.Compare(a.Replica, b.Replica) })
	c.sight(reports).fill(&t)
	return c.render(p, http.StatusOK, operatorpages.TrafficPage(t))
}

// askPause asks before a model or a provider is paused, and says what clients will get.
func (c *Console) askPause(p *page) error {
	return c.renderPause(p, http.StatusOK, p.QueryParam("kind"), p.QueryParam("id"), "", "")
}

func (c *Console) renderPause(p *page, status int, kind, id, reason, problem string) error {
	snapshot := c.o.Catalog.Snapshot()
	a := operatorpages.TrafficAsk{Shell: c.shell(p), Kind: kind, ID: id, ReasonError: problem}
	a.Path = operatorPath // the theme form returns to this path
	switch kind {
	case health.KindModel:
		if _, known := snapshot.Model(id); !known {
			return notFound(p)
		}
		a.Pause = pauseOf(health.Pause{Kind: kind, Reason: reason}, id)
	case health.KindProvider:
		if _, known := snapshot.Provider(id); !known {
			return notFound(p)
		}
		a.Stranded, a.Others = c.dependents(id)
		a.Pause = pauseOf(health.Pause{Kind: kind, Reason: reason}, firstOf(a.Stranded))
	default:
		return notFound(p)
	}
	return c.render(p, status, operatorpages.TrafficAskPage(a))
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// pauseOf returns a pause with the error that clients of a model get during it. The reason for pausing a provider is not shown to
// clients.
func pauseOf(pause health.Pause, modelID string) operatorpages.TrafficPause {
	reason := pause.Reason
	if pause.Kind == health.KindProvider {
		reason = ""
	}
	told := gateway.ErrModelPaused(modelID, reason)
	return operatorpages.TrafficPause{
		Reason: pause.Reason, By: pause.By, At: pause.At, Status: statusOf[told.Kind], Code: told.Code, Told: told.Message, Wait: told.RetryAfter,
	}
}

func (c *Console) pause(p *page) error {
	kind, id, reason := p.FormValue("kind"), p.FormValue("id"), p.FormValue("reason")
	snapshot := c.o.Catalog.Snapshot()
	_, isModel := snapshot.Model(id)
	_, isProvider := snapshot.Provider(id)
	if kind == health.KindModel && !isModel || kind == health.KindProvider && !isProvider {
		return notFound(p)
	}
	err := c.o.Health.Pause(p.Request().Context(), health.Pause{Kind: kind, ID: id, Reason: reason, By: p.user.Email})
	if refusal, ok := isRefusal(err); ok && refusal.Param == "reason" {
		return c.renderPause(p, http.StatusUnprocessableEntity, kind, id, reason, refusal.Message)
	}
	if err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, "Paused "+id+". New calls stay away from it within a second.", operatorPath)
}

// askResume asks before something that is paused goes on.
func (c *Console) askResume(p *page) error {
	kind, id := p.QueryParam("kind"), p.QueryParam("id")
	for _, pause := range c.o.Health.Pauses() {
		if pause.Kind == kind && pause.ID == id {
			a := operatorpages.TrafficAsk{Shell: c.shell(p), Kind: kind, ID: id, Paused: true, Pause: pauseOf(pause, id)}
			a.Path = operatorPath
			return c.render(p, http.StatusOK, operatorpages.TrafficAskPage(a))
		}
	}
	return notFound(p)
}

func (c *Console) resume(p *page) error {
	id := p.FormValue("id")
	err := c.o.Health.Resume(p.Request().Context(), p.FormValue("kind"), id, p.user.Email)
	if err != nil && app.KindOf(err) == app.NotFound { // another operator was quicker
		return c.redirectWithToast(p, ui.Info, app.AsError(err).Message, operatorPath)
	}
	if err != nil {
		return err
	}
	return c.redirectWithToast(p, ui.Success, "Resumed "+id+". Calls go there again within a second.", operatorPath)
}

// dependents are the models that have no other route than those of a provider, counting what is paused as no route, and those
// that do.
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

// count reads a number of an address; what is none is refused as an unknown page.
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
