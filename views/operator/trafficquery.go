package operator

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	flippedMax = 100             // groups whose state an address names
	slowAfter  = 5 * time.Second // A p95 of the first byte over this is a problem.
)

// TrafficByCatalog is the order of the catalog. Without it, models with problems come first.
const TrafficByCatalog = "catalog"

var trafficOrders = []ui.Option{{Value: "", Label: "Problems first"}, {Value: TrafficByCatalog, Label: "Catalog order"}}

const groupsClosed = "closed"

// TrafficQuery says what the page shows. It is the address of the page.
type TrafficQuery struct {
	Text    string
	Order   string
	Replica string
	// Closed means that the groups are collapsed, and Flipped are those that are not as the others.
	Closed  bool
	Flipped []string
}

// ParseTrafficQuery reads an address, and leaves out what is unknown.
func ParseTrafficQuery(values url.Values) TrafficQuery {
	q := TrafficQuery{
		Text: views.FilterText(values.Get("q")), Order: views.KnownOption(values.Get("order"), trafficOrders),
		Closed: values.Get("groups") == groupsClosed,
	}
	for _, id := range values["flip"] {
		if id = views.FilterText(id); id != "" && len(q.Flipped) < flippedMax && !slices.Contains(q.Flipped, id) {
			q.Flipped = append(q.Flipped, id)
		}
	}
	return q
}

// Path is the address of the page.
func (q TrafficQuery) Path() string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "order": q.Order, "replica": q.Replica} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Closed {
		values.Set("groups", groupsClosed)
	}
	if len(q.Flipped) > 0 {
		values["flip"] = q.Flipped
	}
	if len(values) == 0 {
		return views.OperatorPath
	}
	return views.OperatorPath + "?" + values.Encode()
}

func (q TrafficQuery) of(replica string) TrafficQuery {
	q.Replica = replica
	return q
}

func (q TrafficQuery) open(id string) bool { return q.Closed == slices.Contains(q.Flipped, id) }

// flip opens a group that is closed, and closes one that is open.
func (q TrafficQuery) flip(id string) TrafficQuery {
	if i := slices.Index(q.Flipped, id); i >= 0 {
		q.Flipped = slices.Delete(slices.Clone(q.Flipped), i, i+1)
		return q
	}
	q.Flipped = append(slices.Clone(q.Flipped), id)
	return q
}

// all opens or closes every group.
func (q TrafficQuery) all(closed bool) TrafficQuery {
	q.Closed, q.Flipped = closed, nil
	return q
}

func (q TrafficQuery) everything() TrafficQuery {
	q.Text = ""
	return q
}

// Callers are accounts of the last hour: those with the most refusals, or those that match the search.
type Callers struct {
	List []Caller
	Late bool // The database took too long.
}

// Caller is the traffic of one account in the last hour.
type Caller struct {
	AccountID, Account string
	Key                string // the key that the search names; empty for all
	Refused            int64
	RefusedMost        string // the code of most refusals
	// Counted means that the calls of the account were added up, which only a search does.
	Counted       bool
	Calls, Failed int64
	FirstByte     time.Duration // mean; zero when unknown
}

func (c Caller) path() string { return views.OperatorAccountsPath + "/" + url.PathEscape(c.AccountID) }

func (c Caller) failedShare() string {
	if c.Calls == 0 {
		return ""
	}
	return format.Percent(c.Failed, c.Calls) + " failed"
}

// arranged is the traffic as the query asks for it: what matches, problems first. The figures of the head stay those of everything.
func (t Traffic) arranged() (models []TrafficModel, providers []TrafficProvider) {
	text := strings.ToLower(t.Query.Text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(w), text) })
	}
	routed := map[string]bool{}
	for _, m := range t.Models {
		found := text == "" || has(m.ID)
		for _, r := range m.Routes {
			found = found || has(r.Provider, r.ProviderName, r.Upstream)
		}
		if !found {
			continue
		}
		models = append(models, m)
		for _, r := range m.Routes {
			routed[r.Provider] = true
		}
	}
	for _, p := range t.Providers {
		if text == "" || has(p.ID, p.Name) || routed[p.ID] {
			providers = append(providers, p)
		}
	}
	if t.Query.Order != TrafficByCatalog {
		slices.SortStableFunc(models, func(a, b TrafficModel) int { return a.problems().compare(b.problems()) })
		slices.SortStableFunc(providers, func(a, b TrafficProvider) int {
			return cmp.Compare(toneRank(a.verdict().Tone), toneRank(b.verdict().Tone))
		})
	}
	return models, providers
}

// modelProblems orders models: those that refuse all calls, those that are not well, then by refusals, failures and slowness.
type modelProblems struct {
	rank              int
	refused, failures int64
	slow              time.Duration
}

func (p modelProblems) compare(other modelProblems) int {
	return cmp.Or(cmp.Compare(p.rank, other.rank), cmp.Compare(other.refused, p.refused), cmp.Compare(other.failures, p.failures),
		cmp.Compare(other.slow, p.slow))
}

func (m TrafficModel) problems() modelProblems {
	p := modelProblems{rank: toneRank(m.verdict().Tone), refused: m.Refused}
	for _, r := range m.Routes {
		_, failures, _ := r.calls()
		p.failures += failures
		for _, s := range r.Seen {
			if s.P95 > slowAfter {
				p.slow = max(p.slow, s.P95)
			}
		}
	}
	return p
}

// toneRank puts what is broken before what is not well, and both before all else.
func toneRank(tone ui.Tone) int {
	switch tone {
	case ui.Danger:
		return 0
	case ui.Warning:
		return 1
	}
	return 2
}

// group is a collapsed model in a line: its routes and calls.
func (m TrafficModel) group() string {
	var calls, failures int64
	for _, r := range m.Routes {
		c, f, _ := r.calls()
		calls, failures = calls+c, failures+f
	}
	text := format.CountOf(int64(len(m.Routes)), "route", "routes") + " · " + format.CountOf(calls, "call", "calls") + " a minute"
	if failures > 0 {
		text += " · " + format.Percent(failures, calls) + " failed"
	}
	return text
}
