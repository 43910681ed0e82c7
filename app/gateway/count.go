package gateway

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/ratelimit"
)

// countWait is how long a count may take where the route does not say.
const countWait = 60 * time.Second

// Count is how many input tokens a request has.
type Count struct {
	Tokens    int64
	Estimated bool   // counted here, since no provider of the model counts
	Dropped   string // what of the request is not counted, as a header lists it

	Requests ratelimit.Window // what is left of the account's limits, also when the call is refused
	Left     ratelimit.Window // of tokens
}

// CountTokens asks a provider of the model to count the input tokens of a request, which costs nothing. The body is a
// request of the call's style. Where the first provider cannot count, the request is weighed here.
func (g *Gateway) CountTokens(ctx context.Context, call Call) (Count, error) {
	r := newRun(g, call)
	defer r.asked.giveBack()
	err := r.admit() // the price bounds the estimate
	if err != nil {
		return Count{}, err
	}
	ask := r.turnstile()
	ask.Tokens = 0
	r.slot, err = r.call.take(g.o.Limits, ask)
	count := Count{Requests: r.slot.Requests(), Left: r.slot.Tokens(), Dropped: r.way.Dropped()}
	if err != nil {
		return count, err
	}
	defer r.slot.Release(0)
	if r.next == nil || !provider.Counts(r.next.Style) {
		count.Tokens, count.Estimated = r.inputEstimate(), true
		return count, nil
	}
	tokens, fault := r.count(ctx, r.next)
	if fault != nil {
		return count, fault.Err
	}
	count.Tokens = tokens
	return count, nil
}

// count asks the provider of a route, with each of its credentials until one is taken.
func (r *run) count(ctx context.Context, route *catalog.Route) (int64, *provider.Fault) {
	try, block := r.gateway.o.Health.Begin(route, r.plan.forced)
	if block != "" {
		return 0, provider.NewRefusal(r.unavailable())
	}
	r.route = route
	defer r.drop()
	for r.take(try); ; r.attempts++ { // of which there are no more than credentials
		tokens, fault := r.countOnce(ctx, route)
		r.endTry(ofCount(fault))
		if fault == nil || !r.nextCredential(fault) {
			return tokens, fault
		}
	}
}

// ofCount is what counting says of a provider: something of its credentials, and nothing of how its models answer. Else clients
// who count before each call would keep a model that fails from being ejected, and could have one ejected that does not.
func ofCount(fault *provider.Fault) *provider.Fault {
	if fault != nil && (fault.Class == provider.ClassCredential || fault.Class == provider.ClassRateLimited) {
		return fault
	}
	return abandonedFault()
}

func (r *run) countOnce(ctx context.Context, route *catalog.Route) (int64, *provider.Fault) {
	wait := route.Timeouts.FirstByte
	if wait <= 0 {
		wait = countWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, provider.ErrFirstByte)
	defer cancel()
	if err := r.complete(ctx); err != nil {
		return 0, provider.NewRefusal(err)
	}
	payload := provider.NewPayload(r.way.Size() + spliceRoom)
	defer payload.Release()
	payload.Data = r.way.Counted(payload.Data, dialect.Edit{Model: route.Model})
	answer, fault := r.gateway.o.Providers.Count(ctx, provider.Attempt{
		Route: route, Credential: r.try.Credential, Payload: payload, Header: r.forwarded(),
	})
	if fault != nil {
		r.hideUpstreamName(fault.Err)
		return 0, fault
	}
	defer answer.Close()
	raw, fault := answer.ReadAll(nil, func(int) *provider.Fault { return nil })
	if fault != nil {
		return 0, fault
	}
	var said struct {
		Input *int64 `json:"input_tokens"`
		Total *int64 `json:"totalTokens"`
	}
	err := json.Unmarshal(raw, &said, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, n := range []*int64{said.Input, said.Total} {
		if err == nil && n != nil && *n >= 0 && *n <= llm.TokensMax {
			return *n, nil
		}
	}
	return 0, answer.Unusable(llm.ErrBroken)
}
