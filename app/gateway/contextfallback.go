package gateway

import (
	"context"
	"errors"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
)

// open asks the providers of the model for an answer. A call that is too long for the model goes to the one with more
// room that the catalog names, once, and a call that none of them answers to the fallback models: as if it had been made
// to that model, at its price, within its limits and on its routes.
func (r *run) open(ctx context.Context) error {
	err := (&routeLoop{run: r, chart: (*run).buildRequest}).open(ctx)
	if err == nil {
		return nil
	}
	fault, ok := errors.AsType[*provider.Fault](err)
	if !ok || !fault.TooLong {
		return r.fallBack(ctx, err)
	}
	longer, hints := r.longer()
	if longer == nil {
		return err
	}
	r.sparing = false
	if err := r.moveTo(ctx, longer, hints); err != nil {
		return provider.NewRefusal(app.AsError(err))
	}
	return (&routeLoop{run: r, chart: (*run).buildRequest}).open(ctx)
}

// longer is the model that takes what is too long for this one, if the call would be admitted there. It is nil for a
// call that has moved already.
func (r *run) longer() (*catalog.Model, []catalog.Hint) {
	id := r.model.LongerContext
	if id == "" || r.model.ID != r.head.Model {
		return nil, nil
	}
	return r.admits(id)
}

// admits is the model of that id, if the call would be admitted there, and the hints that it does not take; else nil.
func (r *run) admits(id string) (*catalog.Model, []catalog.Hint) {
	head := r.head
	head.Model = id
	m, hints, err := r.gateway.choose(&r.call, &head, r.started)
	if err != nil {
		return nil, nil
	}
	return m, hints
}

// moveTo makes the call one to another model. Its place within the limits and its hold are changed for those it needs
// there; when they cannot be had then the call ends with that, since it might be served in a moment.
func (r *run) moveTo(ctx context.Context, m *catalog.Model, hints []catalog.Hint) error {
	for name := range r.header() { // The header describes the other model.
		r.out.tell(name, "")
	}
	r.model, r.ask.Model = m, m.ID
	r.reserve, r.lowered, r.paid, r.slice = reserve{}, false, 0, 0
	if err := r.leaveHintsOut(hints); err != nil {
		return err
	}
	if err := r.price(m.RateCard); err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return err
	}
	r.slot.Withdraw()
	slot, err := r.gateway.o.Limits.Take(r.turnstile())
	if err != nil {
		return err
	}
	r.slot = slot
	if err := r.raise(ctx); err != nil {
		return err
	}
	r.bound()
	for name, values := range r.header() {
		r.out.tell(name, values[0])
	}
	return nil
}

// raise raises the hold to what the call may cost now, or as far as is worthwhile.
func (r *run) raise(ctx context.Context) error {
	credit := r.gateway.o.CreditManager
	if r.hold.Amount >= r.reserve.want {
		return nil
	}
	err := credit.Extend(ctx, &r.hold, r.reserve.want-r.hold.Amount)
	if err == nil || app.KindOf(err) != app.Unfunded {
		return err
	}
	if r.hold.Amount >= r.reserve.min {
		return nil
	}
	return credit.Extend(ctx, &r.hold, r.reserve.min-r.hold.Amount)
}
