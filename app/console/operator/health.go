package operator

import (
	"cmp"
	"maps"
	"slices"

	"umg/app/catalog"
	"umg/app/modelstatus"
	"umg/app/provider/health"
	"umg/app/provider/spend"
	"umg/views"
	operatorpages "umg/views/operator"
)

// healthView is what the replicas see, by provider and model, beside the catalog and what is paused.
type healthView struct {
	snapshot  *catalog.Snapshot
	reports   []health.Report
	upstreams []map[[2]string]health.Upstream
	suppliers []map[string]health.ProviderReport
	pauses    map[[2]string]health.Pause
	board     modelstatus.Board
	stranded  func(providerID string) []string
	spend     *spend.Tracker // Spend is nil where spend is not counted.
	capped    func(*catalog.Provider) bool
}

func (c *Console) newHealthView(reports []health.Report, board modelstatus.Board) *healthView {
	s := &healthView{snapshot: c.o.Catalog.Snapshot(), reports: reports, pauses: map[[2]string]health.Pause{}, board: board}
	s.stranded = func(id string) []string {
		list, _ := c.dependents(id)
		return list
	}
	s.spend, s.capped = c.o.Spend, c.o.Health.SpentUp
	for _, p := range c.o.Health.Pauses() {
		s.pauses[[2]string{p.Kind, p.ID}] = p
	}
	for _, r := range reports {
		upstreams, suppliers := map[[2]string]health.Upstream{}, map[string]health.ProviderReport{}
		for _, u := range r.Upstreams {
			upstreams[[2]string{u.Provider, u.Model}] = u
		}
		for _, one := range r.Providers {
			suppliers[one.Provider] = one
		}
		s.upstreams, s.suppliers = append(s.upstreams, upstreams), append(s.suppliers, suppliers)
	}
	return s
}

// fill draws the catalog as the replicas see it. What is paused and in no catalog any more comes last, so that it can be resumed.
func (s *healthView) fill(t *operatorpages.Traffic) {
	shown := map[[2]string]bool{}
	for _, m := range s.snapshot.Models() {
		key := [2]string{health.KindModel, m.ID}
		if pause, paused := s.pauses[key]; m.Available || paused {
			shown[key] = true
			t.Models = append(t.Models, s.model(m, pause, paused))
		}
	}
	for _, p := range s.snapshot.Providers() {
		key := [2]string{health.KindProvider, p.ID}
		pause, paused := s.pauses[key]
		shown[key] = true
		t.Providers = append(t.Providers, s.provider(p, pause, paused))
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.pauses), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if shown[key] {
			continue
		}
		pause := pauseOf(s.pauses[key], key[1])
		if key[0] == health.KindModel {
			t.Models = append(t.Models, operatorpages.TrafficModel{ID: key[1], Pause: &pause})
		} else {
			t.Providers = append(t.Providers, operatorpages.TrafficProvider{ID: key[1], Name: key[1], Pause: &pause})
		}
	}
}

func (s *healthView) model(m *catalog.Model, pause health.Pause, paused bool) operatorpages.TrafficModel {
	verdict := s.board.Of(m.ID)
	v := operatorpages.TrafficModel{
		ID: m.ID, Video: m.Kind == catalog.KindVideo, Stops: m.Paused, State: views.ModelState(verdict.State),
		Now: views.ModelNow{Answered: verdict.Health.Succeeded, Failed: verdict.Health.Failed, Judged: verdict.Health.IsJudged()},
	}
	if paused {
		p := pauseOf(pause, m.ID)
		v.Pause = &p
	}
	if m.Paused {
		v.Closed = m.Notice
	}
	list := make([]healthRoute, len(m.Routes))
	for i := range m.Routes {
		list[i] = s.route(&m.Routes[i], v.Video)
	}
	for _, r := range inOrder(list) {
		v.Routes = append(v.Routes, r.view)
	}
	for i := range m.IdleRoutes {
		r := viewRoute(&m.IdleRoutes[i])
		r.Unusable = m.IdleRoutes[i].Provider.Unusable
		v.Routes = append(v.Routes, r)
	}
	return v
}

// healthRoute is a route, and whether some replica would try it now.
type healthRoute struct {
	route      *catalog.Route
	view       operatorpages.TrafficRoute
	open, held bool
}

func viewRoute(r *catalog.Route) operatorpages.TrafficRoute {
	return operatorpages.TrafficRoute{
		Provider: r.Provider.ID, ProviderName: cmp.Or(r.Provider.Name, r.Provider.ID), Upstream: r.Model, Style: string(r.Style),
	}
}

func (s *healthView) route(r *catalog.Route, video bool) healthRoute {
	one := healthRoute{route: r, view: viewRoute(r)}
	_, paused := s.pauses[[2]string{health.KindProvider, r.Provider.ID}]
	for i, report := range s.reports {
		seen := s.seen(r, i)
		seen.Replica = report.Replica
		switch {
		case paused:
			seen.State = operatorpages.RoutePaused
		case s.capped != nil && s.capped(r.Provider):
			seen.State = operatorpages.RouteCapped
		case video:
			seen.State = operatorpages.RouteUnwatched
		}
		one.view.Seen = append(one.view.Seen, seen)
		switch seen.State {
		case operatorpages.RouteEjected, operatorpages.RouteResting:
			one.held = true
		case operatorpages.RouteCrowded, operatorpages.RoutePaused, operatorpages.RouteCapped:
		default:
			one.open = true
		}
	}
	return one
}

// seen returns the state of a route on one replica.
func (s *healthView) seen(r *catalog.Route, replica int) operatorpages.RouteSeen {
	u, known := s.upstreams[replica][[2]string{r.Provider.ID, r.Model}]
	if !known {
		return operatorpages.RouteSeen{State: operatorpages.RouteUnseen}
	}
	seen := operatorpages.RouteSeen{
		State: operatorpages.RouteOpen, Slow: u.Slow, Fault: string(u.LastFault), Status: u.LastStatus, FaultAt: u.LastFaultAt,
		Until:     u.EjectedUntil,
		Ejections: u.Ejections, Calls: u.CallsMinute, Failures: u.FailuresMinute, P50: u.FirstByteP50, P95: u.FirstByteP95,
		InFlight: int64(u.InFlight),
	}
	supplier := s.suppliers[replica][r.Provider.ID]
	switch {
	case u.State == health.StateEjected:
		seen.State = operatorpages.RouteEjected
	case allRest(supplier.CoolingDown, u.CoolingDown, len(r.Provider.Credentials)):
		seen.State = operatorpages.RouteResting
		seen.Fault, seen.Status = restReason(supplier.CoolingDown, u.CoolingDown)
	case full(int64(supplier.InFlight), supplier.Concurrency) || full(supplier.AttemptsMinute, supplier.RequestsPerMinute):
		seen.State = operatorpages.RouteCrowded
	case u.State == health.StateHalfOpen:
		seen.State = operatorpages.RouteTrial
	case u.CallsMinute == 0 && u.InFlight == 0:
		seen.State = operatorpages.RouteUnseen
	}
	return seen
}

func full(used, limit int64) bool { return limit > 0 && used >= limit }

// allRest reports whether all credentials of a provider are in cooldown for the model.
func allRest(all, here []health.Cooldown, credentials int) bool {
	resting := map[int]bool{}
	for _, r := range slices.Concat(all, here) {
		resting[r.Credential] = true
	}
	return credentials > 0 && len(resting) >= credentials
}

// restReason returns the fault of the credential whose cooldown is longest.
func restReason(all, here []health.Cooldown) (string, int) {
	last := slices.MaxFunc(slices.Concat(all, here), func(a, b health.Cooldown) int { return a.Until.Compare(b.Until) })
	return string(last.Why), last.Status
}

// inOrder sorts the routes: first those that some replica would try now, by order and then by weight, then all others. The gateway tries
// the others only when no route is left.
func inOrder(routes []healthRoute) []healthRoute {
	someOpen := slices.ContainsFunc(routes, func(r healthRoute) bool { return r.open })
	tried := func(r healthRoute) bool { return r.open || r.held && !someOpen }
	slices.SortStableFunc(routes, func(a, b healthRoute) int {
		if tried(a) != tried(b) {
			if tried(a) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.route.Order, b.route.Order), cmp.Compare(b.route.Weight, a.route.Weight))
	})
	place, weights, equals := 0, map[int]int64{}, map[int]int{}
	for _, r := range routes {
		if tried(r) {
			weights[r.route.Order] += int64(max(1, r.route.Weight))
			equals[r.route.Order]++
		}
	}
	for i := range routes {
		r := &routes[i]
		if !tried(*r) {
			continue
		}
		if i == 0 || routes[i-1].route.Order != r.route.Order {
			place++
		}
		r.view.Place = place
		if equals[r.route.Order] > 1 {
			r.view.Share = (int64(max(1, r.route.Weight))*100 + weights[r.route.Order]/2) / weights[r.route.Order]
		}
	}
	return routes
}

func (s *healthView) provider(p *catalog.Provider, pause health.Pause, paused bool) operatorpages.TrafficProvider {
	v := operatorpages.TrafficProvider{
		ID: p.ID, Name: cmp.Or(p.Name, p.ID), Credentials: len(p.Credentials),
		Concurrency: p.Limits.Concurrency, RPM: p.Limits.RequestsPerMinute,
		AfterCancel: string(p.AfterCancel), Usage: p.UsageReader, CostIsPrice: p.CostIsPrice,
	}
	v.Unusable, v.UnusableOn = s.unusable(p)
	for _, u := range s.spendOf(p) {
		v.Spend = append(v.Spend, operatorpages.ProviderSpend{
			Credential: u.Credential, Period: string(u.Period), Cap: u.Cap, Spent: u.Spent, ResetsAt: u.ResetsAt,
		})
	}
	if paused {
		v.Stranded = s.stranded(p.ID)
		one := pauseOf(pause, firstOf(v.Stranded))
		v.Pause = &one
	}
	for i, report := range s.reports {
		one, known := s.suppliers[i][p.ID]
		if !known {
			continue
		}
		seen := operatorpages.ProviderSeen{
			Replica: report.Replica, InFlight: int64(one.InFlight), Attempts: one.AttemptsMinute, RetriesLeft: one.RetriesLeft,
		}
		rest := func(r health.Cooldown, model string) {
			seen.Resting = append(seen.Resting, operatorpages.RestSeen{
				Replica: report.Replica, Credential: r.Credential, Model: model, Fault: string(r.Why), Status: r.Status, Until: r.Until,
			})
		}
		for _, r := range one.CoolingDown {
			rest(r, "")
		}
		for _, u := range report.Upstreams {
			for _, r := range u.CoolingDown {
				if u.Provider == p.ID {
					rest(r, u.Model)
				}
			}
		}
		v.Seen = append(v.Seen, seen)
	}
	return v
}

func (s *healthView) spendOf(p *catalog.Provider) []spend.Usage {
	if s.spend == nil {
		return nil
	}
	return s.spend.Usages(p)
}

// unusable returns why no replica can call a provider, or else the replicas that cannot.
func (s *healthView) unusable(p *catalog.Provider) (everywhere string, on []operatorpages.UnusableOn) {
	for _, report := range s.reports {
		if why := report.Unusable[p.ID]; why != "" {
			on = append(on, operatorpages.UnusableOn{Replica: report.Replica, Reason: why})
		}
	}
	if len(on) == len(s.reports) {
		return p.Unusable, nil
	}
	return "", on
}
