package chat_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/meter"
)

var update = flag.Bool("update", false, "write what the codec does now into the fixtures")

const dashes = "\n----\n"

// fixtures runs every file of a folder: what the outside sends, dashes, what the form makes of it, dashes, and what the
// codec writes from that.
func fixtures(t *testing.T, folder string, run func(t *testing.T, sent []byte) (form, written string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sent, _, _ := strings.Cut(string(text), dashes)
			form, written := run(t, []byte(sent))
			got := sent + dashes + strings.TrimRight(form, "\n") + dashes + strings.TrimRight(written, "\n") + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(text) && !*update {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

func TestRequestsAreReadAndWrittenAsInTheFixtures(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	fixtures(t, "request", func(t *testing.T, sent []byte) (string, string) {
		r, err := chat.Codec{}.DecodeRequest(sent)
		if err != nil {
			return "refused: " + describe(err), ""
		}
		body, err := chat.Codec{}.EncodeRequest(r)
		if err != nil {
			return formOf(t, r), "refused: " + describe(err)
		}
		s.fits(t, requestRoot, body)
		return formOf(t, r), string(body)
	})
}

func TestAnswersAreReadAndWrittenAsInTheFixtures(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	fixtures(t, "answer", func(t *testing.T, sent []byte) (string, string) {
		r, err := chat.Codec{}.DecodeResponse(sent, llmtest.NewOptions())
		if err != nil {
			return "no answer: " + describe(err), ""
		}
		body := chat.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
		s.fits(t, answerRoot, body)
		return formOf(t, r), string(body)
	})
}

func TestStreamsAreReadAndWrittenAsInTheFixtures(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	fixtures(t, "stream", func(t *testing.T, sent []byte) (string, string) {
		events, err := llmtest.DecodeStream(chat.Codec{}.Decoder(llmtest.NewOptions()), sent)
		if fault := llmtest.Legal(events); fault != "" {
			t.Errorf("not a legal stream: %s", fault)
		}
		var form strings.Builder
		var wire []byte
		enc := chat.Codec{}.Encoder(llmtest.NewOptions())
		for i := range events {
			form.WriteString(eventOf(&events[i]) + "\n")
			wire = enc.Append(wire, &events[i])
		}
		if err != nil {
			form.WriteString(describe(err))
			return form.String(), string(wire)
		}
		s.stream(t, wire)
		return form.String(), string(wire)
	})
}

// formOf is a value of the form as JSON without what it does not say, each member and each element on a line.
func formOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if format, ok := doc["Format"].(map[string]any); ok {
		format["Form"] = format["Kind"]
		delete(format, "Kind")
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		value := saying(name, doc[name])
		list, isList := value.([]any)
		switch {
		case value == nil:
		case isList:
			for _, element := range list {
				fmt.Fprintf(&out, "%s: %s\n", name, oneLine(t, element))
			}
		default:
			fmt.Fprintf(&out, "%s: %s\n", name, oneLine(t, value))
		}
	}
	return out.String()
}

func oneLine(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// saying is a member's value without what it does not say; nil when that is all of it.
func saying(member string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if member == "Place" {
			return nil
		}
		out := map[string]any{}
		for name, value := range v {
			if value = saying(name, value); value != nil {
				out[name] = value
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		silent := true
		for i := range v {
			v[i] = saying(member, v[i])
			silent = silent && v[i] == nil
		}
		// Counts by meter are a list of numbers.
		if len(v) > 0 && !(silent && len(v) == int(meter.Count)) {
			return v
		}
	case string:
		if schema, err := base64.StdEncoding.DecodeString(v); err == nil && (member == "Schema" || member == "Parameters") {
			return string(schema)
		}
		if v != "" && !(member == "At" && strings.HasPrefix(v, "0001")) {
			return v
		}
	case json.Number:
		if n, _ := v.Int64(); member == "Kind" && n > 0 && n < int64(len(kindNames)) {
			return kindNames[n]
		}
		if v != "0" {
			return v
		}
	case bool:
		if v || member == "Strict" || member == "Parallel" || member == "Reported" {
			return v
		}
	}
	return nil
}

var kindNames = []string{"", "text", "image", "audio", "video", "file", "call", "result", "reasoning", "refusal"}

func describe(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return fmt.Sprintf("%s at %s: %s", e.Code, e.Param, e.Message)
	}
	if e, ok := errors.AsType[*llm.UpstreamError](err); ok {
		return "the upstream's error " + string(e.Body)
	}
	return err.Error()
}

func eventOf(e *llm.Event) string {
	part := kindNames[e.Part]
	switch e.Kind {
	case llm.EventStart:
		return "start " + e.ID
	case llm.EventPart:
		if e.Part == llm.Call {
			return fmt.Sprintf("part call %s %s custom=%t", e.Call.ID, e.Call.Name, e.Call.Custom)
		}
		return "part " + part
	case llm.EventDelta:
		return fmt.Sprintf("delta %s %q", part, e.Delta)
	case llm.EventPartEnd:
		return strings.TrimSpace("end " + part + " " + e.Signature)
	}
	doubts := ""
	if e.Usage.Doubts != 0 {
		doubts = fmt.Sprintf(" doubts=%d", e.Usage.Doubts)
	}
	u := e.Usage
	return fmt.Sprintf("finish %s reported=%t {Input:%d CacheRead:%d CacheWrite:%d Output:%d Reasoning:%d}%s", e.Stop, e.Reported,
		u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, doubts)
}
