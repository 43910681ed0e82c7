package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/sse"
)

var codec responses.Codec

// schemas are the published descriptions of the wire format.
type schemas struct{ request, response, event, failure *jsonschema.Schema }

// published are compiled once, which takes its time.
var published = sync.OnceValues(func() (*schemas, error) {
	data, err := os.ReadFile("../../simulator/testdata/schema/openai-openapi.subset.json")
	if err != nil {
		return nil, err
	}
	compilers := map[bool]*jsonschema.Compiler{}
	for _, loose := range []bool{false, true} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if loose {
			loosen(doc) // The branches of an input item overlap.
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("test:///open", map[string]any{"components": doc.(map[string]any)["components"]}); err != nil {
			return nil, err
		}
		compilers[loose] = c
	}
	s := &schemas{}
	for _, one := range []struct {
		to    **jsonschema.Schema
		loose bool
		name  string
	}{
		{&s.request, true, "CreateResponse"}, {&s.response, false, "Response"}, {&s.event, false, "ResponseStreamEvent"},
		{&s.failure, false, "ErrorResponse"},
	} {
		if *one.to, err = compilers[one.loose].Compile("test:///open#/components/schemas/" + one.name); err != nil {
			return nil, err
		}
	}
	return s, nil
})

func loadSchemas(t *testing.T) *schemas {
	t.Helper()
	s, err := published()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loosen(v any) {
	switch v := v.(type) {
	case map[string]any:
		if one, ok := v["oneOf"]; ok {
			delete(v, "oneOf")
			v["anyOf"] = one
		}
		for _, sub := range v {
			loosen(sub)
		}
	case []any:
		for _, sub := range v {
			loosen(sub)
		}
	}
}

func fits(t tester, s *jsonschema.Schema, data []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%v: %s", err, data)
		return
	}
	if bytes.ContainsAny(data, "\r\n") {
		t.Errorf("more than one line: %s", data)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
}

// tester is what tests and properties have in common.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

type event struct{ name, data string }

func framesOf(t tester, stream []byte) []event {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(stream), nil)
	defer r.Close()
	var all []event
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		if f.Data != nil {
			all = append(all, event{string(f.Event), string(f.Data)})
		}
	}
}

// describe writes events one a line, as fixtures have them.
func describe(events []llm.Event) string {
	kinds := map[llm.PartKind]string{llm.Text: "text", llm.Call: "call", llm.Reasoning: "reasoning", llm.Refusal: "refusal"}
	var b strings.Builder
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case llm.EventStart:
			fmt.Fprintf(&b, "start %s\n", e.ID)
		case llm.EventPart:
			b.WriteString(kinds[e.Part])
			if e.Part == llm.Call {
				fmt.Fprintf(&b, " %s %s", e.Call.ID, e.Call.Name)
				if e.Call.Group != "" {
					b.WriteString(" in " + e.Call.Group)
				}
				if e.Call.Custom {
					b.WriteString(" custom")
				}
			}
			b.WriteString("\n")
		case llm.EventDelta:
			fmt.Fprintf(&b, "  %q\n", e.Delta)
		case llm.EventPartEnd:
			b.WriteString("end")
			if e.Signature != "" {
				b.WriteString(" signed " + e.Signature)
			}
			if e.Redacted {
				b.WriteString(" redacted")
			}
			b.WriteString("\n")
		case llm.EventFinish:
			fmt.Fprintf(&b, "finish %s", e.Stop)
			if e.Reported {
				fmt.Fprintf(&b, " %d %d %d %d %d", e.Usage.Input, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.Output, e.Usage.Reasoning)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func decodeAll(t tester, stream string) (string, error) {
	t.Helper()
	events, err := llmtest.DecodeStream(codec.Decoder(llmtest.NewOptions()), []byte(stream))
	if fault := llmtest.Legal(events); fault != "" {
		t.Errorf("%s:\n%s", fault, describe(events))
	}
	return describe(events), err
}

// stream writes frames from their data.
func stream(frames ...string) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "data: %s\n\n", f)
	}
	return b.String()
}

// members reads an object for a look at single members.
func members(t tester, data []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return m
}

// text is a value as compact JSON with sorted members.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }
