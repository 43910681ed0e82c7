// Package gateway runs a text call: from its raw body to the last byte of the answer and the charge for it. It computes the highest cost of
// a call, chooses the next route, and makes a charge durable before the client can know that the answer is whole. Callers pass a Call and a
// StreamWriter to Generate. The HTTP of the client's side, keys, text styles and the ledger are in other packages.
//
// Generate in pipeline.go is the whole path. Its stages are in call.go, selectmodel.go, hints.go, estimate.go, fallback.go,
// routeplan.go and upstreamrequest.go (admission); limits.go, funding.go and response.go (what the call takes before it begins);
// contextfallback.go, retry.go, hedge.go, attempt.go and framewait.go (finding a provider that answers); relay.go, holdextension.go,
// checkpoint.go and recovery.go (the stream); settle.go, settlementreason.go, usage.go and report.go (its end).
package gateway
