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
	"umg/app/provider"
	"umg/app/provider/quirk"
)

// forwardedHeaders are sent unchanged to providers of the messages style, except for trial features that change the price. Clients
// and providers may use any spelling that the catalog's aliases list.
var forwardedHeaders = [...]string{versionHeader, betaHeader}

const (
	versionHeader   = "vendorb-version"
	betaHeader      = "vendorb-beta"
	versionStandard = "2023-06-01"        // This version has all parameters.
	versionMember   = "anthropic_version" // This member has the version where a provider takes it in the body.
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

// reserve reserves the memory for so many copies of a large request in other forms, until its answer has begun.
func (b *requestBuilder) reserve(copies int64) error {
	if n := int64(len(b.call.request.Body)); n >= largeRequestBytes && !b.memory.take(n*copies) {
		return errMemory()
	}
	return nil
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

// exchange passes the request through unchanged when the route has the client's style. It only removes the thoughts of other
// providers from the history, and the extras that the route does not serve, which it lists. For a route of another style it translates
// the request.
func (b *requestBuilder) exchange(route *catalog.Route, outputMax int64) (*translate.Exchange, []string, error) {
	c := b.call
	if route.Style == c.request.Style && !b.mustFetchImages(route) {
		client, err := b.requestFor(route.Extras)
		if err != nil {
			return nil, nil, err
		}
		if !translate.HasMarkedSignature(client.body) {
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

// upstreamHeader returns the headers of the call for a provider of the messages style, under every spelling that the catalog
// knows. They are the headers of a client of that style. When there is no version among them or in the provider's own headers, it
// adds the standard version, which such a provider demands.
func (c *call) upstreamHeader(route *catalog.Route, x *translate.Exchange) http.Header {
	if x.Upstream() != llm.Messages {
		return nil
	}
	names := c.gateway.o.Snapshot()
	out := make(http.Header, 2*len(forwardedHeaders))
	for _, name := range forwardedHeaders {
		if name == betaHeader && takesBetasInBody(route) {
			continue
		}
		spellings := names.Spellings(name)
		_, values := c.clientHeader(spellings)
		if name == betaHeader {
			values, _ = splitBetas(values, route.Extras)
		}
		if values == nil && name == versionHeader && !namesVersion(route, spellings) {
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

// namesVersion reports whether the version is among the provider's own headers, under one of the spellings, or in the body.
func namesVersion(route *catalog.Route, spellings []string) bool {
	if hasHeader(route.Provider.Headers, spellings) {
		return true
	}
	w := route.Wire
	return w != nil && (w.Body.Add[versionMember] != "" || hasHeader(w.Headers, spellings))
}

func hasHeader(headers map[string]string, spellings []string) bool {
	for name := range headers {
		if slices.ContainsFunc(spellings, func(s string) bool { return strings.EqualFold(name, s) }) {
			return true
		}
	}
	return false
}

// takesBetasInBody reports whether the provider of a route takes trial features in the body, and not in a header.
func takesBetasInBody(route *catalog.Route) bool {
	return route.Wire != nil && route.Wire.Body.Betas != ""
}

// bodyBetas are the trial features that the client asks for and the provider of the route takes in the body.
func (c *call) bodyBetas(route *catalog.Route, x *translate.Exchange) (names []string) {
	if x.Upstream() != llm.Messages || !takesBetasInBody(route) {
		return nil
	}
	_, values := c.clientHeader(c.gateway.o.Snapshot().Spellings(betaHeader))
	values, _ = splitBetas(values, route.Extras)
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// splitBetas separates the trial features that are sent upstream from those that switch extras on which the route does not serve. A
// header value without features of the second kind stays as it is.
func splitBetas(values []string, served llm.ExtraSet) (kept, extra []string) {
	for _, value := range values {
		var left []string
		split := false
		for name := range strings.SplitSeq(value, ",") {
			if dialect.IsExtraBeta(strings.TrimSpace(name), served) {
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
