package change

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
)

const someFile = `
providers:
  - {id: north, name: North, base_url: "https://north.example/v1", credential: "${NORTH_KEY}"}
  - {id: south, name: South, base_url: "https://south.example/v1"}
models:
  - &one
    id: acme/one
    name: One
    owner: acme
    capabilities: [text]
    input: [text]
    output: [text]
    context_tokens: 1000
    max_output_tokens: 500
    rates: {input_tokens: 0.15 per 1M, output_tokens: 0.60 per 1M}
    released: 2026-05-01
    fallbacks: [acme/two]
    routes:
      - {provider: north, model: one-1, style: chat, cost: {rates: {input_tokens: 0.10 per 1M, output_tokens: 0.50 per 1M}}}
      - {provider: south, model: one-2, style: messages, order: 2, weight: 3}
  - <<: *one
    id: acme/two
    name: Two
    fallbacks: []
    longer_context: ""
    routes:
      - {provider: south, model: two-1, style: chat}
`

func parse(t *testing.T, raw string) catalog.File {
	t.Helper()
	f, err := catalog.ParseFile([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if all := catalog.Check(f); len(all) > 0 {
		t.Fatal(all)
	}
	return f
}

func text(t *testing.T, f catalog.File) string {
	t.Helper()
	b, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}

// unchanged fails the test at its end when the file differs from what it is now: no change may write into its input.
func unchanged(t *testing.T, f catalog.File) {
	t.Helper()
	before := text(t, f)
	t.Cleanup(func() {
		if after := text(t, f); after != before {
			t.Errorf("the input has become\n%s", after)
		}
	})
}

// refused fails unless the error has the code and the parameter, and says the words.
func refused(t *testing.T, err error, code, param, says string) {
	t.Helper()
	if e := app.AsError(err); e == nil || e.Code != code || e.Param != param || !strings.Contains(e.Message, says) {
		t.Errorf("%v: want %s at %s with %q", err, code, param, says)
	}
}

func must(t *testing.T) func(catalog.File, error) catalog.File {
	return func(f catalog.File, err error) catalog.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

func west() catalog.FileProvider {
	return catalog.FileProvider{ID: "west", Name: "West", BaseURL: "https://west.example/v1"}
}

func TestAddingAndRemovingAProviderIsNoChange(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	added := must(t)(AddProvider(f, west()))
	if len(added.Providers) != 3 || len(catalog.Check(added)) > 0 {
		t.Errorf("%+v, %v", added.Providers, catalog.Check(added))
	}
	back, removed, stranded, err := RemoveProvider(added, "west")
	if err != nil || len(removed) > 0 || len(stranded) > 0 || text(t, back) != text(t, f) {
		t.Errorf("%v, %v, %v, %s", removed, stranded, err, text(t, back))
	}
	_, err = AddProvider(f, catalog.FileProvider{ID: "north"})
	refused(t, err, "provider_exists", "id", "north exists")
	_, err = AddProvider(f, catalog.FileProvider{})
	refused(t, err, "invalid_value", "id", "no id")
	_, _, _, err = RemoveProvider(f, "west")
	refused(t, err, "provider_not_found", "provider", `"west"`)
}

func TestRemovingAProviderRemovesItsRoutesAndStrandedModels(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	next, removed, stranded, err := RemoveProvider(f, "south")
	if err != nil || !slices.Equal(stranded, []string{"acme/two"}) || len(removed) != 2 ||
		removed[0].Model != "acme/one" || removed[0].Route.Model != "one-2" || removed[1].Model != "acme/two" {
		t.Fatalf("%+v, %v, %v", removed, stranded, err)
	}
	if len(next.Models) != 1 || len(next.Models[0].Routes) != 1 || len(next.Models[0].Fallbacks) > 0 {
		t.Errorf("%+v", next.Models)
	}
	if all := catalog.Check(next); len(all) > 0 {
		t.Errorf("the result cannot be applied: %v", all)
	}
}

func TestPausingAndReplacingAProvider(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	paused := must(t)(PauseProvider(f, "south", true))
	if !paused.Providers[1].Disabled || text(t, must(t)(PauseProvider(paused, "south", false))) != text(t, f) {
		t.Error("pausing and resuming is a change")
	}
	other := west()
	other.ID = "south"
	if replaced := must(t)(ReplaceProvider(f, other)); replaced.Providers[1].Name != "West" || len(replaced.Providers) != 2 {
		t.Errorf("%+v", replaced.Providers)
	}
	_, err := PauseProvider(f, "west", true)
	refused(t, err, "provider_not_found", "provider", `"west"`)
	_, err = ReplaceProvider(f, west())
	refused(t, err, "provider_not_found", "provider", `"west"`)
}

func TestAddingAModelThatExistsAddsItsRoutesAfterItsOwn(t *testing.T) {
	t.Parallel()
	f := must(t)(AddProvider(parse(t, someFile), west()))
	unchanged(t, f)
	again := f.Models[0]
	again.Name, again.Rates = "Other", catalog.Rates{"input_tokens": {Amount: 1, Per: 1}}
	again.Routes = []catalog.FileRoute{
		{Provider: "west", Model: "one-9", Style: llm.Chat, Order: 3, Weight: 2}, f.Models[0].Routes[1],
		{Provider: "west", Model: "one-8", Style: llm.Chat, Order: 5, Weight: 1},
	}
	fresh := f.Models[1]
	fresh.ID = "acme/three"
	next := must(t)(AddModels(f, []catalog.FileModel{again, fresh}))
	m := next.Models[0]
	if len(next.Models) != 3 || next.Models[2].ID != "acme/three" || m.Name != "One" || !reflect.DeepEqual(m.Rates, f.Models[0].Rates) {
		t.Errorf("%+v", next.Models)
	}
	if len(m.Routes) != 4 || !reflect.DeepEqual(m.Routes[:2], f.Models[0].Routes) || m.Routes[2].Order != 4 || m.Routes[3].Order != 6 {
		t.Errorf("%+v", m.Routes)
	}
	if all := catalog.Check(next); len(all) > 0 {
		t.Errorf("the result cannot be applied: %v", all)
	}
	if twice := must(t)(AddModels(next, []catalog.FileModel{again, fresh})); text(t, twice) != text(t, next) {
		t.Error("adding the same models again is a change")
	}
	_, err := AddModels(f, []catalog.FileModel{fresh, {}})
	refused(t, err, "invalid_value", "id", "2 of 2")
}

func TestAddedModelsLoseAliasesThatOthersHave(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	f.Models[0].Aliases = []string{"one"}
	unchanged(t, f)
	fresh := f.Models[1]
	fresh.ID, fresh.Aliases = "acme/three", []string{"one", "three", "acme/two"}
	other := fresh
	other.ID, other.Aliases = "acme/four", []string{"three", "four"}
	next := must(t)(AddModels(f, []catalog.FileModel{fresh, other}))
	if !slices.Equal(next.Models[2].Aliases, []string{"three"}) || !slices.Equal(next.Models[3].Aliases, []string{"four"}) {
		t.Errorf("%v, %v", next.Models[2].Aliases, next.Models[3].Aliases)
	}
	if all := catalog.Check(next); len(all) > 0 {
		t.Errorf("the result cannot be applied: %v", all)
	}
	// A model whose id is an alias takes it, because the id is the stronger of the two.
	named := f.Models[1]
	named.ID = "one"
	if next := must(t)(AddModels(f, []catalog.FileModel{named})); len(next.Models[0].Aliases) > 0 || len(catalog.Check(next)) > 0 {
		t.Errorf("%v, %v", next.Models[0].Aliases, catalog.Check(next))
	}
}

func TestRetiringAModelRemovesWhatLeadsToIt(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	f.Models[0].LongerContext = "acme/two"
	unchanged(t, f)
	next := must(t)(RetireModel(f, "acme/two"))
	if len(next.Models) != 1 || len(next.Models[0].Fallbacks) > 0 || next.Models[0].LongerContext != "" || len(catalog.Check(next)) > 0 {
		t.Errorf("%+v, %v", next.Models, catalog.Check(next))
	}
	_, err := RetireModel(f, "acme/nine")
	refused(t, err, "model_not_found", "model", `"acme/nine"`)
}

func TestSettingPrices(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	rates := catalog.Rates{"input_tokens": {Amount: app.Dollar, Per: 1_000_000}, "output_tokens": {Amount: app.Dollar, Per: 1_000_000}}
	marked := must(t)(SetPrice(f, "acme/one", Price{Markup: 11_000}))
	if m := marked.Models[0]; m.Markup != 11_000 || m.Rates != nil || len(catalog.Check(marked)) > 0 {
		t.Errorf("%+v, %v", m, catalog.Check(marked))
	}
	rated := must(t)(SetPrice(marked, "acme/one", Price{Rates: rates, Conditions: []catalog.FileCondition{{ServiceTier: "flex", Times: 5_000}}}))
	if m := rated.Models[0]; m.Markup != 0 || !reflect.DeepEqual(m.Rates, rates) || len(m.Conditions) != 1 || len(catalog.Check(rated)) > 0 {
		t.Errorf("%+v, %v", m, catalog.Check(rated))
	}
	var day catalog.Date
	if err := day.UnmarshalText([]byte("2030-01-01")); err != nil {
		t.Fatal(err)
	}
	told := must(t)(SetPrice(f, "acme/one", Price{Announced: &catalog.FileAnnounced{From: day, Rates: rates}}))
	if m := told.Models[0]; m.Announced == nil || !reflect.DeepEqual(m.Rates, f.Models[0].Rates) || len(catalog.Check(told)) > 0 {
		t.Errorf("%+v, %v", m, catalog.Check(told))
	}
	if back := must(t)(WithdrawAnnounced(told, "acme/one")); text(t, back) != text(t, f) {
		t.Error("announcing and withdrawing is a change")
	}
	_, err := SetPrice(f, "acme/one", Price{})
	refused(t, err, "invalid_value", "price", "missing")
	_, err = SetPrice(f, "acme/one", Price{Markup: 1, Rates: rates})
	refused(t, err, "invalid_value", "price", "2 ways")
	_, err = SetPrice(f, "acme/one", Price{Markup: 1, Conditions: []catalog.FileCondition{{}}})
	refused(t, err, "invalid_value", "rates", "need rates")
	_, err = SetPrice(f, "acme/nine", Price{Markup: 1})
	refused(t, err, "model_not_found", "model", "nine")
	_, err = WithdrawAnnounced(f, "acme/one")
	refused(t, err, "nothing_announced", "announced", "acme/one")
}

func TestOrderingRoutesKeepsTheSet(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	order := []RouteOrder{
		{Provider: "north", Model: "one-1", Style: llm.Chat, Order: 2, Weight: 7}, {Provider: "south", Model: "one-2", Order: 1, Weight: 1},
	}
	next := must(t)(OrderRoutes(f, "acme/one", order))
	got := next.Models[0].Routes
	if len(got) != 2 || got[0].Provider != "south" || got[1].Order != 2 || got[1].Weight != 7 || got[1].Cost == nil {
		t.Errorf("%+v", got)
	}
	back := must(t)(OrderRoutes(next, "acme/one", []RouteOrder{
		{Provider: "north", Model: "one-1", Order: 1, Weight: 1}, {Provider: "south", Model: "one-2", Order: 2, Weight: 3},
	}))
	if text(t, back) != text(t, f) {
		t.Errorf("%s", text(t, back))
	}
	for param, bad := range map[string][]RouteOrder{
		"routes": order[:1], "order": {{Provider: "north", Model: "one-1", Weight: 1}, order[1]},
		"weight": {{Provider: "north", Model: "one-1", Order: 1}, order[1]},
	} {
		_, err := OrderRoutes(f, "acme/one", bad)
		refused(t, err, "invalid_value", param, "")
	}
	_, err := OrderRoutes(f, "acme/one", []RouteOrder{order[0], order[0]})
	refused(t, err, "invalid_value", "routes", "twice")
	_, err = OrderRoutes(f, "acme/one", []RouteOrder{order[0], {Provider: "west", Model: "x", Order: 1, Weight: 1}})
	refused(t, err, "route_not_found", "routes", "no route to x at west")
}

func TestReplacingAnUnknownModelFails(t *testing.T) {
	t.Parallel()
	_, err := ReplaceModel(parse(t, someFile), catalog.FileModel{ID: "acme/nine"})
	refused(t, err, "model_not_found", "model", "nine")
}

func TestPreviewSaysWhatCustomersSee(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	same, err := Preview(f, f)
	if err != nil || !reflect.DeepEqual(same, Changes{}) {
		t.Errorf("%+v, %v", same, err)
	}
	fresh := f.Models[1]
	fresh.ID, fresh.Name, fresh.Accounts = "acme/three", "Three", []string{"acct_ada"}
	next := must(t)(AddModels(f, []catalog.FileModel{fresh}))
	next = must(t)(SetPrice(next, "acme/one", Price{Markup: 20_000}))
	next = must(t)(RetireModel(next, "acme/two"))
	c, err := Preview(f, next)
	if err != nil || len(c.Problems) > 0 || len(c.BelowCost) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if len(c.New) != 1 || c.New[0].ID != "acme/three" || c.New[0].Name != "Three" || !slices.Equal(c.New[0].Accounts, fresh.Accounts) ||
		!slices.Equal(c.New[0].Prices, []string{"Input tokens: $0.15 per 1M", "Output tokens: $0.6 per 1M"}) {
		t.Errorf("new: %+v", c.New)
	}
	if !slices.Equal(c.Gone, []string{"acme/two"}) {
		t.Errorf("gone: %v", c.Gone)
	}
	if !slices.Equal(c.Prices, []PriceLine{
		{Model: "acme/one", Text: "Input tokens: $0.15 per 1M → $0.2 per 1M"}, {Model: "acme/one", Text: "Output tokens: $0.6 per 1M → $1 per 1M"},
	}) {
		t.Errorf("prices: %+v", c.Prices)
	}
	if !slices.Contains(c.Diff, "+ model acme/three") || !slices.Contains(c.Diff, "- model acme/two") {
		t.Errorf("diff: %q", c.Diff)
	}
	back, err := Preview(next, f)
	if err != nil || len(back.New) != 1 || len(back.Gone) != 1 || len(back.Prices) != len(c.Prices) {
		t.Errorf("back: %+v, %v", back, err)
	}
}

func TestPreviewSaysAnnouncedPricesProblemsAndLosses(t *testing.T) {
	t.Parallel()
	f := parse(t, someFile)
	unchanged(t, f)
	var day catalog.Date
	if err := day.UnmarshalText([]byte("2030-01-01")); err != nil {
		t.Fatal(err)
	}
	rates := catalog.Rates{"input_tokens": {Amount: app.Dollar / 5, Per: 1_000_000}, "output_tokens": {Amount: app.Dollar / 10, Per: 1_000_000}}
	told := must(t)(SetPrice(f, "acme/one", Price{Announced: &catalog.FileAnnounced{From: day, Rates: rates}}))
	c, err := Preview(f, told)
	if err != nil || len(c.Prices) != 2 || c.Prices[0] != (PriceLine{"acme/one", "Input tokens: $0.15 per 1M → $0.2 per 1M", "2030-01-01"}) {
		t.Errorf("%+v, %v", c.Prices, err)
	}
	if len(c.BelowCost) != 1 || !strings.Contains(c.BelowCost[0], "output_tokens") {
		t.Errorf("%v", c.BelowCost)
	}
	again, err := Preview(told, told)
	if err != nil || len(again.Prices) > 0 {
		t.Errorf("%+v, %v", again.Prices, err)
	}
	broken := must(t)(ReplaceProvider(f, catalog.FileProvider{ID: "north"}))
	c, err = Preview(f, broken)
	if err != nil || len(c.Problems) != 2 || c.Problems[0].Path != "providers[0].name" || c.Diff != nil {
		t.Errorf("%+v, %v", c, err)
	}
}
