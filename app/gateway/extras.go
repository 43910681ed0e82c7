package gateway

import (
	"umg/app/dialect"
	"umg/app/meter"
)

// requestedExtras are the services of a provider beside the answer that a request asks for.
type requestedExtras struct {
	// fees is the most that the provider counts of each of them.
	fees meter.Counts
	// input is the most tokens that the provider reads for them.
	input int64
	// inputs are further meters of which one may count each token of the input.
	inputs []meter.Meter
	// terms are those on which the request asks to be served, without the time.
	terms meter.Terms
}

// extrasOf returns the extras of a request that go to the provider. No rate card prices any yet, so there are none.
func extrasOf(*dialect.Head) requestedExtras { return requestedExtras{} }
