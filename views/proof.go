package views

import (
	"time"

	"umg/app"
)

// Proof is that the sums of an account agree, which are kept apart: usage against charges, and entries and grants
// against the balance.
type Proof struct {
	Usage, Charges  app.Amount
	Entries, Posted app.Amount
	Grants          app.Amount
	At              time.Time
}

// ProofPair is two sums that must be equal.
type ProofPair struct {
	Left, Right string
	A, B        app.Amount
}

// Pairs are the sums that must be equal.
func (p Proof) Pairs() []ProofPair {
	return []ProofPair{
		{"Cost of all usage records", "All charges in the ledger", p.Usage, p.Charges},
		{"All entries of the ledger", "The balance", p.Entries, p.Posted},
		{"Remaining credit", "The balance", p.Grants, p.Posted},
	}
}

// Exact reports whether the two sums are equal.
func (q ProofPair) Exact() bool { return q.A == q.B }

// Exact reports whether the sums of every pair are equal.
func (p Proof) Exact() bool {
	for _, q := range p.Pairs() {
		if !q.Exact() {
			return false
		}
	}
	return true
}
