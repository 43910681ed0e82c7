package api

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"umg/app"
)

// echoExchange is an exchange of the web framework, which no other file of the package knows.
type echoExchange struct{ context echo.Context }

// Request is the request as net/http read it.
func (e echoExchange) Request() *http.Request { return e.context.Request() }

// Header is the header of the response.
func (e echoExchange) Header() http.Header { return e.context.Response().Header() }

// Response writes the response and remembers its status.
func (e echoExchange) Response() http.ResponseWriter { return e.context.Response() }

// Connection is the writer of net/http itself. Its deadlines, its Flush and http.MaxBytesReader need it: the writer of the framework
// hides their errors.
func (e echoExchange) Connection() http.ResponseWriter { return e.context.Response().Writer }

// ClientIP is the address of the caller, behind trusted proxies.
func (e echoExchange) ClientIP() string { return e.context.RealIP() }

// Param is the part of the path that the route gives this name.
func (e echoExchange) Param(name string) string { return e.context.Param(name) }

// RoutePath is the pattern of the route; empty when no route has the path.
func (e echoExchange) RoutePath() string { return e.context.Path() }

// QueryParam is the first value of a parameter of the query.
func (e echoExchange) QueryParam(name string) string { return e.context.QueryParam(name) }

// QueryParams are all parameters of the query.
func (e echoExchange) QueryParams() url.Values { return e.context.QueryParams() }

// Blob sends a whole response.
func (e echoExchange) Blob(status int, contentType string, body []byte) error {
	return e.context.Blob(status, contentType, body)
}

// JSON sends a whole response from a value.
func (e echoExchange) JSON(status int, v any) error { return e.context.JSON(status, v) }

// NoContent sends a response without a body.
func (e echoExchange) NoContent(status int) error { return e.context.NoContent(status) }

// committed reports whether the status of the response was sent.
func (e echoExchange) committed() bool { return e.context.Response().Committed }

// explain returns the error that a caller can be told for any error of a service or of the web framework.
func (e echoExchange) explain(err error) *app.Error {
	if framework, ok := errors.AsType[*echo.HTTPError](err); ok && !isOurs(err) {
		r := e.Request()
		switch framework.Code {
		case http.StatusNotFound:
			return notFound(r.URL.Path)
		case http.StatusMethodNotAllowed:
			allow, _ := e.context.Get(echo.ContextKeyHeaderAllow).(string)
			return wrongMethod(r.Method, r.URL.Path, allow)
		}
	}
	return explainTo(e.Request(), err)
}

func isOurs(err error) bool {
	_, ok := errors.AsType[*app.Error](err)
	return ok
}

const requestLogKey = "umg.request_log"

// WithRequestLog keeps the record of a request with the request's context.
func WithRequestLog(c echo.Context, l *RequestLog) { c.Set(requestLogKey, l) }

// RequestLogOf returns the record of the request. It creates one when there is none.
func RequestLogOf(c echo.Context) *RequestLog {
	if l, ok := c.Get(requestLogKey).(*RequestLog); ok {
		return l
	}
	l := &RequestLog{Started: time.Now()}
	WithRequestLog(c, l)
	return l
}

// Explain returns the error that a caller can be told for any error of a service or of the web framework.
func Explain(c echo.Context, err error) *app.Error { return echoExchange{c}.explain(err) }

// WriteError answers a failed request in the layout of its family. It only records a failure after a response has begun, because the
// stream itself has told the client.
func (a *API) WriteError(c echo.Context, err error) error {
	return a.writeError(echoExchange{c}, RequestLogOf(c), err)
}

// Mount adds the routes, and answers cross-origin preflights for every path of the API.
func (a *API) Mount(e *echo.Echo) {
	e.Pre(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			x, l := echoExchange{c}, RequestLogOf(c)
			cleanPath(x.Request().URL)
			if a.allowCrossOrigin(x) {
				return nil
			}
			a.resolveAlias(x.Request().URL, l)
			return next(c)
		}
	})
	for _, r := range Routes() {
		serve := func(c echo.Context) error { return a.handle(r, echoExchange{c}, RequestLogOf(c)) }
		e.Add(r.Method, r.Path, serve)
		if r.Method == http.MethodGet {
			e.Add(http.MethodHead, r.Path, serve)
		}
	}
}
