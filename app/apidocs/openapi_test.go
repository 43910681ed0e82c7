package apidocs

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app/catalog"
	"umg/app/jsontree"
	"umg/app/llm"
)

// openDocument is an OpenAPI document with all of its schemas ready to be asked.
type openDocument struct {
	*jsontree.Value

	t        *testing.T
	compiler *jsonschema.Compiler
}

func openDocumentOf(t *testing.T, m testModel) openDocument {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("test:///doc", value); err != nil {
		t.Fatal(err)
	}
	return openDocument{jsontree.MustParse(m.OpenAPI()), t, compiler}
}

// fits holds a value against a schema of the document, which may be a reference.
func (d openDocument) fits(schema, value *jsontree.Value) error {
	d.t.Helper()
	ref := schema.GetString("$ref")
	compiled, err := d.compiler.Compile("test:///doc" + ref)
	if err != nil || ref == "" {
		d.t.Fatalf("%s: %v", ref, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.AppendTo(nil)))
	if err != nil {
		d.t.Fatal(err)
	}
	return compiled.Validate(v)
}

// find follows a reference within the document.
func (d openDocument) find(ref string) *jsontree.Value {
	t := d.Value
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		t = t.Get(strings.ReplaceAll(name, "~1", "/"))
	}
	return t
}

func TestOpenAPIDocumentsAreWhole(t *testing.T) {
	t.Parallel()
	for _, m := range fullSnapshot(t).Models() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			d := openDocumentOf(t, m)
			if d.GetString("openapi") != "3.1.0" || d.Get("info").GetString("title") == "" || d.Get("servers").Items[0].GetString("url") != "https://gateway.example" {
				t.Errorf("the head is %s", d.Get("info").AppendTo(nil))
			}
			paths := len(m.Served())
			if m.Kind == catalog.KindVideo {
				paths = 4
			}
			if len(d.Get("paths").Names) != paths || m.Answers() != (d.Get("info").GetString("version") != "") {
				t.Errorf("paths %v, version %s", d.Get("paths").Names, d.Get("info").GetString("version"))
			}
			for _, s := range valuesIn(d.Value, nil) {
				if ref := s.GetString("$ref"); ref != "" && d.find(ref) == nil {
					t.Errorf("%s leads nowhere", ref)
				}
				if s.Get("$defs") != nil || s.Get("$schema") != nil || s.Get("$id") != nil {
					t.Errorf("a schema is still a document of its own: %.200s", s.AppendTo(nil))
				}
			}
			components := d.Get("components")
			for _, part := range components.Names {
				for _, name := range components.Get(part).Names {
					if !regexp.MustCompile(`^[A-Za-z0-9._-]+$`).MatchString(name) {
						t.Errorf("%s %q is no name", part, name)
					}
				}
			}
			for _, name := range components.Get("schemas").Names {
				if _, err := d.compiler.Compile("test:///doc#/components/schemas/" + name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if m.Kind == catalog.KindVideo {
				d.checkVideoOperations(m)
				return
			}
			d.checkOperations(m)
		})
	}
}

// checkOperations asks of each operation what OpenAPI asks, and that its examples keep its schemas.
func (d openDocument) checkOperations(m testModel) {
	for i, path := range d.Get("paths").Names {
		op := d.Get("paths").Items[i].Get("post")
		style := llm.Style(op.GetString("operationId"))
		contract, ok := m.Contract(style)
		if !ok || path[0] != '/' || op.GetString("summary") == "" {
			d.t.Fatalf("%s is %q", path, style)
		}
		for _, p := range op.GetItems("parameters") {
			if p.GetString("in") != "header" || p.GetString("name") == "" || p.Get("schema") == nil {
				d.t.Errorf("%s: parameter %s", path, p.AppendTo(nil))
			}
		}
		content := op.Get("requestBody").Get("content").Get("application/json")
		model := d.find(content.Get("schema").GetString("$ref")).Get("properties").Get("model")
		if model.GetString("const") != m.ID {
			d.t.Errorf("%s: the model is %s", path, model.AppendTo(nil))
		}
		examples := content.Get("examples")
		if len(examples.Names) < 2 {
			d.t.Errorf("%s has the examples %v", path, examples.Names)
		}
		for j, name := range examples.Names {
			body := examples.Items[j].Get("value")
			if err := d.fits(content.Get("schema"), body); err != nil || contract.Check(body.AppendTo(nil)) != nil {
				d.t.Errorf("%s: example %s: %v, %v", path, name, err, contract.Check(body.AppendTo(nil)))
			}
		}
		if d.fits(content.Get("schema"), jsontree.MustParse([]byte(`{"model":"another/model"}`))) == nil {
			d.t.Errorf("%s takes another model", path)
		}
		d.checkResponses(path, op.Get("responses"))
	}
}

func (d openDocument) checkResponses(path string, responses *jsontree.Value) {
	statuses := 0
	for i, status := range responses.Names {
		r := responses.Items[i]
		if !regexp.MustCompile(`^[1-5][0-9]{2}$`).MatchString(status) || r.GetString("description") == "" {
			d.t.Errorf("%s: %s is described as %q", path, status, r.GetString("description"))
		}
		content := r.Get("content").Get("application/json")
		schema, examples := content.Get("schema"), content.Get("examples")
		if schema.Get("anyOf") != nil {
			schema = schema.Get("anyOf").Items[0]
		}
		if len(examples.Names) == 0 {
			d.t.Errorf("%s: %s has no example", path, status)
		}
		for j, name := range examples.Names {
			if err := d.fits(schema, examples.Items[j].Get("value")); err != nil {
				d.t.Errorf("%s: %s %s: %v", path, status, name, err)
			}
		}
		statuses++
	}
	if statuses < 10 || responses.Get("200").Get("content").Get("text/event-stream") == nil {
		d.t.Errorf("%s has the responses %v", path, responses.Names)
	}
}

func TestADeprecatedModelIsMarkedAsSuch(t *testing.T) {
	t.Parallel()
	s := fullSnapshot(t)
	lite, _ := s.Model("boreal/fjord-lite")
	d := openDocumentOf(t, lite)
	op := d.Get("paths").Get("/v1/chat/completions").Get("post")
	if op.Get("deprecated") == nil || !slices.Contains(d.Get("components").Get("headers").Names, "sunset") ||
		!strings.Contains(d.Get("info").GetString("description"), "shut down on 1 June 2027; use `boreal/fjord-flash` instead") {
		t.Errorf("%s", d.Get("info").AppendTo(nil))
	}
	flash, _ := s.Model("boreal/fjord-flash")
	if d := openDocumentOf(t, flash); d.Get("paths").Get("/v1/chat/completions").Get("post").Get("deprecated") != nil {
		t.Error("a model that stays is deprecated")
	}
	if lite, _ := plainSnapshot(t).Model("boreal/fjord-lite"); strings.Contains(string(lite.OpenAPI()), `"deprecated":true,"parameters"`) {
		t.Error("a model is deprecated before its day")
	}
}

// TestExampleAnswersAreWhatTheStylesCallAnswers holds them against the published schemas of the wires.
func TestExampleAnswersAreWhatTheStylesCallAnswers(t *testing.T) {
	t.Parallel()
	roots := map[llm.Style][3]string{
		llm.Chat: {"openai-openapi.subset.json", "#/components/schemas/CreateChatCompletionResponse",
			"#/components/schemas/CreateChatCompletionStreamResponse"},
		llm.Messages:        {"anthropic-messages.2026-10-21.schema.json", "#/definitions/Message", "#/definitions/RawMessageStreamEvent"},
		llm.Responses:       {"openai-openapi.subset.json", "#/components/schemas/Response", "#/components/schemas/ResponseStreamEvent"},
		llm.Native:          {"google-generatecontent.schema.json", "#/$defs/GenerateContentResponse", "#/$defs/GenerateContentResponse"},
		catalog.VideosStyle: {"openai-openapi.subset.json", "#/components/schemas/VideoResource", "#/components/schemas/VideoResource"},
	}
	m, _ := plainSnapshot(t).Model("meridian/reel")
	w := &writer{}
	for style, of := range styleDocuments() {
		raw, err := os.ReadFile("../simulator/testdata/schema/" + roots[style][0])
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(roots[style][0], "openai") { // The rest of the document is not a schema.
			doc = map[string]any{"components": doc.(map[string]any)["components"]}
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("test:///wire", doc); err != nil {
			t.Fatal(err)
		}
		check := func(root string, value *jsontree.Value) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value.AppendTo(nil)))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiler.MustCompile("test:///wire" + root).Validate(v); err != nil {
				t.Errorf("%s: %v\n%s", style, err, value.AppendTo(nil))
			}
		}
		if style == catalog.VideosStyle {
			for name, root := range map[string]string{"completed": "VideoResource", "failed": "VideoResource", "list": "VideoListResource", "deleted": "DeletedVideoResource"} {
				check("#/components/schemas/"+root, w.example(of.Get(name), m.Model))
			}
		}
		check(roots[style][1], w.example(of.Get("answer"), m.Model))
		for _, f := range of.Get("frames").Items {
			if data := f.Get("data"); data != nil {
				check(roots[style][2], w.example(data, m.Model))
				if event := f.GetString("event"); event != data.GetString("type") {
					t.Errorf("%s: event %s has the type %s", style, event, data.GetString("type"))
				}
			}
		}
	}
}
