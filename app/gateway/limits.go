package gateway

import (
	"context"

	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/billing"
)

// limitsOn is what the limits are asked of a call of an account on a model, but for its tokens and its key.
func (g *Gateway) limitsOn(m *catalog.Model, accountID string, factor int) ratelimit.Request {
	factor = max(factor, 1)
	n := int64(factor)
	return ratelimit.Request{
		AccountID: accountID, Model: m.ID, Concurrency: ratelimit.ConcurrencyStandard * factor, Account: g.o.Limits.Account(factor),
		ModelConcurrency: int(m.Limits.Concurrency) * factor, RequestsPerMinute: m.Limits.RequestsPerMinute * n,
		RequestsPerDay: m.Limits.RequestsPerDay * n, TokensPerMinute: m.Limits.TokensPerMinute * n,
	}
}

// Headroom is what an account may still do now on each of the models. Nothing is counted. Videos are held to the same limits.
func (g *Gateway) Headroom(accountID string, factor int, models []*catalog.Model) []ratelimit.Headroom {
	asks := make([]ratelimit.Request, len(models))
	for i, m := range models {
		asks[i] = g.limitsOn(m, accountID, factor)
	}
	return g.o.Limits.Peek(asks)
}

// takeSlot takes a slot within the limits, beginning with the place that the call has.
func (p *pipeline) takeSlot(q ratelimit.Request) (err error) {
	if p.slot = p.request.Slot; p.slot != nil {
		return p.slot.Join(q)
	}
	p.slot, err = p.gateway.o.Limits.Take(q)
	return err
}

// moveSlot gives the slot back as if it had not been taken, and takes one for the model that the call has moved to. A slot that
// was refused still tells what is left.
func (p *pipeline) moveSlot() (err error) {
	p.slot.Withdraw()
	p.slot, err = p.gateway.o.Limits.Take(p.limitRequest())
	return err
}

// limitRequest is the request to the rate limiter. The gateway corrects its tokens when the call ends, so they need not be
// an upper bound. A call with a high token limit that it does not use must not keep other calls out while it runs.
func (p *pipeline) limitRequest() ratelimit.Request {
	e := &p.funding.estimate
	q := p.gateway.limitsOn(p.model, p.request.Principal.AccountID, p.request.LimitFactor)
	q.Tokens, q.Key = e.inputLikely+min(e.output, usefulTokens)*e.choices, p.request.Key
	p.slotTokens = q.Tokens
	return q
}

// limitedTokens is what a call counts against the limits of tokens when it has ended: what was charged. A caller that leaves gets
// nothing back of what the call was let through with, wherever it left, since a provider may be at work for it.
func (p *pipeline) limitedTokens(ctx context.Context) int64 {
	usage := &p.outcome.charge.usage
	used := usage.InputTotal() + usage.Output
	switch p.outcome.rule.Reason {
	case billing.ReasonClientLeft, billing.ReasonClientLeftWaiting, billing.ReasonClientLeftUnanswered:
		return max(used, p.slotTokens)
	case billing.ReasonRefused: // Nothing was reserved.
		if ctx.Err() != nil && provider.FaultOf(ctx, ctx.Err()).Class == provider.ClassClient {
			return max(used, p.slotTokens)
		}
	}
	return used
}
