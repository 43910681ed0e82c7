package catalog

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app/llm"
)

// openDocument is an OpenAPI document with all of its schemas ready to be asked.
type openDocument struct {
	*tree

	t        *testing.T
	compiler *jsonschema.Compiler
}

func openDocumentOf(t *testing.T, m *Model) openDocument {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:///doc", value); err != nil {
		t.Fatal(err)
	}
	return openDocument{mustParse(m.OpenAPI()), t, compiler}
}

// fits holds a value against a schema of the document, which may be a reference.
func (d openDocument) fits(schema, value *tree) error {
	d.t.Helper()
	ref := schema.word("$ref")
	compiled, err := d.compiler.Compile("test:///doc" + ref)
	if err != nil || ref == "" {
		d.t.Fatalf("%s: %v", ref, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.append(nil)))
	if err != nil {
		d.t.Fatal(err)
	}
	return compiled.Validate(v)
}

// find follows a reference within the document.
func (d openDocument) find(ref string) *tree {
	t := d.tree
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		t = t.get(strings.ReplaceAll(name, "~1", "/"))
	}
	return t
}

func TestOpenAPIDocumentsAreWhole(t *testing.T) {
	t.Parallel()
	for _, m := range wordySnapshot(t).Models() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			d := openDocumentOf(t, m)
			if d.word("openapi") != "3.1.0" || d.get("info").word("title") == "" || d.get("servers").items[0].word("url") != "https://gateway.example" {
				t.Errorf("the head is %s", d.get("info").append(nil))
			}
			paths := len(m.Served())
			if m.Kind == KindVideo {
				paths = 4
			}
			if len(d.get("paths").names) != paths || m.Answers() != (d.get("info").word("version") != "") {
				t.Errorf("paths %v, version %s", d.get("paths").names, d.get("info").word("version"))
			}
			for _, s := range valuesIn(d.tree, nil) {
				if ref := s.word("$ref"); ref != "" && d.find(ref) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
				if s.get("$defs") != nil || s.get("$schema") != nil || s.get("$id") != nil {
					t.Errorf("a schema is still a document of its own: %.200s", s.append(nil))
				}
			}
			components := d.get("components")
			for _, part := range components.names {
				for _, name := range components.get(part).names {
					if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(name) {
						t.Errorf("%s %q is no name", part, name)
					}
				}
			}
			for _, name := range components.get("schemas").names {
				if _, err := d.compiler.Compile("test:///doc#/components/schemas/" + name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if m.Kind == KindVideo {
				d.checkVideoOperations(m)
				return
			}
			d.checkOperations(m)
		})
	}
}

// checkOperations asks of each operation what OpenAPI asks, and that its examples keep its schemas.
func (d openDocument) checkOperations(m *Model) {
	for i, path := range d.get("paths").names {
		op := d.get("paths").items[i].get("post")
		style := llm.Style(op.word("operationId"))
		contract, ok := m.Contract(style)
		if !ok || path[0] != '/' || op.word("summary") == "" {
			d.t.Fatalf("%s is %q", path, style)
		}
		for _, p := range op.children("parameters") {
			if p.word("in") != "header" || p.word("name") == "" || p.get("schema") == nil {
				d.t.Errorf("%s: parameter %s", path, p.append(nil))
			}
		}
		content := op.get("requestBody").get("content").get("application/json")
		model := d.find(content.get("schema").word("$ref")).get("properties").get("model")
		if model.word("const") != m.ID {
			d.t.Errorf("%s: the model is %s", path, model.append(nil))
		}
		examples := content.get("examples")
		if len(examples.names) < 2 {
			d.t.Errorf("%s has the examples %v", path, examples.names)
		}
		for j, name := range examples.names {
			body := examples.items[j].get("value")
			if err := d.fits(content.get("schema"), body); err != nil || contract.Check(body.append(nil)) != nil {
				d.t.Errorf("%s: example %s: %v, %v", path, name, err, contract.Check(body.append(nil)))
			}
		}
		if d.fits(content.get("schema"), mustParse([]byte(`{"model":"another/model"}`))) == nil {
			d.t.Errorf("%s takes another model", path)
		}
		d.checkResponses(path, op.get("responses"))
	}
}

func (d openDocument) checkResponses(path string, responses *tree) {
	statuses := 0
	for i, status := range responses.names {
		r := responses.items[i]
		if !regexp.MustCompile(`^[1-5][0-9]{2}$`).MatchString(status) || r.word("description") == "" {
			d.t.Errorf("%s: %s is described as %q", path, status, r.word("description"))
		}
		content := r.get("content").get("application/json")
		schema, examples := content.get("schema"), content.get("examples")
		if schema.get("anyOf") != nil {
			schema = schema.get("anyOf").items[0]
		}
		if len(examples.names) == 0 {
			d.t.Errorf("%s: %s has no example", path, status)
		}
		for j, name := range examples.names {
			if err := d.fits(schema, examples.items[j].get("value")); err != nil {
				d.t.Errorf("%s: %s %s: %v", path, status, name, err)
			}
		}
		statuses++
	}
	if statuses < 10 || responses.get("200").get("content").get("text/event-stream") == nil {
		d.t.Errorf("%s has the responses %v", path, responses.names)
	}
}

func TestADeprecatedModelIsMarkedAsSuch(t *testing.T) {
	t.Parallel()
	s := wordySnapshot(t)
	lite, _ := s.Model("boreal/fjord-lite")
	d := openDocumentOf(t, lite)
	op := d.get("paths").get("/v1/chat/completions").get("post")
	if op.get("deprecated") == nil || !slices.Contains(d.get("components").get("headers").names, "sunset") ||
		!strings.Contains(d.get("info").word("description"), "shut down on 1 June 2027; use `boreal/fjord-flash` instead") {
		t.Errorf("%s", d.get("info").append(nil))
	}
	flash, _ := s.Model("boreal/fjord-flash")
	if d := openDocumentOf(t, flash); d.get("paths").get("/v1/chat/completions").get("post").get("deprecated") != nil {
		t.Error("a model that stays is deprecated")
	}
	if lite, _ := defaultSnapshot(t).Model("boreal/fjord-lite"); strings.Contains(string(lite.OpenAPI()), `"deprecated":true,"parameters"`) {
		t.Error("a model is deprecated before its day")
	}
}

// TestExampleAnswersAreWhatTheStylesCallAnswers holds them against the published schemas of the wires.
func TestExampleAnswersAreWhatTheStylesCallAnswers(t *testing.T) {
	t.Parallel()
	roots := map[llm.Style][3]string{
		llm.Chat: {"openai-openapi.subset.json", "#/components/schemas/CreateChatCompletionResponse",
			"#/components/schemas/CreateChatCompletionStreamResponse"},
		llm.Messages:  {"anthropic-messages.2026-10-21.schema.json", "#/definitions/Message", "#/definitions/RawMessageStreamEvent"},
		llm.Responses: {"openai-openapi.subset.json", "#/components/schemas/Response", "#/components/schemas/ResponseStreamEvent"},
		llm.Native:    {"google-generatecontent.schema.json", "#/$defs/GenerateContentResponse", "#/$defs/GenerateContentResponse"},
		VideosStyle:   {"openai-openapi.subset.json", "#/components/schemas/VideoResource", "#/components/schemas/VideoResource"},
	}
	m, _ := defaultSnapshot(t).Model("meridian/reel")
	g := &apiDocs{}
	for style, of := range loadGuides() {
		raw, err := os.ReadFile("../simulator/testdata/schema/" + roots[style][0])
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(roots[style][0], "openai") { // the rest of the document is no schema
			doc = map[string]any{"components": doc.(map[string]any)["components"]}
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("test:///wire", doc); err != nil {
			t.Fatal(err)
		}
		check := func(root string, value *tree) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.append(nil)))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiler.MustCompile("test:///wire" + root).Validate(v); err != nil {
				t.Errorf("%s: %v\n%s", style, err, value.append(nil))
			}
		}
		if style == VideosStyle {
			for name, root := range map[string]string{"completed": "VideoResource", "failed": "VideoResource", "list": "VideoListResource", "deleted": "DeletedVideoResource"} {
				check("#/components/schemas/"+root, g.example(of.get(name), m))
			}
		}
		check(roots[style][1], g.example(of.get("answer"), m))
		for _, f := range of.get("frames").items {
			if data := f.get("data"); data != nil {
				check(roots[style][2], g.example(data, m))
				if event := f.word("event"); event != data.word("type") {
					t.Errorf("%s: event %s has the type %s", style, event, data.word("type"))
				}
			}
		}
	}
}
