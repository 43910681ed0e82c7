package views

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
)

func tokens(id string, in, out int64, context int64) Model {
	return Model{
		ID: id, Name: id, Capabilities: []string{"text"}, Styles: []Style{"chat"}, ContextTokens: context, State: ModelAvailable,
		Prices: []Price{{Meter: "input_tokens", Amount: app.Amount(in), Per: 1_000_000}, {Meter: "output_tokens", Amount: app.Amount(out), Per: 1_000_000}},
	}
}

func someModels() []Model {
	film := Model{ID: "film", Name: "film", Capabilities: []string{"video"}, State: ModelComing, Prices: []Price{{Meter: "seconds", Amount: app.Dollar, Per: 1}}}
	b := tokens("b", 1, 9, 200)
	b.Styles, b.Capabilities = []Style{"messages"}, []string{"text", "code"}
	return []Model{tokens("c", 3, 5, 100), film, b, tokens("a", 2, 7, 300)}
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
		"capability=video&capability=x": "film",
		"capability=code&capability=video&sort=name": "b film",
		"style=chat":                          "c a",
		"style=chat&style=messages&sort=name": "a b c",
		"style=native":                        "",
		"q=FI+lm":                             "film",
		"q=zebra":                             "",
		"capability=text&style=messages&q=b":  "b",
	} {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range (Models{Query: ParseModelQuery(v), All: someModels()}).Rows() {
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
			Text:         strings.TrimSpace(rapid.String().Draw(t, "text")),
			Capabilities: picked(t, "capability", Capabilities()), Styles: picked(t, "style", styleNames),
			Sort: rapid.SampledFrom([]string{"", "name", "-name", "input", "-released", "context"}).Draw(t, "sort"),
		}
		u, err := url.Parse(q.Path())
		if err != nil {
			t.Fatal(err)
		}
		if got := ParseModelQuery(u.Query()); got.Path() != q.Path() || got.Text != q.Text || !slices.Equal(got.Styles, q.Styles) {
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
