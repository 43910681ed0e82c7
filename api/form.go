package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"unicode/utf8"

	"umg/app"
	"umg/app/video"
)

const (
	formPartsMax     = 64
	formTextBytesMax = 21 << 20 // A field may be an image as a data: URL.
	uploadBytesMax   = 20 << 20
	formDepthMax     = 3 // A name like metadata[a][b] has a depth of 3.
	fileField        = "input_reference"
	streamField      = "stream"
	assetsField      = "asset_ids"
)

// readVideo reads the body of a create or a remix, JSON or a form, and gives it one form: a JSON object, and the file.
func (a *API) readVideo(x *call) (video.Call, error) {
	kind, params, err := mime.ParseMediaType(x.Request().Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		body, err := a.readBody(x)
		if e, ok := errors.AsType[*app.Error](err); ok && e.Code == "unsupported_media_type" && plainBody(x.Request().Header) == nil {
			e.Message = "The Content-Type must be multipart/form-data or application/json, in UTF-8."
		}
		if err != nil {
			return video.Call{}, err
		}
		return video.Call{Body: body.Bytes()}, nil // The call keeps the bytes, so the buffer is never reused.
	}
	if params["boundary"] == "" {
		return video.Call{}, badForm("The Content-Type multipart/form-data must name its boundary.")
	}
	if err := plainBody(x.Request().Header); err != nil {
		return video.Call{}, err
	}
	body, err := a.readAll(x, FileTimeMax)
	if err != nil {
		return video.Call{}, err
	}
	defer body.Recycle() // Its bytes stay counted, for the copies that the parts are.
	return parseForm(multipart.NewReader(bytes.NewReader(body.Bytes()), params["boundary"]))
}

func badForm(format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_body", format, args...)
}

// parseForm turns the parts of a form into a JSON object and a file. Values are texts, except stream. Names such as
// input_reference[image_url] are members of members, as official clients write them; asset_ids and asset_ids[] may be there
// several times, and are one list.
func parseForm(r *multipart.Reader) (video.Call, error) {
	var c video.Call
	fields := map[string]any{}
	for n := 0; ; n++ {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) && n > 0 {
			break
		}
		if err != nil {
			return c, badForm("The multipart body cannot be read: a part is broken, or its boundary is not the one the Content-Type names.").
				Because(err)
		}
		if n == formPartsMax {
			return c, badForm("The form has more than %d parts.", formPartsMax)
		}
		if err := takePart(&c, fields, part); err != nil {
			return c, err
		}
	}
	if _, both := fields[fileField]; both && c.Upload != nil {
		return c, app.Errorf(app.Invalid, "invalid_value", "input_reference is there as a file and as a field; send one of them.").At(fileField)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return c, badForm("The form holds what cannot be read as text.").Because(err)
	}
	c.Body = body
	return c, nil
}

func takePart(c *video.Call, fields map[string]any, part *multipart.Part) error {
	name := part.FormName()
	if name == "" {
		return badForm("A part of the form has no name.")
	}
	if part.FileName() != "" {
		return takeFile(c, name, part)
	}
	text, err := io.ReadAll(io.LimitReader(part, formTextBytesMax+1))
	if err != nil {
		return badForm("The field %q cannot be read.", shorten(name)).Because(err).At(shorten(name))
	}
	if len(text) > formTextBytesMax {
		return app.Errorf(app.TooLarge, "request_too_large", "The field %q is larger than %d bytes.", shorten(name), formTextBytesMax).
			At(shorten(name))
	}
	if !utf8.Valid(text) {
		return badForm("The field %q is not UTF-8.", shorten(name)).At(shorten(name))
	}
	switch {
	case name == fileField && len(text) == 0:
		return nil // Browsers send an empty file field when the user chose no file.
	case name == assetsField || name == assetsField+"[]":
		list, _ := fields[assetsField].([]any) // No other type is stored here.
		fields[assetsField] = append(list, string(text))
		return nil
	}
	return setField(fields, name, string(text))
}

func takeFile(c *video.Call, name string, part *multipart.Part) error {
	if name != fileField {
		return app.Errorf(app.Invalid, "invalid_value", "The form has a file in %q; it may have one in input_reference only.", shorten(name)).
			At(shorten(name))
	}
	if c.Upload != nil {
		return app.Errorf(app.Invalid, "invalid_value", "input_reference is there twice; a video has one first frame.").At(fileField)
	}
	data, err := io.ReadAll(io.LimitReader(part, uploadBytesMax+1))
	if err != nil {
		return badForm("The file input_reference cannot be read.").Because(err).At(fileField)
	}
	if len(data) > uploadBytesMax {
		return app.Errorf(app.TooLarge, "request_too_large", "The file input_reference is larger than %d bytes.", uploadBytesMax).At(fileField)
	}
	c.Upload = &video.Upload{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Data: data}
	return nil
}

// setField stores a value under its name: a[b][c] is the member c of the member b of a.
func setField(fields map[string]any, name, value string) error {
	path, ok := fieldPath(name)
	if ok && path[0] == assetsField {
		return badForm("The field name %q cannot be read; a list is the field %s, repeated.", shorten(name), assetsField).At(assetsField)
	}
	if !ok {
		return badForm("The field name %q cannot be read; nested names are written a[b].", shorten(name)).At(shorten(name))
	}
	for _, member := range path[:len(path)-1] {
		below, isObject := fields[member].(map[string]any)
		if !isObject {
			if fields[member] != nil {
				return badForm("The field %q is a text and an object at once.", shorten(member)).At(shorten(name))
			}
			below = map[string]any{}
			fields[member] = below
		}
		fields = below
	}
	last := path[len(path)-1]
	if fields[last] != nil {
		return app.Errorf(app.Invalid, "invalid_value", "The field %q is there twice.", shorten(name)).At(shorten(name))
	}
	fields[last] = value
	if len(path) == 1 && last == streamField && (value == "true" || value == "false") {
		fields[last] = value == "true"
	}
	return nil
}

func fieldPath(name string) ([]string, bool) {
	first, rest, nested := strings.Cut(name, "[")
	path := []string{first}
	for nested {
		if len(path) > formDepthMax {
			return nil, false
		}
		var member string
		var closed bool
		if member, rest, closed = strings.Cut(rest, "]"); !closed || member == "" {
			return nil, false
		}
		path = append(path, member)
		if rest == "" {
			break
		}
		if rest, nested = strings.CutPrefix(rest, "["); !nested {
			return nil, false
		}
	}
	return path, first != ""
}
