package gateway

import (
	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/usagereader"
)

// usageReader is the reader of the usage that the provider of a route reports; nil for that of its style.
func usageReader(route *catalog.Route) llm.UsageReader {
	if route.Provider.UsageReader == "" {
		return nil
	}
	reader, known := usagereader.Of(route.Provider.UsageReader, route.Style)
	if !known {
		return nil
	}
	return reader
}

// upstreamCost is what a usage costs the operator at a route, and the id of the card that says so. It is nil when that is not known.
func upstreamCost(route *catalog.Route, counts meter.Counts, terms meter.Terms) (*app.Amount, string) {
	if route.CostCard == nil {
		return nil, ""
	}
	cost, err := route.CostCard.Cost(counts, terms)
	if err != nil { // The cost is more than an amount can hold.
		return nil, ""
	}
	return &cost, route.CostCard.ID
}
