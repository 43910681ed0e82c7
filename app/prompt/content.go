package prompt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"umg/app"
)

// These limits apply to a prompt.
const (
	contentBytesMax = FileBytesMax - 4096 // The bytes of JSON include images. The rest of the file needs 4,096 bytes.
	turnsMax        = 500
	callsMax        = 128 // One turn has at most this many tool calls.
	toolsMax        = 128
	paramsMax       = 100
	wordBytesMax    = 300 // Names and other short texts have at most this many bytes.
	paramBytesMax   = 10_000
)

// Content is what a prompt consists of: the playground's form without what is only true of one reader or one answer.
type Content struct {
	Model      string            `json:"model"`
	Style      string            `json:"style,omitempty"`
	Stream     bool              `json:"stream,omitempty"`
	System     string            `json:"system,omitempty"`
	Turns      []Turn            `json:"turns,omitempty"`
	Prompt     string            `json:"prompt,omitempty"` // Prompt is the message that is not sent yet.
	Image      string            `json:"image,omitempty"`  // Image is the image of that message: a data: or https: URL.
	Tools      json.RawMessage   `json:"tools,omitempty"`  // Tools is an array of objects.
	ToolChoice string            `json:"tool_choice,omitempty"`
	Format     string            `json:"format,omitempty"`
	SchemaName string            `json:"schema_name,omitempty"`
	Schema     json.RawMessage   `json:"schema,omitempty"`
	Params     map[string]string `json:"params,omitempty"`
	Variables  map[string]string `json:"variables,omitempty"` // Variables are the default values of the placeholders.
}

// These are the roles of turns.
const (
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Turn is one turn of the conversation so far.
type Turn struct {
	Role  string `json:"role"`
	Text  string `json:"text,omitempty"`
	Image string `json:"image,omitempty"`
	Calls []Call `json:"calls,omitempty"` // Only turns of the assistant have calls.
	Call  string `json:"call,omitempty"`  // Call is the id of the call that a tool's turn answers.
}

// Call is a call of a tool.
type Call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// TextOf makes text that came in a form what is kept: valid, with line breaks of one kind.
func TextOf(s string) string {
	return strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\x00", "").Replace(s), "\uFFFD")
}

// JSONOf makes a JSON text that came in a form what is kept; empty text is nothing. The error names the field.
func JSONOf(field, text string) (json.RawMessage, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return nil, wrong(field, "%s is not valid JSON.", field).Because(err)
	}
	return b.Bytes(), nil
}

// VariableNames are the places in all texts of the prompt, in order.
func (c *Content) VariableNames() []string {
	var all strings.Builder
	for _, text := range append([]string{c.System}, c.turnTexts()...) {
		all.WriteString(text)
		all.WriteByte('\n')
	}
	all.WriteString(c.Prompt)
	return Variables(all.String())
}

func (c *Content) turnTexts() []string {
	texts := make([]string, len(c.Turns))
	for i, t := range c.Turns {
		texts[i] = t.Text
	}
	return texts
}

// document is the content as it is kept, always the same for the same content.
func (c *Content) document() (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return "", app.Errorf(app.Invalid, "invalid_prompt", "The prompt cannot be written as JSON.").Because(err)
	}
	if b.Len() > contentBytesMax {
		return "", app.Errorf(app.Invalid, "prompt_too_large",
			"With its images and its conversation the prompt is larger than 1 MB. Leave out images or turns.")
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func wrong(field, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_prompt", format, args...).At(field)
}

var (
	imageForm = regexp.MustCompile(`^data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$`)
	formats   = []string{"", "text", "json_object", "json_schema"}
)

// check says what is wrong with a content, and where.
func (c *Content) check() error {
	if len(c.Turns) > turnsMax {
		return wrong("turns", "turns has more than %d entries.", turnsMax)
	}
	for i, t := range c.Turns {
		if err := t.check("turns[" + strconv.Itoa(i) + "]"); err != nil {
			return err
		}
	}
	if !slices.Contains(formats, c.Format) {
		return wrong("format", "format must be text, json_object or json_schema.")
	}
	for _, one := range []struct {
		field, text string
		bytesMax    int
	}{
		{"model", c.Model, wordBytesMax}, {"style", c.Style, wordBytesMax}, {"tool_choice", c.ToolChoice, wordBytesMax},
		{"schema_name", c.SchemaName, wordBytesMax}, {"system", c.System, contentBytesMax}, {"prompt", c.Prompt, contentBytesMax},
	} {
		if err := checkText(one.field, one.text, one.bytesMax); err != nil {
			return err
		}
	}
	if err := checkImage("image", c.Image); err != nil {
		return err
	}
	if err := checkTools(c.Tools); err != nil {
		return err
	}
	if len(c.Schema) > 0 && (!json.Valid(c.Schema) || c.Schema[0] != '{') {
		return wrong("schema", "schema must be a JSON object: a JSON Schema.")
	}
	return c.checkMaps()
}

func (c *Content) checkMaps() error {
	if len(c.Params) > paramsMax || len(c.Variables) > variablesMax {
		return wrong("params", "params and variables have at most %d members each.", paramsMax)
	}
	for key, value := range c.Params {
		if key == "" || len(key) > wordBytesMax {
			return wrong("params", "The name of a parameter is 1 to %d bytes long.", wordBytesMax)
		}
		if err := checkText("params."+key, value, paramBytesMax); err != nil {
			return err
		}
	}
	for name, value := range c.Variables {
		if !variableName.MatchString(name) {
			return wrong("variables."+name, "The name of a variable begins with a letter and has 1 to 40 letters, digits and underscores.")
		}
		if err := checkText("variables."+name, value, contentBytesMax); err != nil {
			return err
		}
	}
	return nil
}

func (t Turn) check(at string) error {
	switch {
	case t.Role != User && t.Role != Assistant && t.Role != Tool:
		return wrong(at+".role", "%s.role must be user, assistant or tool.", at)
	case len(t.Calls) > 0 && t.Role != Assistant:
		return wrong(at+".calls", "%s.calls belongs to turns of the assistant only.", at)
	case t.Call != "" && t.Role != Tool:
		return wrong(at+".call", "%s.call belongs to turns of a tool only.", at)
	case len(t.Calls) > callsMax:
		return wrong(at+".calls", "%s.calls has more than %d entries.", at, callsMax)
	}
	for i, c := range t.Calls {
		call := at + ".calls[" + strconv.Itoa(i) + "]"
		if c.Name == "" {
			return wrong(call+".name", "%s.name is missing: the name of the tool that is called.", call)
		}
		for field, text := range map[string]string{".id": c.ID, ".name": c.Name} {
			if err := checkText(call+field, text, wordBytesMax); err != nil {
				return err
			}
		}
		if err := checkText(call+".arguments", c.Arguments, contentBytesMax); err != nil {
			return err
		}
	}
	if err := checkText(at+".call", t.Call, wordBytesMax); err != nil {
		return err
	}
	if err := checkText(at+".text", t.Text, contentBytesMax); err != nil {
		return err
	}
	return checkImage(at+".image", t.Image)
}

func checkText(field, text string, bytesMax int) error {
	switch {
	case len(text) > bytesMax:
		return wrong(field, "%s is longer than %d bytes.", field, bytesMax)
	case !app.Storable(text):
		return wrong(field, "%s is not valid text in UTF-8.", field)
	}
	return nil
}

func checkImage(field, image string) error {
	if image == "" || strings.HasPrefix(image, "https://") && len(image) <= 2048 || imageForm.MatchString(image) {
		return checkText(field, image, contentBytesMax)
	}
	return wrong(field, "%s must be an https: URL, or a data: URL of a PNG, JPEG, WebP or GIF image in base64.", field)
}

func checkTools(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var tools []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &tools); err != nil || raw[0] != '[' {
		return wrong("tools", "tools must be a JSON array of objects, each with a name.").Because(err)
	}
	if len(tools) > toolsMax {
		return wrong("tools", "tools has more than %d entries.", toolsMax)
	}
	return nil
}
