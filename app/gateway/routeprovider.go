package gateway

import (
	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/usagereader"
)

// readerName is the name of the reader of the usage that a provider reports; empty for that of its style.
func readerName(p *catalog.Provider) string { return p.UsageReader }

// usageReader is the reader of the usage that the provider of a route reports; nil for that of its style.
func usageReader(r *catalog.Route) llm.UsageReader {
	if reader, ok := usagereader.Of(r.Provider.UsageReader, r.Style); ok {
		return reader
	}
	return nil
}

// costIsPrice reports whether the cost that a provider states is the price of a call.
func costIsPrice(*catalog.Provider) bool { return false }

// afterCancel is what a provider does when the gateway closes the connection of a call.
func afterCancel(*catalog.Provider) cancelEffect { return effectUnknown }

// cancelEffect is what a provider does when the gateway closes the connection of a call.
type cancelEffect uint8

// The effects.
const (
	// effectUnknown is treated like effectStops, and the record says that it is not known.
	effectUnknown cancelEffect = iota
	// effectStops means that the provider stops, and takes the input and what it has made.
	effectStops
	// effectContinues means that the provider makes the whole answer and takes all of it.
	effectContinues
)

// upstreamCost is what a usage costs the operator at a route. It reports false when that is not known.
func upstreamCost(*catalog.Route, meter.Counts, meter.Terms) (app.Amount, string, bool) {
	return 0, "", false
}
