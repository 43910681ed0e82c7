package prompt_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/prompt"
)

func oneOf(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// anyContent is a content that a form could have made.
func anyContent(r *rand.Rand) prompt.Content {
	text := func() string {
		var b strings.Builder
		for range r.IntN(6) {
			b.WriteString(oneOf(r, "a", "<script>&", "\n", "\u2028", "\"", `\u0000`, "é", "😀", "{{name}}", "\t", "\r", "\ufffd"))
		}
		return b.String()
	}
	image := func() string {
		return oneOf(r, "", "", "data:image/png;base64,iVBORw0=", "https://example.com/a?b=<c>&d")
	}
	c := prompt.Content{
		Model: oneOf(r, "", "aurora-mini", "a/b"), Style: oneOf(r, "", "chat", "messages"), Stream: r.IntN(2) == 0, System: text(), Prompt: text(),
		Image: image(), ToolChoice: oneOf(r, "", "auto", "get_weather"), Format: oneOf(r, "", "text", "json_schema"), SchemaName: text(),
	}
	if r.IntN(2) == 0 {
		c.Tools = json.RawMessage(`[{"name":"f","parameters":{"b":1.0,"a":1e400,"<":"\u003c"}}]`)
		c.Schema = json.RawMessage(`{"type":"object","x":[1,2,{"y":null}]}`)
		c.Params = map[string]string{"max": text(), "top.p": "0.5"}
		c.Variables = map[string]string{"name": text()}
	}
	for range r.IntN(4) {
		t := prompt.Turn{Role: oneOf(r, prompt.User, prompt.Assistant, prompt.Tool), Text: text(), Image: image()}
		if t.Role == prompt.Assistant && r.IntN(2) == 0 {
			t.Calls = []prompt.Call{{ID: "call_1", Name: "f", Arguments: text()}, {Name: "g"}}
		}
		if t.Role == prompt.Tool {
			t.Call = "call_1"
		}
		c.Turns = append(c.Turns, t)
	}
	return c
}

func TestWhatIsExportedIsImportedAsItWas(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1)) // A fixed seed makes failures reproducible.
		want := anyContent(r)
		name := oneOf(r, "", "Release notes <b>", "名前 \"quoted\"")
		file, err := prompt.Export(name, want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		gotName, got, err := prompt.Import(file)
		if err != nil || gotName != name || !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %v\n got %q %+v\nwant %q %+v", seed, err, gotName, got, name, want)
		}
		again, err := prompt.Export(gotName, got)
		if err != nil || string(again) != string(file) {
			t.Fatalf("seed %d: exported again it differs: %v", seed, err)
		}
	}
}

func TestAFileThatIsWrongIsRefusedWithItsFieldAndLine(t *testing.T) {
	t.Parallel()
	file := func(content string) string {
		return "{\n \"object\": \"prompt\",\n \"version\": 1,\n \"content\": {\"model\": \"m\",\n" + content + "}\n}"
	}
	for _, one := range []struct{ name, file, field, line string }{
		{"no JSON", "hello", "", "Line 1: "},
		{"an end too early", "{\n\"object\": \"prompt\",\n", "", "Line 2: "},
		{"a comma too many", "{\n\"object\": \"prompt\",\n}", "", "Line 3: "},
		{"another document", `[]`, "", "Line 1: The file must be an object"},
		{"another object", "{\"object\":\n\"model\",\"version\":1,\"content\":{\"model\":\"\"}}", "object", "Line 2: "},
		{"another version", "{\"object\":\"prompt\",\n\"version\":2,\"content\":{\"model\":\"\"}}", "version", "Line 2: "},
		{"no content", "{\"object\":\"prompt\",\n\"version\":1\n}", "", "Line 3: content is missing"},
		{"an unknown field", file(`"colour": "red"`), "colour", "Line 5: colour is not known"},
		{"a field twice", file("\"system\": \"a\",\n\"system\": \"b\""), "system", "Line 6: "},
		{"a number for a text", file(`"system": 5`), "system", "Line 5: system must be a text"},
		{"a role of no one", file("\"turns\": [{\"role\": \"user\"},\n{\"role\":\n\"king\"}]"), "turns[1].role", "Line 7: "},
		{"a turn without a role", file(`"turns": [{}]`), "turns[0]", "Line 5: turns[0].role is missing"},
		{"a call by a user", file("\"turns\": [{\"role\": \"user\",\n\"calls\": [{\"name\": \"f\"}]}]"), "turns[0].calls", "Line "},
		{"an image that is none", file("\"image\":\n\"javascript:alert(1)\""), "image", "Line 6: "},
		{"an image of another kind", file(`"image": "data:image/svg+xml;base64,AAAA"`), "image", "Line 5: "},
		{"tools that are none", file("\"prompt\": \"\",\n\"tools\": {}"), "tools", "Line 6: "},
		{"a schema that is none", file(`"schema": []`), "schema", "Line "},
		{"a format that is none", file(`"format": "yaml"`), "format", "Line 5: "},
		{"a variable of another form", file(`"variables": {"9": ""}`), "variables.9", "Line 5: "},
		{"something behind it", file(`"system": ""`) + "\n\n{}", "", "Line 8: "},
		{"too many turns", file(`"turns": [` + strings.Repeat(`{"role":"user"},`, 500) + `{"role":"user"}]`), "turns", "Line 5: "},
	} {
		_, _, err := prompt.Import([]byte(one.file))
		e := app.AsError(err)
		if e == nil || e.Kind != app.Invalid || e.Param != one.field || !strings.HasPrefix(e.Message, one.line) {
			t.Errorf("%s: %+v", one.name, e)
		}
	}
	if _, _, err := prompt.Import(make([]byte, prompt.FileBytesMax+1)); app.AsError(err).Code != "prompt_too_large" {
		t.Errorf("a large file: %v", err)
	}
}

func TestVariablesComeFromAllTexts(t *testing.T) {
	t.Parallel()
	c := prompt.Content{System: "{{a}}", Prompt: "{{b}} {{a}}", Turns: []prompt.Turn{{Role: prompt.User, Text: "{{c}}"}}}
	if got := fmt.Sprint(c.VariableNames()); got != "[a c b]" {
		t.Error(got)
	}
}

// changed reports whether any line of a section differs.
func changed(c prompt.Change) bool {
	return slices.ContainsFunc(c.Lines, func(l prompt.Line) bool { return l.Kind != prompt.Same })
}

func TestADiffTellsBothVersionsLineByLine(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2)) // A fixed seed makes failures reproducible.
		lines := func() string {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString(oneOf(r, "one\n", "two\n", "three\n", "\n"))
			}
			return b.String() + "end"
		}
		from, to := prompt.Content{System: lines()}, prompt.Content{System: lines()}
		var before, after []string
		for _, c := range prompt.Diff(from, to) {
			if changed(c) != (from.System != to.System) {
				t.Errorf("seed %d: changed is %v", seed, changed(c))
			}
			for _, l := range c.Lines {
				if l.Kind != prompt.Added {
					before = append(before, l.Text)
				}
				if l.Kind != prompt.Removed {
					after = append(after, l.Text)
				}
			}
		}
		if strings.Join(before, "\n") != from.System || strings.Join(after, "\n") != to.System {
			t.Fatalf("seed %d: %q and %q became %q and %q", seed, from.System, to.System, before, after)
		}
	}
	changes := prompt.Diff(
		prompt.Content{Model: "a", System: "kept\nold\nkept too", Image: "data:image/png;base64,AAAA"},
		prompt.Content{Model: "b", System: "kept\nnew\nkept too", Image: "data:image/png;base64,AAAB"})
	if got := fmt.Sprint(changes[:2]); got != "[{Settings [{1 model: a} {2 model: b}]} {System prompt [{0 kept} {1 old} {2 new} {0 kept too}]}]" {
		t.Error(got)
	}
	if len(changes) != 3 || !changed(changes[2]) {
		t.Errorf("two images of one size: %v", changes)
	}
}
