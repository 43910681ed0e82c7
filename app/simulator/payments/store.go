package payments

import (
	"iter"
	"slices"
	"strings"
)

// objectsMax is how many objects are remembered, events and all; the oldest are forgotten first.
const objectsMax = 20_000

// object is anything with an id.
type object interface {
	facts() (id string, created int64)
}

// store keeps the latest objects.
type store struct {
	all   map[string]object
	order []string
	kinds map[string][]string // The ids are grouped by their prefix, and the oldest is first.
}

func kindOf(id string) string {
	kind, _, _ := strings.Cut(id, "_")
	return kind
}

func (s *store) get(id string) object { return s.all[id] }

func (s *store) put(o object) {
	id, _ := o.facts()
	if len(s.order) >= objectsMax {
		oldest := s.order[0]
		s.order = s.order[1:]
		delete(s.all, oldest)
		s.kinds[kindOf(oldest)] = s.kinds[kindOf(oldest)][1:]
	}
	s.all[id] = o
	s.order = append(s.order, id)
	s.kinds[kindOf(id)] = append(s.kinds[kindOf(id)], id)
}

// find is the object of that id and type.
func find[T object](s *Simulator, id string) (found T, ok bool) {
	found, ok = s.store.get(id).(T)
	return found, ok
}

// latest are the objects of a type, whose ids begin with the kind, newest first.
func latest[T object](s *Simulator, kind string) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, id := range slices.Backward(s.store.kinds[kind]) {
			if o, ok := s.store.all[id].(T); ok && !yield(o) {
				return
			}
		}
	}
}

// list is one page of objects.
type list struct {
	Object  string `json:"object"`
	Data    []any  `json:"data"`
	HasMore bool   `json:"has_more"`
	URL     string `json:"url"`
}

func (*list) facts() (string, int64) { return "", 0 }

// pageParams are what every list takes.
func pageParams(more ...string) []string {
	return append(more, "limit", "starting_after", "ending_before", "created", "created[gt]", "created[gte]", "created[lt]", "created[lte]")
}

// lister answers a page of the objects of a type that keep accepts.
func lister[T object](route, kind string, keep func(c *call, o T) bool, filters ...string) endpoint {
	return endpoint{route: "GET " + route, accepts: pageParams(filters...), serve: func(c *call) (object, *failure) {
		return page(c, kind, func(o T) bool { return keep(c, o) })
	}}
}

// page is what the parameters ask of the objects of a type that keep accepts.
func page[T object](c *call, kind string, keep func(T) bool) (object, *failure) {
	f := c.form
	limit := f.number("limit", listedStandard)
	if limit < 1 || limit > listedMax {
		f.fail(invalid("", "limit", "This value must be between 1 and %d.", listedMax))
	}
	exact := f.number("created", -1)
	gt, gte := f.number("created[gt]", -1), f.number("created[gte]", -1)
	lt, lte := f.number("created[lt]", -1), f.number("created[lte]", -1)
	after, before := f.text("starting_after"), f.text("ending_before")
	if after != "" && before != "" {
		f.fail(invalid("", "", "You may only specify one of these parameters: starting_after, ending_before."))
	}
	for name, id := range map[string]string{"starting_after": after, "ending_before": before} {
		if f.has(name) && c.sim.store.get(id) == nil {
			f.fail(missing(kind, id, name))
		}
	}
	if f.failed != nil {
		return nil, f.failed
	}
	var found []T
	started := after == ""
	for o := range latest[T](c.sim, kind) {
		id, at := o.facts()
		if id == before || before == "" && int64(len(found)) > limit {
			break
		}
		inTime := (exact < 0 || at == exact) && at > gt && at >= gte && (lt < 0 || at < lt) && (lte < 0 || at <= lte)
		if started && inTime && keep(o) {
			found = append(found, o)
		}
		started = started || id == after
	}
	all := &list{Object: "list", Data: []any{}, URL: c.request.URL.Path, HasMore: int64(len(found)) > limit}
	if all.HasMore && before != "" { // The page ends right before that object.
		found = found[int64(len(found))-limit:]
	}
	for _, o := range found[:min(int64(len(found)), limit)] {
		all.Data = append(all.Data, o)
	}
	return all, nil
}

// same reports whether a filter is absent or names the value.
func (c *call) same(name string, value *string) bool {
	return !c.form.has(name) || c.form.text(name) == wordOf(value)
}
