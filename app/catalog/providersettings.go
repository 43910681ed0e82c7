package catalog

import (
	"slices"
	"strings"

	"umg/app/llm"
	"umg/app/meter"
	"umg/app/usagereader"
	"umg/billing"
)

// AfterCancel is what a provider does when the gateway cancels a request.
type AfterCancel string

// A provider that stops charges what it has sent so far. One that continues charges the whole answer, which the gateway therefore
// reads to its end. The gateway assumes that an unknown one stops, and marks the count as estimated.
const (
	CancelUnknown   AfterCancel = "unknown"
	CancelStops     AfterCancel = "stops"
	CancelContinues AfterCancel = "continues"
)

// ProviderCost is what a cost means that a provider states in its answers.
type ProviderCost string

// A stated cost is compared with that of the cost card, or it is the price of the call.
const (
	CostCompared ProviderCost = "compare"
	CostIsPrice  ProviderCost = "price"
)

func (v *FileProvider) checkUsage(p problems) {
	if v.Usage != "" {
		p.oneOf("usage", v.Usage, usagereader.Names())
	}
	if v.AfterCancel != "" {
		p.oneOf("after_cancel", string(v.AfterCancel), []string{string(CancelStops), string(CancelContinues), string(CancelUnknown)})
	}
	if v.ProviderCost != "" {
		p.oneOf("provider_cost", string(v.ProviderCost), []string{string(CostCompared), string(CostIsPrice)})
	}
}

// styleReaders are the readers of providers that name none.
var styleReaders = map[llm.Style]string{
	llm.Chat: "openai", llm.Responses: "openai", llm.Messages: "anthropic", llm.Native: "gemini", llm.Converse: "bedrock",
	llm.Cohere: "cohere",
}

// requiredPrice is a price of its own that a card must have, because the reader of a route can report one of the meters and the price of
// another meter would be wrong for it.
type requiredPrice struct {
	reader string
	// meters are alternatives.
	meters []meter.Meter
	// input and output are modalities of the models that need it; empty for all.
	input, output string
	// Only cards that price beside need it, and those of a provider that names the reader. Without beside only the latter do.
	beside []meter.Meter
}

// requiredPrices has no cache writes that last an hour, searches and other fees: without a price, calls cannot ask for them.
var requiredPrices = []requiredPrice{
	{reader: "anthropic", meters: []meter.Meter{meter.CacheWriteTokens}, beside: []meter.Meter{meter.CacheReadTokens}},
	{reader: "dashscope", meters: []meter.Meter{meter.CacheWriteTokens}, beside: []meter.Meter{meter.CacheReadTokens}},
	{reader: "perplexity", meters: []meter.Meter{meter.Requests, meter.WebSearches}},
	{reader: "openai", meters: []meter.Meter{meter.InputAudioTokens}, input: "audio"},
	{reader: "openai", meters: []meter.Meter{meter.OutputAudioTokens}, output: "audio"},
	{reader: "azure", meters: []meter.Meter{meter.InputAudioTokens}, input: "audio"},
	{reader: "azure", meters: []meter.Meter{meter.OutputAudioTokens}, output: "audio"},
	{reader: "gemini", meters: []meter.Meter{meter.InputAudioTokens}, input: "audio"},
	{reader: "gemini", meters: []meter.Meter{meter.OutputImageTokens}, output: "image"},
	{reader: "vertex", meters: []meter.Meter{meter.InputAudioTokens}, input: "audio"},
	{reader: "vertex", meters: []meter.Meter{meter.OutputImageTokens}, output: "image"},
	{reader: "mistral", meters: []meter.Meter{meter.InputSeconds}, input: "audio"},
}

// checkRequiredPrices adds a problem for each meter that a route of the model can report and the card cannot price.
func (m *FileModel) checkRequiredPrices(p problems, providers map[string]*FileProvider) {
	if m.Kind != KindText {
		return
	}
	if card, ok := m.card(); ok {
		m.checkReported(p, "rates", &card, providers)
	}
	if m.Announced == nil {
		return
	}
	if card, err := newCard("", m.Announced.Rates, m.Announced.Conditions); err == nil {
		m.checkReported(p, "announced.rates", &card, providers)
	}
}

func (m *FileModel) checkReported(p problems, field string, card *billing.RateCard, providers map[string]*FileProvider) {
	var reported []string
	for i, r := range m.Routes {
		provider := providers[r.Provider]
		if provider == nil || provider.ProviderCost == CostIsPrice {
			continue
		}
		for _, need := range requiredPrices {
			lacking := need.lacking(m, card, provider.Usage, r.Style)
			if lacking == "" || slices.Contains(reported, lacking) {
				continue
			}
			reported = append(reported, lacking)
			p.addf(field, "has no price of its own for %s, which routes[%d] can report: usage of provider %s is read as that of %s",
				lacking, i, r.Provider, need.reader)
		}
	}
}

// lacking names the meters of a required price that a card does not have. It is empty when the card needs none.
func (need *requiredPrice) lacking(m *FileModel, card *billing.RateCard, named string, style llm.Style) string {
	if need.reader != named && need.reader != styleReaders[style] ||
		need.input != "" && !slices.Contains(m.Input, need.input) || need.output != "" && !slices.Contains(m.Output, need.output) {
		return ""
	}
	isPriced := func(m meter.Meter) bool { return hasOwnPrice(card, m) }
	if need.reader != named && !slices.ContainsFunc(need.beside, isPriced) || slices.ContainsFunc(need.meters, isPriced) {
		return ""
	}
	names := make([]string, len(need.meters))
	for i, counted := range need.meters {
		names[i] = counted.String()
	}
	return strings.Join(names, " or ")
}
