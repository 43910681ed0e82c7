package gateway

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/idempotency"
	"umg/app/llm"
	"umg/app/ratelimit"
	"umg/app/requestbody"
)

// Call is one text call of a client. Generate does not keep Body after it returns. It releases BodyMemory as soon as an answer has begun
// and does not use Body afterwards, so that a long conversation need not stay in memory while its answer streams.
type Call struct {
	ID        string
	Principal app.Principal
	Style     llm.Style
	Body      []byte
	// BodyMemory is the memory of Body, or of what Body was made from; nil when the caller keeps it.
	BodyMemory *requestbody.Body
	Headers    http.Header
	Key        ratelimit.Key // Key has the limits of the key that makes the call; none for a member in the console.
	// Slot is the slot that the call took before its body was read, within the limits of the account and the key; nil for none.
	Slot *ratelimit.Slot
	// Idempotent is the response under the Idempotency-Key of the call; nil for a call without one. It gets a whole answer before its
	// charge is durable. When it cannot store the answer, the call fails without a charge.
	Idempotent *idempotency.Response

	Strict      bool    // Strict means that hints which the model does not support are refused instead of removed.
	LimitFactor int     // LimitFactor multiplies the usual limits of the account; zero is one.
	Timing      *Timing // Timing is filled in while the call runs; it may be nil.
	Report      *Report // Report is memory for the report that Generate returns; it may be nil.

	AuthDuration   time.Duration // AuthDuration is the time that the authentication took before the call.
	UploadDuration time.Duration // UploadDuration is the time in which the caller sent the body.
}

// call is a text request and the model that serves it. It does not change after admit, except when the call moves to another model
// and when its body is released.
type call struct {
	gateway *Gateway
	request Call
	started time.Time
	dialect *dialect.Dialect
	head    dialect.Head
	options llm.ResponseOptions
	model   *catalog.Model
	removed []string // Removed lists what the gateway took out of the request, for a header of the response.
	// effortAdded means that the request has an effort that the client did not send.
	effortAdded bool
	// asksForFault means that the request has the directive with which a simulator makes a fault on request.
	asksForFault bool
	timeout      time.Duration // Timeout is that of the requested model when a fallback model serves the call; else zero.
}

// hasFaultDirective reports whether a text asks a simulator for a fault. It compares at colons, because quotes are more frequent.
func hasFaultDirective(body []byte) bool {
	before, rest, found := bytes.Cut(body, []byte(":"))
	for found && !bytes.HasSuffix(before, []byte(`"simulate`)) {
		before, rest, found = bytes.Cut(rest, []byte(":"))
	}
	return found
}

// simulates reports whether a simulator serves a model. Others do not have their bodies searched for the directive.
func (g *Gateway) simulates(m *catalog.Model) bool {
	return g.o.IsSimulated != nil && slices.ContainsFunc(m.Routes, func(r catalog.Route) bool { return g.o.IsSimulated(r.Provider) })
}

// requestedFault reports whether the provider of a route is a simulator that the request asks for a fault. The result of such an attempt
// says nothing about the model or the provider.
func (c *call) requestedFault(r *catalog.Route) bool {
	return c.asksForFault && c.gateway.o.IsSimulated(r.Provider)
}

// admit reads the head of the call, finds its model, checks it against the contract, prices it and picks the first route.
func (p *pipeline) admit() error {
	style, ok := dialect.Of(p.request.Style)
	if !ok {
		return app.Errorf(app.NotFound, "not_found", "The %s style is not served.", p.request.Style)
	}
	p.dialect = style
	var err error
	if p.head, err = style.Peek(p.request.Body); err != nil {
		return err
	}
	var hints []catalog.Hint
	if p.model, hints, err = p.gateway.selectModel(&p.request, &p.head, p.started); err != nil {
		return err
	}
	p.asksForFault = p.gateway.simulates(p.model) && hasFaultDirective(p.request.Body)
	if err = p.builder.removeHints(hints); err != nil {
		return err
	}
	if err = p.builder.removeExtras(); err != nil {
		return err
	}
	p.options = llm.ResponseOptions{
		Model: p.model.ID, CallID: p.request.ID, Created: p.started.Unix(), Choices: p.head.Choices, IncludeUsage: p.head.IncludeUsage,
	}
	if err = p.funding.price(&p.head, p.model); err != nil {
		return err
	}
	if err = p.findFallbacks(); err != nil {
		return err
	}
	if err = p.planRoutes(); err != nil && p.fallbacks.skipEjected && p.mayFallBack(err) {
		return nil // Open tries the fallback models.
	}
	return err
}

// elapsed is how long the call has run.
func (c *call) elapsed() time.Duration { return c.gateway.o.Now().Sub(c.started) }

// timeLeft is the rest of the timeout of the whole call, over all its attempts. It reports false for a call without a timeout.
func (c *call) timeLeft() (time.Duration, bool) {
	timeout := cmp.Or(c.timeout, c.model.Timeout)
	if timeout <= 0 {
		return 0, false
	}
	return c.started.Add(timeout).Sub(c.gateway.o.Now()), true
}
