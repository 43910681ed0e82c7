package payments

import (
	"net/url"
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
	kinds map[string][]string // by prefix of the id, oldest first
}

func newStore() store {
	return store{all: map[string]object{}, kinds: map[string][]string{}}
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

// each walks the objects of a kind, newest first, until visit says to stop.
func (s *store) each(kind string, visit func(object) bool) {
	for _, id := range slices.Backward(s.kinds[kind]) {
		if !visit(s.all[id]) {
			return
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

// page is what the parameters ask of the objects of a kind that keep accepts.
func (c *call) page(kind string, keep func(object) bool) (*list, *failure) {
	f := c.form
	limit := f.number("limit", listedStandard)
	if limit < 1 || limit > listedMax {
		f.fail(invalid("", "limit", "This value must be between 1 and %d.", listedMax))
	}
	inTime := c.createdFilter()
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
	var found []object
	started := after == ""
	c.sim.store.each(kind, func(o object) bool {
		id, created := o.facts()
		if id == before {
			return false
		}
		if started && inTime(created) && keep(o) {
			found = append(found, o)
		}
		started = started || id == after
		return before != "" || int64(len(found)) <= limit
	})
	all := &list{Object: "list", Data: []any{}, URL: c.request.URL.Path, HasMore: int64(len(found)) > limit}
	if all.HasMore && before != "" { // the page that ends right before it
		found = found[int64(len(found))-limit:]
	}
	for _, o := range found[:min(int64(len(found)), limit)] {
		all.Data = append(all.Data, o)
	}
	return all, nil
}

// createdFilter is what the parameters ask of the time at which something was made.
func (c *call) createdFilter() func(int64) bool {
	f := c.form
	exact := f.number("created", -1)
	gt, gte := f.number("created[gt]", -1), f.number("created[gte]", -1)
	lt, lte := f.number("created[lt]", -1), f.number("created[lte]", -1)
	return func(at int64) bool {
		return (exact < 0 || at == exact) && at > gt && at >= gte && (lt < 0 || at < lt) && (lte < 0 || at <= lte)
	}
}

// same reports whether a filter is absent or names the value.
func (c *call) same(name string, value *string) bool {
	return !c.form.has(name) || c.form.text(name) == wordOf(value)
}

func fingerprint(method, path string, given url.Values) string {
	return method + " " + path + "?" + given.Encode()
}
