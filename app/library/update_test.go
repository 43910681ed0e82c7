package library_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/library"
	"umg/app/postgres/pgtest"
)

// apiFile is a file in the form of api.json of models.dev: the sources of some providers, changed.
func apiFile(t *testing.T, change func(providers map[string]map[string]any), names ...string) []byte {
	t.Helper()
	providers, files := map[string]map[string]any{}, sources(t)
	for _, name := range names {
		var p map[string]any
		if err := json.Unmarshal(files.Models[name], &p); err != nil {
			t.Fatal(err)
		}
		providers[name] = p["models"].(map[string]any)
	}
	change(providers)
	out := map[string]any{"a-provider-without-a-preset": map[string]any{"models": map[string]any{}}}
	for name, models := range providers {
		out[name] = map[string]any{"id": name, "models": models}
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// setCost changes one price of a model.
func setCost(models map[string]any, model, price string, to float64) {
	models[model].(map[string]any)["cost"].(map[string]any)[price] = to
}

func lines(changes []library.Change) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.String()
	}
	return all
}

func TestUpdateTakesModelsAndPricesOfANewerFile(t *testing.T) {
	t.Parallel()
	file := apiFile(t, func(p map[string]map[string]any) {
		setCost(p["anthropic"], "claude-opus-4-8", "input", 6)
		delete(p["anthropic"], "claude-3-opus-20240229")
		p["anthropic"]["claude-opus-9"] = map[string]any{
			"name": "Claude Opus 9", "release_date": "2026-12", "reasoning": true, "tool_call": true,
			"limit": map[string]any{"context": 2_000_000, "output": 200_000}, "modalities": map[string]any{"input": []string{"text"}},
			"cost": map[string]any{"input": 4, "output": 20, "cache_read": 0.4},
		}
		setCost(p["deepseek"], "deepseek-v4-pro", "input", 0.66)
		setCost(p["deepseek"], "deepseek-v4-pro", "output", 1.98)
	}, "anthropic", "deepseek")
	next, changes, err := library.Update(library.Embedded(), file, "2026-12-05")
	if err != nil {
		t.Fatal(err)
	}
	all := lines(changes)
	for _, want := range []string{
		"anthropic/claude-opus-9: added", "anthropic/claude-3-opus: removed",
		"anthropic/claude-opus-4-8 at anthropic: input_tokens: $5 per 1M → $6 per 1M",
		"anthropic/claude-opus-4-8 at anthropic: cache_write_1h_tokens: $10 per 1M → $12 per 1M",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(all, "\n"))
		}
	}
	if next.Date != "2026-12-05" || next.Sources[0].Version != "2026-12-05" || next.Sources[1].Version == "2026-12-05" {
		t.Errorf("%s, %+v", next.Date, next.Sources)
	}
	added := find(t, next.Choices("anthropic", nil), "anthropic/claude-opus-9").Offer.Cost.Rates
	if added["cache_write_tokens"].String() != "5 per 1M" || added["cache_write_1h_tokens"].String() != "8 per 1M" {
		t.Errorf("a new model has no prices of cache writes: %v", added)
	}
	pro := find(t, next.Choices("deepseek", nil), "deepseek/deepseek-v4-pro").Offer.Cost
	if len(pro.Conditions) != 1 || pro.Conditions[0].Times != 20_000 {
		t.Errorf("the hours are lost: %+v", pro)
	}
	// Presets that the file does not have stay as they are.
	if a, b := len(next.Choices("bedrock", nil)), len(library.Embedded().Choices("bedrock", nil)); a != b {
		t.Errorf("%d models of Bedrock, and %d before", a, b)
	}
	for _, line := range all {
		if strings.Contains(line, " at bedrock") || strings.Contains(line, "google/") {
			t.Errorf("%s, and the file does not say it", line)
		}
	}
}

func TestUpdateWithTheSameDataChangesNothing(t *testing.T) {
	t.Parallel()
	none := func(map[string]map[string]any) {}
	for _, name := range []string{"google", "google-vertex", "mistral", "groq", "xai", "amazon-bedrock", "azure"} {
		_, changes, err := library.Update(library.Embedded(), apiFile(t, none, name), library.Embedded().Date)
		if err != nil || len(changes) > 0 {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(lines(changes), "\n"))
		}
	}
}

func TestUpdateTakesAListOfPrices(t *testing.T) {
	t.Parallel()
	file := `[{"id":"anthropic","models":[{"id":"claude-opus-4-5","match":{"starts_with":"claude-opus-4-5"},
		"prices":[{"prices":{"input_mtok":5,"output_mtok":25}},
			{"constraint":{"start_date":"2026-12-01"},"prices":{"input_mtok":4,"output_mtok":20,"cache_read_mtok":0.4,"cache_write_mtok":5}}]}]}]`
	for day, want := range map[string]int{"2026-11-30": 0, "2026-12-01": 5} {
		next, changes, err := library.Update(library.Embedded(), []byte(file), day)
		if err != nil || len(changes) != want {
			t.Fatalf("%s: %v\n%s", day, err, strings.Join(lines(changes), "\n"))
		}
		if c := find(t, next.Choices("anthropic", nil), "anthropic/claude-opus-4-5").Offer.Cost; want > 0 &&
			(c.Rates["cache_write_1h_tokens"].String() != "8 per 1M" || c.Rates["web_searches"].String() != "10 per 1K") {
			t.Errorf("%+v", c.Rates)
		}
	}
}

func TestChangesOfConditionsAreSaidInWords(t *testing.T) {
	t.Parallel()
	_, changes, err := library.Update(library.Embedded(), apiFile(t, func(p map[string]map[string]any) {
		p["google"]["gemini-2.5-pro"].(map[string]any)["cost"].(map[string]any)["tiers"] = []any{
			map[string]any{"tier": map[string]any{"size": 300_000}, "input": 3, "output": 20},
		}
	}, "google"), "2026-12-05")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(lines(changes), "\n")
	if !strings.Contains(all, "prompts over 300000 tokens: input_audio_tokens $3 per 1M, input_tokens $3 per 1M, output_tokens $20 per 1M") {
		t.Error(all)
	}
}

func TestAPriceThatChangesKeepsItsHoursAndLosesItsTiers(t *testing.T) {
	t.Parallel()
	next, _, err := library.Update(library.Embedded(), apiFile(t, func(p map[string]map[string]any) {
		setCost(p["deepseek"], "deepseek-v4-pro", "input", 0.7)
		delete(p["google"]["gemini-2.5-pro"].(map[string]any)["cost"].(map[string]any), "tiers")
	}, "deepseek", "google"), "2026-12-05")
	if err != nil {
		t.Fatal(err)
	}
	pro := find(t, next.Choices("deepseek", nil), "deepseek/deepseek-v4-pro").Offer.Cost
	if pro.Rates["input_tokens"].String() != "0.7 per 1M" || len(pro.Conditions) != 1 || len(pro.Conditions[0].Hours) != 2 {
		t.Errorf("%+v", pro)
	}
	if c := find(t, next.Choices("gemini", nil), "google/gemini-2.5-pro").Offer.Cost; len(c.Conditions) > 0 {
		t.Errorf("the file has no tiers any more: %+v", c.Conditions)
	}
}

func TestUpdateLeavesTheLibraryThatItStartsFrom(t *testing.T) {
	t.Parallel()
	before, err := library.Embedded().Encode()
	if err != nil {
		t.Fatal(err)
	}
	prices := `[{"id":"anthropic","models":[{"id":"x","match":{"contains":"claude"},
		"prices":{"input_mtok":5,"output_mtok":25,"requests_kcount":1}}]}]`
	if _, changes, err := library.Update(library.Embedded(), []byte(prices), "2026-12-05"); err != nil || len(changes) == 0 {
		t.Fatal(changes, err)
	}
	if after, err := library.Embedded().Encode(); err != nil || string(after) != string(before) {
		t.Error("the library has changed")
	}
}

func TestABadFileIsRefused(t *testing.T) {
	t.Parallel()
	const model = `{"anthropic":{"models":{"claude-x":{"limit":{"context":1000},"cost":%s}}}}`
	for _, c := range []struct{ file, day, says string }{
		{"", "2026-12-01", "not JSON"},
		{`{"anthropic":`, "2026-12-01", "cut off"},
		{`[]`, "2026-12-01", "neither api.json"},
		{`{}`, "2026-12-01", "neither api.json"},
		{`"text"`, "2026-12-01", "neither api.json"},
		{`{"unheard-of":{"models":{"x":{}}}}`, "2026-12-01", "neither api.json"},
		{`[{"id":"unheard-of","models":[{"id":"x"}]}]`, "2026-12-01", "neither api.json"},
		{fmt.Sprintf(model, `{"input":-1,"output":2}`), "2026-12-01", `claude-x: input_tokens: "-1" is not a price`},
		{fmt.Sprintf(model, `{"input":1e12,"output":2}`), "2026-12-01", "is not a price between 0 and 100000"},
		{fmt.Sprintf(model, `{"input":1,"output":2}`), "yesterday", `day: "yesterday" is not a day`},
		{fmt.Sprintf(model, `{"input":1,"output":2}`), "2020-01-01", "is before 2026-07-02"},
	} {
		if _, _, err := library.Update(library.Embedded(), []byte(c.file), c.day); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, %s: %v, want %q", c.file, c.day, err, c.says)
		}
	}
}

// raised is the embedded library with other prices of Claude Opus 4.8 at Anthropic.
func raised(t *testing.T, input, output float64) *library.Library {
	t.Helper()
	next, _, err := library.Update(library.Embedded(), apiFile(t, func(p map[string]map[string]any) {
		setCost(p["anthropic"], "claude-opus-4-8", "input", input)
		setCost(p["anthropic"], "claude-opus-4-8", "output", output)
	}, "anthropic"), "2026-12-05")
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// oneModel is a catalog with Claude Opus 4.8.
func oneModel(t *testing.T) catalog.File {
	t.Helper()
	opus := find(t, library.Embedded().Choices("anthropic", nil), "anthropic/claude-opus-4-8")
	return catalog.File{
		Providers: []catalog.FileProvider{{ID: "ours", Preset: "anthropic", Credential: "${KEY}"}},
		Models:    []catalog.FileModel{opus.FileModel("ours", 1, 12_000)},
	}
}

func TestARiseOfACostIsAnnounced(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 5, 18, 0, 0, 0, time.UTC)
	f := oneModel(t)
	next, said, err := library.Follow(f, library.Embedded(), raised(t, 6, 25), now)
	if err != nil {
		t.Fatal(err)
	}
	m := next.Models[0]
	if m.Routes[0].Cost.Rates["input_tokens"].String() != "6 per 1M" || m.Rates["input_tokens"].String() != "6 per 1M" || m.Markup != 0 {
		t.Errorf("cost %v, price %v, markup %v", m.Routes[0].Cost.Rates, m.Rates, m.Markup)
	}
	a := m.Announced
	if a == nil || !time.Time(a.From).Equal(time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)) ||
		a.Rates["input_tokens"].String() != "7.2 per 1M" || a.Markup != 12_000 {
		t.Errorf("%+v", a)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "cost at ours: input_tokens: $5 per 1M → $6 per 1M") ||
		!strings.Contains(text, "announced for 2026-12-20") {
		t.Error(text)
	}
	if errs := catalog.Check(next); len(errs) > 0 {
		t.Error(errs)
	}
	if f.Models[0].Routes[0].Cost.Rates["input_tokens"].String() != "5 per 1M" || f.Models[0].Announced != nil {
		t.Error("the file that was given is changed")
	}
}

func TestAFallOfACostHoldsAtOnce(t *testing.T) {
	t.Parallel()
	next, said, err := library.Follow(oneModel(t), library.Embedded(), raised(t, 4, 20), time.Now())
	if err != nil || len(said) == 0 {
		t.Fatal(said, err)
	}
	m := next.Models[0]
	if m.Markup != 12_000 || m.Announced != nil || m.Rates != nil || m.Routes[0].Cost.Rates["input_tokens"].String() != "4 per 1M" {
		t.Errorf("%+v", m)
	}
}

func TestAnOperatorsOwnCostIsNotTouched(t *testing.T) {
	t.Parallel()
	f := oneModel(t)
	own := *f.Models[0].Routes[0].Cost
	own.Rates = catalog.Rates{
		"input_tokens": {Amount: 1_000_000_000, Per: 1_000_000}, "output_tokens": {Amount: 2_000_000_000, Per: 1_000_000},
	}
	f.Models[0].Routes[0].Cost = &own
	next, said, err := library.Follow(f, library.Embedded(), raised(t, 6, 30), time.Now())
	if err != nil || len(said) > 0 || next.Models[0].Routes[0].Cost.Rates["input_tokens"].String() != "1 per 1M" {
		t.Errorf("%v, %v", said, err)
	}
}

// TestAnnouncedPricesBringTheMarkupBack applies what follows from a rise, and lets the day come.
func TestAnnouncedPricesBringTheMarkupBack(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	f := oneModel(t)
	if err := catalog.Apply(t.Context(), db, f); err != nil {
		t.Fatal(err)
	}
	inForce, err := catalog.Export(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	next, said, err := library.Follow(inForce, library.Embedded(), raised(t, 6, 30), time.Now())
	if err != nil || len(said) == 0 {
		t.Fatal(said, err)
	}
	next.Models[0].Announced.From = catalog.Date(time.Now().UTC().Truncate(24 * time.Hour)) // The day has come.
	if err := catalog.ApplyAs(t.Context(), db, next, catalog.HistoryAction{BelowCost: true}); err != nil {
		t.Fatal(err)
	}
	after, err := catalog.Export(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if m := after.Models[0]; m.Markup != 12_000 || m.Announced != nil || m.Routes[0].Cost.Rates["output_tokens"].String() != "30 per 1M" {
		t.Errorf("%+v", m)
	}
}

func TestTheNewestLibraryIsLoaded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if l, err := library.Load(t.Context(), db); err != nil || l != library.Embedded() {
		t.Fatalf("%v, %v", l, err)
	}
	next := raised(t, 6, 30)
	if err := library.Store(t.Context(), db, next, "ann"); err != nil {
		t.Fatal(err)
	}
	l, err := library.Load(t.Context(), db)
	if err != nil || l.Date != "2026-12-05" || len(library.Differences(l, next)) > 0 {
		t.Fatalf("%v, %v", l.Date, err)
	}
	// A library that is older than that of the program does not count.
	if _, err := db.ExecContext(t.Context(), `update model_libraries set day = '2026-01-01'`); err != nil {
		t.Fatal(err)
	}
	if l, err := library.Load(t.Context(), db); err != nil || l != library.Embedded() {
		t.Errorf("%v, %v", l.Date, err)
	}
	if _, err := db.ExecContext(t.Context(), `update model_libraries set day = '2027-01-01', content = 'x'`); err != nil {
		t.Fatal(err)
	}
	if _, err := library.Load(t.Context(), db); err == nil || !strings.Contains(err.Error(), "gateway library update") {
		t.Errorf("a broken library: %v", err)
	}
}
