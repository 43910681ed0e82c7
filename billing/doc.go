// Package billing prices usage and keeps prepaid credit: rate cards, holds and settlements, grants, the append-only
// ledger and one usage record a request. It knows money, meters and the tables of the ledger. It does not know any
// provider, model, protocol, page or HTTP.
package billing
