// Package gateway is the corridor of a text call: from its raw body to the last byte of the answer and the charge for
// it. It knows the order of the rooms, what a call may cost at most, which route is tried next, and that a charge is
// durable before the client can know that the answer is whole. It does not know HTTP of the client's side, keys, the
// words of any text style, or where money is kept.
package gateway
