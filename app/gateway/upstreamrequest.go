package gateway

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/quirk"
)

// requestBuilder builds the requests to upstreams from the client's request. A hedge has its own builder, since fetched images are
// stored in the decoded request.
type requestBuilder struct {
	call    *call
	decoded *llm.Request      // Decoded is the client's request, once a route has needed a translation.
	memory  memoryReservation // Memory is what a large request needs in its further forms, until its answer has begun.
	// rewritten means that the memory of a request that is rewritten for its provider is reserved.
	rewritten bool
	plain     routeRequest       // Plain is the request as the client has sent it.
	first     translate.Exchange // First is memory for the first exchange that passes the request through.
	firstUsed bool
	space     *provider.Space // Space is memory for the first attempt; nil once that has it.
	bare      *routeRequest   // Bare is the request as a route gets it that serves fewer extras than the model offers; nil when none has.
}

// takeSpace returns the memory for an attempt; nil for memory of its own.
func (b *requestBuilder) takeSpace() *provider.Space {
	space := b.space
	b.space = nil
	return space
}

// build makes the exchange with a route, and gives it the list of the already removed parts for the response header. It fails
// when the route cannot express the request.
func (b *requestBuilder) build(route *catalog.Route, outputMax int64) (*translate.Exchange, error) {
	x, dropped, err := b.exchange(route, outputMax)
	if err != nil {
		return nil, err
	}
	if route.Quirks != nil && !x.Translates() {
		if err := b.rewrite(x, route.Quirks); err != nil {
			return nil, err
		}
	}
	x.NoteRemoved(append(b.removedFor(route, x), dropped...))
	return x, nil
}

// rewrite makes a request that is passed through one that its provider takes. It reserves the memory for the copy once, since a request
// for the next route replaces it.
func (b *requestBuilder) rewrite(x *translate.Exchange, rules *quirk.Rules) error {
	if !b.rewritten {
		if err := b.reserve(1); err != nil {
			return err
		}
		b.rewritten = true
	}
	x.ApplyQuirks(rules)
	return nil
}

// exchange passes the request through unchanged when the route has the client's style. It only removes the thoughts of other providers from
// the history, and the extras that the route does not serve, which it lists. For a route of another style it translates the request.
func (b *requestBuilder) exchange(route *catalog.Route, outputMax int64) (*translate.Exchange, []string, error) {
	c := b.call
	if route.Style == c.request.Style && !b.mustFetchImages(route) {
		client, err := b.requestFor(route.Extras)
		if err != nil {
			return nil, nil, err
		}
		if !client.head.HasMarkedSignature(client.body) {
			x := &b.first
			if b.firstUsed {
				x = new(translate.Exchange)
			}
			b.firstUsed = true
			x.PassThrough(c.dialect, client.body, client.head)
			return x, client.dropped, nil
		}
		if x, ok := translate.PassthroughWithoutSignatures(c.dialect, client.body); ok {
			return x, client.dropped, nil
		}
	}
	client, err := b.requestFor(llm.ExtraSet{}) // A translated request has no extras.
	if err != nil {
		return nil, nil, err
	}
	x, err := b.translation(route, client, outputMax)
	return x, client.dropped, err
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

// mustFetchImages reports whether a request of the route's style has images by address that the provider does not fetch. Such a request is
// translated to its own style with their data.
func (b *requestBuilder) mustFetchImages(route *catalog.Route) bool {
	return route.ImagesAsData && dialect.HasImageAddress(route.Style, b.call.request.Body)
}

// translation is the exchange with a route whose requests are translated.
func (b *requestBuilder) translation(route *catalog.Route, client *routeRequest, outputMax int64) (*translate.Exchange, error) {
	c := b.call
	upstream, _ := dialect.Of(route.Style) // The plan has only routes whose style is supported.
	if b.decoded == nil {
		if err := b.reserve(requestCopies); err != nil {
			return nil, err
		}
		decoded, err := c.dialect.Read(client.body)
		if err != nil {
			return nil, err
		}
		b.decoded = decoded
	}
	request := *b.decoded
	request.Thinking, request.ProviderModel = c.model.Thinking, route.Model
	x, err := translate.New(c.dialect, upstream, &request, route.Provider.ID, outputMax)
	if err != nil {
		return nil, err
	}
	if route.Quirks != nil {
		x.ApplyQuirks(route.Quirks)
	}
	if route.ImagesAsData {
		x.SendImagesAsData()
	}
	if len(x.Images()) > 0 {
		return x, x.Check() // The request is written once the images are here.
	}
	return x, x.Prepare()
}

// removedFor lists the parts of the call that are not sent to the route: the members of the body that cost extra, and, on a
// route of the messages style, the trial features that switch such extras on.
func (b *requestBuilder) removedFor(route *catalog.Route, x *translate.Exchange) []string {
	c := b.call
	list := slices.Clip(c.removed)
	if c.request.Style != llm.Messages || x.Upstream() != llm.Messages {
		return list
	}
	name, values := c.clientHeader(c.gateway.o.Snapshot().Spellings(betaHeader))
	_, extra := splitBetas(values, route.Extras)
	for _, beta := range extra {
		list = append(list, strings.ToLower(name)+" ("+beta+")")
	}
	return list
}

// complete fetches what a translated request still lacks.
func (b *requestBuilder) complete(ctx context.Context, x *translate.Exchange) *app.Error {
	images := x.Images()
	if len(images) == 0 {
		return nil
	}
	if err := b.call.gateway.fetchImages(ctx, images, &b.memory); err != nil {
		e := *app.AsError(err)
		if e.Param == imagesParam { // The error names the client's own parameter.
			return e.At(cmp.Or(x.ImagePath(), b.call.dialect.Codec.Traits().Fields[llm.FeatureImageURL]))
		}
		return &e
	}
	if err := x.Prepare(); err != nil {
		return app.AsError(err)
	}
	return nil
}
