package gateway

import (
	"context"
	"errors"
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
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

// fallbacks are the models that may serve a call when no provider of the requested model answers, and the resources that the most
// expensive of them needs.
type fallbacks struct {
	// any reports that the call can go to at least one model.
	any bool
	// left has the ids of the models that were not asked yet, in order. The catalog owns the list.
	left []string
	// want and most are the amounts of the dearest model, as in estimate.
	want, most app.Amount
	// input and output are the most tokens that any model may use. Output is of each choice.
	input, output int64
	// least is the price of the likely input at the cheapest model.
	least app.Amount

	// used means that fallback models were tried.
	used bool
	// skipEjected means that ejected routes are skipped, since a fallback model may answer.
	skipEjected bool
	// attemptsMore are attempts beyond attemptsMax, for other models.
	attemptsMore int
}

// findFallbacks notes which models may serve the call instead of the requested one, and the amount to reserve for them. It checks a
// model that raises this amount against its contract. The other models are checked when they are tried.
func (p *pipeline) findFallbacks() error {
	f, own := &p.fallbacks, &p.funding.estimate
	switch p.request.Headers.Get(fallbackHeader) {
	case "":
	case fallbackNone:
		return nil
	default:
		return app.Errorf(app.Invalid, "invalid_value", "X-Gateway-Fallback must be none, or absent.").At(fallbackHeader)
	}
	f.left = p.model.Fallbacks
	f.skipEjected = len(f.left) > 0
	for _, id := range f.left {
		head := p.head
		head.Model = id
		m, _, err := p.gateway.findModel(&p.request, &head, p.started)
		if err != nil || leastInput(&p.head) > m.ContextTokens {
			continue
		}
		e, err := newEstimate(&p.head, m, p.started)
		if err != nil {
			return err
		}
		least, err := e.inputCost(&m.RateCard, p.started)
		if err != nil {
			return err
		}
		if e.want > max(f.want, own.want) || e.most > max(f.most, own.most) {
			if admitted, _ := p.admittedAt(id); admitted == nil {
				continue
			}
		}
		if !f.any || least < f.least {
			f.any, f.least = true, least
		}
		f.want, f.most = max(f.want, e.want), max(f.most, e.most)
		f.input, f.output = max(f.input, e.input), max(f.output, e.output)
	}
	return nil
}

// admittedAt returns the model of an id and the hints that it does not support. It returns nil when the model does not admit the call.
func (p *pipeline) admittedAt(id string) (*catalog.Model, []catalog.Hint) {
	head := p.head
	head.Model = id
	m, hints, err := p.gateway.selectModel(&p.request, &head, p.started)
	if err != nil {
		return nil, nil
	}
	return m, hints
}

// mayFallBack reports whether a call has failed because no provider of its model answers, so that another model may serve it.
func (p *pipeline) mayFallBack(failed error) bool {
	if p.expired() {
		return false
	}
	if fault, ok := errors.AsType[*provider.Fault](failed); ok {
		return fault.Retry != provider.Nowhere && fault.Class != provider.ClassEnded
	}
	switch app.AsError(failed).Code {
	case codeNoProvider, codeModelPaused:
		return true
	}
	return false
}

// modelState is the part of a call that depends on its model: the price, the plan of the routes, the attempt, and the request without
// hints that the model does not support. It is restored after another model was tried without success.
type modelState struct {
	model   *catalog.Model
	body    []byte
	head    dialect.Head
	removed []string
	decoded *llm.Request
	pricing pricing
	plan    routePlan
	attempt *attempt
}

func (p *pipeline) modelState() modelState {
	return modelState{
		model: p.model, body: p.request.Body, head: p.head, removed: p.removed, decoded: p.builder.decoded, pricing: p.funding.pricing,
		plan: p.plan, attempt: p.attempt,
	}
}

func (p *pipeline) restore(s *modelState) {
	p.model, p.options.Model, p.request.Body, p.head, p.removed = s.model, s.model.ID, s.body, s.head, s.removed
	p.builder.decoded, p.builder.bare = s.decoded, nil
	p.funding.pricing, p.plan, p.attempt = s.pricing, s.plan, s.attempt
}

// fallBack tries the fallback models of the catalog in their order, each once, until one answers. When none does, it tries those
// routes of the requested model that were skipped before because of the fallback models.
func (p *pipeline) fallBack(ctx context.Context, failed error) error {
	if len(p.fallbacks.left) == 0 || !p.mayFallBack(failed) {
		return failed
	}
	own := p.modelState()
	for {
		m, hints := p.nextFallback(ctx)
		if m == nil {
			break
		}
		p.markFallback()
		if p.moveTo(ctx, m, hints) == nil && p.routes().open(ctx) == nil {
			return nil
		}
	}
	p.response.removeHeaders(p.newHeader())
	p.restore(&own)
	err := p.moveSlot()
	p.response.setHeaders(p.newHeader())
	switch {
	case ctx.Err() != nil:
		return provider.FaultOf(ctx, ctx.Err())
	case err != nil || p.plan.tried || p.expired():
		return failed
	}
	p.fallbacks.skipEjected = false
	p.fallbacks.attemptsMore = max(p.fallbacks.attemptsMore, p.attempts+fallbackAttemptsMax-attemptsMax)
	return p.routes().open(ctx)
}

// nextFallback is the next fallback model that admits the call, and the hints that it does not support. It is nil when there is no
// such model or the timeout of the call is over.
func (p *pipeline) nextFallback(ctx context.Context) (*catalog.Model, []catalog.Hint) {
	f := &p.fallbacks
	for len(f.left) > 0 && ctx.Err() == nil && !p.expired() {
		id := f.left[0]
		f.left = f.left[1:]
		if m, hints := p.admittedAt(id); m != nil && leastInput(&p.head) <= m.ContextTokens {
			return m, hints
		}
	}
	return nil, nil
}

// markFallback notes that the call moves to a fallback model. It keeps the timeout of the requested model, and may make
// fallbackAttemptsMax more attempts.
func (p *pipeline) markFallback() {
	p.fallbacks.used = true
	if p.timeout == 0 {
		p.timeout = p.model.Timeout
	}
	p.fallbacks.attemptsMore = max(p.fallbacks.attemptsMore, p.attempts+fallbackAttemptsMax-attemptsMax)
}

// isDearer reports whether a model may have any price for this call that is higher than that of the call's model.
func (p *pipeline) isDearer(m *catalog.Model) bool {
	own := &p.model.RateCard
	if own.Discounts() {
		return true
	}
	e, err := newEstimate(&p.head, m, p.started)
	if err != nil {
		return true
	}
	extras := extrasOf(&p.head)
	meters := append(inputMeters(&p.head, &extras), meter.Requests)
	return e.card.Exceeds(&billing.RateCard{Rates: own.Rates}, append(meters, outputMeters(m)...)...)
}

// mayResumeElsewhere reports whether there is a fallback model that may continue a cut answer of this model.
func (p *pipeline) mayResumeElsewhere() bool {
	snapshot := p.gateway.o.Snapshot().For(p.request.Principal.AccountID)
	return slices.ContainsFunc(p.fallbacks.left, func(id string) bool {
		m, ok := snapshot.Model(id)
		return ok && m.IsAllowed(p.request.Principal.MayUse) && !p.isDearer(m)
	})
}

// resumeElsewhere lets a fallback model continue an answer that was cut after the client got a part of it. The whole answer is
// charged at the prices of the model that ends it, so that model must not have any higher price than the one that began it.
func (p *pipeline) resumeElsewhere(ctx context.Context) bool {
	own := p.modelState()
	moved := false
	for {
		m, hints := p.nextFallback(ctx)
		if m == nil {
			break
		}
		if p.isDearer(m) {
			continue
		}
		moved = true
		if p.resumeAt(m, hints) == nil && p.resumedRoutes().open(ctx) == nil {
			return true
		}
		p.restore(&own)
	}
	if moved {
		_ = p.moveSlot()
	}
	return false
}

// resumeAt moves a call whose answer has begun to another model, which costs no more. Its funded tokens stay the same.
func (p *pipeline) resumeAt(m *catalog.Model, hints []catalog.Hint) error {
	f := &p.funding
	before := f.estimate.output
	p.markFallback()
	p.model, p.options.Model, p.plan = m, m.ID, newRoutePlan(m, p.gateway.o.Random)
	if err := p.builder.removeHints(hints); err != nil {
		return err
	}
	if err := p.builder.refitExtras(); err != nil {
		return err
	}
	if err := f.price(&p.head, m); err != nil {
		return err
	}
	if before < f.estimate.output {
		f.estimate.output, f.maxTokensLowered = before, true // The request names the bound.
	}
	if f.estimate.output <= countOutput(p.stats()) {
		return errAnswerFull
	}
	return p.moveSlot()
}

// errAnswerFull means that a model cannot continue an answer that has reached the maximum output of the model already.
var errAnswerFull = errors.New("gateway: the answer is as long as the model's may be")
