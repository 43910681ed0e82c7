package api

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// asksForStream reports whether a body is one JSON object with "stream": true. It is called when a call has failed and the error must
// have the form that the caller expects; a body that is not JSON gets a JSON error. It reads a member that occurs twice, as the call
// may have failed for that.
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
