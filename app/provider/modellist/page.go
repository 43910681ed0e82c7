package modellist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/catalog"
	"umg/app/provider"
)

// idBytesMax bounds the name of a model. Longer ones are skipped.
const idBytesMax = 256

// pageEnd says whether there is another page.
type pageEnd struct {
	next string
	more bool
}

// errShape means that a page is JSON, but no list.
var errShape = errors.New("modellist: the answer is not a list of models")

// rows reads the rows of a page as they come, so that a page takes the memory of a row. Its errors are faults, and those of reading.
func (r *reader) rows(body io.Reader, l *catalog.ModelList) (end pageEnd, err error) {
	limited := &io.LimitedReader{R: body, N: pageBytesMax}
	d := jsontext.NewDecoder(limited, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	err = r.document(d, l, &end)
	_, isBroken := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case err == nil:
		return end, nil
	case limited.N == 0:
		return end, tooLarge("a page of the list is larger than %d MiB", pageBytesMax>>20)
	case errors.Is(err, errShape), isBroken, errors.Is(err, io.EOF):
		return end, provider.NewFault(provider.ClassContent, fmt.Errorf("%w: %w", errShape, err))
	}
	return end, err
}

// document reads a page, which is an object with the list, or the list alone.
func (r *reader) document(d *jsontext.Decoder, l *catalog.ModelList, end *pageEnd) error {
	switch d.PeekKind() {
	case jsontext.KindBeginArray:
		return r.array(d, l)
	case jsontext.KindBeginObject:
	default:
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		return errShape
	}
	hasList := false
	err := eachMember(d, func(name string) error {
		switch {
		case name == l.List && d.PeekKind() == jsontext.KindBeginArray:
			hasList = true
			return r.array(d, l)
		case l.Pages != nil && name == l.Pages.Next:
			return readText(d, &end.next)
		case l.Pages != nil && name == l.Pages.More:
			value, err := d.ReadValue()
			end.more = value.Kind() == jsontext.KindTrue
			return err
		}
		return d.SkipValue()
	})
	if err == nil && !hasList && (l.Pages == nil || len(r.models) == 0) { // Some providers leave out an empty list.
		return errShape
	}
	return err
}

// array reads the models of a list.
func (r *reader) array(d *jsontext.Decoder, l *catalog.ModelList) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		m := Model{}
		if d.PeekKind() != jsontext.KindBeginObject {
			if err := d.SkipValue(); err != nil {
				return err
			}
			continue
		}
		err := eachMember(d, func(name string) error {
			switch name {
			case l.ID:
				return readText(d, &m.ID)
			case l.Context:
				return readCount(d, &m.ContextTokens)
			}
			return d.SkipValue()
		})
		if err != nil {
			return err
		}
		if err := r.add(m, l.IDPrefix); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// add adds a model that is not there yet. Names that no request could have are skipped.
func (r *reader) add(m Model, prefix string) error {
	m.ID = strings.TrimPrefix(m.ID, prefix)
	if !m.isCallable() || r.seen[m.ID] {
		return nil
	}
	if len(r.models) >= RowsMax {
		return tooLarge("the list has more than %d models", RowsMax)
	}
	m.ID = strings.Clone(m.ID)
	r.seen[m.ID] = true
	r.models = append(r.models, m)
	if len(r.models)%progressRows == 0 {
		r.progress()
	}
	return nil
}

// isCallable reports whether a request could name the model.
func (m *Model) isCallable() bool {
	return m.ID != "" && len(m.ID) <= idBytesMax && utf8.ValidString(m.ID) && !strings.ContainsFunc(m.ID, func(c rune) bool {
		return unicode.IsControl(c) || unicode.IsSpace(c) || c == unicode.ReplacementChar
	})
}

// eachMember calls read with the name of each member of an object. Read must consume the value.
func eachMember(d *jsontext.Decoder, read func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// readText reads a text. Values of other kinds leave it empty.
func readText(d *jsontext.Decoder, to *string) error {
	if d.PeekKind() != jsontext.KindString {
		return d.SkipValue()
	}
	token, err := d.ReadToken()
	if err == nil {
		*to = token.String()
	}
	return err
}

// readCount reads a positive whole number. Other values leave it as it is.
func readCount(d *jsontext.Decoder, to *int64) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if n, bad := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); bad == nil && n > 0 {
		*to = n
	}
	return nil
}
