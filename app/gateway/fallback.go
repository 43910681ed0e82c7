package gateway

import (
	"context"
	"errors"
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/billing"
)

const (
	// fallbackHeader is the header of a request whose value fallbackNone refuses fallback models.
	fallbackHeader = "X-Gateway-Fallback"
	fallbackNone   = "none"
	// fallbackAttemptsMax bounds the attempts at each fallback model.
	fallbackAttemptsMax = 3
)

// fallbacks are the models that may serve a call when no provider of its own model answers, and what the dearest of
// them may take.
type fallbacks struct {
	// any reports that the call can go to at least one model.
	any bool
	// left has the ids of the models that were not asked yet, in order. The catalog owns the list.
	left []string
	// want and most are the amounts of the dearest model, as in reserve.
	want, most app.Amount
	// input and output are the most tokens that any model may use. Output is of each choice.
	input, output int64
	// least is what the input alone costs at the cheapest model, by the estimate.
	least app.Amount
}

// findFallbacks notes which models may serve the call in place of its own, and what is reserved for that. A model that
// raises what is reserved is checked against its contract here, every other one only when its turn comes.
func (r *run) findFallbacks() error {
	f := &r.fallbacks
	switch r.call.Headers.Get(fallbackHeader) {
	case "":
	case fallbackNone:
		return nil
	default:
		return app.Errorf(app.Invalid, "invalid_value", "X-Gateway-Fallback must be none, or absent.").At(fallbackHeader)
	}
	f.left = r.model.Fallbacks
	for _, id := range f.left {
		head := r.head
		head.Model = id
		m, _, err := r.gateway.find(&r.call, &head, r.started)
		if err != nil || r.inputLeast() > m.ContextTokens {
			continue
		}
		at := run{gateway: r.gateway, call: r.call, style: r.style, head: r.head, model: m}
		if err := at.price(m.RateCard); err != nil {
			return err
		}
		least, err := at.leastCost()
		if err != nil {
			return err
		}
		s := &at.reserve
		dearer := s.want > max(f.want, r.reserve.want) || s.most > max(f.most, r.reserve.most)
		if dearer {
			if admitted, _ := r.admits(id); admitted == nil {
				continue
			}
		}
		if !f.any || least < f.least {
			f.any, f.least = true, least
		}
		f.want, f.most = max(f.want, s.want), max(f.most, s.most)
		f.input, f.output = max(f.input, s.input), max(f.output, s.output)
	}
	return nil
}

// standing is what a call has at the model that it is made to: a price, limits, an order of
// routes, and the request without what the model does not take.
type standing struct {
	model       *catalog.Model
	reserve     reserve
	lowered     bool
	paid, slice int64
	plan        plan
	next, route *catalog.Route
	body        []byte
	head        dialect.Head
	without     []string
	original    *llm.Request
}

func (r *run) standing() standing {
	return standing{
		model: r.model, reserve: r.reserve, lowered: r.lowered, paid: r.paid, slice: r.slice, plan: r.plan, next: r.next, route: r.route,
		body: r.call.Body, head: r.head, without: r.without, original: r.original,
	}
}

// fallBack lets another model serve a call that no provider of its own model answers: the fallback models of the catalog
// in their order, each once, until one answers. Otherwise the call ends as it would have ended without them.
func (r *run) fallBack(ctx context.Context, failed error) error {
	if len(r.fallbacks.left) == 0 || !r.unserved(failed) {
		return failed
	}
	own := r.standing()
	for len(r.fallbacks.left) > 0 && ctx.Err() == nil && !r.expired() {
		id := r.fallbacks.left[0]
		r.fallbacks.left = r.fallbacks.left[1:]
		m, hints := r.admits(id)
		if m == nil || r.inputLeast() > m.ContextTokens || r.fallTo(ctx, m, hints) != nil {
			continue
		}
		if (&routeLoop{run: r, chart: (*run).buildRequest}).open(ctx) == nil {
			return nil
		}
	}
	return r.goBack(ctx, &own, failed)
}

// unserved reports whether a call has failed because no provider of its model answers, so that those of another may.
func (r *run) unserved(failed error) bool {
	if r.expired() {
		return false
	}
	if fault, ok := errors.AsType[*provider.Fault](failed); ok {
		return fault.Retry != provider.Nowhere && fault.Class != provider.ClassEnded
	}
	switch app.AsError(failed).Code {
	case codeNoProvider, codeStopped:
		return true
	}
	return false
}

// fallTo makes the call one to a fallback model. The time that the whole call may take stays that of its own model.
func (r *run) fallTo(ctx context.Context, m *catalog.Model, hints []catalog.Hint) error {
	r.markFallback()
	return r.moveTo(ctx, m, hints)
}

// goBack makes the call one to its own model again, after no fallback model has served it. Routes of the model that were
// passed over for the fallback models are asked now.
func (r *run) goBack(ctx context.Context, own *standing, failed error) error {
	for name := range r.header() {
		r.out.tell(name, "")
	}
	r.slot.Withdraw()
	r.restore(own)
	slot, err := r.gateway.o.Limits.Take(r.turnstile())
	r.slot = slot // A refused slot still tells what is left.
	for name, values := range r.header() {
		r.out.tell(name, values[0])
	}
	switch {
	case ctx.Err() != nil:
		return provider.FaultOf(ctx, ctx.Err())
	case err != nil || r.plan.tried || r.expired():
		return failed
	}
	r.sparing = false
	r.attemptsMore = max(r.attemptsMore, r.attempts+fallbackAttemptsMax-attemptsMax)
	return (&routeLoop{run: r, chart: (*run).buildRequest}).open(ctx)
}

func (r *run) restore(s *standing) {
	r.model, r.ask.Model, r.reserve, r.lowered, r.paid, r.slice = s.model, s.model.ID, s.reserve, s.lowered, s.paid, s.slice
	r.plan, r.next, r.route = s.plan, s.next, s.route
	r.call.Body, r.head, r.without, r.original = s.body, s.head, s.without, s.original
}

// payable is what the account can be charged for the call: what is held, but not what is held for dearer models than the
// one that answers.
func (r *run) payable() app.Amount {
	if r.fallbacks.any {
		return min(r.hold.Amount, r.reserve.most)
	}
	return r.hold.Amount
}

// meters are what the charge of a text call can be made of.
var meters = []billing.Meter{
	billing.InputTokens, billing.CacheReadTokens, billing.CacheWriteTokens, billing.OutputTokens, billing.ReasoningTokens, billing.Requests,
}

// dearer reports whether a model has a price that is higher than that of the model that the call is made to.
func (r *run) dearer(m *catalog.Model) bool { return m.RateCard.Exceeds(r.model.RateCard, meters...) }

// mayFallOn reports whether a fallback model is left that may go on with an answer of this model that is cut.
func (r *run) mayFallOn() bool {
	s := r.gateway.o.Snapshot
	return slices.ContainsFunc(r.fallbacks.left, func(id string) bool {
		m, ok := s().Model(id)
		return ok && r.call.Principal.MayUse(id) && !r.dearer(m)
	})
}

// fallOn lets a fallback model go on with an answer that was cut after the client had a part of it. The whole answer is
// charged at the prices of the model that ends it, so none may that has a higher one than the model that began it.
func (r *run) fallOn(ctx context.Context, find buildRequest) bool {
	own := r.standing()
	moved := false
	for len(r.fallbacks.left) > 0 && ctx.Err() == nil && !r.expired() {
		id := r.fallbacks.left[0]
		r.fallbacks.left = r.fallbacks.left[1:]
		m, hints := r.admits(id)
		if m == nil || r.inputLeast() > m.ContextTokens || r.dearer(m) {
			continue
		}
		moved = true
		if r.goOnAt(m, hints) == nil && (&routeLoop{run: r, chart: find, late: true}).open(ctx) == nil {
			return true
		}
		r.restore(&own)
	}
	if moved {
		r.slot.Withdraw()
		r.slot, _ = r.gateway.o.Limits.Take(r.turnstile()) // A refused slot still tells what is left.
	}
	return false
}

// goOnAt makes a call whose answer has begun one to another model, which costs no more. What is paid for stays paid for.
func (r *run) goOnAt(m *catalog.Model, hints []catalog.Hint) error {
	before := r.reserve.output
	r.markFallback()
	r.model, r.ask.Model, r.reserve, r.next = m, m.ID, reserve{}, nil
	if err := r.leaveHintsOut(hints); err != nil {
		return err
	}
	if err := r.price(m.RateCard); err != nil {
		return err
	}
	if before < r.reserve.output {
		r.reserve.output, r.lowered = before, true // The request names the bound.
	}
	if r.reserve.output <= r.outputCount() {
		return errNoRoom
	}
	r.plan = newPlan(m, r.gateway.o.Random)
	r.slot.Withdraw()
	slot, err := r.gateway.o.Limits.Take(r.turnstile())
	r.slot = slot
	return err
}

// errNoRoom is why a model cannot go on with an answer that is as long as its own may be.
var errNoRoom = errors.New("gateway: the answer is as long as the model's may be")

// markFallback notes that the call goes to a fallback model. It may last as long as the model that was asked for allows,
// and make fallbackAttemptsMax attempts more.
func (r *run) markFallback() {
	r.fellBack = true
	if r.callTimeout == 0 {
		r.callTimeout = r.model.Timeout
	}
	r.attemptsMore = max(r.attemptsMore, r.attempts+fallbackAttemptsMax-attemptsMax)
}
