package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// TextCall is one request of a text route with what lasts as long as the request. The server serves such requests without the web
// framework, and TextCalls are used again, so that a call allocates little. Find returns one, and Done ends its use.
type TextCall struct {
	Log RequestLog

	api      *API
	call     call
	exchange plainExchange
}

var textCalls = sync.Pool{New: func() any { return &TextCall{} }}

// FindText returns the call of a request of a text route, under its own path or another spelling of it. It returns nil for other
// requests, which it does not change.
func (a *API) FindText(w http.ResponseWriter, r *http.Request, clientIP func(*http.Request) string) *TextCall {
	if r.Method != http.MethodPost || !Owns(r.URL.Path) {
		return nil
	}
	path, alias := r.URL.Path, pathAlias{}
	if a.textRoutes[path] == nil {
		u := *r.URL
		var spelled RequestLog
		cleanPath(&u)
		a.resolveAlias(&u, &spelled)
		path, alias = u.Path, spelled.alias
		if u.RawPath != "" {
			return nil
		}
	} else if r.URL.RawPath != "" { // The framework compares the escaped path.
		return nil
	}
	route := a.textRoutes[path]
	if route == nil {
		return nil
	}
	r.URL.Path, r.URL.RawPath = path, ""
	t, _ := textCalls.Get().(*TextCall)
	t.api = a
	t.exchange = plainExchange{request: r, connection: w, clientIP: clientIP}
	t.Log.alias = alias
	t.call.exchange, t.call.route, t.call.log = &t.exchange, *route, &t.Log
	return t
}

// Route is the path of the route, as the list of routes has it.
func (t *TextCall) Route() string { return t.call.route.Path }

// Status is the status of the response; zero before it has begun.
func (t *TextCall) Status() int { return t.exchange.status }

// WriteError answers a failure of the request.
func (t *TextCall) WriteError(err error) { _ = t.api.writeError(&t.exchange, &t.Log, err) }

// BoundUnreadBody bounds the time in which a body may arrive that no one has read or bounded. The server reads it before the next
// request of the connection.
func (t *TextCall) BoundUnreadBody(until time.Time) {
	if t.exchange.request.ContentLength != 0 && !t.call.paced.HasBegun() && !t.call.bounded {
		_ = http.NewResponseController(t.exchange.connection).SetReadDeadline(until)
	}
}

// HeaderValue is the value of a response header, in the memory of the call.
func (t *TextCall) HeaderValue(value string) []string { return t.call.headers.one(value) }

// Done ends the use of the call, whose request has been answered and logged. A call that was not answered is not used again, because
// net/http still has its headers.
func (t *TextCall) Done() {
	if t.exchange.status == 0 || t.Log.recorder != nil {
		return
	}
	*t = TextCall{}
	textCalls.Put(t)
}

// TextPaths are the paths of text routes.
func (a *API) TextPaths() []string { return slices.Collect(maps.Keys(a.textRoutes)) }

// textRoutes are the routes of text calls by their paths.
func textRoutes() map[string]*Route {
	routes := map[string]*Route{}
	for _, r := range Routes() {
		if r.Style != "" && r.Method == http.MethodPost && !strings.ContainsAny(r.Path, ":*") {
			routes[r.Path] = &r
		}
	}
	return routes
}
