package payments

import "time"

// evidenceDue is how long a merchant has to answer a dispute.
const evidenceDue = 7 * 24 * time.Hour

// These are the states of a dispute.
const (
	disputeOpen = "needs_response"
	disputeWon  = "won"
	disputeLost = "lost"
)

// dispute is a payer's bank taking the money back.
type dispute struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	Amount             int64             `json:"amount"`
	Charge             string            `json:"charge"`
	Created            int64             `json:"created"`
	Currency           string            `json:"currency"`
	Evidence           map[string]string `json:"evidence"`
	EvidenceDetails    map[string]any    `json:"evidence_details"`
	IsChargeRefundable bool              `json:"is_charge_refundable"`
	Livemode           bool              `json:"livemode"`
	Metadata           map[string]string `json:"metadata"`
	PaymentIntent      *string           `json:"payment_intent"`
	Reason             string            `json:"reason"`
	Status             string            `json:"status"`
}

func (d *dispute) facts() (string, int64) { return d.ID, d.Created }

func disputeEndpoints() []endpoint {
	return []endpoint{
		getter[*dispute]("/v1/disputes", "dispute"),
		lister("/v1/disputes", "dp", func(c *call, d *dispute) bool {
			return c.same("charge", &d.Charge) && c.same("payment_intent", d.PaymentIntent)
		}, "charge", "payment_intent"),
		{route: "POST /v1/disputes/{id}/close", serve: func(c *call) (object, *failure) {
			d, failed := at[*dispute](c, "dispute")
			if failed == nil && !c.sim.closeDispute(d, disputeLost, c.origin()) {
				failed = invalid("", "", "This dispute is already closed")
			}
			return result(d, failed)
		}},
	}
}

// openDispute takes the money back until the dispute is decided.
func (s *Simulator) openDispute(ch *charge, cents int64, reason string) (*dispute, *failure) {
	left := ch.Amount - ch.AmountRefunded
	switch {
	case !ch.Paid || ch.Disputed || left == 0:
		return nil, invalid("", "", "Charge %s cannot be disputed: it is not paid, refunded, or disputed already.", ch.ID)
	case cents > left:
		return nil, invalid("", "amount", "The charge has %s left.", dollars(left, ch.Currency))
	case cents == 0:
		cents = left
	}
	now := s.o.Now()
	d := &dispute{
		ID: s.newID("dp_", 24), Object: "dispute", Amount: cents, Charge: ch.ID, Created: now.Unix(), Currency: ch.Currency,
		Evidence: map[string]string{}, Metadata: map[string]string{}, PaymentIntent: ch.PaymentIntent, Reason: reason, Status: disputeOpen,
		EvidenceDetails: map[string]any{
			"due_by": now.Add(evidenceDue).Unix(), "has_evidence": false, "past_due": false, "submission_count": 0,
		},
	}
	ch.Disputed = true
	s.store.put(d)
	s.emit("charge.dispute.created", d, origin{})
	s.emit("charge.dispute.funds_withdrawn", d, origin{})
	return d, nil
}

// closeDispute decides a dispute, and reports whether it was open.
func (s *Simulator) closeDispute(d *dispute, status string, from origin) bool {
	if d.Status != disputeOpen {
		return false
	}
	d.Status = status
	s.emit("charge.dispute.closed", d, from)
	if status == disputeWon {
		s.emit("charge.dispute.funds_reinstated", d, from)
	}
	return true
}

// wonBack reports whether the latest dispute of a charge was won.
func (s *Simulator) wonBack(ch *charge) bool {
	for d := range latest[*dispute](s, "dp") {
		if d.Charge == ch.ID {
			return d.Status == disputeWon
		}
	}
	return false
}
