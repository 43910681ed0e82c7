package gateway

import (
	"time"

	"umg/billing"
)

// After so much that was delivered there is a mark, which is what is charged when the process dies. A batch has no more
// than as many tokens, so that what was delivered and what is marked are never further apart than twice as many.
const (
	markTokens = 32
	markEvery  = 500 * time.Millisecond
)

// progress marks what was delivered, when that is due.
func (r *run) progress() {
	if fresh := r.seen - r.marked; fresh >= markTokens || fresh > 0 && r.sent.Sub(r.markedAt) >= markEvery {
		r.mark()
	}
}

// mark notes how the call is settled if this process dies now: at what was delivered, which is nothing before the first
// byte. It comes after what it tells of, and so never tells of more than the client may have.
func (r *run) mark() {
	reason := billing.ReasonCrashedUnanswered
	if r.out.hasDelivered() {
		reason = billing.ReasonCrashed
	}
	rule := billing.RuleOf(reason)
	bill := r.charge(rule)
	r.marked, r.markedAt = r.seen, r.sent
	r.gateway.o.CreditManager.Progress(r.hold, billing.Settlement{
		Cost: bill.cost, Delivered: bill.charged, Record: r.record(rule, bill, nil),
	})
}
