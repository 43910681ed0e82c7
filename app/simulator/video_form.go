package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// formFile is the one field that may be a file.
	formFile = "input_reference"
	// formPartsMax is the largest number of parts.
	formPartsMax = 16
	// formTextBytesMax bounds a part that is no file.
	formTextBytesMax = 256 << 10
)

// form are the fields of a request of the videos service, which may come as JSON or as multipart.
type form struct {
	values  map[string]string
	picture *picture
}

// form reads the request and refuses every field that is not known.
func (x *exchange) form(known ...string) (*form, *failure) {
	if bad := x.receive(); bad != nil {
		return nil, bad
	}
	media, params, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "application/json":
		return x.jsonForm(known)
	case err == nil && media == "multipart/form-data" && params["boundary"] != "":
		return x.partsForm(params["boundary"], known)
	}
	return nil, &failure{status: http.StatusUnsupportedMediaType, message: "The body must be JSON or multipart/form-data."}
}

func unknownField(name string) *failure {
	return &failure{status: http.StatusBadRequest, code: "unknown_parameter", message: "Unknown parameter: '" + name + "'.", param: name}
}

func (x *exchange) jsonForm(known []string) (*form, *failure) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(x.body, &members); err != nil {
		return nil, notJSON(err)
	}
	f := &form{values: make(map[string]string)}
	for name, raw := range members {
		if !slices.Contains(known, name) {
			return nil, unknownField(name)
		}
		if name == formFile {
			if bad := f.reference(raw); bad != nil {
				return nil, bad
			}
			continue
		}
		var v *string
		if err := json.Unmarshal(raw, &v); err != nil || v == nil {
			return nil, &failure{status: http.StatusBadRequest, code: "invalid_type", param: name,
				message: "Invalid type for '" + name + "': expected a string."}
		}
		f.values[name] = *v
	}
	return f, nil
}

// reference reads an image that came within JSON.
func (f *form) reference(raw json.RawMessage) *failure {
	var v struct {
		ImageURL string `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &v); err != nil || v.ImageURL == "" {
		return badRequest(formFile, "input_reference must be a file, or an object with an image_url.")
	}
	head, data, _ := strings.Cut(v.ImageURL, ",")
	if !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
		return badRequest(formFile, "image_url must be a data URL in base64.")
	}
	plain, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return badRequest(formFile, "image_url must be a data URL in base64.")
	}
	return f.take(strings.TrimSuffix(strings.TrimPrefix(head, "data:"), ";base64"), plain)
}

// take keeps an image whose bytes are what they are said to be.
func (f *form) take(said string, data []byte) *failure {
	p, ok := pictureOf(data)
	if !ok {
		return badRequest(formFile, "The image could not be read; use JPEG, PNG or WebP.")
	}
	if said != p.kind {
		return badRequest(formFile, "Unsupported mimetype ('"+said+"') for an image of type '"+p.kind+"'.")
	}
	f.picture = p
	return nil
}

// partsForm reads a multipart body, and leaves a readable record of it.
func (x *exchange) partsForm(boundary string, known []string) (*form, *failure) {
	f := &form{values: make(map[string]string)}
	record := make(map[string]any)
	defer func() {
		if raw, err := json.Marshal(record); err == nil {
			x.entry.described(string(raw))
		}
	}()
	reader := multipart.NewReader(bytes.NewReader(x.body), boundary)
	for range formPartsMax {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, badRequest("", "The multipart body could not be read: "+err.Error())
		}
		if bad := f.part(part, known, record); bad != nil {
			return nil, bad
		}
	}
	return nil, badRequest("", "The multipart body has too many parts.")
}

func (f *form) part(part *multipart.Part, known []string, record map[string]any) *failure {
	name := part.FormName()
	if !slices.Contains(known, name) {
		return unknownField(name)
	}
	if _, twice := record[name]; twice {
		return badRequest(name, "Duplicate parameter: '"+name+"'.")
	}
	data, err := io.ReadAll(part)
	if err != nil {
		return badRequest(name, "The part could not be read.")
	}
	if file := part.FileName(); name == formFile || file != "" {
		said := part.Header.Get("Content-Type")
		record[name] = map[string]any{"filename": file, "type": said, "bytes": len(data)}
		if name != formFile || file == "" {
			return badRequest(name, "A file was expected in '"+formFile+"', and nowhere else.")
		}
		return f.take(said, data)
	}
	if len(data) > formTextBytesMax || !utf8.Valid(data) {
		return badRequest(name, "The value is too long, or no text.")
	}
	f.values[name] = string(data)
	record[name] = string(data)
	return nil
}
