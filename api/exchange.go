package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"umg/app"
)

// exchange is one request and its response, as the routes of this package use them.
type exchange interface {
	received
	responder

	explain(err error) *app.Error
}

// received is what came with the request.
type received interface {
	// Request is the request as net/http read it.
	Request() *http.Request
	// ClientIP is the address of the caller, behind trusted proxies.
	ClientIP() string
	// Param is the part of the path that the route gives this name.
	Param(name string) string
	// RoutePath is the pattern of the route; empty when no route has the path.
	RoutePath() string

	queried
}

// queried is the query of the request.
type queried interface {
	// QueryParam is the first value of a parameter; empty when it is not there.
	QueryParam(name string) string
	QueryParams() url.Values
}

// responder sends the response.
type responder interface {
	// Header is the header of the response.
	Header() http.Header
	// Response writes the response and remembers its status.
	Response() http.ResponseWriter
	// Connection is the writer of net/http itself. Its deadlines, its Flush and http.MaxBytesReader need it.
	Connection() http.ResponseWriter

	sender
	committed() bool
}

// sender sends a whole response.
type sender interface {
	// Blob sends a whole response.
	Blob(status int, contentType string, body []byte) error
	// JSON sends a whole response from a value.
	JSON(status int, v any) error
	// NoContent sends a response without a body.
	NoContent(status int) error
}

// headerValues is memory for the values of response headers, each of which is a slice of one string. They may be used again after the
// response has begun, because the server copies or encodes the headers then.
type headerValues struct {
	values [16]string
	count  int
}

// one is the value of a header.
func (v *headerValues) one(value string) []string {
	if v.count == len(v.values) {
		return []string{value}
	}
	v.values[v.count] = value
	v.count++
	return v.values[v.count-1 : v.count : v.count]
}

// Values of headers that many responses share. They have no room for a second value, so that to add one makes a copy.
var (
	noStore       = []string{"no-store"}
	noTransform   = []string{"no-cache, no-transform"}
	notBuffered   = []string{"no"}
	eventStreamed = []string{eventStream}
	jsonTyped     = []string{jsonType}
)

// explainTo returns the error that the caller of a request can be told for any error of a service.
func explainTo(r *http.Request, err error) *app.Error {
	if ours, ok := errors.AsType[*app.Error](err); ok {
		return ours
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return app.Errorf(app.Canceled, "client_left", "The client closed the connection.").Because(err)
	}
	return app.AsError(err)
}

// plainExchange is an exchange without the web framework. It is also the writer of its response. Routes with parts of the path as
// parameters need the framework.
type plainExchange struct {
	request    *http.Request
	connection http.ResponseWriter
	clientIP   func(*http.Request) string
	query      url.Values // Query is nil until it is asked for.
	status     int        // Status is zero until the response has begun.
}

func (e *plainExchange) Request() *http.Request          { return e.request }
func (e *plainExchange) Header() http.Header             { return e.connection.Header() }
func (e *plainExchange) Response() http.ResponseWriter   { return e }
func (e *plainExchange) Connection() http.ResponseWriter { return e.connection }
func (e *plainExchange) ClientIP() string                { return e.clientIP(e.request) }
func (e *plainExchange) Param(string) string             { return "" }
func (e *plainExchange) RoutePath() string               { return e.request.URL.Path }
func (e *plainExchange) QueryParam(name string) string   { return e.QueryParams().Get(name) }
func (e *plainExchange) committed() bool                 { return e.status != 0 }
func (e *plainExchange) explain(err error) *app.Error    { return explainTo(e.request, err) }

func (e *plainExchange) QueryParams() url.Values {
	if e.query == nil {
		e.query = e.request.URL.Query()
	}
	return e.query
}

// WriteHeader begins the response, unless it has begun.
func (e *plainExchange) WriteHeader(status int) {
	if e.status == 0 {
		e.status = status
		e.connection.WriteHeader(status)
	}
}

// Write writes a part of the body.
func (e *plainExchange) Write(p []byte) (int, error) {
	e.WriteHeader(http.StatusOK)
	return e.connection.Write(p)
}

func (e *plainExchange) Blob(status int, contentType string, body []byte) error {
	if h := e.Header(); h["Content-Type"] == nil {
		h["Content-Type"] = []string{contentType}
	}
	e.WriteHeader(status)
	_, err := e.Write(body)
	return err
}

func (e *plainExchange) JSON(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.Blob(status, jsonType, append(body, '\n'))
}

func (e *plainExchange) NoContent(status int) error {
	e.WriteHeader(status)
	return nil
}
