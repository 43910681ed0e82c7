package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/views"
)

// statusOf is the status of an error page; every other kind is our own fault.
var statusOf = map[app.Kind]int{
	app.Invalid: http.StatusBadRequest, app.Unauthenticated: http.StatusUnauthorized, app.Forbidden: http.StatusForbidden,
	app.NotFound: http.StatusNotFound, app.Conflict: http.StatusConflict,
	app.Unprocessable: http.StatusUnprocessableEntity, app.MethodNotAllowed: http.StatusMethodNotAllowed,
	app.TooLarge: http.StatusRequestEntityTooLarge, app.MediaType: http.StatusUnsupportedMediaType,
	app.Exhausted: http.StatusTooManyRequests, app.Unavailable: http.StatusServiceUnavailable,
}

// titles head the error pages.
var titles = map[int]string{
	http.StatusBadRequest:            "That request could not be understood",
	http.StatusForbidden:             "Nothing was done",
	http.StatusConflict:              "That is not possible right now",
	http.StatusMethodNotAllowed:      "That page does not take this",
	http.StatusRequestEntityTooLarge: "That was too large",
	http.StatusTooManyRequests:       "Too many requests",
	http.StatusServiceUnavailable:    "The console is away for a moment",
	http.StatusInternalServerError:   "Something went wrong",
}

// WriteError renders the page for a failure: inside the shell for whom we know, bare for everybody else. It asks no
// service but the session's, because the store may be what failed.
func (c *Console) WriteError(e echo.Context, cause error) error {
	if e.Response().Committed {
		return nil
	}
	err := asError(cause)
	status, known := statusOf[err.Kind]
	if !known {
		status = http.StatusInternalServerError
	}
	shell := views.Shell{Path: e.Request().URL.Path, Theme: themeOf(e.Request()), Now: c.o.Now()}
	if !shed(err) {
		if p, openErr := c.open(e); openErr == nil {
			shell = c.shell(p)
		}
	}
	shell.Path = tryAgainAt(e.Request())
	failure := views.Failure{
		Shell: shell, Status: status, Title: titles[status], Message: err.Message,
		RequestID: e.Response().Header().Get(echo.HeaderXRequestID), Wait: err.RetryIn(),
	}
	component := views.ErrorPage(failure)
	switch {
	case status == http.StatusNotFound:
		component = views.NotFoundPage(shell)
	case err.Code == roleNotAllowed:
		component = views.RoleRefusedPage(failure)
	}
	if seconds := err.RetrySeconds(); seconds > 0 {
		e.Response().Header().Set(echo.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	}
	var b bytes.Buffer
	if err := component.Render(e.Request().Context(), &b); err != nil {
		return err
	}
	return e.HTMLBlob(status, b.Bytes())
}

// shed reports whether a request was refused to spare this replica work. Its page asks no service.
func shed(err *app.Error) bool {
	return err.Kind == app.Exhausted && (err.Code == "too_many_requests" || err.Code == "rate_limit_exceeded") || err.Code == "overloaded"
}

// tryAgainAt is where trying again leads: to the page itself, or from a form or a part to the page it stood on.
func tryAgainAt(r *http.Request) string {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !forScript(r) {
		return r.URL.Path
	}
	from, err := url.Parse(r.Referer())
	if err != nil {
		return consolePath
	}
	return safeNext(from.Path)
}

// asError reads the framework's own errors, such as an unknown path, as ours.
func asError(err error) *app.Error {
	if framework, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch framework.Code {
		case http.StatusNotFound:
			return app.Errorf(app.NotFound, "not_found", "There is no such page.")
		case http.StatusMethodNotAllowed:
			return app.Errorf(app.MethodNotAllowed, "method_not_allowed", "This page does not take this kind of request.")
		case http.StatusRequestEntityTooLarge:
			return app.Errorf(app.TooLarge, "request_too_large", "What was sent is larger than this page takes.")
		}
	}
	return app.AsError(err)
}
