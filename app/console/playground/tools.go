package playground

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/jsontree"
	"umg/app/llm"
	playpages "umg/views/playground"
)

const (
	toolsMax       = 128
	schemaNameMax  = 64
	toolsField     = "tools"
	choiceField    = "tool_choice"
	formatField    = "format"
	schemaField    = "schema"
	nameField      = "schema_name"
	formatJSON     = "json_object"
	formatSchema   = "json_schema"
	formatText     = "text"
	unsupportedFor = "unsupported_parameter"
)

func wrongField(field, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(field)
}

// readJSON parses the JSON of a field. The error names the line and column of a mistake.
func readJSON(field, text string) (*jsontree.Value, error) {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	t, err := jsontree.Read(dec)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return t, nil
		}
		return nil, wrongField(field, "%s: there is something behind the JSON value, %s.", field, placeOf(text, int(dec.InputOffset())))
	}
	at := int(dec.InputOffset())
	what := "this is no valid JSON"
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = int(bad.ByteOffset)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			what = "a member stands here twice"
		}
	}
	return nil, wrongField(field, "%s: %s, %s.", field, what, placeOf(text, at))
}

// placeOf returns the line and column of a byte.
func placeOf(text string, at int) string {
	before := text[:min(max(at, 0), len(text))]
	line := strings.Count(before, "\n")
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	return fmt.Sprintf("line %d, column %d", line+1, column+1)
}

// readTools reads the list of tools. Each tool may have the form of any style, so that it can be pasted from a program.
func readTools(text string, traits *llm.Traits) ([]llm.Tool, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list, err := readJSON(toolsField, text)
	if err != nil {
		return nil, err
	}
	if list.Kind != jsontext.KindBeginArray {
		return nil, wrongField(toolsField, `tools: write a list, such as [{"name": "get_weather", "parameters": {"type": "object"}}].`)
	}
	if len(list.Items) > toolsMax {
		return nil, wrongField(toolsField, "tools: these are %d tools; at most %d can be sent.", len(list.Items), toolsMax)
	}
	var tools []llm.Tool
	for i, item := range list.Items {
		tool, err := readTool(fmt.Sprintf("tools[%d]", i), item, traits)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == tool.Name }) {
			return nil, wrongField(toolsField, "tools[%d].name: another tool is called %q already.", i, tool.Name)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

func readTool(path string, item *jsontree.Value, traits *llm.Traits) (t llm.Tool, err error) {
	if item.Kind != jsontext.KindBeginObject {
		return t, wrongField(toolsField, "%s: a tool is an object with a name, a description and parameters.", path)
	}
	if inner := item.Get("function"); inner != nil && inner.Kind == jsontext.KindBeginObject {
		path, item = path+".function", inner
	}
	for i, name := range item.Names {
		value, at := item.Items[i], path+"."+name
		isText := value.Kind == jsontext.KindString
		switch name {
		case "name", "description", "type":
			if !isText {
				return t, wrongField(toolsField, "%s: write a text in quotes.", at)
			}
			switch {
			case name == "name":
				t.Name = value.Text
			case name == "description":
				t.Description = value.Text
			case value.Text != "function":
				return t, wrongField(toolsField, "%s: the playground sends functions; %q is another kind of tool.", at, value.Text)
			}
		case "parameters", "input_schema", "parametersJsonSchema":
			if t.Parameters, err = readSchema(toolsField, at, value, true); err != nil {
				return t, err
			}
		case "strict":
			if value.Kind != jsontext.KindTrue && value.Kind != jsontext.KindFalse {
				return t, wrongField(toolsField, "%s: write true or false.", at)
			}
			strict := value.Kind == jsontext.KindTrue
			t.Strict = &strict
		default:
			return t, wrongField(toolsField, "%s: a tool has a name, a description, parameters and strict, and no other members.", at)
		}
	}
	return t, checkToolName(path+".name", t.Name, traits)
}

func checkToolName(path, name string, traits *llm.Traits) error {
	if name == "" {
		return wrongField(toolsField, "%s: every tool needs a name.", path)
	}
	if traits.TakesName(name) {
		return nil
	}
	allowed := "letters, digits, _ and -"
	if traits.NameAlso != "" {
		allowed = "letters, digits, _, - and any of " + traits.NameAlso
	}
	if traits.NameWord {
		allowed += ", a letter or _ first"
	}
	return wrongField(toolsField, "%s: %q is no name in this style, which allows %d characters: %s.", path, name, traits.NameMax, allowed)
}

// readSchema returns a JSON Schema as it is sent. The schema of the parameters of a tool must describe an object.
func readSchema(field, path string, n *jsontree.Value, object bool) ([]byte, error) {
	if n.Kind == jsontext.KindNull && object {
		return nil, nil
	}
	if n.Kind != jsontext.KindBeginObject {
		return nil, wrongField(field, `%s: write a JSON Schema, such as {"type": "object", "properties": {}}.`, path)
	}
	if kind := n.Get("type").Word(); object && kind != "" && kind != "object" {
		return nil, wrongField(field, `%s.type: what a tool takes is an "object", not %q.`, path, kind)
	}
	return n.AppendTo(nil), nil
}

// readChoice reads which of the tools may or must be called.
func readChoice(word string, tools []llm.Tool) (llm.ToolChoice, error) {
	switch {
	case word == "" || word == "auto": // Every style has this default.
		return llm.ToolChoice{}, nil
	case word == "none" && len(tools) == 0:
		return llm.ToolChoice{}, nil
	case len(tools) == 0:
		return llm.ToolChoice{}, wrongField(choiceField, "tool_choice: there are no tools to call. Describe some, or choose auto.")
	case word == "none":
		return llm.ToolChoice{Mode: llm.ChooseNone}, nil
	case word == "required":
		return llm.ToolChoice{Mode: llm.ChooseRequired}, nil
	}
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	if !slices.Contains(names, word) {
		return llm.ToolChoice{}, wrongField(choiceField,
			"tool_choice: there is no tool called %q; choose auto, none, required or one of %s.", word, strings.Join(names, ", "))
	}
	return llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{word}}, nil
}

// readFormat reads the required format of the answer.
func readFormat(f *playpages.Form, traits *llm.Traits) (llm.Format, error) {
	switch f.Format {
	case "", formatText:
		return llm.Format{}, nil
	case formatJSON:
		if traits.Fields[llm.FeatureJSON] == "" {
			return llm.Format{}, app.Errorf(app.Invalid, unsupportedFor,
				"format: the %s style has no JSON without a schema. Write a schema, or choose another style.", traits.Style).At(formatField)
		}
		return llm.Format{Kind: llm.FormatJSON}, nil
	case formatSchema:
	default:
		return llm.Format{}, wrongField(formatField, "format: %q is none of text, json_object and json_schema.", f.Format)
	}
	if traits.Fields[llm.FeatureSchema] == "" {
		return llm.Format{}, app.Errorf(app.Invalid, unsupportedFor,
			"format: the %s style has no answers by a schema. Choose another style.", traits.Style).At(formatField)
	}
	if strings.TrimSpace(f.Schema) == "" {
		return llm.Format{}, wrongField(schemaField,
			`schema: write a JSON Schema, such as {"type": "object", "properties": {"city": {"type": "string"}}}.`)
	}
	n, err := readJSON(schemaField, f.Schema)
	if err != nil {
		return llm.Format{}, err
	}
	schema, err := readSchema(schemaField, schemaField, n, false)
	if err != nil {
		return llm.Format{}, err
	}
	return llm.Format{Kind: llm.FormatSchema, Name: f.SchemaName, Schema: schema}, checkSchemaName(f.SchemaName)
}

func checkSchemaName(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if len(name) > schemaNameMax || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return wrongField(nameField, "schema_name: %q is no name for a schema; write up to %d letters, digits, _ and -.", name, schemaNameMax)
	}
	return nil
}

// formFields maps beginnings of paths in a request to the fields of the form.
var formFields = []struct{ path, field string }{
	{"tools", toolsField}, {"tool_choice", choiceField}, {"toolConfig", choiceField}, {"response_format.json_schema.name", nameField},
	{"response_format", schemaField}, {"text.format.name", nameField}, {"text.format", schemaField}, {"output_config.format", schemaField},
	{"generationConfig.responseJsonSchema", schemaField}, {"generationConfig.responseMimeType", formatField},
}

// fieldOf returns the field of the form for a path in the request, or the path itself if no field has it.
func fieldOf(path string) string {
	for _, f := range formFields {
		if rest, ok := strings.CutPrefix(path, f.path); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			return f.field
		}
	}
	return path
}

// PrettyJSON returns JSON with line breaks. It returns any other text unchanged.
func PrettyJSON(raw []byte) string {
	out, err := jsontext.AppendFormat(nil, bytes.TrimSpace(raw), jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	if err != nil {
		return string(raw)
	}
	return string(out)
}
