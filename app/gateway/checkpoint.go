package gateway

import (
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/meter"
	"umg/billing"
)

// A checkpoint follows after each checkpointTokensMax delivered tokens or each checkpointInterval. If the process dies, the call is
// charged by its last checkpoint, which the delivered tokens are at most checkpointLagMax ahead of, also after a delivery of many at once.
const (
	checkpointTokensMax = 32
	checkpointLagMax    = 2 * checkpointTokensMax
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
	c := p.charge(rule, stats)
	p.response.checkpointTokens, p.response.checkpointAt = p.response.deliveredTokens, at
	p.gateway.o.CreditManager.Progress(p.funding.hold, billing.Settlement{
		Cost: c.cost, Delivered: c.charged, Record: p.record(rule, c, nil),
	})
}

// record is the usage record of the call for a row of the settlement table and a charge.
func (p *pipeline) record(rule billing.Rule, c charge, ended error) billing.UsageRecord {
	t := &p.trace
	u := billing.UsageRecord{
		RequestID: p.request.ID, AccountID: p.request.Principal.AccountID, KeyID: p.request.Principal.KeyID, Model: p.model.ID,
		Style: string(p.request.Style), RateCardID: p.model.RateCard.ID, EndUser: p.head.EndUser, FinishReason: p.stats().Finish,
		Streamed: p.head.Stream, Estimated: rule.Estimated, Outcome: rule.Outcome, Reason: string(rule.Reason),
		Usage: c.meters(), Terms: c.usage.Terms, Attempts: p.attempts, StartedAt: p.started, FirstByte: p.response.firstByte,
		Duration: p.elapsed(), Trail: billing.RequestTiming{
			Door: p.request.AuthDuration, Body: p.request.UploadDuration, Checked: t.checked, Admitted: t.admitted, Funded: t.funded,
			Attempts: t.records[:t.count],
		},
	}
	if c.charged {
		n := p.notesOf(rule, &c)
		u.ProviderCost, u.Flags = c.usage.ProviderCost, n.flags()
	}
	if p.attempt != nil {
		route := p.attempt.route
		u.Provider, u.UpstreamModel = route.Provider.ID, route.Model
		u.Credential = route.Provider.CredentialID(p.attempt.health.Credential)
		if c.charged {
			u.UpstreamCost, u.CostCardID = upstreamCost(route, u.Usage, u.Terms)
		}
	}
	if p.attempt != nil && p.requestedFault(p.attempt.route) {
		u.AddFlag(billing.FlagRequestedFault)
	}
	if ended != nil {
		u.ErrorCode = errorOf(ended).Code
	}
	return u
}

// upstreamCost is what a usage costs the operator at a route, and the id of the card that says so. It is nil when that is not known.
func upstreamCost(route *catalog.Route, counts meter.Counts, terms meter.Terms) (*app.Amount, string) {
	if route.CostCard == nil {
		return nil, ""
	}
	cost, err := route.CostCard.Cost(counts, terms)
	if err != nil { // The cost is more than an amount can hold.
		return nil, ""
	}
	return &cost, route.CostCard.ID
}
