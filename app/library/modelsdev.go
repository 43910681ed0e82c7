package library

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/modelfamily"
)

// devProvider is a provider of models.dev, as far as it is read.
type devProvider struct {
	Models map[string]devModel `json:"models"`
}

// devModel is a model of models.dev. Prices are in dollars per million tokens.
type devModel struct {
	Name             string `json:"name"`
	ReleaseDate      string `json:"release_date"`
	Reasoning        bool   `json:"reasoning"`
	ToolCall         bool   `json:"tool_call"`
	StructuredOutput *bool  `json:"structured_output"`
	Temperature      *bool  `json:"temperature"`
	Status           string `json:"status"`
	Limit            struct {
		Context int64 `json:"context"`
		Output  int64 `json:"output"`
	} `json:"limit"`
	Modalities struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	ReasoningOptions []struct {
		Type   string `json:"type"`
		Values []any  `json:"values"`
	} `json:"reasoning_options"`
	Cost *devCost `json:"cost"`
}

// devCost is the prices of a model, or those of a tier.
type devCost struct {
	Input       json.Number `json:"input"`
	Output      json.Number `json:"output"`
	CacheRead   json.Number `json:"cache_read"`
	CacheWrite  json.Number `json:"cache_write"`
	Reasoning   json.Number `json:"reasoning"`
	InputAudio  json.Number `json:"input_audio"`
	OutputAudio json.Number `json:"output_audio"`
	// Tiers are prices of whole calls whose prompt has more tokens than Tier.Size.
	Tiers []devTier `json:"tiers"`
}

type devTier struct {
	devCost

	Tier struct {
		Size int64 `json:"size"`
	} `json:"tier"`
}

// These are the meters of text models and the words of the files, and the units of their prices.
const (
	meterInput         = "input_tokens"
	meterOutput        = "output_tokens"
	meterCacheRead     = "cache_read_tokens"
	meterCacheWrite    = "cache_write_tokens"
	meterReasoning     = "reasoning_tokens"
	meterInputAudio    = "input_audio_tokens"
	meterOutputAudio   = "output_audio_tokens"
	tokensPerQuote     = 1_000_000
	modalityAudio      = "audio"
	devModalityPDF     = "pdf"
	modalityFile       = "file"
	devOptionEffort    = "effort"
	priceRounding      = 1_000
	nanosPerDollar     = 1_000_000_000
	dollarsPerQuoteMax = 100_000
)

// rates are the prices by meter. A price that is absent is in none of them.
func (c *devCost) rates() (catalog.Rates, error) {
	rates := catalog.Rates{}
	for _, one := range []struct {
		meter string
		price json.Number
	}{
		{meterInput, c.Input}, {meterOutput, c.Output}, {meterCacheRead, c.CacheRead}, {meterCacheWrite, c.CacheWrite},
		{meterReasoning, c.Reasoning}, {meterInputAudio, c.InputAudio}, {meterOutputAudio, c.OutputAudio},
	} {
		if one.price == "" {
			continue
		}
		price, err := quoted(one.price, tokensPerQuote)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.meter, err)
		}
		rates[one.meter] = price
	}
	return rates, nil
}

// quoted reads dollars for a quantity. Files have prices that went through floats, so they are rounded to a millionth of a dollar.
func quoted(n json.Number, per int64) (catalog.Price, error) {
	value, ok := new(big.Rat).SetString(n.String())
	if !ok || value.Sign() < 0 || value.Cmp(big.NewRat(dollarsPerQuoteMax, 1)) > 0 {
		return catalog.Price{}, fmt.Errorf("%q is not a price between 0 and %d dollars", n, dollarsPerQuoteMax)
	}
	units := new(big.Rat).Mul(value, big.NewRat(nanosPerDollar/priceRounding, 1))
	half := units.Add(units, big.NewRat(1, 2))
	rounded := new(big.Int).Quo(half.Num(), half.Denom())
	return catalog.Price{Amount: app.Amount(rounded.Int64() * priceRounding), Per: per}, nil
}

// cost is the prices in the form of the catalog; nil when the model has none. Prices of zero are those of trials, and say nothing.
func (c *devCost) cost(contextTokens int64) (*catalog.FileCost, error) {
	if c == nil || c.Input == "" || c.Output == "" {
		return nil, nil
	}
	rates, err := c.rates()
	if err != nil {
		return nil, err
	}
	if rates[meterInput].Amount == 0 && rates[meterOutput].Amount == 0 {
		return nil, nil
	}
	cost := &catalog.FileCost{Rates: rates}
	for i := range c.Tiers {
		t := &c.Tiers[i]
		if t.Tier.Size <= 0 || t.Tier.Size >= contextTokens {
			continue
		}
		rates, err := t.rates()
		if err != nil {
			return nil, fmt.Errorf("tier of %d tokens: %w", t.Tier.Size, err)
		}
		cost.Conditions = append(cost.Conditions, catalog.FileCondition{PromptOver: t.Tier.Size, Rates: rates})
	}
	slices.SortFunc(cost.Conditions, func(a, b catalog.FileCondition) int { return int(a.PromptOver - b.PromptOver) })
	return cost, nil
}

// draft is an offer with what one file says about its model.
type draft struct {
	family modelfamily.Family
	model  Model
	offer  Offer
	// price is the name by which files of prices know the offer; empty when they do not count.
	price string
}

// addBases notes the models that a file describes in full. Others leave out what they have in common with them.
func (b *builder) addBases(preset string, provider devProvider) {
	for _, name := range slices.Sorted(maps.Keys(provider.Models)) {
		m := provider.Models[name]
		family, _ := modelfamily.Find(preset, name)
		if _, ok := b.bases[family.PublicID()]; !ok && m.Limit.Context > 0 && len(m.Modalities.Input) > 0 {
			b.bases[family.PublicID()] = m
		}
	}
}

// addDev adds the models of a provider at a preset. Models that are not called about text and those that the preset does not serve are
// left out.
func (b *builder) addDev(preset string, provider devProvider) error {
	for _, name := range slices.Sorted(maps.Keys(provider.Models)) {
		m := provider.Models[name]
		family, _ := modelfamily.Find(preset, name)
		isText := len(m.Modalities.Output) == 0 || slices.Contains(m.Modalities.Output, modalityText)
		if family.Style == "" || family.Unserved != "" || !isText {
			continue
		}
		if base := b.bases[family.PublicID()]; m.Limit.Context <= 0 {
			m.Limit.Context = cmp.Or(base.Limit.Context, family.ContextTokens, contextTokensUnknown)
		}
		if len(m.Modalities.Input) == 0 {
			m.Modalities.Input = b.bases[family.PublicID()].Modalities.Input
		}
		cost, err := m.Cost.cost(m.Limit.Context)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", preset, name, err)
		}
		d := draft{
			family: family, price: name,
			model: m.model(&family), offer: Offer{Preset: preset, Model: name, Style: family.Style, Cost: cost},
		}
		if d.model.Name == "" {
			d.model.Name = name
		}
		b.drafts = append(b.drafts, d)
	}
	return nil
}

// model is what the file says about the model.
func (m *devModel) model(family *modelfamily.Family) Model {
	out := Model{
		ID: family.PublicID(), Name: m.Name, Owner: family.Owner, Family: family.ID, Output: []string{modalityText},
		ContextTokens: m.Limit.Context, MaxOutputTokens: min(m.Limit.Output, m.Limit.Context), Reasoning: m.Reasoning, Tools: m.ToolCall,
		Schemas: slices.Contains(family.Parameters, "structured_outputs"),
	}
	if out.MaxOutputTokens <= 0 {
		out.MaxOutputTokens = min(max(family.MaxOutputTokens, maxOutputTokensUnknown), m.Limit.Context)
	}
	if m.StructuredOutput != nil {
		out.Schemas = *m.StructuredOutput
	}
	out.FixedSampling = m.Temperature != nil && !*m.Temperature
	if slices.Contains([]string{"alpha", "beta", statusDeprecated}, m.Status) {
		out.Status = m.Status
	}
	out.Released = dayOf(m.ReleaseDate)
	out.Input = modalities(m.Modalities.Input)
	for _, option := range m.ReasoningOptions {
		if option.Type != devOptionEffort {
			continue
		}
		for _, value := range option.Values {
			if word, ok := value.(string); ok && slices.Contains(effortWords, word) {
				out.Efforts = append(out.Efforts, word)
			}
		}
	}
	if len(out.Efforts) == 1 && out.Efforts[0] == effortNone {
		out.Efforts = nil // Its other values are unknown words.
	}
	return out
}

// modalities are the words of the catalog for those of models.dev. Text is always one of them.
func modalities(from []string) []string {
	out := []string{modalityText}
	for _, word := range from {
		if word == devModalityPDF {
			word = modalityFile
		}
		if slices.Contains([]string{"image", modalityAudio, "video", modalityFile}, word) && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// dayOf reads a day, a month or a year as its first day. Anything else is no day.
func dayOf(text string) catalog.Date {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if day, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return catalog.Date(day)
		}
	}
	return catalog.Date{}
}
