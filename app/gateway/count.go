package gateway

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/ratelimit"
)

// countWait is how long a count may take on a route without a timeout.
const countWait = 60 * time.Second

// Count is how many input tokens a request has.
type Count struct {
	Tokens    int64
	Estimated bool   // Estimated means that the gateway counted, since no provider of the model counts.
	Dropped   string // Dropped lists what of the request is not counted, as the value of a header.

	Requests   ratelimit.Window // Requests is what is left of the account's limit, also when the call is refused.
	TokensLeft ratelimit.Window // TokensLeft is what is left of the limit of tokens.
}

// CountTokens asks a provider of the model to count the input tokens of a request, which costs nothing. The body is a
// request of the call's style. Where the first provider cannot count, the gateway estimates the tokens.
func (g *Gateway) CountTokens(ctx context.Context, call Call) (Count, error) {
	p := newPipeline(g, call)
	defer p.builder.memory.release()
	err := p.admit() // The price bounds the estimate.
	if err != nil {
		return Count{}, err
	}
	err = p.takeSlot(true)
	picked := p.plan.picked
	count := Count{Requests: p.slot.Requests(), TokensLeft: p.slot.Tokens(), Dropped: picked.dropped()}
	if err != nil {
		return count, err
	}
	defer p.slot.Release(0)
	if picked.route == nil || !provider.Counts(picked.route) {
		count.Tokens, count.Estimated = p.funding.estimate.inputLikely, true
		return count, nil
	}
	tokens, fault := p.count(ctx, picked)
	if fault != nil {
		return count, fault.Err
	}
	count.Tokens = tokens
	return count, nil
}

// count asks the provider of a route, with each of its credentials until one is accepted. For the health of the route, a count
// shows whether a credential works, but not whether the model does: clients who count before each call would otherwise keep a
// failing model in use, or make a working one be ejected.
func (p *pipeline) count(ctx context.Context, c candidate) (int64, *provider.Fault) {
	try, block := p.gateway.o.Health.Begin(c.route, p.plan.forced)
	if block != "" {
		return 0, provider.NewRefusal(p.errNoProvider())
	}
	routes := p.routes()
	defer func() { p.attempt.end(abandonedFault()) }() // Only a panic leaves an attempt without an end.
	for a := routes.newAttempt(c, try); ; {            // There are no more attempts than credentials.
		p.attempt = a
		tokens, fault := a.count(ctx)
		known := abandonedFault()
		if fault != nil && (fault.Class == provider.ClassCredential || fault.Class == provider.ClassRateLimited) {
			known = fault
		}
		a.end(known)
		if fault == nil {
			return tokens, nil
		}
		if a = routes.nextCredential(fault); a == nil {
			return 0, fault
		}
	}
}

// count asks the provider of the attempt's route once.
func (a *attempt) count(ctx context.Context) (int64, *provider.Fault) {
	wait := a.route.Timeouts.FirstByte
	if wait <= 0 {
		wait = countWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, provider.ErrFirstByte)
	defer cancel()
	if err := a.builder.complete(ctx, a.exchange); err != nil {
		return 0, provider.NewRefusal(err)
	}
	payload := provider.NewPayload(a.exchange.Size() + requestSlack)
	defer payload.Release()
	payload.Data = a.exchange.CountRequest(payload.Data, dialect.Edit{Model: a.route.Model, EndUser: a.call.endUserFor(a.route)})
	header, betas := a.call.upstreamHeader(a.route, a.exchange)
	answer, fault := a.call.gateway.o.Providers.Count(ctx, provider.Attempt{
		Route: a.route, Credential: a.health.Credential, Payload: payload, Header: header, Betas: betas,
	})
	if fault != nil {
		a.hideUpstreamName(fault.Err)
		return 0, fault
	}
	defer answer.Close()
	raw, fault := answer.ReadAll()
	if fault != nil {
		return 0, fault
	}
	var reply struct {
		Input *int64 `json:"input_tokens"`
		Total *int64 `json:"totalTokens"`
	}
	err := json.Unmarshal(raw, &reply, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, n := range []*int64{reply.Input, reply.Total} {
		if err == nil && n != nil && *n >= 0 && *n <= llm.TokensMax {
			return *n, nil
		}
	}
	return 0, answer.Unusable(llm.ErrBroken)
}
