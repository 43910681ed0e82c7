package views

import "github.com/a-h/templ"

// LiveEvent is a part of a page that is new: drawn by the server, and put into the open page by its script. The ID says
// how far the reader has come, so that a connection that broke goes on where it was; it is empty where that means nothing.
type LiveEvent struct {
	ID   string
	HTML templ.Component
}
