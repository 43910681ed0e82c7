package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"umg/api"
	"umg/app"
	"umg/billing"
)

const (
	consolePath = "/console"
	staticPath  = "/static"
)

// contentSecurityPolicy lets pages load what the server itself serves and nothing else: no inline code, no third
// party, no framing.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; media-src 'self' blob:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// middleware is what every request passes: it gets an id, limits in time, and on the way out one log line.
func (s *Server) middleware(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		x := &api.RequestLog{RequestID: s.o.IDs.New("req"), Started: s.o.Now()}
		api.WithAccess(c, x)
		s.limitTime(c, x.Started)
		h := c.Response().Header()
		h["X-Content-Type-Options"] = []string{"nosniff"}
		if strings.HasPrefix(s.o.BaseURL, "https://") {
			h["Strict-Transport-Security"] = []string{"max-age=31536000"}
		}
		h["X-Request-Id"] = []string{x.RequestID}
		s.metrics.inFlight.Add(1)
		defer s.metrics.inFlight.Add(-1)
		broken := s.serve(c, x, next)
		took := s.o.Now().Sub(x.Started)
		s.log(c, x, took)
		s.metrics.observe(c, x, took)
		s.count(c, x)
		s.note(c, x)
		if broken {
			panic(http.ErrAbortHandler) // net/http then drops the connection, silently
		}
		return nil
	}
}

// serve runs the request and answers its failure, a panic included, in the face it belongs to. It reports an answer
// that broke off half written: only a dropped connection tells the client so.
func (s *Server) serve(c echo.Context, x *api.RequestLog, next echo.HandlerFunc) (broken bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		broken = c.Response().Committed
		err, isError := p.(error)
		if isError && errors.Is(err, http.ErrAbortHandler) {
			broken = true
			return
		}
		s.o.Log.LogAttrs(c.Request().Context(), slog.LevelError, "panic", slog.String("request_id", x.RequestID),
			slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
		s.writeError(app.AsError(fmt.Errorf("panic: %v", p)), c)
	}()
	if err := next(c); err != nil {
		s.writeError(err, c)
	}
	return false
}

// limitTime bounds how long a request whose body is not read or whose page is not received may hold a connection. The
// API sets the times of its own answers, which may be streams.
func (s *Server) limitTime(c echo.Context, now time.Time) {
	r, w := c.Request(), c.Response().Writer
	machine := api.Owns(r.URL.Path)
	if r.ContentLength == 0 && machine {
		return
	}
	controller := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = controller.SetReadDeadline(now.Add(bodyFirstByteMax))
	}
	if !machine {
		bytesMax, timeMax := int64(pageBodyBytesMax), api.PageTimeMax
		if form := s.o.FormBytesMax[r.URL.Path]; form > bytesMax {
			bytesMax, timeMax = form, api.FileTimeMax
		}
		r.Body = api.PaceBody(w, r.Body, bytesMax, timeMax, s.o.Now)
		if r.ContentLength == 0 {
			timeMax = 0
		}
		_ = controller.SetWriteDeadline(now.Add(timeMax + pageWriteMax))
	}
}

// sayWhenToRetry completes a page that is answered with 503, whatever rendered it.
func sayWhenToRetry(r *echo.Response) {
	if r.Status == http.StatusServiceUnavailable && r.Header().Get(echo.HeaderRetryAfter) == "" {
		away := app.Error{Kind: app.Unavailable}
		r.Header().Set(echo.HeaderRetryAfter, strconv.FormatInt(away.RetrySeconds(), 10))
	}
}

// sameOrigin protects pages: forms are taken from our own pages only, and pages run our own code only.
func (s *Server) sameOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	if s.o.BaseURL != "" {
		if err := protection.AddTrustedOrigin(s.o.BaseURL); err != nil {
			panic("server.New: Options.BaseURL is not an origin: " + err.Error())
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			s.pageHeaders(c)
			c.Response().Before(func() { sayWhenToRetry(c.Response()) })
			if err := protection.Check(c.Request()); err != nil {
				return app.Errorf(app.Forbidden, "cross_origin", "This form was sent from another site, so nothing was done.").Because(err)
			}
			return next(c)
		}
	}
}

func (s *Server) pageHeaders(c echo.Context) {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// log writes the one line of a request. It never holds a path or query as the caller wrote it, a body or a key.
func (s *Server) log(c echo.Context, x *api.RequestLog, took time.Duration) {
	r := c.Request()
	attrs := make([]slog.Attr, 0, 28)
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("request_id", x.RequestID)
	text("client_request_id", clientRequestID(r.Header))
	text("method", method(r.Method))
	text("route", route(c))
	text("account_id", x.AccountID)
	text("key_id", x.KeyID)
	text("style", x.Style)
	text("model", x.Model)
	text("fallback_of", x.FallbackOf)
	text("provider", x.Provider)
	attrs = append(attrs, slog.Int("status", c.Response().Status))
	level := slog.LevelInfo
	if x.Failed {
		text("error_kind", api.KindWord(x.ErrorKind))
		text("error_code", x.ErrorCode)
		if x.Cause != nil && isServerFault(x.ErrorKind) {
			level = slog.LevelError
			text("cause", shorten(x.Cause.Error()))
		}
	}
	text("outcome", x.Outcome)
	attrs = append(attrs, slog.Float64("duration_ms", milliseconds(took)))
	text("fault", x.Fault)
	if x.Attempts > 0 {
		attrs = append(attrs, slog.Int("attempts", x.Attempts), slog.Float64("upstream_ms", milliseconds(x.Upstream)))
	}
	if x.Own > 0 {
		attrs = append(attrs, slog.Float64("gateway_ms", milliseconds(x.Own)))
	}
	if x.FirstByte > 0 {
		attrs = append(attrs, slog.Float64("first_byte_ms", milliseconds(x.FirstByte)))
	}
	if x.Model != "" && x.Style != "" {
		attrs = append(attrs,
			slog.Int64("input_tokens", x.Usage[billing.InputTokens]+x.Usage[billing.CacheReadTokens]+x.Usage[billing.CacheWriteTokens]),
			slog.Int64("output_tokens", x.Usage[billing.OutputTokens]+x.Usage[billing.ReasoningTokens]),
			slog.Int64("cost_nanos", int64(x.Cost)))
	}
	s.o.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// isServerFault holds for failures whose cause an operator has to see.
func isServerFault(k app.Kind) bool { return k == app.Internal || k == app.Unavailable }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), loggedCauseMax)], "") }

// route is the pattern that matched, never the path itself, which may hold anything.
func route(c echo.Context) string {
	if p := c.Path(); p != "" {
		return p
	}
	return "unmatched"
}

// method is one of the known methods: callers may invent others.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// clientRequestID is the id that the caller gave the request, where it is one that a log can hold.
func clientRequestID(h http.Header) string {
	id := h.Get("X-Client-Request-Id")
	allowed := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if len(id) > clientIDBytesMax || strings.ContainsFunc(id, func(r rune) bool { return !allowed(r) }) {
		return ""
	}
	return id
}
