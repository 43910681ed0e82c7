package native_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are the roots of the published schema. It requires nothing, so stray members are what it can catch: all
// objects are closed, but for what the gateway itself adds.
type schemas map[string]*jsonschema.Schema

func loadSchemas(t *testing.T) schemas {
	t.Helper()
	raw, err := os.ReadFile("../../simulator/testdata/schema/google-generatecontent.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defs := doc.(map[string]any)["$defs"].(map[string]any)
	for _, def := range defs {
		if d := def.(map[string]any); d["type"] == "object" && d["additionalProperties"] == nil {
			d["additionalProperties"] = false
		}
	}
	add := func(def, member, kind string) {
		defs[def].(map[string]any)["properties"].(map[string]any)[member] = map[string]any{"type": kind}
	}
	add("GenerateContentRequest", "model", "string")
	add("GenerateContentRequest", "stream", "boolean")
	add("GenerateContentResponseUsageMetadata", "cost", "number")
	c := jsonschema.NewCompiler()
	if err := c.AddResource("test:///native", doc); err != nil {
		t.Fatal(err)
	}
	all := schemas{}
	for _, root := range []string{"GenerateContentRequest", "GenerateContentResponse"} {
		if all[root], err = c.Compile("test:///native#/$defs/" + root); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// fits checks that data is one line of JSON in UTF-8 that the schema takes.
func (s schemas) fits(t testing.TB, root string, data []byte) {
	t.Helper()
	if bytes.ContainsAny(data, "\r\n") || !utf8.Valid(data) {
		t.Errorf("not one line of UTF-8: %q", data)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%v: %s", err, data)
		return
	}
	if err := s[root].Validate(v); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
}

// stream checks each frame: it is a data line and a blank line and nothing else, and it fits.
func (s schemas) stream(t testing.TB, wire []byte) []string {
	t.Helper()
	var list []string
	for _, frame := range strings.SplitAfter(string(wire), "\n\n") {
		if frame == "" {
			continue
		}
		data, ok := strings.CutPrefix(strings.TrimSuffix(frame, "\n\n"), "data: ")
		if !ok || !strings.HasSuffix(frame, "\n\n") {
			t.Errorf("not a frame of this style: %q", frame)
		}
		s.fits(t, "GenerateContentResponse", []byte(data))
		list = append(list, data)
	}
	return list
}

// same compares two JSON texts, whatever their white space and the order of their members.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Errorf("%v: %s", err, got)
		return
	}
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatalf("%v: %s", err, want)
	}
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(w)
	if !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}
