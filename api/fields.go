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
)

// members are those of a small body.
type members struct {
	of  map[string]json.RawMessage
	err error // about the first one that was wrong
}

// fields reads a small body. None at all stands for an empty object, as some clients send nothing where all is optional.
func (a *API) fields(x *call) (*members, error) {
	r := x.Request()
	if r.ContentLength == 0 {
		return &members{}, nil
	}
	if r.ContentLength > webhookBodyBytesMax {
		return nil, tooLarge(webhookBodyBytesMax)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, webhookBodyBytesMax)
	b, err := a.readBody(x)
	if err != nil && app.KindOf(err) == app.TooLarge {
		return nil, tooLarge(webhookBodyBytesMax)
	}
	if err != nil {
		return nil, err
	}
	defer a.release(b)
	return readMembers(b.Bytes())
}

// readMembers takes a body apart. A member that comes twice, anywhere in it, is refused by name: readers differ on which of the
// two counts.
func readMembers(body []byte) (*members, error) {
	f := &members{}
	if !utf8.Valid(body) {
		return nil, app.Errorf(app.Invalid, "invalid_json", "The body must be UTF-8.")
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true)) // half a surrogate pair is replaced
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
	f, err := a.fields(x)
	if err != nil {
		return nil, err
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
