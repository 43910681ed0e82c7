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
	// want and most are the amounts of the dearest model, as in estimate.
	want, most app.Amount
	// input and output are the most tokens that any model may use. Output is of each choice.
	input, output int64
	// least is what the input alone costs at the cheapest model, by the estimate.
	least app.Amount

	// used means that fallback models were tried.
	used bool
	// skipEjected means that ejected routes are skipped, since a fallback model may answer.
	skipEjected bool
	// attemptsMore are attempts beyond attemptsMax, for other models.
	attemptsMore int
}

// findFallbacks notes which models may serve the call in place of its own, and what is reserved for that. A model that
// raises what is reserved is checked against its contract here, every other one only when its turn comes.
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
		e, err := newEstimate(&p.head, m)
		if err != nil {
			return err
		}
		least, err := e.inputCost(&m.RateCard)
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
	p.funding.coversFallbacks = f.any
	return nil
}

// mayFallBack reports whether a call has failed because no provider of its model answers, so that those of another may.
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

// modelState is what a call has at the model that it is made to: a price, an order of routes, an attempt, and the request
// without what the model does not take. A call that has tried another model without success goes on with it.
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
	p.builder.decoded, p.funding.pricing, p.plan, p.attempt = s.decoded, s.pricing, s.plan, s.attempt
}

// fallBack lets another model serve a call that no provider of its own model answers: the fallback models of the catalog
// in their order, each once, until one answers. Otherwise the call ends as it would have ended without them: routes of its
// own model that were passed over for the fallback models are asked now.
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
	p.response.removeHeaders(p.header())
	p.restore(&own)
	err := p.moveSlot()
	p.response.setHeaders(p.header())
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

// nextFallback is the next fallback model that would admit the call, and the hints that it does not take. It is nil when there
// is none, or no time for one.
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

// markFallback notes that the call goes to a fallback model. It may last as long as the model that was asked for allows,
// and make fallbackAttemptsMax attempts more.
func (p *pipeline) markFallback() {
	p.fallbacks.used = true
	if p.timeout == 0 {
		p.timeout = p.model.Timeout
	}
	p.fallbacks.attemptsMore = max(p.fallbacks.attemptsMore, p.attempts+fallbackAttemptsMax-attemptsMax)
}

// pricedMeters are what the charge of a text call can be made of.
var pricedMeters = []billing.Meter{
	billing.InputTokens, billing.CacheReadTokens, billing.CacheWriteTokens, billing.OutputTokens, billing.ReasoningTokens, billing.Requests,
}

// isDearer reports whether a model has a price that is higher than that of the model that the call is made to.
func (c *call) isDearer(m *catalog.Model) bool {
	return m.RateCard.Exceeds(c.model.RateCard, pricedMeters...)
}

// mayResumeElsewhere reports whether a fallback model is left that may go on with an answer of this model that is cut.
func (p *pipeline) mayResumeElsewhere() bool {
	snapshot := p.gateway.o.Snapshot
	return slices.ContainsFunc(p.fallbacks.left, func(id string) bool {
		m, ok := snapshot().Model(id)
		return ok && p.request.Principal.MayUse(id) && !p.isDearer(m)
	})
}

// resumeElsewhere lets a fallback model go on with an answer that was cut after the client had a part of it. The whole answer
// is charged at the prices of the model that ends it, so none may that has a higher one than the model that began it.
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

// resumeAt makes a call whose answer has begun one to another model, which costs no more. What is funded stays funded.
func (p *pipeline) resumeAt(m *catalog.Model, hints []catalog.Hint) error {
	f := &p.funding
	before := f.estimate.output
	p.markFallback()
	p.model, p.options.Model, p.plan = m, m.ID, newRoutePlan(m, p.gateway.o.Random)
	if err := p.builder.removeHints(hints); err != nil {
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

// errAnswerFull is why a model cannot go on with an answer that is as long as its own may be.
var errAnswerFull = errors.New("gateway: the answer is as long as the model's may be")
