package api

import (
	"net/http"
	"slices"
	"strings"
)

// Browsers may call the API from any origin: a browser never attaches the header with the key by itself, so another site cannot use the
// key of a visitor. Routes of the console send no such headers.
const (
	corsMethods = "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
	corsMaxAge  = "86400"
	corsExposed = "x-request-id, request-id, x-generation-id, x-error-code, x-should-retry, retry-after, retry-after-ms, " +
		"x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
		"x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, " +
		"x-gateway-dropped, x-gateway-estimated, deprecation, sunset, link, server-timing, " +
		"etag, idempotency-replayed, accept-ranges, content-range, content-disposition, content-length"
	corsHeadersDefault = "authorization, content-type"
	corsHeadersMax     = 2048
)

// allowCrossOrigin lets the response be read from other origins. It answers preflights, which a browser sends without a key, before
// routing, and then reports true.
func (a *API) allowCrossOrigin(x exchange) (answered bool) {
	r := x.Request()
	if r.Header.Get("Origin") == "" && r.Method != http.MethodOptions || !Owns(r.URL.Path) {
		return false
	}
	h := x.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions {
		s := a.o.Catalog.Snapshot()
		exposed := slices.Concat([]string{corsExposed}, s.Spellings(pollHeader), s.Spellings(processingHeader))
		h.Set("Access-Control-Expose-Headers", strings.Join(exposed, ", "))
		return false
	}
	requested := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", ")
	if requested == "" || len(requested) > corsHeadersMax {
		requested = corsHeadersDefault
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", requested)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	h.Add("Vary", "Access-Control-Request-Headers")
	x.Response().WriteHeader(http.StatusNoContent)
	return true
}
