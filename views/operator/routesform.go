package operator

import (
	"strconv"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// RouteOrder is the form that orders the routes of a model.
type RouteOrder struct {
	views.Shell
	CatalogForm
	ModelID, ModelName string
	Routes             []ManagedRoute
	// Unsaved is set when the order differs from that of the catalog.
	Unsaved bool
	// Wrong has the weights that are no numbers, by route.
	Wrong map[string]string
}

// These are the values of the button that moves a route.
const (
	MoveUp   = "up"
	MoveDown = "down"
)

func (o RouteOrder) action() string { return ModelFormPath("routes", o.ModelID) }

func (o RouteOrder) weightID(i int) string { return "weight-" + strconv.Itoa(i) }

// isAlone reports whether a route shares its place with no other.
func (o RouteOrder) isAlone(i int) bool {
	return (i == 0 || !o.Routes[i].IsTied) && (i+1 >= len(o.Routes) || !o.Routes[i+1].IsTied)
}

// place says which share of the calls a route gets first.
func (o RouteOrder) place(i int) string {
	r := o.Routes[i]
	switch {
	case !o.isAlone(i) && r.Share > 0:
		return format.Int64(r.Share) + "% of calls of this place"
	case i == 0:
		return "Tried first"
	case !o.isAlone(i):
		return "Shares its place"
	}
	return "When the routes above do not answer"
}

func (o RouteOrder) moveValue(i int, way string) string { return way + ":" + o.Routes[i].Key }

// RouteForm is the form for a route of a model.
type RouteForm struct {
	views.Shell
	CatalogForm
	ModelID, ModelName string
	// Key names the route that the form changes. It is empty for a new route.
	Key                string
	Providers          []Choice
	Provider, Upstream string
	Style              string
	Styles             []Choice
	// Place is one of the values below. Only the form of a new route has it.
	Place  string
	Weight string
	// Cost has lines of the catalog file.
	Cost string
}

// Choice is one entry of a list.
type Choice struct{ Value, Label string }

// These are the places of a new route.
const (
	// PlaceLast is tried when no other route answers.
	PlaceLast = "last"
	// PlaceFirst is tried before all other routes.
	PlaceFirst = "first"
	// PlaceShared takes a share of the calls of the first place, by weight.
	PlaceShared = "shared"
)

func (f RouteForm) isNew() bool { return f.Key == "" }

func (f RouteForm) title() string {
	if f.isNew() {
		return "Add a route"
	}
	return "Change a route"
}

func (f RouteForm) action() string {
	if f.isNew() {
		return ModelFormPath("route", f.ModelID)
	}
	return RoutePath("route", f.ModelID, f.Key)
}

// costExample shows how a cost is written.
const costExample = "rates:\n  input_tokens: 3 per 1M\n  output_tokens: 15 per 1M"

// weight is what the field of a route shows: what was entered, where that was not a number.
func (o RouteOrder) weight(r ManagedRoute) string {
	if text, wrong := o.Wrong[r.Key]; wrong {
		return text
	}
	return strconv.Itoa(r.Weight)
}

// options are the entries of a select.
func options(choices []Choice) []ui.Option {
	list := make([]ui.Option, len(choices))
	for i, c := range choices {
		list[i] = ui.Option{Value: c.Value, Label: c.Label}
	}
	return list
}
