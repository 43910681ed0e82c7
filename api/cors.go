package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Browsers may call the face from any origin: keys travel in a header that no browser attaches by itself, so there is
// nothing for another site to ride on. Console routes have no such headers.
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

// crossOrigin answers preflights before routing, since a browser sends them without a key, and lets answers be read
// from other origins.
func (a *API) crossOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		origin := r.Header.Get("Origin")
		if origin == "" && r.Method != http.MethodOptions || !Owns(r.URL.Path) {
			return next(c)
		}
		h := c.Response().Header()
		h.Set("Access-Control-Allow-Origin", "*")
		if r.Method != http.MethodOptions {
			s := a.catalog.Snapshot()
			exposed := slices.Concat([]string{corsExposed}, s.Spellings(pollHeader), s.Spellings(processingHeader))
			h.Set("Access-Control-Expose-Headers", strings.Join(exposed, ", "))
			return next(c)
		}
		asked := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", ")
		if asked == "" || len(asked) > corsHeadersMax {
			asked = corsHeadersDefault
		}
		h.Set("Access-Control-Allow-Methods", corsMethods)
		h.Set("Access-Control-Allow-Headers", asked)
		h.Set("Access-Control-Max-Age", corsMaxAge)
		h.Add("Vary", "Access-Control-Request-Headers")
		return c.NoContent(http.StatusNoContent)
	}
}
