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

// Left is what an account may still do now on each of the models. Nothing is counted. Videos are held to the same limits.
func (g *Gateway) Left(accountID string, factor int, models []*catalog.Model) []ratelimit.Headroom {
	asks := make([]ratelimit.Request, len(models))
	for i, m := range models {
		asks[i] = g.limitsOn(m, accountID, factor)
	}
	return g.o.Limits.Peek(asks)
}

// limitedTokens is what a call counts against the limits of tokens when it has ended: what was charged. A caller that leaves gets
// nothing back of what the call was let through with, wherever it left, since a provider may be at work for it.
func (r *run) limitedTokens(ctx context.Context) int64 {
	used := r.bill.tokens()
	switch r.rule.Reason {
	case billing.ReasonClientLeft, billing.ReasonClientLeftWaiting, billing.ReasonClientLeftUnanswered:
		return max(used, r.counted)
	case billing.ReasonRefused: // before anything was reserved
		if ctx.Err() != nil && provider.FaultOf(ctx, ctx.Err()).Class == provider.ClassClient {
			return max(used, r.counted)
		}
	}
	return used
}
