package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
)

// forwardedHeaders go to providers of the messages style unchanged, but for trial features that change the price. Clients
// and providers may spell them as the catalog's aliases say.
var forwardedHeaders = [...]string{versionHeader, betaHeader}

const (
	versionHeader   = "vendorb-version"
	betaHeader      = "vendorb-beta"
	versionStandard = "2023-06-01" // This version has all parameters.
)

// requestBuilder builds the requests to upstreams from the client's request. A hedge has one of its own, since images are
// fetched into the decoded request.
type requestBuilder struct {
	call    *call
	decoded *llm.Request      // Decoded is the client's request, once a route has needed a translation.
	memory  memoryReservation // Memory is what a large request needs in its further forms, until its answer has begun.
}

// reserve takes the memory for so many further forms of a large request, until its answer has begun.
func (b *requestBuilder) reserve(copies int64) error {
	if n := int64(len(b.call.request.Body)); n >= largeRequestBytes && !b.memory.take(n*copies) {
		return errMemory()
	}
	return nil
}

// build makes the exchange with a route, with the response header's list of what was taken out of the request before. It
// fails where the route cannot carry the request.
func (b *requestBuilder) build(route *catalog.Route, outputMax int64) (*translate.Exchange, error) {
	x, err := b.exchange(route, outputMax)
	if err != nil {
		return nil, err
	}
	x.NoteRemoved(b.removedFor(x))
	return x, nil
}

// exchange passes the request through unchanged when the route speaks the client's style, without the thoughts of other
// providers where the history has some. Else it translates the request.
func (b *requestBuilder) exchange(route *catalog.Route, outputMax int64) (*translate.Exchange, error) {
	c := b.call
	if route.Style == c.request.Style {
		if !translate.HasMarkedSignature(c.request.Body) {
			return translate.Passthrough(c.dialect, c.request.Body, &c.head), nil
		}
		if x, ok := translate.PassthroughWithoutSignatures(c.dialect, c.request.Body); ok {
			return x, nil
		}
	}
	upstream, _ := dialect.Of(route.Style) // The plan has only routes whose style is supported.
	if b.decoded == nil {
		if err := b.reserve(requestCopies); err != nil {
			return nil, err
		}
		decoded, err := c.dialect.Read(c.request.Body)
		if err != nil {
			return nil, err
		}
		b.decoded = decoded
	}
	request := *b.decoded
	request.Thinking = c.model.Thinking
	x, err := translate.New(c.dialect, upstream, &request, route.Provider.ID, outputMax)
	if err != nil {
		return nil, err
	}
	if len(x.Images()) > 0 {
		return x, x.Check() // The request is written once the images are here.
	}
	return x, x.Prepare()
}

// removedFor lists what of the call does not go to the route: the extras in its body, and its trial features that switch
// some on, where the route takes any.
func (b *requestBuilder) removedFor(x *translate.Exchange) []string {
	c := b.call
	if c.request.Style != llm.Messages || x.Upstream() != llm.Messages {
		return c.removed
	}
	name, values := c.clientHeader(c.gateway.o.Snapshot().Spellings(betaHeader))
	_, extra := splitBetas(values)
	if len(extra) == 0 {
		return c.removed
	}
	list := slices.Clone(c.removed)
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

// upstreamHeader has the headers of the call that go to a provider of the messages style, under every spelling the catalog
// knows: the client's own, when it speaks that style, and else the version that such a provider demands.
func (c *call) upstreamHeader(route *catalog.Route, x *translate.Exchange) http.Header {
	if x.Upstream() != llm.Messages {
		return nil
	}
	names := c.gateway.o.Snapshot()
	out := make(http.Header, 2*len(forwardedHeaders))
	for _, name := range forwardedHeaders {
		spellings := names.Spellings(name)
		_, values := c.clientHeader(spellings)
		if name == betaHeader {
			values, _ = splitBetas(values)
		}
		if values == nil && name == versionHeader && !hasHeader(route.Provider, spellings) {
			values = []string{versionStandard}
		}
		for _, to := range spellings {
			if values != nil {
				out[to] = values
			}
		}
	}
	return out
}

// clientHeader returns the values that the client gave a header, and the spelling under which it did.
func (c *call) clientHeader(spellings []string) (name string, values []string) {
	if c.request.Style != llm.Messages {
		return "", nil
	}
	for _, name := range spellings {
		if values := c.request.Headers.Values(name); len(values) > 0 {
			return name, values
		}
	}
	return "", nil
}

// hasHeader reports whether the provider's own headers have one of the spellings.
func hasHeader(p *catalog.Provider, spellings []string) bool {
	for name := range p.Headers {
		if slices.ContainsFunc(spellings, func(s string) bool { return strings.EqualFold(name, s) }) {
			return true
		}
	}
	return false
}

// splitBetas parts trial features into those that go upstream and those that would change the price there. A list of the
// first kind alone stays as it is.
func splitBetas(values []string) (kept, extra []string) {
	for _, value := range values {
		var left []string
		split := false
		for name := range strings.SplitSeq(value, ",") {
			if dialect.IsExtraBeta(strings.TrimSpace(name)) {
				extra, split = append(extra, strings.TrimSpace(name)), true
			} else {
				left = append(left, strings.TrimSpace(name))
			}
		}
		if split {
			value = strings.Join(left, ",")
		}
		if value != "" {
			kept = append(kept, value)
		}
	}
	return kept, extra
}
