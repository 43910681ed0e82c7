package page

import (
	"net/http"

	"umg/app"
)

// Handler answers a request for a page.
type Handler func(*Page) error

// Route is one page or form. Visitors may use open routes; all others lead visitors to the sign-in page.
type Route struct {
	Method string
	Path   string // Path is the path below /console.
	Open   bool
	Right  app.Rights // Right is the permission that the reader's role needs; zero allows every member.

	Operator bool // Operator limits the route to operators. For other users it does not exist.

	Serve Handler
}

// Area has what the routes of one area have in common.
type Area struct {
	Right    app.Rights
	Open     bool
	Operator bool
	// Missing is set where the server has no service behind the area. Its pages then do not exist.
	Missing bool
}

// Get returns a route of the area that shows something.
func (a Area) Get(path string, serve Handler) Route { return a.route(http.MethodGet, path, serve) }

// Post returns a route of the area that changes something.
func (a Area) Post(path string, serve Handler) Route { return a.route(http.MethodPost, path, serve) }

func (a Area) route(method, path string, serve Handler) Route {
	if a.Missing {
		serve = func(*Page) error { return ErrNotFound() }
	}
	return Route{Method: method, Path: path, Open: a.Open, Right: a.Right, Operator: a.Operator, Serve: serve}
}
