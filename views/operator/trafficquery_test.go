package operator

import (
	"net/url"
	"slices"
	"testing"
	"time"
)

func TestATrafficAddressKeepsItsGroups(t *testing.T) {
	t.Parallel()
	values := url.Values{"q": {"atlas"}, "order": {"catalog"}, "groups": {"closed"}, "flip": {"a/b", "c", "a/b"}}
	q := ParseTrafficQuery(values)
	if !q.open("a/b") || !q.open("c") || q.open("d") || len(q.Flipped) != 2 {
		t.Errorf("%+v", q)
	}
	next := q.flip("c").flip("d")
	if next.open("c") || !next.open("d") || !q.open("c") {
		t.Errorf("%+v after %+v", next, q)
	}
	u, err := url.Parse(next.of("box-1").Path())
	if err != nil {
		t.Fatal(err)
	}
	again := ParseTrafficQuery(u.Query())
	if again.Path() != next.Path() || u.Query().Get("replica") != "box-1" {
		t.Errorf("%s is not %s", again.Path(), next.Path())
	}
	if path := q.all(false).everything().Path(); path != "/console/operator?order=catalog" {
		t.Errorf("all open: %s", path)
	}
	many := url.Values{}
	for range flippedMax + 5 {
		many.Add("flip", "m"+time.Duration(len(many["flip"])).String())
	}
	if n := len(ParseTrafficQuery(many).Flipped); n != flippedMax {
		t.Errorf("%d groups", n)
	}
}

func TestModelsWithProblemsComeFirst(t *testing.T) {
	t.Parallel()
	model := func(id, provider string, refused, failures int64, p95 time.Duration, state RouteState) TrafficModel {
		return TrafficModel{ID: id, Refused: refused, Routes: []TrafficRoute{{Provider: provider, Place: 1, Seen: []RouteSeen{
			{State: state, Calls: 100, Failures: failures, P95: p95},
		}}}}
	}
	all := Traffic{
		Models: []TrafficModel{
			model("well", "one", 0, 0, time.Second, RouteOpen), model("slow", "one", 0, 0, 20*time.Second, RouteOpen),
			model("failing", "two", 0, 9, time.Second, RouteOpen), model("refused", "two", 4, 0, time.Second, RouteOpen),
			model("ejected", "two", 0, 0, time.Second, RouteEjected),
		},
		Providers: []TrafficProvider{{ID: "one", Seen: []ProviderSeen{{}}}, {ID: "two", Unusable: "no key"}},
	}
	for _, c := range []struct {
		query             TrafficQuery
		models, providers []string
	}{
		{TrafficQuery{}, []string{"ejected", "refused", "failing", "slow", "well"}, []string{"two", "one"}},
		{TrafficQuery{Order: TrafficByCatalog}, []string{"well", "slow", "failing", "refused", "ejected"}, []string{"one", "two"}},
		{TrafficQuery{Text: "SLOW"}, []string{"slow"}, []string{"one"}},
		{TrafficQuery{Text: "two", Order: TrafficByCatalog}, []string{"failing", "refused", "ejected"}, []string{"two"}},
		{TrafficQuery{Text: "nothing"}, nil, nil},
	} {
		all.Query = c.query
		models, providers := all.arranged()
		var ids, names []string
		for _, m := range models {
			ids = append(ids, m.ID)
		}
		for _, p := range providers {
			names = append(names, p.ID)
		}
		if !slices.Equal(ids, c.models) || !slices.Equal(names, c.providers) {
			t.Errorf("%+v: %v and %v", c.query, ids, names)
		}
	}
}
