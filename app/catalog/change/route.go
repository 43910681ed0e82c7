package change

import (
	"cmp"
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
)

// RouteOrder names a route of a model, and says when it is tried. A Style that is empty names the only route of the provider and model.
type RouteOrder struct {
	Provider, Model string
	Style           llm.Style
	// Order says when the route is tried, the lowest first. Weight is its share among the routes of the same order.
	Order, Weight int
}

// routeName tells the routes of a model apart.
type routeName struct {
	provider, model string
	style           llm.Style
}

func nameOf(r *catalog.FileRoute) routeName { return routeName{r.Provider, r.Model, r.Style} }

// OrderRoutes sets the order and the weights of all routes of a model. The list names each route once. The routes are then in the file in
// the order in which they are tried.
func OrderRoutes(f catalog.File, id string, order []RouteOrder) (catalog.File, error) {
	return withModel(f, id, func(m *catalog.FileModel) error {
		if len(order) != len(m.Routes) {
			return app.InvalidValue("routes", "%s has %d routes, and the order names %d. Name each route once.", id, len(m.Routes), len(order))
		}
		seen, next := map[routeName]bool{}, make([]catalog.FileRoute, 0, len(order))
		for _, o := range order {
			r, err := findRoute(m, o)
			switch {
			case err != nil:
				return err
			case seen[nameOf(&r)]:
				return app.InvalidValue("routes", "The order names %s at %s twice.", o.Model, o.Provider)
			case o.Order < 1:
				return app.InvalidValue("order", "The order of %s at %s is %d. It starts at 1.", o.Model, o.Provider, o.Order)
			case o.Weight < 1:
				return app.InvalidValue("weight", "The weight of %s at %s is %d. It starts at 1.", o.Model, o.Provider, o.Weight)
			}
			seen[nameOf(&r)] = true
			r.Order, r.Weight = o.Order, o.Weight
			next = append(next, r)
		}
		slices.SortStableFunc(next, func(a, b catalog.FileRoute) int { return cmp.Compare(a.Order, b.Order) })
		m.Routes = next
		return nil
	})
}

// findRoute is the route of a model that an order names.
func findRoute(m *catalog.FileModel, o RouteOrder) (catalog.FileRoute, error) {
	var found []catalog.FileRoute
	for _, r := range m.Routes {
		if r.Provider == o.Provider && r.Model == o.Model && (o.Style == "" || r.Style == o.Style) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return catalog.FileRoute{}, errNoRoute(m.ID, o.Provider, o.Model)
	}
	return catalog.FileRoute{}, app.InvalidValue("style", "%s has %d routes to %s at %s. Name the style too.",
		m.ID, len(found), o.Model, o.Provider)
}

func errNoRoute(id, provider, model string) error {
	return app.Errorf(app.NotFound, "route_not_found", "%s has no route to %s at %s.", id, model, provider).At("routes")
}
