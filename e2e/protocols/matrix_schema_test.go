package protocols

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"umg/e2e/harness"
)

// published are the schemas of the four wires, of what goes out and of what comes in.
type published map[string]*jsonschema.Schema

var publishedFiles = map[string]string{
	"open":     "openai-openapi.subset.json",
	"messages": "anthropic-messages.2026-10-21.schema.json",
	"native":   "google-generatecontent.schema.json",
}

var publishedRoots = []string{
	"open#/components/schemas/CreateChatCompletionResponse",
	"open#/components/schemas/CreateChatCompletionStreamResponse",
	"open#/components/schemas/Response",
	"open#/components/schemas/ResponseStreamEvent",
	"open#/components/schemas/ErrorResponse",
	"open#/components/schemas/CreateChatCompletionRequest",
	"open#/components/schemas/CreateResponse",
	"messages#/definitions/Message",
	"messages#/definitions/RawMessageStreamEvent",
	"messages#/definitions/ErrorResponse",
	"messages#/definitions/MessageCreateParamsBase",
	"native#/$defs/GenerateContentResponse",
	"native#/$defs/GenerateContentRequest",
}

// requestRoots are the schemas of what upstreams of each style receive.
var requestRoots = map[string]string{
	"chat":      "open#/components/schemas/CreateChatCompletionRequest",
	"messages":  "messages#/definitions/MessageCreateParamsBase",
	"responses": "open#/components/schemas/CreateResponse",
	"native":    "native#/$defs/GenerateContentRequest",
}

func loadPublished(t *testing.T) published {
	t.Helper()
	c := jsonschema.NewCompiler()
	for name, file := range publishedFiles {
		raw, err := os.ReadFile(filepath.Join("..", "..", "app", "simulator", "testdata", "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if name == "open" {
			// The other parts of the document are no schemas.
			doc = map[string]any{"components": doc.(map[string]any)["components"]}
		}
		tighten(name, doc)
		if err := c.AddResource("test:///"+name, doc); err != nil {
			t.Fatal(err)
		}
	}
	all := published{}
	for _, root := range publishedRoots {
		s, err := c.Compile("test:///" + root)
		if err != nil {
			t.Fatal(err)
		}
		all[root] = s
	}
	return all
}

// tighten works around what the published schemas are too strict and too lax about: the alternatives of an input item
// overlap, and the native one, which demands nothing, can only catch strays.
func tighten(name string, doc any) {
	all := doc.(map[string]any)
	if name != "native" {
		anyOf(all)
		return
	}
	for _, def := range all["$defs"].(map[string]any) {
		if d := def.(map[string]any); d["type"] == "object" && d["additionalProperties"] == nil {
			d["additionalProperties"] = false
		}
	}
}

func anyOf(node any) {
	switch v := node.(type) {
	case []any:
		for _, one := range v {
			anyOf(one)
		}
	case map[string]any:
		if one, ok := v["oneOf"].([]any); ok && v["anyOf"] == nil {
			v["anyOf"] = one
			delete(v, "oneOf")
		}
		delete(v, "discriminator")
		for _, member := range v {
			anyOf(member)
		}
	}
}

// fits holds JSON against a schema. The price is the service's own member and stands beside the usage.
func (s published) fits(t *testing.T, root, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Errorf("%v: %s", err, text)
		return
	}
	if strings.HasPrefix(root, "native") {
		if usage, ok := v.(map[string]any)["usageMetadata"].(map[string]any); ok {
			delete(usage, "cost")
		}
	}
	if err := s[root].Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// known are the members that a request of each style may have at its top; the schemas of two styles let any other pass.
var known = map[string][]string{
	"chat": {"model", "messages", "stream", "stream_options", "temperature", "top_p", "max_completion_tokens", "max_tokens", "stop",
		"seed", "presence_penalty", "frequency_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format",
		"reasoning_effort", "user", "metadata"},
	"messages": {"model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "tools",
		"tool_choice", "thinking", "output_config", "metadata"},
	"responses": {"model", "input", "instructions", "stream", "store", "include", "temperature", "top_p", "max_output_tokens", "tools",
		"tool_choice", "parallel_tool_calls", "text", "reasoning", "safety_identifier", "metadata"},
	"native": {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "labels"},
}

// received holds what an upstream got against its style: the schema, and no member of another style at the top.
func (s published) received(t *testing.T, style, body string) map[string]json.RawMessage {
	t.Helper()
	s.fits(t, requestRoots[style], body)
	top := harness.DecodeJSON[map[string]json.RawMessage](t, body)
	for name := range top {
		if !slices.Contains(known[style], name) {
			t.Errorf("an upstream of the %s style got %q: %s", style, name, body)
		}
	}
	return top
}
