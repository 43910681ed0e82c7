package page

import "umg/app"

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
