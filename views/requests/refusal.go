package requests

import (
	"net/http"
	"strconv"
	"strings"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Refusal is what a request that was refused before any provider was called has in addition to other requests.
type Refusal struct {
	Status int
	// Param is the path of the field that was wrong. It may be empty.
	Param string
	// Message is empty when it is not stored.
	Message       string
	Method, Route string // Route is empty for a path that no route has.
	// Represents is how many refusals the row stands for.
	Represents int64
}

// RefusalDetail is the page of a refused request.
type RefusalDetail struct {
	views.Shell
	Request LoggedRequest
	Model   string // public id, empty when the request named no model of the catalog
	// Means and Do are the documentation of the error code. They are empty for a code that it does not have.
	Means, Do string
	// Docs is the address of that documentation.
	Docs string
	Fix  ui.LinkProps
	// Query is that of the list that the reader came from.
	Query        Query
	Newer, Older string
}

// call is the method and the path of the request.
func (r *Refusal) call() string {
	if r.Route == "" {
		return r.Method + " to an unknown path"
	}
	return r.Method + " " + r.Route
}

// countWords say that a row stands for several refusals.
func (r *Refusal) countWords() string {
	if r.Represents <= 1 {
		return ""
	}
	return " × " + format.Count(r.Represents)
}

// statusWords are the status and its name.
func (r *Refusal) statusWords() string {
	return strings.TrimSpace(strconv.Itoa(r.Status) + " " + http.StatusText(r.Status))
}

// title says what happened, such as "Refused: model not found".
func (d RefusalDetail) title() string {
	return d.Request.Badge().Text + ": " + strings.ReplaceAll(d.Request.ErrorCode, "_", " ")
}

func (d RefusalDetail) near(id string) string { return views.RequestPath(id) + d.Query.requestSuffix() }

// same is the list of the refusals with the same code.
func (d RefusalDetail) same() string {
	return Query{Outcome: d.Request.Outcome, Error: d.Request.ErrorCode}.Path()
}

// sampleWords say what a row that stands for several refusals is.
func (d RefusalDetail) sampleWords() string {
	return "This is the last of " + format.CountOf(d.Request.Refusal.Represents, "request", "requests") +
		" that were refused with this code within a few seconds. Only samples of such a series are kept."
}

// settledWords say how far the request came and what it cost.
func (d RefusalDetail) settledWords() string {
	switch {
	case d.Request.Outcome != OutcomeRefused:
		return "It failed without an answer. Nothing was charged."
	case d.Request.Refusal.Message == "":
		return "The provider refused it. Nothing was charged."
	}
	return "It was refused before any provider was called. Nothing was charged."
}

// tooMany reports whether waiting is what helps, so that the limits of the account are worth a look.
func (d RefusalDetail) tooMany() bool { return d.Request.Refusal.Status == http.StatusTooManyRequests }

// nothing is the cost of a refused request.
const nothing = app.Amount(0)
