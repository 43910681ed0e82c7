package models

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/views"
)

func tokens(id string, in, out int64, context int64) views.Model {
	return views.Model{
		ID: id, Name: id, Capabilities: []string{"text"}, Styles: []views.Style{"chat"}, ContextTokens: context, State: views.ModelAvailable,
		Output: []string{"text"}, Input: []string{"text"},
		Prices: []views.Price{{Meter: "input_tokens", Amount: app.Amount(in), Per: 1_000_000}, {Meter: "output_tokens", Amount: app.Amount(out), Per: 1_000_000}},
	}
}

var someKeys = []KeyAllows{{ID: "key_1", Models: []string{"a", "b", "gone"}}, {ID: "key_2"}}

func someModels() []views.Model {
	film := views.Model{ID: "film", Name: "film", Capabilities: []string{"video"}, State: views.ModelComing, Prices: []views.Price{{Meter: "seconds", Amount: app.Dollar, Per: 1}}}
	b := tokens("b", 1, 9, 200)
	b.Styles, b.Capabilities = []views.Style{"messages"}, []string{"text", "code"}
	b.Parameters, b.Input, b.MaxOutput = []string{"tools", "seed"}, []string{"text", "image"}, 50
	b.Now = views.ModelNow{FirstByteP50: time.Second, Speed: 90}
	c, a := tokens("c", 3, 5, 100), tokens("a", 2, 7, 300)
	c.Parameters, c.Deprecated, c.MaxOutput = []string{"tools"}, &time.Time{}, 20
	a.Now = views.ModelNow{FirstByteP50: time.Millisecond, Speed: 10}
	film.Output = []string{"video"}
	return []views.Model{c, film, b, a}
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
		for _, m := range (List{Query: ParseQuery(v), All: someModels(), Keys: someKeys}).Rows() {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// TestAQueryLivesInItsAddress checks that the address of a query reads back as the same query.
func TestAQueryLivesInItsAddress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := Query{
			Text:         strings.TrimSpace(rapid.StringN(0, 40, 200).Draw(t, "text")),
			Capabilities: picked(t, "capability", Capabilities()), Styles: picked(t, "style", styleNames),
			Inputs: picked(t, "input", modalityNames), Outputs: picked(t, "output", modalityNames), Features: picked(t, "feature", featureNames()),
			Statuses: picked(t, "status", statusNames()), From: rapid.SampledFrom([]string{"", "0", "0.15", "12"}).Draw(t, "from"),
			To: rapid.SampledFrom([]string{"", "5", "0.000000001"}).Draw(t, "to"), Context: rapid.Int64Range(0, 1<<40).Draw(t, "context"),
			Key: rapid.SampledFrom([]string{"", "key_1"}).Draw(t, "key"), Unit: rapid.SampledFrom([]string{"", views.UnitThousand}).Draw(t, "unit"),
			View: rapid.SampledFrom([]string{"", ViewTable, ViewCards}).Draw(t, "view"), Page: rapid.SampledFrom([]int{0, 2, 12}).Draw(t, "page"),
			Parameter: rapid.SampledFrom([]string{"", "top_p"}).Draw(t, "parameter"), Marked: picked(t, "marked", []string{"a", "b/c:d", "e?f"}),
			Sort: rapid.SampledFrom([]string{"", "name", "-name", "input", "-released", "context", "ttft", "-speed"}).Draw(t, "sort"),
		}
		u, err := url.Parse(q.Path())
		if err != nil {
			t.Fatal(err)
		}
		if got := ParseQuery(u.Query()); !reflect.DeepEqual(got, q) {
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

// TestALongListIsDrawnByThePage checks that a page shows a hundred of five hundred models, is small, and leads to the others.
func TestALongListIsDrawnByThePage(t *testing.T) {
	t.Parallel()
	const bytesMax = 400_000 // The whole list is three times as large.
	l := List{Query: Query{Sort: "name", Page: 3}}
	for i := range 500 {
		l.All = append(l.All, tokens("vendor/model-"+strconv.Itoa(1000+i), 1, 2, 128_000))
	}
	var page strings.Builder
	if err := ListPage(l).Render(t.Context(), &page); err != nil {
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
