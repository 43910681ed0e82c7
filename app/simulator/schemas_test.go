package simulator

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the published descriptions of the four wire formats.
type schemas map[string]*jsonschema.Schema

// roots are the schemas that the tests use, by file and place.
var roots = []string{
	"open#/components/schemas/CreateChatCompletionResponse",
	"open#/components/schemas/CreateChatCompletionStreamResponse",
	"open#/components/schemas/Response",
	"open#/components/schemas/ResponseStreamEvent",
	"open#/components/schemas/TokenCountsResource",
	"open#/components/schemas/ErrorResponse",
	"messages#/definitions/Message",
	"messages#/definitions/RawMessageStreamEvent",
	"messages#/definitions/MessageTokensCount",
	"messages#/definitions/ErrorResponse",
	"native#/$defs/GenerateContentResponse",
	"native#/$defs/CountTokensResponse",
}

func loadSchemas(t *testing.T) schemas {
	t.Helper()
	c := jsonschema.NewCompiler()
	for name, file := range map[string]string{
		"open":     "openai-openapi.subset.json",
		"messages": "anthropic-messages.2026-10-21.schema.json",
		"native":   "google-generatecontent.schema.json",
	} {
		raw, err := os.ReadFile("testdata/schema/" + file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		members := doc.(map[string]any)
		switch name {
		case "open":
			// The rest of the document is OpenAPI and no schema.
			doc = map[string]any{"components": members["components"]}
		case "native":
			// Stray members are what this schema can catch, as it requires none.
			for _, def := range members["$defs"].(map[string]any) {
				if d := def.(map[string]any); d["type"] == "object" && d["additionalProperties"] == nil {
					d["additionalProperties"] = false
				}
			}
		}
		if err := c.AddResource("test:///"+name, doc); err != nil {
			t.Fatal(err)
		}
	}
	all := schemas{}
	for _, root := range roots {
		s, err := c.Compile("test:///" + root)
		if err != nil {
			t.Fatal(err)
		}
		all[root] = s
	}
	return all
}

func (s schemas) fits(t *testing.T, root string, data []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%v: %s", err, data)
		return
	}
	schema, ok := s[root]
	if !ok {
		t.Fatalf("no schema %s", root)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
}

// check holds a whole answer, or every frame of a stream, against the schema of its style.
func (s schemas) check(t *testing.T, style string, stream bool, body []byte) {
	t.Helper()
	root := map[string][2]string{
		"chat":      {"open#/components/schemas/CreateChatCompletionResponse", "open#/components/schemas/CreateChatCompletionStreamResponse"},
		"messages":  {"messages#/definitions/Message", "messages#/definitions/RawMessageStreamEvent"},
		"responses": {"open#/components/schemas/Response", "open#/components/schemas/ResponseStreamEvent"},
		"native":    {"native#/$defs/GenerateContentResponse", "native#/$defs/GenerateContentResponse"},
	}[style]
	if !stream {
		s.fits(t, root[0], body)
		return
	}
	for _, f := range framesOf(body) {
		if f.data == "[DONE]" || f.event == "ping" {
			continue // The schemas have neither of these frames.
		}
		s.fits(t, root[1], []byte(f.data))
	}
}

// TestInstancesFitTheirSchema proves that made-up values are accepted by the schema they were made from.
func TestInstancesFitTheirSchema(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		weatherSchema, clockSchema, placeSchema,
		`{"type":"object","properties":{"a":{"type":["null","string"],"minLength":30},"b":{"type":"number","exclusiveMinimum":9,` +
			`"multipleOf":4}},"required":["a","b"]}`,
		`{"type":"object","properties":{"when":{"type":"string","format":"date-time"},"id":{"type":"string","format":"uuid"}},` +
			`"required":["when","id"]}`,
		`{"type":"array","minItems":3,"items":{"anyOf":[{"type":"integer","maximum":-5},{"type":"null"}]}}`,
		`{"allOf":[{"type":"object","properties":{"x":{"const":7}},"required":["x"]},{"properties":{"y":{"type":"boolean"}},` +
			`"required":["y"]}]}`,
		`{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"string","maxLength":2}},"required":["v"]}`,
		`{"type":"object","required":["node"],"properties":{"node":{"$ref":"#/$defs/node"}},"$defs":{"node":{"oneOf":[{"type":"object",` +
			`"properties":{"k":{"enum":[1,2]}},"required":["k"]},{"type":"null"}]}}}`,
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("test:///one", doc); err != nil {
			t.Fatal(err)
		}
		schemas{"one": c.MustCompile("test:///one")}.fits(t, "one", []byte(instance(json.RawMessage(text), hintsOf("Go to Rome, id=no"))))
	}
}

// TestInstancesStaySmall proves that a schema which multiplies at every level does not explode.
func TestInstancesStaySmall(t *testing.T) {
	t.Parallel()
	const hydra = `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"type":"array","minItems":100,` +
		`"items":{"$ref":"#"}}}}`
	if n := len(instance(json.RawMessage(hydra), hints{})); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
}

// FuzzInstance proves that no schema, however wrong, makes the simulator fail or answer anything but JSON.
func FuzzInstance(f *testing.F) {
	for _, seed := range []string{weatherSchema, placeSchema, `{"$ref":"#"}`, `{"type":"array",` +
		`"minItems":1e99}`, `[]`, `{"allOf":[{"allOf":[1]}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if got := instance(json.RawMessage(schema), hintsOf("x=1 Rome")); !json.Valid([]byte(got)) {
			t.Errorf("%q makes %q", schema, got)
		}
	})
}
