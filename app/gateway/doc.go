// Package gateway runs a text call: from its raw body to the last byte of the answer and the charge for it. It computes
// the highest cost of a call, chooses the next route, and makes a charge durable before the client can know that the
// answer is whole.
// Callers pass a Call and a Sink to Generate. The HTTP of the client's side, keys, text styles and the ledger are in
// other packages.
package gateway
