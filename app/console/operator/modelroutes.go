package operator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/console/page"
	"umg/app/library"
	"umg/app/llm"
	"umg/app/preset"
	"umg/views"
	operatorpages "umg/views/operator"
)

// weightMax is the largest weight of a route.
const weightMax = 1000

// orderRoutes moves a route in the form, or puts the order of the form in force.
func (c *Console) orderRoutes(p *page.Page) error {
	f, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	if _, err := p.FormParams(); err != nil {
		return app.Errorf(app.Invalid, "invalid_body", "The form could not be read.").Because(err)
	}
	o := c.readOrder(p, &f, m)
	opened, _ := strconv.ParseInt(p.FormValue("version"), 10, 64)
	if way, key, ok := strings.Cut(p.FormValue("step"), ":"); ok {
		o.Version, o.Unsaved = opened, true
		move(o.Routes, way, key)
		return c.showOrder(p, http.StatusOK, o)
	}
	e := modelEdit(m, "Change the order of the routes?", "Change the order")
	e.ask.Action = operatorpages.ModelFormPath("routes", m.ID)
	e.note, e.said = "Changed the order of the routes of "+m.ID+".", "Changed the order of the routes."
	e.change = func(f catalog.File) (catalog.File, error) {
		if len(o.Errors) > 0 {
			return f, app.Errorf(app.Invalid, "invalid_form", "Correct the marked weights.").Because(&fieldsError{o.Errors})
		}
		return change.OrderRoutes(f, m.ID, routeOrder(m, o.Routes))
	}
	e.form = func(status int, form operatorpages.CatalogForm) error {
		again := o
		again.CatalogForm, again.Unsaved = form, true
		return c.showOrder(p, status, again)
	}
	return c.runEdit(p, e)
}

func (c *Console) showOrder(p *page.Page, status int, o operatorpages.RouteOrder) error {
	o.Shell = c.Shell(p)
	// The theme form returns to this path.
	o.Path = views.OperatorModelsPath
	return c.Render(p, status, operatorpages.RouteOrderPage(o))
}

// readOrder is the routes of the model in the order of the form. Routes that the form does not have come last.
func (c *Console) readOrder(p *page.Page, f *catalog.File, m *catalog.FileModel) operatorpages.RouteOrder {
	o := operatorpages.RouteOrder{ModelID: m.ID, ModelName: m.Name, Wrong: map[string]string{}}
	o.Errors = map[string]string{}
	sent := p.Request().PostForm
	known := c.viewRoutes(f, m)
	place := func(key string) int {
		if i := slices.Index(sent["route"], key); i >= 0 {
			return i
		}
		return len(sent["route"])
	}
	slices.SortStableFunc(known, func(a, b operatorpages.ManagedRoute) int { return place(a.Key) - place(b.Key) })
	for i := range known {
		r := &known[i]
		r.IsTied, r.Share = i > 0 && slices.Contains(sent["tied"], r.Key), 0
		at := place(r.Key)
		if at >= len(sent["weight"]) || at >= len(sent["route"]) {
			continue
		}
		text := strings.TrimSpace(sent["weight"][at])
		weight, err := strconv.Atoi(text)
		if err != nil || weight < 1 || weight > weightMax {
			o.Wrong[r.Key] = text
			o.Errors["weight:"+r.Key] = "Enter a whole number from 1 to " + strconv.Itoa(weightMax) + "."
			continue
		}
		r.Weight = weight
	}
	o.Routes = known
	return o
}

// move moves a route up or down by one.
func move(routes []operatorpages.ManagedRoute, way, key string) {
	i := slices.IndexFunc(routes, func(r operatorpages.ManagedRoute) bool { return r.Key == key })
	j := i + 1
	if way == operatorpages.MoveUp {
		j = i - 1
	}
	if i < 0 || j < 0 || j >= len(routes) {
		return
	}
	routes[i], routes[j] = routes[j], routes[i]
	routes[0].IsTied = false
}

// routeOrder is the order of the form as the catalog has it.
func routeOrder(m *catalog.FileModel, routes []operatorpages.ManagedRoute) []change.RouteOrder {
	list, order := make([]change.RouteOrder, 0, len(routes)), 0
	for i := range routes {
		if i == 0 || !routes[i].IsTied {
			order++
		}
		for j := range m.Routes {
			if r := &m.Routes[j]; routeKey(r) == routes[i].Key {
				list = append(list, change.RouteOrder{Provider: r.Provider, Model: r.Model, Style: r.Style, Order: order,
					Weight: routes[i].Weight})
			}
		}
	}
	return list
}

// routeStyles are the styles in which a provider may be called for text, and mediaStyles those for videos.
var (
	routeStyles = append(llm.Styles(), llm.Converse, llm.Cohere)
	mediaStyles = []llm.Style{catalog.VideosStyle, catalog.OperationsStyle, catalog.TasksStyle}
)

// askRoute shows the form for a new route, filled in from the library where it knows the model, or the form for one that exists.
func (c *Console) askRoute(p *page.Page) error {
	f, m, version, err := c.modelOf(p)
	if err != nil {
		return err
	}
	v := operatorpages.RouteForm{CatalogForm: operatorpages.CatalogForm{Version: version}, Weight: "1", Place: operatorpages.PlaceLast}
	if key := p.QueryParam("route"); key != "" {
		r := findRoute(m, key)
		if r == nil {
			return page.ErrNotFound()
		}
		v.Key, v.Weight = key, strconv.Itoa(r.Weight)
		if r.Cost != nil {
			if v.Cost, err = catalog.PartText(r.Cost); err != nil {
				return err
			}
		}
	} else if err := c.suggestRoute(p, &f, m, &v); err != nil {
		return err
	}
	return c.showRoute(p, http.StatusOK, &f, m, v)
}

// suggestRoute fills in a new route of the first provider that the library knows to serve the model and that has no route of it yet.
func (c *Console) suggestRoute(p *page.Page, f *catalog.File, m *catalog.FileModel, v *operatorpages.RouteForm) error {
	known, err := library.Load(p.Request().Context(), c.o.DB)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(known.Models, func(one library.Model) bool { return one.ID == m.ID })
	for i := range f.Providers {
		one := &f.Providers[i]
		isServed := slices.ContainsFunc(m.Routes, func(r catalog.FileRoute) bool { return r.Provider == one.ID })
		if at < 0 || isServed || one.Preset == "" {
			continue
		}
		offers := known.Models[at].Offers
		j := slices.IndexFunc(offers, func(o library.Offer) bool { return o.Preset == one.Preset })
		if j < 0 {
			continue
		}
		v.Provider, v.Upstream, v.Style = one.ID, offers[j].Model, string(offers[j].Style)
		if offers[j].Cost != nil {
			if v.Cost, err = catalog.PartText(offers[j].Cost); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

func findRoute(m *catalog.FileModel, key string) *catalog.FileRoute {
	i := slices.IndexFunc(m.Routes, func(r catalog.FileRoute) bool { return routeKey(&r) == key })
	if i < 0 {
		return nil
	}
	return &m.Routes[i]
}

func (c *Console) showRoute(p *page.Page, status int, f *catalog.File, m *catalog.FileModel, v operatorpages.RouteForm) error {
	v.Shell, v.ModelID, v.ModelName = c.Shell(p), m.ID, m.Name
	// The theme form returns to this path.
	v.Path = views.OperatorModelsPath
	if r := findRoute(m, v.Key); r != nil {
		v.Provider, v.Upstream, v.Style = providerName(f, r.Provider), r.Model, string(r.Style)
	}
	for i := range f.Providers {
		one := &f.Providers[i]
		v.Providers = append(v.Providers, operatorpages.Choice{Value: one.ID, Label: providerName(f, one.ID)})
	}
	v.Styles = []operatorpages.Choice{{Label: "The style of the call"}}
	styles := routeStyles
	if m.Kind != catalog.KindText {
		styles = mediaStyles
	}
	for _, style := range styles {
		v.Styles = append(v.Styles, operatorpages.Choice{Value: string(style), Label: string(style)})
	}
	return c.Render(p, status, operatorpages.RouteFormPage(v))
}

// changeRoute adds a route to a model, or changes the weight and the cost of one.
func (c *Console) changeRoute(p *page.Page) error {
	f, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	key := p.QueryParam("route")
	old := findRoute(m, key)
	if key != "" && old == nil {
		return page.ErrNotFound()
	}
	e := modelEdit(m, "Add the route?", "Add the route")
	e.note, e.said = "Added a route to "+m.ID+".", "Added the route."
	e.ask.Action = operatorpages.ModelFormPath("route", m.ID)
	if old != nil {
		e.ask.Title, e.ask.Verb, e.note, e.said = "Change the route?", "Change the route", "Changed a route of "+m.ID+".",
			"Changed the route."
		e.ask.Action = operatorpages.RoutePath("route", m.ID, key)
	}
	route, errFields := c.readRoute(p, &f, m, old)
	e.change = func(f catalog.File) (catalog.File, error) {
		if errFields != nil {
			return f, errFields
		}
		return setRoute(f, m.ID, key, route, p.FormValue("place"))
	}
	e.field = func(path string) string {
		_, path, _ = strings.Cut(path, "].") // The path in the route follows its index.
		return isField("provider", "model", "style", "order", "weight", "cost")(path)
	}
	e.form = func(status int, form operatorpages.CatalogForm) error {
		return c.showRoute(p, status, &f, m, operatorpages.RouteForm{
			CatalogForm: form, Key: key, Provider: p.FormValue("provider"), Upstream: p.FormValue("model"), Style: p.FormValue("style"),
			Place: p.FormValue("place"), Weight: p.FormValue("weight"), Cost: p.FormValue("cost"),
		})
	}
	return c.runEdit(p, e)
}

// readRoute is the route of the form, or what is wrong with it.
func (c *Console) readRoute(p *page.Page, f *catalog.File, m *catalog.FileModel, old *catalog.FileRoute) (catalog.FileRoute, error) {
	r := newFieldReader(p)
	var route catalog.FileRoute
	if old != nil {
		route = *old
	} else {
		route.Provider, route.Model, route.Style = r.text("provider"), r.text("model"), llm.Style(r.text("style"))
		if route.Model == "" {
			r.errors["model"] = "Enter the provider's name of the model."
		}
		if !slices.ContainsFunc(f.Providers, func(one catalog.FileProvider) bool { return one.ID == route.Provider }) {
			r.errors["provider"] = "Choose a provider."
		}
		if findRoute(m, routeKey(&route)) != nil {
			r.errors["model"] = "The model has this route already."
		}
	}
	route.Weight = int(r.number("weight", "weight"))
	if route.Weight < 1 || route.Weight > weightMax {
		r.errors["weight"] = "Enter a whole number from 1 to " + strconv.Itoa(weightMax) + "."
	}
	var err error
	if route.Cost, err = catalog.ParseCost(p.FormValue("cost")); err != nil {
		r.errors["cost"] = sentence(err.Error())
	}
	return route, r.err()
}

// setRoute replaces a route of a model, or adds one at a place. A model that has prices and gets its first route can be called.
func setRoute(f catalog.File, id, key string, route catalog.FileRoute, place string) (catalog.File, error) {
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == id })
	if i < 0 {
		return f, errNoModel()
	}
	m := f.Models[i]
	m.Routes = slices.Clone(m.Routes)
	if key != "" {
		at := slices.IndexFunc(m.Routes, func(r catalog.FileRoute) bool { return routeKey(&r) == key })
		if at < 0 {
			return f, page.ErrNotFound()
		}
		m.Routes[at].Weight, m.Routes[at].Cost = route.Weight, route.Cost
		return change.ReplaceModel(f, m)
	}
	first, last := 0, 0
	for j := range m.Routes {
		if order := m.Routes[j].Order; first == 0 || order < first {
			first = order
		}
		last = max(last, m.Routes[j].Order)
	}
	switch place {
	case operatorpages.PlaceFirst:
		for j := range m.Routes {
			m.Routes[j].Order++
		}
		route.Order = 1
	case operatorpages.PlaceShared:
		route.Order = max(first, 1)
	default:
		route.Order = last + 1
	}
	if len(m.Routes) == 0 && (len(m.Rates) > 0 || m.Markup > 0) {
		m.Availability = catalog.Available
	}
	m.Routes = append(m.Routes, route)
	slices.SortStableFunc(m.Routes, func(a, b catalog.FileRoute) int { return a.Order - b.Order })
	return change.ReplaceModel(f, m)
}

// removeRoute asks before a route is removed, and removes it. Without its last route, a model cannot be called any more.
func (c *Console) removeRoute(p *page.Page) error {
	f, m, _, err := c.modelOf(p)
	if err != nil {
		return err
	}
	key := p.QueryParam("route")
	route := findRoute(m, key)
	if route == nil {
		return page.ErrNotFound()
	}
	e := modelEdit(m, "Remove the route to "+providerName(&f, route.Provider)+"?", "Remove the route")
	e.ask.Action, e.ask.Destructive = operatorpages.RoutePath("remove", m.ID, key), true
	e.note, e.said = "Removed a route of "+m.ID+".", "Removed the route."
	e.change = func(f catalog.File) (catalog.File, error) { return withoutRoute(f, m.ID, key) }
	e.effects = func(_, next catalog.File) []string {
		i := slices.IndexFunc(next.Models, func(one catalog.FileModel) bool { return one.ID == m.ID })
		switch {
		case i < 0 || len(next.Models[i].Routes) > 0:
			return nil
		case m.Markup > 0:
			return []string{"It is the last route: customers see the model as coming, and calls of it fail.",
				"Its prices came from the cost of this route, so it has none then."}
		}
		return []string{"It is the last route: customers see the model as coming, and calls of it fail. Its prices stay."}
	}
	return c.runEdit(p, e)
}

// withoutRoute removes a route. A model without routes is not available, and has no markup.
func withoutRoute(f catalog.File, id, key string) (catalog.File, error) {
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == id })
	if i < 0 {
		return f, errNoModel()
	}
	m := f.Models[i]
	m.Routes = slices.DeleteFunc(slices.Clone(m.Routes), func(r catalog.FileRoute) bool { return routeKey(&r) == key })
	if len(m.Routes) == 0 {
		m.Availability, m.Markup, m.Announced = catalog.Coming, 0, nil
		if len(m.Rates) > 0 {
			m.Announced = f.Models[i].Announced
		}
	}
	return change.ReplaceModel(f, m)
}

// presetOf is the preset of a provider; nil without one.
func presetOf(v *catalog.FileProvider) *preset.Preset {
	known, ok := preset.Find(v.Preset)
	if !ok {
		return nil
	}
	return known
}
