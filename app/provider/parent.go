package provider

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// withParent adds the header that tells an upstream which span of ours its request belongs to. Where no call is traced there is
// none, and the header stays as it is.
func (c *Client) withParent(ctx context.Context, h http.Header) http.Header {
	if !c.traced || !trace.SpanContextFromContext(ctx).IsValid() {
		return h
	}
	h = h.Clone()
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}
