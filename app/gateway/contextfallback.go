package gateway

import (
	"context"
	"errors"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
)

// open gets an answer from the providers of the model. A call that is too long for the model moves once to the model with a longer
// context that the catalog names. A call that no provider answers moves to the fallback models. A moved call has the price, the
// limits and the routes of its new model.
func (p *pipeline) open(ctx context.Context) error {
	err := p.routes().open(ctx)
	if err == nil {
		return nil
	}
	fault, ok := errors.AsType[*provider.Fault](err)
	if !ok || !fault.TooLong {
		return p.fallBack(ctx, err)
	}
	longer := p.model.LongerContext
	if longer == "" || p.model.ID != p.head.Model { // A call moves once.
		return err
	}
	m, hints := p.admittedAt(longer)
	if m == nil {
		return err
	}
	p.fallbacks.skipEjected = false
	if err := p.moveTo(ctx, m, hints); err != nil {
		return provider.NewRefusal(app.AsError(err))
	}
	return p.routes().open(ctx)
}

// moveTo moves the call to another model, with a slot and a hold for that model. When it cannot get them, the call ends with this
// error, so that the client tries again.
func (p *pipeline) moveTo(ctx context.Context, m *catalog.Model, hints []catalog.Hint) error {
	p.response.removeHeaders(p.newHeader()) // The header describes the other model.
	p.model, p.options.Model = m, m.ID
	p.funding.pricing = pricing{card: &m.RateCard}
	if err := p.builder.removeHints(hints); err != nil {
		return err
	}
	if err := p.builder.refitExtras(); err != nil {
		return err
	}
	if err := p.funding.price(&p.head, m); err != nil {
		return err
	}
	if err := p.planRoutes(); err != nil {
		return err
	}
	before := p.slot
	if err := p.moveSlot(); err != nil {
		p.slot = before
		return err
	}
	if err := p.funding.raise(ctx); err != nil {
		return err
	}
	p.response.setHeaders(p.newHeader())
	return nil
}
