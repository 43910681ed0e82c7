package library_test

import (
	"encoding/json"
	"os"
	"testing"

	"umg/app/catalog"
	"umg/app/library"
)

// cost is what a model costs at a preset.
func cost(t *testing.T, presetID, id string) *catalog.FileCost {
	t.Helper()
	c := find(t, library.Embedded().Choices(presetID, nil), id)
	if c.Offer.Cost == nil {
		t.Fatalf("%s has no cost at %s", id, presetID)
	}
	return c.Offer.Cost
}

func TestPricesAreThoseOfThePages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset, id string
		rates      map[string]string
	}{
		{"anthropic", "anthropic/claude-sonnet-4-5", map[string]string{
			"input_tokens": "3 per 1M", "output_tokens": "15 per 1M", "cache_read_tokens": "0.3 per 1M", "cache_write_tokens": "3.75 per 1M",
			"cache_write_1h_tokens": "6 per 1M", "web_searches": "10 per 1K",
		}},
		{"anthropic", "anthropic/claude-sonnet-5", map[string]string{
			"input_tokens": "2 per 1M", "output_tokens": "10 per 1M", "cache_write_1h_tokens": "4 per 1M",
		}},
		{"bedrock", "anthropic/claude-sonnet-4-5", map[string]string{
			"input_tokens": "3 per 1M", "cache_write_1h_tokens": "6 per 1M",
		}},
		{"bedrock", "anthropic/claude-sonnet-4-5:eu", map[string]string{
			"input_tokens": "3.3 per 1M", "output_tokens": "16.5 per 1M", "cache_write_tokens": "4.125 per 1M",
		}},
		{"bedrock", "anthropic/claude-opus-4-6:au", map[string]string{
			"input_tokens": "5.5 per 1M", "output_tokens": "27.5 per 1M",
		}},
		{"bedrock", "anthropic/claude-opus-4-1:us", map[string]string{"input_tokens": "15 per 1M"}},
		{"vertex", "anthropic/claude-sonnet-5", map[string]string{"input_tokens": "2 per 1M"}},
		{"anthropic", "anthropic/claude-opus-5-5", map[string]string{"cache_read_tokens": "0.2 per 1M", "cache_write_1h_tokens": "8 per 1M"}},
		{"anthropic", "anthropic/claude-sonnet-5-5", map[string]string{"input_tokens": "2 per 1M", "cache_read_tokens": "0.1 per 1M"}},
		{"anthropic", "anthropic/claude-fable-5-1", map[string]string{"cache_read_tokens": "0.25 per 1M", "cache_write_1h_tokens": "20 per 1M"}},
		{"openai", "openai/gpt-6.2-sol", map[string]string{"cache_read_tokens": "0.1 per 1M", "output_tokens": "10 per 1M"}},
		{"deepseek", "deepseek/deepseek-flash", map[string]string{
			"input_tokens": "0.15 per 1M", "cache_read_tokens": "0.003 per 1M", "output_tokens": "0.6 per 1M",
		}},
		{"gemini", "google/gemini-2.5-pro", map[string]string{
			"input_tokens": "1.25 per 1M", "input_audio_tokens": "1.25 per 1M", "grounded_prompts": "35 per 1K",
		}},
		{"gemini", "google/gemini-2.5-flash", map[string]string{
			"input_tokens": "0.3 per 1M", "input_audio_tokens": "1 per 1M", "cache_read_audio_tokens": "0.1 per 1M",
		}},
		{"gemini", "google/gemini-3.5-flash", map[string]string{"output_tokens": "9 per 1M", "grounded_queries": "14 per 1K"}},
		{"openai", "openai/gpt-5.5", map[string]string{
			"input_tokens": "5 per 1M", "cache_read_tokens": "0.5 per 1M", "output_tokens": "30 per 1M",
		}},
		{"groq", "openai/gpt-oss-120b", map[string]string{
			"input_tokens": "0.15 per 1M", "cache_read_tokens": "0.075 per 1M", "output_tokens": "0.6 per 1M",
		}},
		{"openrouter", "anthropic/claude-sonnet-4-5", map[string]string{"input_tokens": "3 per 1M"}},
	} {
		rates := cost(t, c.preset, c.id).Rates
		for meter, want := range c.rates {
			if got := rates[meter].String(); got != want {
				t.Errorf("%s at %s: %s costs %s, want %s", c.id, c.preset, meter, got, want)
			}
		}
	}
}

func TestPricesHaveTiersHoursAndPlaces(t *testing.T) {
	t.Parallel()
	tier := cost(t, "openai", "openai/gpt-5.5").Conditions
	if len(tier) != 1 || tier[0].PromptOver != 272_000 || tier[0].Rates["output_tokens"].String() != "45 per 1M" {
		t.Errorf("%+v", tier)
	}
	hours := cost(t, "deepseek", "deepseek/deepseek-flash").Conditions
	if len(hours) != 1 || len(hours[0].Hours) != 2 || hours[0].Hours[0].String() != "01:00-04:00" || len(hours[0].Days) != 5 ||
		hours[0].Times != 20_000 {
		t.Errorf("%+v", hours)
	}
	place := cost(t, "anthropic", "anthropic/claude-opus-4-6").Conditions
	if len(place) != 1 || place[0].Region != "us" || place[0].Times != 11_000 {
		t.Errorf("%+v", place)
	}
	if plain := cost(t, "anthropic", "anthropic/claude-opus-4-5").Conditions; len(plain) != 0 {
		t.Errorf("older models have no price for a place: %+v", plain)
	}
	for _, c := range cost(t, "vertex", "anthropic/claude-sonnet-4-6").Conditions {
		if c.PromptOver == 200_000 && c.Rates["cache_write_1h_tokens"].String() != "12 per 1M" {
			t.Errorf("%+v", c)
		}
	}
}

func TestACostDependsOnTheLocationOfTheProvider(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"global": "3 per 1M", "us-east5": "3.3 per 1M", "eu": "3.3 per 1M", "${PLACE}": "3.3 per 1M",
	} {
		p := catalog.FileProvider{ID: "v", Preset: "vertex", With: map[string]string{"location": location}}
		all, err := library.Embedded().ChoicesFor(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, all, "anthropic/claude-sonnet-4-5").Offer.Cost.Rates["input_tokens"].String(); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
		if got := find(t, all, "google/gemini-2.5-pro").Offer.Cost.Rates["input_tokens"].String(); got != "1.25 per 1M" {
			t.Errorf("%s: Gemini costs %s", location, got)
		}
	}
}

func TestModelsThatEndHaveADay(t *testing.T) {
	t.Parallel()
	m := find(t, library.Embedded().Choices("openai", nil), "openai/gpt-4o").FileModel("openai", 1, 0)
	if text, _ := m.Shutdown.MarshalText(); string(text) != "2027-01-14" {
		t.Errorf("shutdown %s", text)
	}
	if m := find(t, library.Embedded().Choices("azure", nil), "openai/gpt-4o").FileModel("azure", 1, 0); !m.Shutdown.IsZero() {
		t.Error("the day of OpenAI is not that of Azure")
	}
	for _, c := range library.Embedded().Choices("deepseek", nil) {
		if c.ID == "deepseek/deepseek-chat" {
			t.Error("a model that has ended is offered")
		}
	}
}

// TestCostsAreThoseOfRecordedPrices compares the input and output with the list of genai-prices, which is of another origin, for models
// whose prices have not changed since.
func TestCostsAreThoseOfRecordedPrices(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("sources/prices/prices.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID     string `json:"id"`
		Models []struct {
			ID     string          `json:"id"`
			Prices json.RawMessage `json:"prices"`
		} `json:"models"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, p := range list {
		if p.ID != "openai" && p.ID != "google" && p.ID != "groq" {
			continue
		}
		presetID := map[string]string{"openai": "openai", "google": "gemini", "groq": "groq"}[p.ID]
		for _, m := range p.Models {
			var flat struct {
				Input  json.Number `json:"input_mtok"`
				Output json.Number `json:"output_mtok"`
			}
			if json.Unmarshal(m.Prices, &flat) != nil || flat.Output == "" {
				continue
			}
			for _, c := range library.Embedded().Choices(presetID, nil) {
				if c.ProviderModel != m.ID || c.Offer.Cost == nil {
					continue
				}
				compared++
				rates := c.Offer.Cost.Rates
				if rates["input_tokens"].Amount.String() != flat.Input.String() || rates["output_tokens"].Amount.String() != flat.Output.String() {
					t.Errorf("%s: %v, and the list says %s and %s", c.ID, rates, flat.Input, flat.Output)
				}
			}
		}
	}
	if compared < 15 {
		t.Errorf("only %d prices were compared", compared)
	}
}
