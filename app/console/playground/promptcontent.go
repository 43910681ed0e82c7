package playground

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/prompt"
)

const (
	paramField = "param."
	varField   = "var_"
)

// PaneContent reads the content of a saved prompt from the fields of a pane.
func PaneContent(p *page.Page, form url.Values) (prompt.Content, error) {
	text := func(field string) string { return prompt.TextOf(form.Get(field)) }
	c := prompt.Content{
		Model: text("model"), Style: text("style"), Stream: form.Get("stream") == "true", System: text("system"), Prompt: text("prompt"),
		Image: cmp.Or(form.Get("image"), strings.TrimSpace(form.Get("image_url"))), ToolChoice: text("tool_choice"), Format: text("format"),
		SchemaName: text("schema_name"),
	}
	for field := range form {
		if key, ok := strings.CutPrefix(field, paramField); ok && form.Get(field) != "" {
			if c.Params == nil {
				c.Params = map[string]string{}
			}
			c.Params[prompt.TextOf(key)] = text(field)
		}
	}
	var err, failed error
	if c.Turns, failed = paneTurns(form); failed != nil {
		err = failed
	}
	if c.Tools, failed = prompt.JSONOf("tools", form.Get("tools")); failed != nil {
		err = failed
	}
	if c.Schema, failed = prompt.JSONOf("schema", form.Get("schema")); failed != nil {
		err = failed
	}
	if picture, failed := FormFile(p, "image_file", imageBytesMax); failed != nil {
		err = failed
	} else if picture != nil {
		c.Image = "data:" + http.DetectContentType(picture) + ";base64," + base64.StdEncoding.EncodeToString(picture)
	}
	for _, name := range c.VariableNames() {
		if value := text(varField + name); value != "" {
			if c.Variables == nil {
				c.Variables = map[string]string{}
			}
			c.Variables[name] = value
		}
	}
	return c, err
}

// toolCallForm is a call of a tool in a form. Its arguments are a text with JSON, or the JSON itself.
type toolCallForm struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func paneTurns(form url.Values) ([]prompt.Turn, error) {
	at := func(name string, i int) string {
		if values := form[name]; i < len(values) {
			return prompt.TextOf(values[i])
		}
		return ""
	}
	var turns []prompt.Turn
	for i, role := range form["turn_role"][:min(len(form["turn_role"]), turnsMax)] {
		t := prompt.Turn{Role: role, Text: at("turn_text", i), Image: at("turn_image", i)}
		if role == prompt.Tool {
			t.Call = at("turn_call", i)
		}
		if written := at("turn_calls", i); written != "" && role == prompt.Assistant {
			var calls []toolCallForm
			if err := json.Unmarshal([]byte(written), &calls); err != nil {
				field := "turn_calls[" + strconv.Itoa(i) + "]"
				return nil, app.Errorf(app.Invalid, "invalid_request_error", "%s is not a JSON array of calls.", field).At(field).Because(err)
			}
			for _, one := range calls {
				call := prompt.Call{ID: one.ID, Name: one.Name}
				if json.Unmarshal(one.Arguments, &call.Arguments) != nil {
					call.Arguments = string(one.Arguments)
				}
				t.Calls = append(t.Calls, call)
			}
		}
		if t.Text != "" || t.Image != "" || len(t.Calls) > 0 || t.Call != "" {
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// FormFile returns a file of a form, or nil if none was sent.
func FormFile(p *page.Page, field string, bytesMax int64) ([]byte, error) {
	form := p.Request().MultipartForm
	if form == nil || len(form.File[field]) == 0 || form.File[field][0].Size == 0 {
		return nil, nil
	}
	file, err := form.File[field][0].Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, bytesMax+1))
	if err == nil && int64(len(raw)) > bytesMax {
		const kilo = 1000
		err = app.Errorf(app.Invalid, "invalid_request_error", "The file is larger than %d kB.", bytesMax/kilo).At(field)
	}
	return raw, err
}
