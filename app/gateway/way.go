package gateway

import (
	"context"
	"net/http"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
)

// forwardedHeaders go to providers of the messages style unchanged; service.md, "Messages". Clients and providers
// may spell them as the catalog's aliases say.
var forwardedHeaders = [...]string{versionHeader, "vendorb-beta"}

const (
	versionHeader   = "vendorb-version"
	versionStandard = "2023-06-01" // the version that has all parameters
)

// prepare picks the first route that can carry the call and may be asked. A call that no route can carry is refused
// here, before anything is held or sent.
func (r *run) prepare() (err error) {
	r.plan = newPlan(r.model, r.gateway.o.Random)
	if r.next, err = r.pick((*run).chart); r.next == nil && err == nil {
		return r.unavailable()
	}
	return err
}

// chart finds the way to a route: straight when it speaks the client's style, without the thoughts of other providers
// where the history has some, else through a translation.
func (r *run) chart(route *catalog.Route) error {
	if route.Style == r.call.Style {
		if !dialect.Sealed(r.call.Body) {
			r.way = dialect.Straight(r.style, r.call.Body, &r.head)
			return nil
		}
		if way, ok := dialect.Unsealed(r.style, r.call.Body); ok {
			r.way = way
			return nil
		}
	}
	upstream, _ := dialect.Of(route.Style) // the plan has only routes whose style is spoken
	var err error
	if r.original == nil {
		if err = r.spareRequest(); err != nil {
			return err
		}
		if r.original, err = r.style.Read(r.call.Body); err != nil {
			return err
		}
	}
	way, err := dialect.Translate(r.style, upstream, r.original, route.Provider.ID, r.reserve.output)
	if err != nil {
		return err
	}
	r.way = way
	if len(way.Images()) > 0 {
		return nil // it is written once they are here
	}
	return way.Prepare()
}

// complete fetches what a translated request still lacks.
func (r *run) complete(ctx context.Context) *app.Error {
	images := r.way.Images()
	if len(images) == 0 {
		return nil
	}
	if err := r.gateway.fetchImages(ctx, images, &r.asked); err != nil {
		e := *app.AsError(err)
		if e.Param == imagesParam { // said in the client's words
			return e.At(r.style.Codec.Traits().Fields[llm.FeatureImageURL])
		}
		return &e
	}
	if err := r.way.Prepare(); err != nil {
		return app.AsError(err)
	}
	return nil
}

// forwarded are the headers of the call that go to a provider of the messages style, under every spelling the catalog
// knows: the client's own, when it speaks that style, and else the version that such a provider demands.
func (r *run) forwarded() http.Header {
	if r.way.Upstream() != llm.Messages {
		return nil
	}
	names := r.gateway.o.Snapshot()
	out := make(http.Header, 2*len(forwardedHeaders))
	for _, name := range forwardedHeaders {
		spellings := names.Spellings(name)
		values := r.said(spellings)
		if values == nil && name == versionHeader && !r.configured(spellings) {
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

// said are the values that the client gave a header under one of its spellings.
func (r *run) said(spellings []string) []string {
	if r.call.Style != llm.Messages {
		return nil
	}
	for _, name := range spellings {
		if values := r.call.Headers.Values(name); len(values) > 0 {
			return values
		}
	}
	return nil
}

// configured reports whether the provider's own headers have one of the spellings.
func (r *run) configured(spellings []string) bool {
	for name := range r.route.Provider.Headers {
		for _, spelling := range spellings {
			if strings.EqualFold(name, spelling) {
				return true
			}
		}
	}
	return false
}
