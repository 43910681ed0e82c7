package messages_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app/sse"
)

// schemas are the roots of the published schemas, of both API versions.
type schemas map[string][]*jsonschema.Schema

func loadSchemas(t *testing.T) schemas {
	t.Helper()
	all := schemas{}
	for _, file := range []string{
		"testdata/schema/anthropic-messages.2023-06-01.schema.json",
		"../../simulator/testdata/schema/anthropic-messages.2026-10-21.schema.json",
	} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("test:///messages", doc); err != nil {
			t.Fatal(err)
		}
		for _, root := range []string{"Message", "RawMessageStreamEvent", "ErrorResponse", "MessageCreateParamsBase"} {
			s, err := c.Compile("test:///messages#/definitions/" + root)
			if err != nil {
				t.Fatal(err)
			}
			all[root] = append(all[root], s)
		}
	}
	return all
}

// fits checks that data is one line of JSON that both versions of the schema take.
func (s schemas) fits(t *testing.T, root string, data []byte) {
	t.Helper()
	if bytes.ContainsAny(data, "\r\n") {
		t.Errorf("more than one line: %q", data)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Errorf("%v: %s", err, data)
		return
	}
	for _, schema := range s[root] {
		if err := schema.Validate(v); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
	}
}

// request checks a request as it goes upstream: the bound that the schema wants is added on the way there.
func (s schemas) request(t *testing.T, body []byte) {
	t.Helper()
	if !bytes.Contains(body, []byte(`"max_tokens":`)) {
		body = append([]byte(`{"max_tokens":4096,`), body[1:]...)
	}
	s.fits(t, "MessageCreateParamsBase", body)
}

// stream checks each frame of a stream: that its event line says what the data says, and that it fits.
func (s schemas) stream(t *testing.T, wire []byte) {
	t.Helper()
	for _, f := range frames(t, wire) {
		if !strings.Contains(f.data, `{"type":"`+f.event+`"`) {
			t.Errorf("the event line says %q of %s", f.event, f.data)
		}
		if f.event == "error" {
			s.fits(t, "ErrorResponse", []byte(f.data))
			continue
		}
		s.fits(t, "RawMessageStreamEvent", []byte(f.data))
	}
}

type wireFrame struct{ event, data string }

func frames(t *testing.T, wire []byte) []wireFrame {
	t.Helper()
	r := sse.NewReader(bytes.NewReader(wire), nil)
	defer r.Close()
	var list []wireFrame
	for {
		f, err := r.Next()
		if err != nil {
			return list
		}
		list = append(list, wireFrame{string(f.Event), string(f.Data)})
	}
}
