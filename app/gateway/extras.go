package gateway

import (
	"umg/app/dialect"
	"umg/app/meter"
)

// requestedExtras are the services of a provider beside the answer that a request asks for.
type requestedExtras struct {
	// fees is the most that the provider counts of each of them.
	fees meter.Counts
	// inputs are further meters of which one may count each token of the input.
	inputs []meter.Meter
	// terms are those on which the request asks to be served, without the time.
	terms meter.Terms
}

// extrasOf returns the extras of a request that go to the provider. Their input is a part of the prompt, which Allowed.PromptMost bounds.
func extrasOf(head *dialect.Head) requestedExtras {
	r := requestedExtras{fees: head.Allowed().FeesMost, terms: head.Allowed().Terms}
	r.fees[meter.InputTokens] = 0
	if head.Allowed().WritesForHour {
		r.inputs = []meter.Meter{meter.CacheWriteHourTokens}
	}
	return r
}
