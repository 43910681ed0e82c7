package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"umg/app"
)

const (
	pageUsual = 20 // A page has this length if the query has no limit.
	pageMax   = 100
)

// limit is the size of the page that the query asks for; zero when it does not.
func (x *call) limit() (int, error) {
	text := x.QueryParam("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMax {
		return 0, app.Errorf(app.Invalid, "invalid_request_error", "limit must be a whole number from 1 to %d.", pageMax).At("limit")
	}
	return n, nil
}

// pageSize is the size of the page that the query asks for, or the usual size.
func (x *call) pageSize() (int, error) {
	n, err := x.limit()
	if n == 0 {
		n = pageUsual
	}
	return n, err
}

// listJSON is a page in the layout that SDKs turn by themselves.
type listJSON[T any] struct {
	Object  string  `json:"object"`
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

func listBody[F, T any](from []F, more bool, id func(F) string, body func(F) T) listJSON[T] {
	list := listJSON[T]{Object: "list", Data: []T{}, HasMore: more}
	for _, f := range from {
		list.Data = append(list.Data, body(f))
	}
	if n := len(from); n > 0 {
		list.FirstID, list.LastID = orNull(id(from[0])), orNull(id(from[n-1]))
	}
	return list
}

// deletedJSON says that an object was deleted.
type deletedJSON struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// reply answers with the body of the value that a service returned, or returns the error of the service.
func reply[F, T any](a *API, x *call, from F, err error, body func(F) T) error {
	if err != nil {
		return err
	}
	return a.object(x, body(from))
}

// object answers with a small object.
func (a *API) object(x *call, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.send(x, body)
}

// send answers with a whole JSON body.
func (a *API) send(x *call, body []byte) error {
	extendWrite(x.Connection(), a.now())
	return x.Blob(http.StatusOK, jsonType, body)
}

func seconds(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	return new(t.Unix())
}

// orNull is null for the zero value.
func orNull[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}
