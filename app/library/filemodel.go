package library

import (
	"cmp"
	"slices"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/modelfamily"
)

const (
	// atCost is the markup that makes the price equal to the cost.
	atCost catalog.Factor = 10_000

	reasoningEffort = "reasoning_effort"
	effortNone      = "none"
	modalityText    = "text"
)

// These are the limits of one account at a model of the library. A minute must have room for calls of coding tools, which send long
// contexts often.
const (
	requestsPerMinute    = 300
	tokensPerMinuteMin   = 1_000_000
	contextsPerMinuteMin = 4
)

// plainParameters are those of a model whose family is not known.
var plainParameters = []string{
	"temperature", "top_p", "stop", "tools", "tool_choice", "response_format", "structured_outputs", reasoningEffort,
}

// samplingParameters are refused by models with fixed sampling.
var samplingParameters = []string{
	"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "logit_bias", "n", "seed", "prediction",
}

// FileModel is the choice as a model of a catalog: with one route to a provider, whose cost it has, and prices that are the cost times the
// markup. A markup of zero makes the prices equal to the cost. A choice without a cost has no prices, so that catalog.Check asks for them.
func (c Choice) FileModel(providerID string, order int, markup catalog.Factor) catalog.FileModel {
	m := c.Model
	contextTokens, maxOutputTokens := c.Offer.limits(m)
	f := catalog.FileModel{
		ID: c.ID, Aliases: c.Offer.Aliases, Name: m.Name, Owner: m.Owner, Kind: catalog.KindText,
		Capabilities: []string{modalityText}, Input: c.input(),
		Output: []string{modalityText}, ContextTokens: contextTokens, MaxOutputTokens: maxOutputTokens,
		Styles: llm.Styles(), Availability: catalog.Available, Released: m.Released, Shutdown: c.Offer.Shutdown,
		Limits: catalog.Limits{
			RequestsPerMinute: requestsPerMinute, TokensPerMinute: max(tokensPerMinuteMin, contextsPerMinuteMin*contextTokens),
		},
		Routes: []catalog.FileRoute{{
			Provider: providerID, Model: c.ProviderModel, Style: c.Offer.Style, Order: max(order, 1), Weight: 1, Cost: c.Offer.Cost,
		}},
	}
	if c.Priced {
		f.Markup = cmp.Or(markup, atCost)
	}
	if m.Status == statusDeprecated {
		f.Notice = "The provider calls this model deprecated."
	}
	family, isKnown := modelfamily.Find(c.Offer.Preset, c.ProviderModel)
	if isKnown {
		f.Capabilities = family.Capabilities
	}
	f.Parameters = m.parameters(&family)
	if slices.Contains(f.Parameters, reasoningEffort) {
		f.Thinking = family.Thinking
		if efforts := m.efforts(&family); len(efforts) > 0 {
			f.Ranges = map[string]catalog.Range{reasoningEffort: {Values: efforts}}
		}
	}
	return f
}

// input are the modalities that the model takes. Sound is one of them only when it has a price, because it costs more than text.
func (c *Choice) input() []string {
	return slices.DeleteFunc(slices.Clone(c.Model.Input), func(modality string) bool {
		return modality == modalityAudio && (c.Offer.Cost == nil || c.Offer.Cost.Rates[meterInputAudio].Per == 0)
	})
}

const statusDeprecated = "deprecated"

// parameters are those of the family that the model takes.
func (m *Model) parameters(family *modelfamily.Family) []string {
	known := family.Parameters
	if family.ID == "" {
		known = plainParameters
	}
	return slices.DeleteFunc(slices.Clone(known), func(name string) bool {
		switch name {
		case "tools", "tool_choice", "custom_tools":
			return !m.Tools
		case "structured_outputs":
			return !m.Schemas
		case reasoningEffort:
			return !m.Reasoning
		}
		return m.FixedSampling && slices.Contains(samplingParameters, name)
	})
}

// effortWords are the values of reasoning_effort that contracts know.
var effortWords = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// efforts are the values of reasoning_effort of the model; empty when they are not known.
func (m *Model) efforts(family *modelfamily.Family) []string {
	from := m.Efforts
	if len(from) == 0 {
		from = family.Efforts
	}
	var known []string
	for _, word := range effortWords {
		if slices.Contains(from, word) {
			known = append(known, word)
		}
	}
	return known
}
