package codesample

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/views"
)

// sent is the request inside a cURL line or a Go program.
func sent(t interface {
	Fatalf(format string, args ...any)
}, name, source string) any {
	text := ""
	switch name {
	case "curl":
		_, quoted, _ := strings.Cut(source, "  -d '")
		text = strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `'\''`, "'")
	case "go":
		file, err := parser.ParseFile(token.NewFileSet(), "main.go", source, parser.AllErrors)
		if err != nil {
			t.Fatalf("the Go program does not parse: %v\n%s", err, source)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "request" {
				text, _ = strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			}
			return true
		})
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s sends no JSON: %v\n%s", name, err, source)
	}
	return v
}

// TestCodeSendsExactlyTheRequest: whatever a person wrote, the programs send it, and nothing of it becomes code.
func TestCodeSendsExactlyTheRequest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(), rapid.StringMatching("[\"'`\\\\{}$ \n\tkey<>&äß😀]{0,40}"), rapid.SampledFrom([]string{"{key}", `{key"}`, "{shell}", "'; rm -rf /; '"}),
		).Draw(t, "text")
		want := map[string]any{
			"model": "m", "stream": rapid.Bool().Draw(t, "stream"), "temperature": 0.5, "none": nil, "stop": []any{text, "b"},
			"messages": []any{map[string]any{"role": "user", "content": text}},
		}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(body, &want) // JSON replaces bytes that are not UTF-8
		for style := range views.StylePaths {
			for _, s := range OfRequest(Request{Style: style, BaseURL: "https://x/v1", Body: body}) {
				if s.Name != "curl" && s.Name != "go" {
					continue
				}
				if got := sent(t, s.Name, s.Source); !reflect.DeepEqual(got, any(want)) {
					t.Fatalf("%s, %s sends %v, want %v", style, s.Name, got, want)
				}
			}
		}
	})
}

func TestCodeReadsStreamsAsStreams(t *testing.T) {
	t.Parallel()
	for style, path := range views.StylePaths {
		for _, streamed := range []string{"false", "true"} {
			body := []byte(`{"model":"m","stream":` + streamed + `,"from":1,"input":"x"}`)
			for _, s := range OfRequest(Request{Style: style, BaseURL: "https://x.test/v1", Body: body}) {
				if strings.Contains(s.Source, "{kwargs}") || strings.Contains(s.Source, `{url`) || strings.Contains(s.Source, `{bearer`) {
					t.Errorf("%s, %s has an unfilled place", style, s.Name)
				}
				if strings.Count(s.Source, KeyVariable) != 1 || strings.Contains(s.Source, KeyPlaceholder) {
					t.Errorf("%s, %s does not say once where the key goes", style, s.Name)
				}
				if s.Name == "curl" && !strings.Contains(s.Source, "https://x.test"+path+" ") {
					t.Errorf("%s is sent elsewhere:\n%s", style, s.Source)
				}
				loops := strings.Contains(s.Source, "for ") && (strings.Contains(s.Source, "stream") || strings.Contains(s.Source, "data: "))
				if s.Name != "curl" && streamed == "true" && !loops {
					t.Errorf("%s, %s does not read the stream:\n%s", style, s.Name, s.Source)
				}
			}
		}
	}
}

func TestPythonArgumentsAreNamesOrExtra(t *testing.T) {
	t.Parallel()
	got := keywords([]byte(`{"model":"m","ok":true,"none":null,"no":false,"class":[1],"with-dash":{"a":"b"}}`))
	want := `    model="m",
    ok=True,
    none=None,
    no=False,
    extra_body={"class": [1], "with-dash": {"a": "b"}},`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestLiteralsBreakLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	got := scriptNotation.literal([]byte(`{"a":{"b":1},"it is":["`+long+`"],"c":[]}`), 0, "  ")
	want := "{\n  a: { b: 1 },\n  \"it is\": [\n    \"" + long + "\"\n  ],\n  c: []\n}"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := jsonNotation.literal([]byte(`{"a":{"b":1}}`), 0, "  "); got != `{"a": {"b": 1}}` {
		t.Error(got)
	}
}
