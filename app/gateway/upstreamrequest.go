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

// prepare picks the first route that can carry the call and may be asked. A call that no route can carry is refused
// here, before anything is held or sent.
func (r *run) prepare() (err error) {
	r.plan = newPlan(r.model, r.gateway.o.Random)
	if r.next, err = r.pick((*run).buildRequest); r.next == nil && err == nil {
		return r.unavailable()
	}
	return err
}

// leaveExtrasOut takes out of the request what a provider would do beside answering it and for which no card has a price.
func (r *run) leaveExtrasOut() (err error) {
	extras := r.head.Extras()
	if len(extras) == 0 {
		return nil
	}
	if err = r.spareCopy(); err != nil {
		return err
	}
	r.without = append(r.without, extras...)
	return r.replaceBody(r.head.WithoutExtras())
}

// replaceBody makes a changed request the one of the call.
func (r *run) replaceBody(body []byte) error {
	head, err := r.style.Peek(body)
	if err != nil {
		return app.Errorf(app.Internal, "internal_error", "The request could not be prepared.").Because(err)
	}
	r.call.Body, r.head, r.original = body, head, nil
	return nil
}

// buildRequest finds the way to a route, and notes on it what was taken out of the request before.
func (r *run) buildRequest(route *catalog.Route) error {
	if err := r.chartStyle(route); err != nil {
		return err
	}
	r.way.LeaveOut(r.leftOut())
	return nil
}

// chartStyle finds the way to a route: straight when it speaks the client's style, without the thoughts of other providers
// where the history has some, else through a translation.
func (r *run) chartStyle(route *catalog.Route) error {
	if route.Style == r.call.Style {
		if !translate.Sealed(r.call.Body) {
			r.way = translate.Passthrough(r.style, r.call.Body, &r.head)
			return nil
		}
		if way, ok := translate.PassthroughWithoutSignatures(r.style, r.call.Body); ok {
			r.way = way
			return nil
		}
	}
	upstream, _ := dialect.Of(route.Style) // The plan has only routes whose style is supported.
	var err error
	if r.original == nil {
		if err = r.spareRequest(); err != nil {
			return err
		}
		if r.original, err = r.style.Read(r.call.Body); err != nil {
			return err
		}
	}
	asked := *r.original
	asked.Thinking = r.model.Thinking
	way, err := translate.New(r.style, upstream, &asked, route.Provider.ID, r.reserve.output)
	if err != nil {
		return err
	}
	r.way = way
	if len(way.Images()) > 0 {
		return way.Check() // The request is written once the images are here.
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
		if e.Param == imagesParam { // The error names the client's own parameter.
			return e.At(cmp.Or(r.way.ImagePath(), r.style.Codec.Traits().Fields[llm.FeatureImageURL]))
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
		_, values := r.said(spellings)
		if name == betaHeader {
			values, _ = splitBetas(values)
		}
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

// said are the values that the client gave a header, and the spelling under which it did.
func (r *run) said(spellings []string) (name string, values []string) {
	if r.call.Style != llm.Messages {
		return "", nil
	}
	for _, name := range spellings {
		if values := r.call.Headers.Values(name); len(values) > 0 {
			return name, values
		}
	}
	return "", nil
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

// leftOut names what of the call does not go to the route: the extras in its body, and its trial features that switch some
// on, where the route takes any.
func (r *run) leftOut() []string {
	if r.call.Style != llm.Messages || r.way.Upstream() != llm.Messages {
		return r.without
	}
	name, values := r.said(r.gateway.o.Snapshot().Spellings(betaHeader))
	_, extra := splitBetas(values)
	if len(extra) == 0 {
		return r.without
	}
	list := slices.Clone(r.without)
	for _, beta := range extra {
		list = append(list, strings.ToLower(name)+" ("+beta+")")
	}
	return list
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
