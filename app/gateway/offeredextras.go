package gateway

import (
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
)

// modelsNamedMax is how many models an error names that offer what the model of the call does not.
const modelsNamedMax = 5

// allowExtras reads the head of a call again, with the extras that a model offers, when the call asks for any.
func allowExtras(call *Call, head *dialect.Head, m *catalog.Model) error {
	offered := m.Extras(call.Style)
	if !head.HasExtras() || head.Allows(offered) {
		return nil
	}
	style, _ := dialect.Of(call.Style) // The caller has found it.
	again, err := style.PeekAllowing(call.Body, offered)
	if err != nil {
		return err
	}
	again.Model, *head = head.Model, again
	return nil
}

// refusedExtra is the error for an extra that the model of the call does not offer, when others do that the key may use.
func (g *Gateway) refusedExtra(call *Call, head *dialect.Head) error {
	rows := head.Refused()
	if rows.IsEmpty() {
		return nil
	}
	models := g.o.Snapshot().For(call.Principal.AccountID).Offering(call.Style, rows, modelsNamedMax, call.Principal.MayUse)
	if len(models) == 0 {
		return nil
	}
	return head.ErrOffering(models)
}

// removeExtras removes from the request the services of a provider that the model does not offer, such as a web search, and bounds those
// that it offers.
func (b *requestBuilder) removeExtras() error {
	c := b.call
	if !c.head.Changed() {
		return nil
	}
	if err := b.reserve(1); err != nil {
		return err
	}
	c.removed = append(slices.Clone(c.removed), c.head.Extras()...)
	return b.replaceBody(c.head.WithoutExtras())
}

// refitExtras removes the extras that the model does not offer to which the call has moved.
func (b *requestBuilder) refitExtras() error {
	c := b.call
	if err := allowExtras(&c.request, &c.head, c.model); err != nil {
		return err
	}
	return b.removeExtras()
}

// routeRequest is the request of the client as one route gets it.
type routeRequest struct {
	body []byte
	head *dialect.Head
	// dropped lists the extras that other routes of the model serve and this one does not.
	dropped []string
}

// requestFor returns the request for a route that serves some extras, without the others. It fails when the request needs one of those.
func (b *requestBuilder) requestFor(served llm.ExtraSet) (*routeRequest, error) {
	c := b.call
	if !c.head.UsesExtras() || c.head.Allows(served) {
		b.plain = routeRequest{body: c.request.Body, head: &c.head}
		return &b.plain, nil
	}
	if b.bare != nil && b.bare.head.Allows(served) {
		return b.bare, nil
	}
	head, err := c.dialect.PeekAllowing(c.request.Body, served)
	if err != nil {
		return nil, app.AsError(err)
	}
	if err := head.Err(); err != nil {
		return nil, err
	}
	r := &routeRequest{body: c.request.Body, head: &head}
	if head.Changed() {
		if err := b.reserve(1); err != nil {
			return nil, err
		}
		r.dropped, r.body = head.Extras(), head.WithoutExtras()
		if head, err = c.dialect.PeekAllowing(r.body, served); err != nil {
			return nil, app.AsError(err)
		}
	}
	b.bare = r
	return r, nil
}
