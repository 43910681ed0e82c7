package api

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// asksForStream reports whether a body is one JSON object with "stream": true. It is asked only when a call has failed
// already and the failure must be told in the form the caller waits for; a body that is not JSON gets JSON. A member
// that occurs twice is what such a call may have failed for.
func asksForStream(body []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if first, err := dec.ReadToken(); err != nil || first.Kind() != jsontext.KindBeginObject {
		return false
	}
	streams := false
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return false
		}
		isStream := name.String() == "stream"
		value, err := dec.ReadValue()
		if err != nil {
			return false
		}
		streams = streams || isStream && value.Kind() == jsontext.KindTrue
	}
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	_, err := dec.ReadToken()
	return streams && errors.Is(err, io.EOF)
}
