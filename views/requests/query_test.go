package requests

import (
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/views"
)

// strangeWords are words that people and programs put into addresses.
var strangeWords = []string{"", "a", " aurora-large ", "=cmd()", "ü%20&x=1", "é\n", "0.1", "00.10", "-1", "5s", "1000.5", "1e3", "$3", "yes", "api", "24h", "\x00",
	"2026-11-20T14:00Z", "2026-11-20", "2026-11-20T14:15", "Europe/Berlin", "UTC", "200", "10000", "custom", "month", "p95", "video", "tag", "cost", strings.Repeat("x", 300)}

func strangeValues(r *rand.Rand, names []string) url.Values {
	values := url.Values{}
	for _, name := range names {
		if r.IntN(3) > 0 {
			values.Set(name, strangeWords[r.IntN(len(strangeWords))])
		}
	}
	return values
}

// TestAnyFilterInTheAddressReadsBackAsItself checks that the address of a query that was read reads back as the same query.
func TestAnyFilterInTheAddressReadsBackAsItself(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	requests := []string{"tz", "after", "from", "to", "hide", "show", "columns", "rows"}
	for _, f := range fields {
		requests = append(requests, f.name)
	}
	usage := []string{"range", "from", "to", "tz", "by", "metric", "model", "key", "style", "reason", "end_user", "modality", "tag", "compare"}
	again := func(path string) url.Values {
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query()
	}
	for range 3000 {
		values := strangeValues(r, requests)
		q := ParseQuery(values)
		if back := ParseQuery(again(q.Path())); !reflect.DeepEqual(back, q) {
			t.Fatalf("%v:\n%+v\n%+v", values, q, back)
		}
		values = strangeValues(r, usage)
		if u := ParseUsageQuery(values); ParseUsageQuery(again(u.Path())) != u {
			t.Fatalf("%v: %+v", values, u)
		}
	}
}

func TestEveryFilterThatIsSetHasAChipThatTakesItAway(t *testing.T) {
	t.Parallel()
	values := url.Values{"from": {"2026-11-20T14:00Z"}, "to": {"2026-11-20T15:00Z"}}
	for _, f := range fields {
		values.Set(f.name, "1")
		if f.options != nil {
			values.Set(f.name, f.options[0].Value)
		}
	}
	values.Del("range")
	q := ParseQuery(values)
	chips := q.chips(nil)
	if len(chips) != len(values) {
		t.Fatalf("%d chips for %d filters", len(chips), len(values))
	}
	for _, c := range chips {
		u, err := url.Parse(c.href)
		if err != nil || len(u.Query()) != len(values)-1 {
			t.Errorf("%s leads to %s", c.text, c.href)
		}
	}
	if q.all().Path() != views.RequestsPath {
		t.Errorf("without any: %s", q.all().Path())
	}
}

func TestABarOfAPictureNarrowsTheListToItself(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 7, 30, 0, time.UTC)
	for _, span := range []string{"", "1h", "24h", "7d", "30d"} {
		q := ParseQuery(url.Values{"range": {span}, "model": {"m"}})
		from, to, step := q.PictureSpan(now)
		n := int(to.Sub(from) / step)
		if step == 0 || n < 1 || n > pictureBarsMax+1 || from.After(now) || to.Before(now) {
			t.Errorf("%s: %d bars of %s from %s to %s", span, n, step, from, to)
		}
		p := CallPicture{From: from, To: to, Step: step, Since: from, Bars: []CallBar{{Start: from, Requests: 5, Errors: 1}}}
		columns, _ := p.columns(q)
		u, err := url.Parse(columns[0].href)
		if into := ParseQuery(u.Query()); err != nil || !into.From.Equal(from) || !into.To.Equal(from.Add(step)) || into.Model != "m" || into.Range != "" {
			t.Errorf("%s: %s", span, columns[0].href)
		}
	}
	if _, _, step := (Query{From: now, To: now.Add(-time.Hour)}).PictureSpan(now); step != 0 {
		t.Error("a span that ends before it begins has a picture")
	}
}

func TestUsageIsZoomedFromDaysToOneMinute(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 7, 30, 0, time.UTC)
	path, names := UsageQuery{Range: RangeWeek, By: UsageByModel, Metric: MetricSpend, Model: "m", Tag: "production"}.Path(), []string{}
	for range 4 {
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if u.Path == views.RequestsPath {
			q := ParseQuery(u.Query())
			if names = append(names, "log"); q.To.Sub(q.From) != time.Minute || q.Model != "m" || q.Tag != "production" {
				t.Errorf("the log at %s", path)
			}
			break
		}
		q := ParseUsageQuery(u.Query())
		if q.Problem() != "" {
			t.Fatal(q.Problem())
		}
		names = append(names, q.stepName(now))
		path = q.into(q.steps(now)[0], q.Hourly(now))
	}
	if want := []string{"day", "hour", "minute", "log"}; !slices.Equal(names, want) {
		t.Errorf("zoomed through %v", names)
	}
}
