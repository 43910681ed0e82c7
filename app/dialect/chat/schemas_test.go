package chat_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	requestRoot = "CreateChatCompletionRequest"
	answerRoot  = "CreateChatCompletionResponse"
	chunkRoot   = "CreateChatCompletionStreamResponse"
)

// schemas are the published descriptions of the wire.
type schemas map[string]*jsonschema.Schema

func loadSchemas(t testing.TB) schemas {
	t.Helper()
	raw, err := os.ReadFile("../../simulator/testdata/schema/openai-openapi.subset.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	// The rest of the document is OpenAPI and no schema.
	doc = map[string]any{"components": doc.(map[string]any)["components"]}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///open", doc); err != nil {
		t.Fatal(err)
	}
	all := schemas{}
	for _, root := range []string{requestRoot, answerRoot, chunkRoot} {
		if all[root], err = c.Compile("test:///open#/components/schemas/" + root); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (s schemas) fits(t testing.TB, root string, data []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%v: %s", err, data)
		return
	}
	if err := s[root].Validate(v); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
}

// stream holds every frame of a stream against the wire's rules.
func (s schemas) stream(t testing.TB, wire []byte) {
	t.Helper()
	body, ended := strings.CutSuffix(string(wire), "data: [DONE]\n\n")
	if !ended {
		t.Errorf("no last mark: %s", wire)
	}
	for frame := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Errorf("not one line of data: %q", frame)
		}
		// The published schema of chunks lacks custom calls, which the maker of the wire streams all the same.
		if !strings.Contains(data, `"type":"custom"`) {
			s.fits(t, chunkRoot, []byte(data))
		}
	}
}
