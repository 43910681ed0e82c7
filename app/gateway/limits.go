package gateway

import (
	"umg/app/catalog"
	"umg/app/ratelimit"
)

// limitsOn is the request to the rate limiter for a call of an account on a model, without its tokens and its key.
func (g *Gateway) limitsOn(m *catalog.Model, accountID string, factor int) ratelimit.Request {
	factor = max(factor, 1)
	n := int64(factor)
	return ratelimit.Request{
		AccountID: accountID, Model: m.ID, Concurrency: ratelimit.ConcurrencyStandard * factor, Account: g.o.Limits.Account(factor),
		ModelConcurrency: int(m.Limits.Concurrency) * factor, RequestsPerMinute: m.Limits.RequestsPerMinute * n,
		RequestsPerDay: m.Limits.RequestsPerDay * n, TokensPerMinute: m.Limits.TokensPerMinute * n,
	}
}

// Headroom is what the limits leave an account on each of the models now. It counts nothing. The same limits apply to videos.
func (g *Gateway) Headroom(accountID string, factor int, models []*catalog.Model) []ratelimit.Headroom {
	asks := make([]ratelimit.Request, len(models))
	for i, m := range models {
		asks[i] = g.limitsOn(m, accountID, factor)
	}
	return g.o.Limits.Peek(asks)
}

// takeSlot takes a slot for the call, starting from the slot that it took before its body was read. The slot has the tokens of the call,
// or none when the call only counts them.
func (p *pipeline) takeSlot(counts bool) (err error) {
	q := p.limitRequest()
	if counts {
		q.Tokens = 0
	}
	if p.slot = p.request.Slot; p.slot != nil {
		return p.slot.Join(q)
	}
	p.slot, err = p.gateway.o.Limits.Take(q)
	return err
}

// moveSlot returns the slot as if it had not been taken, and takes one for the model that the call has moved to. A refused slot still
// has the windows of the limits.
func (p *pipeline) moveSlot() (err error) {
	p.slot.Withdraw()
	p.slot, err = p.gateway.o.Limits.Take(p.limitRequest())
	return err
}

// limitRequest is the request to the rate limiter. Its tokens need not be an upper bound, since the gateway corrects them when the
// call ends. A call with a high maximum that it does not use must not block other calls while it runs.
func (p *pipeline) limitRequest() ratelimit.Request {
	e := &p.funding.estimate
	q := p.gateway.limitsOn(p.model, p.request.Principal.AccountID, p.request.LimitFactor)
	q.Tokens, q.Key = e.inputLikely+min(e.output, usefulTokens)*e.choices, p.request.Key
	p.slotTokens = q.Tokens
	return q
}
