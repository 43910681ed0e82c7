package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"umg/app"
)

// These constants describe the file of a prompt.
const (
	fileObject  = "prompt"
	fileVersion = 1
	// FileBytesMax bounds a file that is read.
	FileBytesMax = 1 << 20
)

// Export is a prompt as a file.
func Export(name string, c Content) ([]byte, error) {
	document, err := c.document()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(struct {
		Object  string          `json:"object"`
		Version int             `json:"version"`
		Name    string          `json:"name"`
		Content json.RawMessage `json:"content"`
	}{fileObject, fileVersion, name, json.RawMessage(document)})
	if err != nil || b.Len() <= FileBytesMax {
		return b.Bytes(), err
	}
	var tight bytes.Buffer // The indents made the file too large, so it is written without them.
	if err := json.Compact(&tight, b.Bytes()); err != nil {
		return nil, err
	}
	return tight.Bytes(), nil
}

// Import reads a file that Export wrote, or a hand-written one. It refuses unknown fields: an error names the field and the line.
func Import(file []byte) (name string, c Content, err error) {
	if len(file) > FileBytesMax {
		return "", c, app.Errorf(app.Invalid, "prompt_too_large", "The file is larger than %d MB.", FileBytesMax>>20)
	}
	r := &reader{data: file, dec: json.NewDecoder(bytes.NewReader(file)), lines: map[string]int{}}
	r.dec.UseNumber()
	var object, version string
	err = r.object("", members{
		"object": r.text(&object), "version": r.number(&version), "name": r.text(&name),
		"content": func(string) error { return r.object("", r.content(&c), "model") },
	}, "object", "version", "content")
	if err == nil && object != fileObject {
		err = r.wrong("object", `object must be "prompt".`)
	}
	if err == nil && version != strconv.Itoa(fileVersion) {
		err = r.wrong("version", "version must be %d: files of another version are not understood here.", fileVersion)
	}
	if err == nil {
		err = r.end()
	}
	if err == nil {
		err = c.check()
	}
	if refusal := app.AsError(err); refusal != nil && !strings.HasPrefix(refusal.Message, "Line ") {
		return "", c, r.at(refusal)
	}
	return name, c, err
}

// parse reads a document that was kept.
func parse(document string) (c Content, err error) {
	if err := json.Unmarshal([]byte(document), &c); err != nil {
		return c, fmt.Errorf("prompt: read a document: %w", err)
	}
	return c, nil
}

func (r *reader) content(c *Content) members {
	return members{
		"model": r.text(&c.Model), "style": r.text(&c.Style), "stream": r.boolean(&c.Stream), "system": r.text(&c.System),
		"prompt": r.text(&c.Prompt), "image": r.text(&c.Image), "tools": r.raw(&c.Tools), "tool_choice": r.text(&c.ToolChoice),
		"format": r.text(&c.Format), "schema_name": r.text(&c.SchemaName), "schema": r.raw(&c.Schema), "params": r.texts(&c.Params),
		"variables": r.texts(&c.Variables),
		"turns": r.array(turnsMax, func(at string) error {
			var t Turn
			err := r.object(at, members{
				"role": r.text(&t.Role), "text": r.text(&t.Text), "image": r.text(&t.Image), "call": r.text(&t.Call),
				"calls": r.array(callsMax, func(at string) error {
					var one Call
					err := r.object(at, members{"id": r.text(&one.ID), "name": r.text(&one.Name), "arguments": r.text(&one.Arguments)}, "name")
					t.Calls = append(t.Calls, one)
					return err
				}),
			}, "role")
			c.Turns = append(c.Turns, t)
			return err
		}),
	}
}

// reader reads a file value by value, so that it knows the line of each.
type reader struct {
	data  []byte
	dec   *json.Decoder
	lines map[string]int // Lines has the number of each field's line.

	counted, newlines int // Newlines is the number of line breaks before the offset counted.
}

// member reads the value of one field; members are those that an object may have.
type (
	member  func(at string) error
	members map[string]member
)

// line is where the reader is. It counts on from where it was.
func (r *reader) line() int {
	if to := min(int(r.dec.InputOffset()), len(r.data)); to > r.counted {
		r.newlines += bytes.Count(r.data[r.counted:to], []byte("\n"))
		r.counted = to
	}
	return 1 + r.newlines
}

func (r *reader) wrong(field, format string, args ...any) error {
	return r.at(wrong(field, format, args...))
}

// at says the line with a refusal.
func (r *reader) at(e *app.Error) error {
	line, known := r.lines[e.Param]
	if !known {
		line = r.line()
	}
	e.Message = fmt.Sprintf("Line %d: %s", line, e.Message)
	return e
}

func (r *reader) token(field string) (json.Token, error) {
	t, err := r.dec.Token()
	r.lines[field] = r.line()
	return t, r.syntax(field, err)
}

func (r *reader) syntax(field string, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		r.lines[field] = 1 + bytes.Count(r.data[:min(int(bad.Offset), len(r.data))], []byte("\n"))
		return r.wrong(field, "This is not valid JSON: %s.", bad.Error())
	}
	return r.wrong(field, "The file ends before the JSON does.")
}

func (r *reader) object(at string, known members, required ...string) error {
	t, err := r.token(at)
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return r.wrong(at, "%s must be an object.", called(at))
	}
	seen := map[string]bool{}
	for r.dec.More() {
		key, err := r.token(at)
		if err != nil {
			return err
		}
		name, _ := key.(string)
		field := strings.TrimPrefix(at+"."+name, ".")
		r.lines[field] = r.line()
		if seen[name] {
			return r.wrong(field, "%s stands there twice.", field)
		}
		read, ok := known[name]
		if !ok {
			return r.wrong(field, "%s is not known. Known are %s.", field, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		seen[name] = true
		if err := read(field); err != nil {
			return err
		}
	}
	if _, err := r.token(at); err != nil {
		return err
	}
	for _, name := range required {
		if !seen[name] {
			return r.wrong(at, "%s is missing.", strings.TrimPrefix(at+"."+name, "."))
		}
	}
	return nil
}

func called(at string) string {
	if at == "" {
		return "The file"
	}
	return at
}

func (r *reader) array(most int, one member) member {
	return func(at string) error {
		t, err := r.token(at)
		if err != nil {
			return err
		}
		if t != json.Delim('[') {
			return r.wrong(at, "%s must be an array.", at)
		}
		for n := 0; r.dec.More(); n++ {
			if n == most {
				return r.wrong(at, "%s has more than %d entries.", at, most)
			}
			if err := one(at + "[" + strconv.Itoa(n) + "]"); err != nil {
				return err
			}
		}
		_, err = r.token(at)
		return err
	}
}

func (r *reader) text(into *string) member {
	return func(at string) error {
		t, err := r.token(at)
		if err != nil {
			return err
		}
		text, ok := t.(string)
		if !ok {
			return r.wrong(at, "%s must be a text.", at)
		}
		*into = text
		return nil
	}
}

func (r *reader) number(into *string) member {
	return func(at string) error {
		t, err := r.token(at)
		if err != nil {
			return err
		}
		n, ok := t.(json.Number)
		if !ok {
			return r.wrong(at, "%s must be a number.", at)
		}
		*into = n.String()
		return nil
	}
}

func (r *reader) boolean(into *bool) member {
	return func(at string) error {
		t, err := r.token(at)
		if err != nil {
			return err
		}
		b, ok := t.(bool)
		if !ok {
			return r.wrong(at, "%s must be true or false.", at)
		}
		*into = b
		return nil
	}
}

func (r *reader) raw(into *json.RawMessage) member {
	return func(at string) error {
		line := r.line()
		var value json.RawMessage
		if err := r.syntax(at, r.dec.Decode(&value)); err != nil {
			return err
		}
		r.lines[at] = line
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return err
		}
		*into = b.Bytes()
		return nil
	}
}

// texts reads an object whose members are all texts.
func (r *reader) texts(into *map[string]string) member {
	return func(at string) error {
		t, err := r.token(at)
		if err != nil {
			return err
		}
		if t != json.Delim('{') {
			return r.wrong(at, "%s must be an object.", at)
		}
		all := map[string]string{}
		for r.dec.More() {
			key, err := r.token(at)
			if err != nil {
				return err
			}
			name, _ := key.(string)
			if _, twice := all[name]; twice || len(all) == paramsMax {
				return r.wrong(at+"."+name, "%s.%s stands there twice, or %s has more than %d members.", at, name, at, paramsMax)
			}
			var value string
			if err := r.text(&value)(at + "." + name); err != nil {
				return err
			}
			all[name] = value
		}
		if len(all) > 0 {
			*into = all
		}
		_, err = r.token(at)
		return err
	}
}

// end refuses what follows the document.
func (r *reader) end() error {
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		r.lines[""] = r.line()
		return r.wrong("", "Something follows the end of the document.")
	}
	return nil
}
