package library

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"umg/app/catalog"
)

// pricesProvider is a provider of genai-prices, as far as it is read.
type pricesProvider struct {
	ID     string        `json:"id"`
	Models []pricesModel `json:"models"`
}

type pricesModel struct {
	ID            string          `json:"id"`
	Match         pricesMatch     `json:"match"`
	ContextWindow int64           `json:"context_window"`
	Prices        json.RawMessage `json:"prices"`
}

// pricesMatch is the names of models to which prices apply. Exactly one member is set.
type pricesMatch struct {
	Or         []pricesMatch `json:"or"`
	And        []pricesMatch `json:"and"`
	Equals     string        `json:"equals"`
	StartsWith string        `json:"starts_with"`
	EndsWith   string        `json:"ends_with"`
	Contains   string        `json:"contains"`
	Regex      string        `json:"regex"`
}

func (m *pricesMatch) matches(name string) bool {
	lower := strings.ToLower
	switch {
	case len(m.Or) > 0:
		return slices.ContainsFunc(m.Or, func(one pricesMatch) bool { return one.matches(name) })
	case len(m.And) > 0:
		return !slices.ContainsFunc(m.And, func(one pricesMatch) bool { return !one.matches(name) })
	case m.Equals != "":
		return name == lower(m.Equals)
	case m.StartsWith != "":
		return strings.HasPrefix(name, lower(m.StartsWith))
	case m.EndsWith != "":
		return strings.HasSuffix(name, lower(m.EndsWith))
	case m.Contains != "":
		return strings.Contains(name, lower(m.Contains))
	case m.Regex != "":
		pattern, err := regexp.Compile(m.Regex)
		return err == nil && pattern.MatchString(name)
	}
	return false
}

// pricesMeters are the meters of the prices that are read, with the quantity of each.
var pricesMeters = map[string]struct {
	meter string
	per   int64
}{
	"input_mtok": {meterInput, tokensPerQuote}, "output_mtok": {meterOutput, tokensPerQuote},
	"cache_read_mtok": {meterCacheRead, tokensPerQuote}, "cache_write_mtok": {meterCacheWrite, tokensPerQuote},
	"cache_write_1h_mtok": {"cache_write_1h_tokens", tokensPerQuote}, "input_audio_mtok": {meterInputAudio, tokensPerQuote},
	"cache_audio_read_mtok": {"cache_read_audio_tokens", tokensPerQuote}, "output_audio_mtok": {meterOutputAudio, tokensPerQuote},
	"web_searches_kcount": {"web_searches", 1_000}, "requests_kcount": {"requests", 1_000},
}

// datedPrices is prices with the day from which they hold.
type datedPrices struct {
	Constraint struct {
		StartDate string `json:"start_date"`
		StartTime string `json:"start_time"`
	} `json:"constraint"`
	Prices map[string]json.RawMessage `json:"prices"`
}

// tieredPrice is a price that depends on the size of the prompt.
type tieredPrice struct {
	Base  json.Number `json:"base"`
	Tiers []struct {
		Start int64       `json:"start"`
		Price json.Number `json:"price"`
	} `json:"tiers"`
}

// cost is the prices that hold on a day, and the day from which they do; empty for always. Prices that depend on the hour are not read.
func (m *pricesModel) cost(day string) (cost *catalog.FileCost, from string, err error) {
	var all []datedPrices
	if len(m.Prices) > 0 && m.Prices[0] == '[' {
		err = json.Unmarshal(m.Prices, &all)
	} else {
		all = make([]datedPrices, 1)
		err = json.Unmarshal(m.Prices, &all[0].Prices)
	}
	if err != nil {
		return nil, "", fmt.Errorf("prices: %w", err)
	}
	var held *datedPrices
	for i := range all {
		switch c := all[i].Constraint; {
		case c.StartTime != "":
			return nil, "", nil
		case c.StartDate <= day:
			held = &all[i]
		}
	}
	if held == nil {
		return nil, "", nil
	}
	cost, err = fileCost(held.Prices)
	return cost, held.Constraint.StartDate, err
}

// fileCost converts prices to the form of the catalog. It is nil without prices of both input and output.
func fileCost(prices map[string]json.RawMessage) (*catalog.FileCost, error) {
	cost := &catalog.FileCost{Rates: catalog.Rates{}}
	tiers := map[int64]catalog.Rates{}
	for name, raw := range prices {
		known, ok := pricesMeters[name]
		if !ok {
			continue
		}
		var tiered tieredPrice
		if raw[0] == '{' {
			if err := json.Unmarshal(raw, &tiered); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		} else if err := json.Unmarshal(raw, &tiered.Base); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		price, err := quoted(tiered.Base, known.per)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cost.Rates[known.meter] = price
		for _, t := range tiered.Tiers {
			price, err := quoted(t.Price, known.per)
			if err != nil {
				return nil, fmt.Errorf("%s: tier of %d tokens: %w", name, t.Start, err)
			}
			if tiers[t.Start] == nil {
				tiers[t.Start] = catalog.Rates{}
			}
			tiers[t.Start][known.meter] = price
		}
	}
	if _, ok := cost.Rates[meterInput]; !ok {
		return nil, nil
	}
	if _, ok := cost.Rates[meterOutput]; !ok {
		return nil, nil
	}
	for _, edge := range sortedEdges(tiers) {
		cost.Conditions = append(cost.Conditions, catalog.FileCondition{PromptOver: edge, Rates: tiers[edge]})
	}
	return cost, nil
}

func sortedEdges(tiers map[int64]catalog.Rates) []int64 {
	edges := make([]int64, 0, len(tiers))
	for edge := range tiers {
		edges = append(edges, edge)
	}
	slices.Sort(edges)
	return edges
}
