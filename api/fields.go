package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/requestbody"
)

// field is a member that a body may have: its name, what it must be, in words for the error, and where its value goes. The value
// stays as it is when the member is missing or null.
type field struct {
	name, what string
	into       any
}

// readFields reads a small body that has these members and no others.
func (a *API) readFields(x *call, fields ...field) (*members, error) {
	names := make([]string, len(fields))
	for i, d := range fields {
		names[i] = d.name
	}
	f, err := a.strict(x, names...)
	if err != nil {
		return nil, err
	}
	for _, d := range fields {
		f.read(d.name, d.what, d.into)
	}
	return f, f.err
}

const fieldsBytesMax = 64 << 10

// members are those of a small body.
type members struct {
	of  map[string]json.RawMessage
	err error // Err is about the first member that is wrong.
}

// readSmall reads a body of at most bytesMax bytes.
func (a *API) readSmall(x *call, bytesMax int64) (*requestbody.Body, error) {
	r := x.Request()
	if r.ContentLength > bytesMax {
		return nil, tooLarge(bytesMax)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, bytesMax)
	b, err := a.readAll(x, jsonTimeMax)
	if err != nil && app.KindOf(err) == app.TooLarge {
		return nil, tooLarge(bytesMax)
	}
	return b, err
}

// readMembers takes a body apart. A member that comes twice, anywhere in it, is refused by name: readers differ on which of the
// two counts.
func readMembers(body []byte) (*members, error) {
	f := &members{}
	if !utf8.Valid(body) {
		return nil, app.Errorf(app.Invalid, "invalid_json", "The body must be UTF-8.")
	}
	// The decoder replaces half of a surrogate pair.
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadValue()
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = errors.New("there is something behind its end")
		}
	}
	if broken, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		field := shorten(strings.ReplaceAll(strings.TrimPrefix(string(broken.JSONPointer), "/"), "/", "."))
		return nil, app.Errorf(app.Invalid, "invalid_json", "The member %q comes twice; send it once.", field).At(field)
	}
	if err != nil || json.Unmarshal(body, &f.of) != nil || f.of == nil {
		return nil, app.Errorf(app.Invalid, "invalid_json", "The body must be one JSON object and nothing else.")
	}
	return f, nil
}

// read takes one member, if it is there and not null.
func (f *members) read(name, what string, into any) {
	raw, ok := f.of[name]
	if !ok || f.err != nil || string(raw) == "null" {
		return
	}
	if json.Unmarshal(raw, into) != nil {
		f.err = app.Errorf(app.Invalid, "invalid_request_error", "%s must be %s, not %s.", name, what, shorten(string(raw))).At(name)
	}
}

func wrongField(name, what string) error {
	return app.Errorf(app.Invalid, "invalid_request_error", "%s must be %s.", name, what).At(name)
}

// strict reads a small body that has these members and no others: what is misspelt about money must not pass for nothing.
func (a *API) strict(x *call, names ...string) (*members, error) {
	f := &members{}
	if r := x.Request(); r.ContentLength != 0 { // Some clients send no body where every member is optional.
		if r.ContentLength > fieldsBytesMax {
			return nil, tooLarge(fieldsBytesMax)
		}
		if err := jsonBody(r.Header); err != nil {
			return nil, err
		}
		b, err := a.readSmall(x, fieldsBytesMax)
		if err != nil {
			return nil, err
		}
		defer b.Release()
		if f, err = readMembers(b.Bytes()); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.of)) {
		if slices.Contains(names, name) {
			continue
		}
		if len(names) == 0 {
			return nil, app.Errorf(app.Invalid, "unknown_parameter", "There is no member %q here: the body is an empty object.",
				shorten(name)).At(shorten(name))
		}
		return nil, app.Errorf(app.Invalid, "unknown_parameter", "There is no member %q here. There are %s.",
			shorten(name), strings.Join(names, ", ")).At(shorten(name))
	}
	return f, nil
}

func missingField(name, message string) error {
	e := app.Errorf(app.Invalid, "invalid_request_error", "%s", message).At(name)
	e.Missing = true
	return e
}
