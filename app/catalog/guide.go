package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"umg/app/llm"
)

// operations are the paths that a style is called at.
var operations = map[llm.Style]string{llm.Chat: "/v1/chat/completions"}

// field is what a guide tells of one member of a request.
type field struct {
	Type        json.RawMessage   `json:"type"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
	Minimum     json.RawMessage   `json:"minimum"`
	Maximum     json.RawMessage   `json:"maximum"`
	MinItems    json.RawMessage   `json:"minItems"`
	MaxItems    json.RawMessage   `json:"maxItems"`
}

// writeGuides prepares the model's contract for people and for programs. Both are drawn from the schema that checks
// requests, so that they cannot say anything else.
func (m *Model) writeGuides() error {
	var text, paths bytes.Buffer
	fmt.Fprintf(&text, "# %s\n\n%s\n\n", m.Name, m.Description)
	m.guideFacts(&text)
	for _, style := range m.served {
		c, path := m.contracts[style], operations[style]
		if c == nil || path == "" {
			continue
		}
		fmt.Fprintf(&text, "\n## POST %s\n\n", path)
		if err := c.guideFields(&text); err != nil {
			return fmt.Errorf("guide of %s: %w", m.ID, err)
		}
		if paths.Len() > 0 {
			paths.WriteByte(',')
		}
		// The schema's own references begin at its root, so it is given an address of its own.
		fmt.Fprintf(&paths, `%q:{"post":{"operationId":%q,"security":[{"key":[]}],"requestBody":{"required":true,"content":`+
			`{"application/json":{"schema":{"$id":%q,%s}}},"responses":{"200":{"description":"The answer; events when stream is true."},`+
			`"default":{"description":"An error: {code, error: {code, message, type, param}, request_id}."}}}}`,
			path, string(style), "/contracts/"+string(style)+"/"+c.hash, bytes.TrimPrefix(c.schema, []byte("{")))
	}
	title, err := json.Marshal(m.Name)
	if err != nil {
		return err
	}
	m.markdown = text.Bytes()
	m.openAPI = fmt.Appendf(nil, `{"openapi":"3.1.0","info":{"title":%s,"version":%q,"description":%q},`+
		`"servers":[{"url":"/"}],"paths":{%s},"components":{"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}}}`,
		title, m.contractVersion(), "Requests to "+m.ID, paths.Bytes())
	return nil
}

// contractVersion changes whenever one of the model's contracts does.
func (m *Model) contractVersion() string {
	var all []string
	for _, style := range m.served {
		if c := m.contracts[style]; c != nil {
			all = append(all, c.hash)
		}
	}
	return strings.Join(all, "-")
}

func (m *Model) guideFacts(text *bytes.Buffer) {
	fmt.Fprintf(text, "- Model: `%s`\n- Input: %s; output: %s\n- Context: %d tokens; longest answer: %d tokens\n",
		m.ID, strings.Join(m.InputModalities, ", "), strings.Join(m.OutputModalities, ", "), m.ContextTokens, m.MaxOutputTokens)
	for _, rate := range m.RateCard.Rates {
		fmt.Fprintf(text, "- Price: $%s per %d %s\n", rate.Amount, rate.Per, strings.ReplaceAll(rate.Meter.String(), "_", " "))
	}
	fmt.Fprintf(text, "- Limits: %d requests and %d tokens a minute\n", m.Limits.RequestsPerMinute, m.Limits.TokensPerMinute)
}

// guideFields writes a row for each member that the contract knows at the top of a request.
func (c *Contract) guideFields(text *bytes.Buffer) error {
	var schema struct {
		Required   []string         `json:"required"`
		Properties map[string]field `json:"properties"`
	}
	if err := json.Unmarshal(c.schema, &schema); err != nil {
		return err
	}
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	required := func(name string) bool { return slices.Contains(schema.Required, name) }
	slices.SortFunc(names, func(a, b string) int {
		if required(a) != required(b) {
			return map[bool]int{true: -1, false: 1}[required(a)]
		}
		return strings.Compare(a, b)
	})
	text.WriteString("| field | type | allowed | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range names {
		f := schema.Properties[name]
		needed := ""
		if required(name) {
			needed = "Required. "
		}
		fmt.Fprintf(text, "| `%s` | %s | %s | %s | %s%s |\n", name, f.types(), f.allowed(), f.Default, needed, f.Description)
	}
	text.WriteString("\nOther members are passed on untouched. `openapi.json` has the whole schema, nested members included.\n")
	return nil
}

// types are the JSON types a field takes; null only says that it may be left out.
func (f field) types() string {
	var many []string
	if json.Unmarshal(f.Type, &many) != nil {
		return strings.Trim(string(f.Type), `"`)
	}
	return strings.Join(slices.DeleteFunc(many, func(t string) bool { return t == "null" }), " or ")
}

// allowed are the values or the range of a field.
func (f field) allowed() string {
	var words []string
	for _, v := range f.Enum {
		if string(v) != "null" {
			words = append(words, "`"+string(v)+"`")
		}
	}
	for _, bound := range []struct {
		text  string
		value json.RawMessage
	}{{"at least ", f.Minimum}, {"at most ", f.Maximum}, {"at least ", f.MinItems}, {"at most ", f.MaxItems}} {
		if len(bound.value) > 0 {
			words = append(words, bound.text+string(bound.value))
		}
	}
	return strings.Join(words, ", ")
}

// Markdown is the model's contract for people: facts, prices, limits and every field of a request.
func (m *Model) Markdown() []byte { return m.markdown }

// OpenAPI is the model's contract for programs: an OpenAPI 3.1 document with the schema that checks requests.
func (m *Model) OpenAPI() []byte { return m.openAPI }
