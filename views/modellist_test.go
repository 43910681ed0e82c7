package views

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
)

func tokens(id string, in, out int64, context int64) Model {
	return Model{
		ID: id, Name: id, Capabilities: []string{"text"}, Styles: []Style{"chat"}, ContextTokens: context, State: ModelAvailable,
		Output: []string{"text"}, Input: []string{"text"},
		Prices: []Price{{Meter: "input_tokens", Amount: app.Amount(in), Per: 1_000_000}, {Meter: "output_tokens", Amount: app.Amount(out), Per: 1_000_000}},
	}
}

var someKeys = []KeyAllows{{ID: "key_1", Models: []string{"a", "b", "gone"}}, {ID: "key_2"}}

func someModels() []Model {
	film := Model{ID: "film", Name: "film", Capabilities: []string{"video"}, State: ModelComing, Prices: []Price{{Meter: "seconds", Amount: app.Dollar, Per: 1}}}
	b := tokens("b", 1, 9, 200)
	b.Styles, b.Capabilities = []Style{"messages"}, []string{"text", "code"}
	b.Parameters, b.Input, b.MaxOutput = []string{"tools", "seed"}, []string{"text", "image"}, 50
	b.Now = ModelNow{FirstByteP50: time.Second, Speed: 90}
	c, a := tokens("c", 3, 5, 100), tokens("a", 2, 7, 300)
	c.Parameters, c.Deprecated, c.MaxOutput = []string{"tools"}, &time.Time{}, 20
	a.Now = ModelNow{FirstByteP50: time.Millisecond, Speed: 10}
	film.Output = []string{"video"}
	return []Model{c, film, b, a}
}

func TestModelsAreFoundAndSorted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                              "c film b a",
		"sort=name":                     "a b c film",
		"sort=-name":                    "film c b a",
		"sort=input":                    "b a c film",
		"sort=-input":                   "c a b film",
		"sort=output":                   "c a b film",
		"sort=-context":                 "a b c film",
		"sort=nonsense":                 "c film b a",
		"capability=video":              "film",
		"parameter=tools":               "c b",
		"parameter=tools&feature=seed":  "b",
		"parameter=nonsense":            "",
		"capability=video&capability=x": "film",
		"capability=code&capability=video&sort=name": "b film",
		"style=chat":                          "c a",
		"style=chat&style=messages&sort=name": "a b c",
		"style=native":                        "",
		"q=FI+lm":                             "film",
		"q=zebra":                             "",
		"capability=text&style=messages&q=b":  "b",
		"sort=-max":                           "b c film a", "sort=max": "c b film a", "sort=ttft": "a b c film", "sort=-ttft": "b a c film", "sort=-speed": "b a c film",
		"feature=tools":                            "c b",
		"feature=tools&feature=seed":               "b",
		"feature=vision":                           "b",
		"feature=nonsense":                         "c film b a",
		"input=text&input=image":                   "b",
		"output=video&output=text":                 "c film b a",
		"output=video":                             "film",
		"status=deprecated":                        "c",
		"status=coming&status=available&sort=name": "a b film",
		"context=200":                              "b a",
		"context=-5":                               "c film b a",
		"from=0.000000002":                         "c film a",
		"from=0.000000002&to=%240.5":               "c a",
		"from=x&to=-1":                             "c film b a",
		"key=key_1":                                "b a",
		"key=key_2":                                "c film b a",
		"key=key_none":                             "c film b a",
	} {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range (Models{Query: ParseModelQuery(v), All: someModels(), Keys: someKeys}).Rows() {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestAQueryLivesInItsAddress: what an address says is what the next address says.
func TestAQueryLivesInItsAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := ModelQuery{
			Text:         strings.TrimSpace(rapid.StringN(0, 40, 200).Draw(t, "text")),
			Capabilities: picked(t, "capability", Capabilities()), Styles: picked(t, "style", styleNames),
			Inputs: picked(t, "input", modalityNames), Outputs: picked(t, "output", modalityNames), Features: picked(t, "feature", featureNames()),
			Statuses: picked(t, "status", statusNames()), From: rapid.SampledFrom([]string{"", "0", "0.15", "12"}).Draw(t, "from"),
			To: rapid.SampledFrom([]string{"", "5", "0.000000001"}).Draw(t, "to"), Context: rapid.Int64Range(0, 1<<40).Draw(t, "context"),
			Key: rapid.SampledFrom([]string{"", "key_1"}).Draw(t, "key"), Unit: rapid.SampledFrom([]string{"", UnitThousand}).Draw(t, "unit"),
			View: rapid.SampledFrom([]string{"", ViewTable, ViewCards}).Draw(t, "view"), Page: rapid.SampledFrom([]int{0, 2, 12}).Draw(t, "page"),
			Parameter: rapid.SampledFrom([]string{"", "top_p"}).Draw(t, "parameter"), Marked: picked(t, "marked", []string{"a", "b/c:d", "e?f"}),
			Sort: rapid.SampledFrom([]string{"", "name", "-name", "input", "-released", "context", "ttft", "-speed"}).Draw(t, "sort"),
		}
		u, err := url.Parse(q.Path())
		if err != nil {
			t.Fatal(err)
		}
		if got := ParseModelQuery(u.Query()); !reflect.DeepEqual(got, q) {
			t.Fatalf("%+v became %+v", q, got)
		}
	})
}

func picked(t *rapid.T, name string, from []string) []string {
	var out []string
	for _, one := range from {
		if rapid.Bool().Draw(t, name+one) {
			out = append(out, one)
		}
	}
	return out
}

func TestPricesAreToldInTheUnitOfTheirModality(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		price      Price
		text, unit string
	}{
		{Price{Meter: "input_tokens", Amount: 15 * app.Cent, Per: 1_000_000}, "$0.15", "1M tokens"},
		{Price{Meter: "output_tokens", Amount: 600_000, Per: 1_000}, "$0.60", "1M tokens"},
		{Price{Meter: "images", Amount: 4 * app.Cent, Per: 1}, "$0.04", "image"},
		{Price{Meter: "seconds", Amount: 10 * app.Cent, Per: 1}, "$0.10", "second"},
		{Price{Meter: "characters", Amount: 15 * app.Dollar, Per: 1_000_000}, "$15.00", "1M characters"},
		{Price{Meter: "images", Amount: 4 * app.Dollar, Per: 1_000}, "$4.00", "1,000 images"},
		{Price{Meter: "requests", Amount: 1, Per: 1}, "$0.000000001", "request"},
	} {
		if c.price.Text() != c.text || c.price.Unit() != c.unit {
			t.Errorf("%+v is %s per %s", c.price, c.price.Text(), c.price.Unit())
		}
	}
	m := Model{
		Prices:     []Price{{Meter: "seconds", Amount: 30 * app.Cent, Per: 1}},
		SizePrices: []SizePrice{{Size: "big", Price: Price{Meter: "seconds", Amount: 70 * app.Cent, Per: 1}}},
	}
	if m.priceLine() != "$0.30 – $0.70 per second" {
		t.Error(m.priceLine())
	}
	if got := tokens("x", 150_000_000, 600_000_000, 1).priceLine(); got != "$0.15 in · $0.60 out per 1M tokens" {
		t.Error(got)
	}
}

func TestShortCountsAreTheUsualOnes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 4096: "4.1K", 16_384: "16.4K", 128_000: "128K", 65_536: "65.5K", 131_072: "131K", 1_000_000: "1M", 1_048_576: "1M",
		2_000_000: "2M", 1_500_000: "1.5M", 20_000_000_000: "20B",
	} {
		if got := Short(n); got != want {
			t.Errorf("Short(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestAModelSaysHowLongItStays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	before, after := now.AddDate(0, -1, 0), now.AddDate(0, 6, 0)
	for _, c := range []struct {
		change             func(*Model)
		badge, title, text string
	}{
		{func(*Model) {}, "Available", "Good to know", ""},
		{func(m *Model) { m.Notice = "Busy at noon." }, "Available", "Good to know", "Busy at noon."},
		{func(m *Model) { m.Deprecated = &after }, "Available", "Deprecated from 21 May 2027", "goes on working"},
		{func(m *Model) { m.Deprecated = &before }, "Deprecated", "Deprecated", "goes on working"},
		{func(m *Model) { m.Deprecated, m.Shutdown = &before, &after }, "Deprecated", "Shuts down on 21 May 2027", "before then"},
		{func(m *Model) { m.Shutdown = &before }, "Shut down", "Shut down", "another model"},
		{func(m *Model) { m.State = ModelPaused }, "Paused", "Paused", "no new calls"},
		{func(m *Model) { m.State, m.Notice = ModelPaused, "Back at ten." }, "Paused", "Paused", "Back at ten."},
		{func(m *Model) { m.State = ModelComing }, "Coming", "Coming", "cannot be called yet"},
		{func(m *Model) { m.State = ModelUnserved }, "No provider", "No provider", "None of its providers"},
	} {
		m := tokens("m", 1, 1, 1)
		c.change(&m)
		title, text, _ := m.lifecycle(now)
		if m.verdict(now).text != c.badge || title != c.title || !strings.Contains(text, c.text) || (text == "") != (c.text == "") {
			t.Errorf("%s: %q, %q, want %s: %q, %q", m.verdict(now).text, title, text, c.badge, c.title, c.text)
		}
	}
}

func TestModelPathsLeadBack(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"a/b": "/console/models/a/b", "boreal/drift:fast": "/console/models/boreal/drift:fast", "x?y#z": "/console/models/x%3Fy%23z",
	} {
		if got := ModelPath(id); got != want {
			t.Errorf("%s is at %s, want %s", id, got, want)
		}
	}
}

// TestALongListIsDrawnByThePage: of five hundred models a page shows a hundred, weighs little, and leads to the others.
func TestALongListIsDrawnByThePage(t *testing.T) {
	t.Parallel()
	const bytesMax = 400_000 // the whole list is three times as large
	l := Models{Query: ModelQuery{Sort: "name", Page: 3}}
	for i := range 500 {
		l.All = append(l.All, tokens("vendor/model-"+strconv.Itoa(1000+i), 1, 2, 128_000))
	}
	var page strings.Builder
	if err := ModelsPage(l).Render(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if n := strings.Count(text, `data-testid="model"`); n != 100 || len(text) > bytesMax {
		t.Errorf("%d models in %d bytes", n, len(text))
	}
	for _, want := range []string{"201 – 300 of 500", "page=2&amp;sort=name", "page=4&amp;sort=name", "model-1200", "500 models"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	l.Query.Page = 900
	if last := l.pageOf(l.Rows()); last.number != 5 || last.rows[99].ID != "vendor/model-1499" {
		t.Errorf("beyond the end: page %d", last.number)
	}
}
