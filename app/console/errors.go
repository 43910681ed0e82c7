package console

import (
	"net/http"
	"strconv"

	"umg/app"
	"umg/app/console/page"
	"umg/views"
)

// titles are the titles of error pages by status.
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

// writeError renders the page for an error, inside the shell when the reader is known. It reads only the session and what the shell
// needs, because the database may be what failed.
func (c *Console) writeError(in page.RoutedRequest, err *app.Error) error {
	status := page.Status(err.Kind)
	var near []views.SearchHit
	shell := views.Shell{Path: in.Request.URL.Path, Theme: page.ThemeOf(in.Request), Now: c.o.Now()}
	if !isShed(err) {
		if p, openErr := c.Open(in); openErr == nil {
			shell = c.Shell(p)
			if status == http.StatusNotFound {
				near = c.near(p)
			}
		}
	}
	shell.Path = page.RetryPath(in.Request)
	failure := views.Failure{
		Shell: shell, Status: status, Title: titles[status], Message: err.Message, RequestID: in.RequestID, Wait: err.RetryIn(),
	}
	component := views.ErrorPage(failure)
	switch {
	case status == http.StatusNotFound:
		component = views.NotFoundPage(views.NotFound{Shell: shell, Near: near})
	case err.Code == page.RoleNotAllowed:
		component = views.RoleRefusedPage(failure)
	}
	if seconds := err.RetrySeconds(); seconds > 0 {
		in.Response.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	return page.NewPage(in).HTML(status, component)
}

// isShed reports whether a request was refused to spare this replica work. Its error page reads nothing from the database.
func isShed(err *app.Error) bool {
	return err.Kind == app.Exhausted && (err.Code == "too_many_requests" || err.Code == "rate_limit_exceeded") || err.Code == "overloaded"
}
