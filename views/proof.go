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

// proofPair is two sums that must be equal.
type proofPair struct {
	left, right string
	a, b        app.Amount
}

func (p Proof) pairs() []proofPair {
	return []proofPair{
		{"Cost of all usage records", "All charges in the ledger", p.Usage, p.Charges},
		{"All entries of the ledger", "The balance", p.Entries, p.Posted},
		{"What is left of all credit", "The balance", p.Grants, p.Posted},
	}
}

func (q proofPair) exact() bool { return q.a == q.b }

func (p Proof) exact() bool {
	for _, q := range p.pairs() {
		if !q.exact() {
			return false
		}
	}
	return true
}
