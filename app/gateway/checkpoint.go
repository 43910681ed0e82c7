package gateway

import (
	"time"

	"umg/app/dialect"
	"umg/billing"
)

// After so much that was delivered there is a checkpoint, which is what is charged when the process dies. The relay delivers no
// more than as many tokens at once, so that the delivered tokens and those of the checkpoint are never further apart than twice
// as many.
const (
	checkpointTokensMax = 32
	checkpointInterval  = 500 * time.Millisecond
)

// checkpoint notes how the call is settled if this process dies now: at what was delivered, which is nothing before the first
// byte. Call it after the write: a checkpoint must never claim more than was delivered.
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
