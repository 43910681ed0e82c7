package dialect_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app"
	"umg/app/llm"
	"umg/app/sse"
)

// eventSchema is the published schema of the events of a style.
func eventSchema(t *testing.T, style llm.Style) *jsonschema.Schema {
	t.Helper()
	file, root := "openai-openapi.subset.json", "/components/schemas/ResponseStreamEvent"
	switch style {
	case llm.Chat:
		root = "/components/schemas/CreateChatCompletionStreamResponse"
	case llm.Messages:
		file, root = "anthropic-messages.2026-10-21.schema.json", "/definitions/RawMessageStreamEvent"
	case llm.Native:
		file, root = "google-generatecontent.schema.json", "/$defs/GenerateContentResponse"
	}
	raw, err := os.ReadFile("../simulator/testdata/schema/" + file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if all, ok := doc.(map[string]any); ok && all["components"] != nil {
		doc = map[string]any{"components": all["components"]}
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test:///schema#" + root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheEndsThatAreWrittenHereFitThePublishedSchemas(t *testing.T) {
	t.Parallel()
	schemas := map[llm.Style]*jsonschema.Schema{}
	for _, style := range llm.Styles() {
		schemas[style] = eventSchema(t, style)
	}
	own := llm.Charge{Usage: llm.Usage{Input: 7, CacheRead: 2, Output: 6, Reasoning: 1}, Estimated: true, Cost: 1}
	short := own
	short.Truncated = true
	for _, s := range samples(t) {
		if s.fails {
			continue
		}
		frames := strings.SplitAfter(strings.ReplaceAll(s.in, "\r\n", "\n"), "\n\n")
		begun := strings.Join(frames[:len(frames)*2/3], "")
		for _, c := range []struct {
			in     string
			charge llm.Charge
		}{{s.in, billOf(t, s)}, {s.in, own}, {begun, short}} {
			p := passIn(t, s.style, strings.NewReader(c.in), llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1, IncludeUsage: true}, c.charge)
			checkSchema(t, s, schemas[s.style], p.live+p.end)
		}
	}
}

func TestAFailedStreamFitsThePublishedSchema(t *testing.T) {
	t.Parallel()
	schema := eventSchema(t, llm.Responses)
	for _, s := range samples(t) {
		if s.style != llm.Responses {
			continue
		}
		frames := strings.SplitAfter(s.in, "\n\n")
		for n := range frames {
			stream := dialectOf(t, s.style).NewStream(llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1})
			r := sse.NewReader(strings.NewReader(strings.Join(frames[:n], "")), nil)
			var out []byte
			for f, err := r.Next(); err == nil; f, err = r.Next() {
				out, _, _ = stream.Frame(out, f)
			}
			r.Close()
			checkSchema(t, s, schema, string(stream.Fail(out, app.Errorf(app.Upstream, "upstream_error", "It broke."), "req_1", &llm.Charge{Usage: llm.Usage{Input: 3, Output: 2}, Cost: 5})))
			stream.Close()
		}
	}
}

func checkSchema(t *testing.T, s sample, schema *jsonschema.Schema, out string) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(out), nil)
	defer r.Close()
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		if string(f.Data) == "[DONE]" || string(f.Event) == "ping" {
			continue
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Data))
		if err != nil {
			t.Fatalf("%s: %v: %s", s.name, err, f.Data)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %s\n%v", s.name, f.Data, err)
		}
	}
}
