// Package billing prices usage and keeps prepaid credit: rate cards, holds and settlements, grants, the append-only ledger
// and one usage record for each request. Make a Ledger with NewLedger and keep its Run running.
package billing
