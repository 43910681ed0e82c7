package server

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"umg/api"
	"umg/app"
	"umg/app/requestbody"
)

const (
	consolePath = "/console"
	staticPath  = "/static"
)

// contentSecurityPolicy lets pages load what the server itself serves and nothing else: no inline code, no third party, no framing.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; media-src 'self' blob:; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// endedRequest is a request that was answered, as the log line, the metrics and the counts see it.
type endedRequest struct {
	*api.RequestLog

	request *http.Request
	header  http.Header // Header is that of the response.
	status  int
	route   string // Route is the pattern of the route, not the path, which may hold anything.
	took    time.Duration
}

// end logs and counts a request. The response is written by then, so a panic is logged and counted, and the client never sees it.
func (s *Server) end(x *endedRequest) {
	defer func() {
		if p := recover(); p != nil {
			_ = s.logPanic(x.request.Context(), x.RequestLog, p)
			s.countPanic()
		}
	}()
	x.route = cmp.Or(x.route, "unmatched")
	s.metrics.observe(x) // Before the line, whose readers find the request in the metrics.
	s.log(x)
	s.count(x)
	s.note(x)
}

// setCommonHeaders sets what every response carries.
func (s *Server) setCommonHeaders(h http.Header, requestID []string) {
	h["X-Content-Type-Options"] = noSniff
	if s.isSecure {
		h["Strict-Transport-Security"] = strictTransport
	}
	h["X-Request-Id"] = requestID
}

// Values of headers that all responses share. They have no room for a second value, so that to add one makes a copy.
var (
	noSniff         = []string{"nosniff"}
	strictTransport = []string{"max-age=31536000"}
)

// limitTime bounds how long a request whose body is not read or whose page is not received may hold a connection. The
// API sets the times of its own answers, which may be streams.
func (s *Server) limitTime(w http.ResponseWriter, r *http.Request, now time.Time) {
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
		r.Body = requestbody.Pace(w, r.Body, bytesMax, timeMax, s.o.Now)
		if r.ContentLength == 0 {
			timeMax = 0
		}
		_ = controller.SetWriteDeadline(now.Add(timeMax + pageWriteMax))
	}
}

// setPageHeaders sets what every page carries.
func setPageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// isServerFault holds for failures whose cause an operator has to see.
func isServerFault(k app.Kind) bool { return k == app.Internal || k == app.Unavailable }

func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), loggedCauseMax)], "") }

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
