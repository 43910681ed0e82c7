package gateway

import (
	"time"

	"umg/app/dialect"
	"umg/billing"
)

// A checkpoint follows after each checkpointTokensMax delivered tokens or each checkpointInterval. If the process dies, the call is
// charged by its last checkpoint. The relay delivers at most checkpointTokensMax tokens at once, so the difference between the
// delivered tokens and the checkpoint is at most twice that number.
const (
	checkpointTokensMax = 32
	checkpointInterval  = 500 * time.Millisecond
)

// checkpoint records the charge of the call for the case that this process dies now: that of the delivered part, which is empty before
// the first byte. It must be called after the delivery, since a checkpoint must never claim more than was delivered.
func (p *pipeline) checkpoint(stats *dialect.StreamStats, at time.Time) {
	reason := billing.ReasonCrashedUnanswered
	if p.response.writer.hasDelivered() {
		reason = billing.ReasonCrashed
	}
	rule := billing.RuleOf(reason)
	c := p.funding.charge(rule, stats)
	p.response.checkpointTokens, p.response.checkpointAt = p.response.deliveredTokens, at
	p.gateway.o.CreditManager.Progress(p.funding.hold, billing.Settlement{
		Cost: c.cost, Delivered: c.charged, Record: p.record(rule, c, nil),
	})
}

// checkpointDue reports whether the next checkpoint is due after a delivery.
func (r *response) checkpointDue(at time.Time) bool {
	fresh := r.deliveredTokens - r.checkpointTokens
	return fresh >= checkpointTokensMax || fresh > 0 && at.Sub(r.checkpointAt) >= checkpointInterval
}
