package console

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/console/page"
)

// incoming returns a request of Echo as handlers of this package take it. No other file of the console knows Echo.
func incoming(e echo.Context) page.RoutedRequest {
	return page.RoutedRequest{
		Response: e.Response(), Request: e.Request(), Param: e.Param, IP: e.RealIP(),
		RequestID: e.Response().Header().Get(echo.HeaderXRequestID),
	}
}

// Mount adds the pages to the group at /console.
func (c *Console) Mount(g *echo.Group) {
	handle := func(r page.Route) echo.HandlerFunc {
		return func(e echo.Context) error { return c.serve(r, incoming(e)) }
	}
	for _, r := range c.routes() {
		g.Add(r.Method, r.Path, handle(r))
		if r.Method == http.MethodGet {
			g.Add(http.MethodHead, r.Path, handle(r))
		}
	}
	unknown := handle(page.Route{Open: true, Serve: func(*page.Page) error { return page.ErrNotFound() }})
	g.RouteNotFound("", unknown)
	g.RouteNotFound("/*", unknown)
}

// WriteError renders the page for an error of a handler or of the router. It writes nothing after a response has begun.
func (c *Console) WriteError(e echo.Context, cause error) error {
	if e.Response().Committed {
		return nil
	}
	return c.writeError(incoming(e), asError(cause))
}

// asError converts Echo's own errors, such as an unknown path, to errors of the application.
func asError(err error) *app.Error {
	if framework, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch framework.Code {
		case http.StatusNotFound:
			return app.AsError(page.ErrNotFound())
		case http.StatusMethodNotAllowed:
			return app.Errorf(app.MethodNotAllowed, "method_not_allowed", "This page does not take this kind of request.")
		case http.StatusRequestEntityTooLarge:
			return app.Errorf(app.TooLarge, "request_too_large", "What was sent is larger than this page takes.")
		}
	}
	return app.AsError(err)
}
