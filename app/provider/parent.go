package provider

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// withParent adds the header with the gateway's span that the upstream's request belongs to. When the call is not traced
// there is no span, and the header is unchanged.
func (c *Client) withParent(ctx context.Context, h http.Header) http.Header {
	if !c.traced || !trace.SpanContextFromContext(ctx).IsValid() {
		return h
	}
	h = h.Clone()
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}
