package apidocs

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app/catalog"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

func TestTheGuideNamesEveryFieldOfEveryStyle(t *testing.T) {
	t.Parallel()
	for _, m := range fullSnapshot(t).Models() {
		guide := string(m.Markdown())
		for _, style := range m.Served() {
			c, _ := m.Contract(style)
			var visit func(s *jsontree.Value)
			visit = func(s *jsontree.Value) {
				if props := s.Get("properties"); props != nil && s.Get("type") != nil { // A condition repeats members.
					for i, name := range props.Names {
						other := props.Items[i].GetString(jsonschema.KeywordUnsupported) != "" && props.Items[i].GetString(jsonschema.KeywordSameAs) != ""
						if !other && !strings.Contains(guide, "`"+name+"`") && !strings.Contains(guide, "."+name+"`") {
							t.Errorf("%s in %s style: the guide does not name %s", m.ID, style, name)
						}
					}
				}
				for _, item := range s.Items {
					if item.GetString(jsonschema.KeywordUnsupported) == "" {
						visit(item)
					}
				}
			}
			visit(jsontree.MustParse(c.Schema()))
		}
	}
}

func TestTheGuideSaysWhatAModelIs(t *testing.T) {
	t.Parallel()
	s := fullSnapshot(t)
	m, _ := s.Model("meridian/atlas-large")
	guide := string(m.Markdown())
	for _, want := range []string{
		"# Atlas Large\n", "`meridian/atlas-large`", "- Price: input $2.50 per 1M tokens\n", "60 requests a minute", "200000 tokens a minute",
		"5000 requests a day", "Context: 256000 tokens; longest answer: 32000 tokens", ContractVersion(m.Model), "POST /v1/chat/completions", "POST /v1/messages",
		"POST /v1/responses", "POST /vendorc/native", "Also at `/anthropic/v1/messages`",
		"`/v1beta/models/{model}:generateContent`, `/v1beta/models/{model}:streamGenerateContent`", "at most 32000",
		"| `systemInstruction` or `system_instruction` |", "vendorb-version", "X-Error-Status", "x-gateway-dropped", "https://gateway.example/v1/messages",
		"`tools[]`", "event: message_stop", "data: [DONE]", "| 402 |", "`insufficient_quota`",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	for _, wrong := range []string{hostPlaceholder, modelPlaceholder, ":countTokens", "count_tokens", "gateway.example//"} {
		if strings.Contains(guide, wrong) {
			t.Errorf("the guide says %q", wrong)
		}
	}
	if plain, _ := plainSnapshot(t).Model("meridian/atlas-large"); !strings.Contains(string(plain.Markdown()), hostPlaceholder+"/v1/responses") {
		t.Error("without a base URL there is no placeholder")
	}
	picture, _ := s.Model("tessera/canvas")
	if text := string(picture.Markdown()); !strings.Contains(text, "$0.04 per image\n") || strings.Contains(text, "POST") {
		t.Errorf("the guide of a coming model: %s", text)
	}
}

var fence = regexp.MustCompile("(?s)```([a-z]*)\n(.*?)```")

func TestEveryPieceOfCodeInTheGuidesIsSound(t *testing.T) {
	t.Parallel()
	m, _ := fullSnapshot(t).Model("meridian/atlas-large")
	found := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(string(m.Markdown()), -1) {
		language, text := block[1], block[2]
		found[language]++
		switch language {
		case "json":
			if !json.Valid([]byte(text)) {
				t.Errorf("no JSON: %s", text)
			}
		case "go":
			source := "package p\nfunc f() error {\n" + text + "return nil\n}\n"
			if _, err := parser.ParseFile(token.NewFileSet(), "f.go", source, 0); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		case "sh":
			body := regexp.MustCompile(`-d '(.*)'`).FindStringSubmatch(text)
			address, err := url.Parse(regexp.MustCompile(`https://\S+`).FindString(text))
			if err != nil || body == nil {
				t.Fatalf("%v in %s", err, text)
			}
			for style, path := range map[llm.Style]string{llm.Chat: "/v1/chat/completions", llm.Messages: "/v1/messages",
				llm.Responses: "/v1/responses", llm.Native: "/vendorc/native"} {
				if c, _ := m.Contract(style); address.Path == path {
					found[path]++
					if err := c.Check([]byte(body[1])); err != nil {
						t.Errorf("%s: %v", text, err)
					}
				}
			}
		}
	}
	for _, what := range []string{"sh", "python", "js", "go"} {
		if found[what] != 4 {
			t.Errorf("%d pieces of %s", found[what], what)
		}
	}
	if len(found) != 10 || found["json"] < 20 {
		t.Errorf("found %v", found)
	}
}

func TestTheGuideTellsWhatATranslationLoses(t *testing.T) {
	t.Parallel()
	s := fullSnapshot(t)
	for id, want := range map[string][]string{
		"meridian/atlas-large": {
			"| `top_k` | drawing from the k most likely tokens | dropped |", "| `generationConfig.topK` | drawing from the k most likely tokens | dropped |",
			"Draw only from this many of the most likely tokens. Dropped: no provider of this model knows it.", "speak these styles, tried in this order: chat.",
			"Nothing: the providers of this model speak this style",
		},
		"quillon/folio-large": {"speak these styles, tried in this order: messages, chat.", "| `top_k` | drawing from the k most likely tokens | carried | dropped |"},
		"boreal/fjord-pro": {
			"| pictures by address | fetched and sent as data | carried |",
		},
		"meridian/atlas-small": {"| more than one answer | refused |", "| probabilities of tokens | refused |"},
		"tessera/grout":        {"| `stop` | texts that end the answer | done by the gateway | carried |"},
	} {
		m, _ := s.Model(id)
		for _, text := range want {
			if !strings.Contains(string(m.Markdown()), text) {
				t.Errorf("the guide of %s does not say %q", id, text)
			}
		}
	}
	if m, _ := s.Model("quillon/folio-pocket"); strings.Contains(string(m.Markdown()), "pictures by address") {
		t.Error("a model that reads no pictures tells what becomes of them")
	}
	if m, _ := plainSnapshot(t).Model("quillon/folio-large"); strings.Contains(string(m.Markdown()), "All else is carried") {
		t.Error("a guide that knows nothing of the styles promises something")
	}
}

func TestTheDocumentsTellWhatIsNotOffered(t *testing.T) {
	t.Parallel()
	s := fullSnapshot(t)
	m, _ := s.Model("meridian/atlas-small")
	for _, style := range m.Served() {
		row := "| `tools[]` but for `own`, " + string(style) + " | a tool \\| of theirs | left out |"
		if text := string(m.Markdown()); !strings.Contains(text, "### What is not offered: "+string(style)) || !strings.Contains(text, row) {
			t.Errorf("the guide does not say %q", row)
		}
		if field := "\"x-not-offered\":{\"`tools[]` but for `own`, " + string(style) + "\":\"left out\"}"; !strings.Contains(string(m.OpenAPI()), field) {
			t.Errorf("the document for programs does not say %s", field)
		}
	}
	for _, promise := range []string{"Voice and format", "Lets the model search", "kept by a provider", "The tier of the provider"} {
		for _, m := range s.Models() {
			if m.Kind != catalog.KindVideo && strings.Contains(string(m.Markdown()), promise) {
				t.Errorf("the guide of %s promises %q", m.ID, promise)
			}
		}
	}
}

func TestDocumentsAreMadeOnceAndNamedByTheirContent(t *testing.T) {
	t.Parallel()
	a, b := fullSnapshot(t), fullSnapshot(t)
	for i, m := range a.Models() {
		other := b.Models()[i]
		api, page := &m.OpenAPI()[0], &m.Markdown()[0]
		if api != &m.OpenAPI()[0] || page != &m.Markdown()[0] {
			t.Errorf("%s: a document is made again for everybody", m.ID)
		}
		if m.OpenAPITag() != other.OpenAPITag() || m.MarkdownTag() != other.MarkdownTag() || m.OpenAPITag() == m.MarkdownTag() ||
			m.OpenAPITag() != catalog.ETag(m.OpenAPI()) || ContractVersion(m.Model) != ContractVersion(other.Model) {
			t.Errorf("%s: tags %s and %s, %s and %s", m.ID, m.OpenAPITag(), other.OpenAPITag(), m.MarkdownTag(), other.MarkdownTag())
		}
	}
	f := defaultFile(t)
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "quillon/folio-large" })
	f.Models[i].MaxOutputTokens--
	before, _ := a.Model("quillon/folio-large")
	after, _ := snapshotOf(t, f, full()).Model("quillon/folio-large")
	if ContractVersion(before.Model) == ContractVersion(after.Model) || before.OpenAPITag() == after.OpenAPITag() || before.MarkdownTag() == after.MarkdownTag() {
		t.Error("another contract has the same version")
	}
}

func TestDocumentsOfOddModelsAreStillDocuments(t *testing.T) {
	t.Parallel()
	f := defaultFile(t)
	one := &f.Models[slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "meridian/atlas-large" })]
	one.Name, one.Owner, one.Description = "O|n\ne", "ac|me", "a \"b\" <c>\n| d"
	one.MaxOutputTokens, one.Parameters, one.Ranges = 1, nil, nil
	m, _ := snapshotOf(t, f, full()).Model(one.ID)
	var doc struct {
		Info struct{ Title string }
	}
	if err := json.Unmarshal(m.OpenAPI(), &doc); err != nil || doc.Info.Title != "O|n\ne" {
		t.Errorf("%q, %v", doc.Info.Title, err)
	}
	if !strings.HasPrefix(string(m.Markdown()), "# O\\|n e\n\na \"b\" <c> \\| d\n") {
		t.Errorf("%.80q", m.Markdown())
	}
	if strings.Contains(string(m.Markdown()), `"max_tokens":256}`) {
		t.Error("an example that the model refuses is shown")
	}
}

func BenchmarkDocuments(b *testing.B) {
	for b.Loop() {
		s := fullSnapshot(b)
		m, _ := s.Model("meridian/atlas-large")
		_, _ = m.Markdown(), m.OpenAPI()
	}
}

// TestEveryTextContractHasTheHeadersOfAllCalls reads both forms of the contracts of the default catalog.
func TestEveryTextContractHasTheHeadersOfAllCalls(t *testing.T) {
	t.Parallel()
	read := 0
	for _, m := range plainSnapshot(t).Models() {
		doc, guide := jsontree.MustParse(m.OpenAPI()), string(m.Markdown())
		for _, style := range m.Served() {
			read++
			var names []string
			for _, p := range doc.Get("paths").Get(styleDocuments()[style].GetString("path")).Get("post").Get("parameters").Items {
				names = append(names, p.GetString("name"))
			}
			for _, header := range []string{"Idempotency-Key", "X-Dry-Run"} {
				if !slices.Contains(names, header) || strings.Count(guide, "Header `"+header+"`") != len(m.Served()) {
					t.Errorf("%s in %s says nothing of %s: %v", m.ID, style, header, names)
				}
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d contracts were read", read)
	}
}

func TestTheGuideSaysWhenAModelGoes(t *testing.T) {
	t.Parallel()
	f := defaultFile(t)
	old := &f.Models[slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "meridian/atlas-small" })]
	old.Deprecated = catalog.Date(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	old.Shutdown, old.Successor = catalog.Date(time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)), "meridian/atlas-large"
	m, _ := snapshotOf(t, f, full()).Model(old.ID)
	for _, want := range []string{"Deprecated from 1 December 2026", "shut down on 1 June 2027", "`meridian/atlas-large`"} {
		if !strings.Contains(string(m.Markdown()), want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
}

func TestTheDocumentsSayWhichModelsServeInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	f := defaultFile(t)
	for i := range f.Models {
		f.Models[i].Fallbacks = nil
	}
	small := &f.Models[slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "meridian/atlas-small" })]
	small.Fallbacks = []string{"meridian/atlas-large"}
	s := snapshotOf(t, f, full())
	const says = "When no provider of this model answers, `meridian/atlas-large` serves instead, at the price of `meridian/atlas-large`."
	for name, of := range map[string]func(testModel) string{
		"guide":   func(m testModel) string { return string(m.Markdown()) },
		"OpenAPI": func(m testModel) string { return string(m.OpenAPI()) },
	} {
		one, _ := s.Model(small.ID)
		if text := of(one); !strings.Contains(text, says) || !strings.Contains(text, "X-Gateway-Fallback") {
			t.Errorf("%s: %s", name, text)
		}
		other, _ := s.Model("meridian/atlas-large")
		if text := of(other); strings.Contains(text, "X-Gateway-Fallback") {
			t.Errorf("%s: %s", name, text)
		}
	}
	small.Fallbacks = append(small.Fallbacks, "boreal/fjord-pro")
	one, _ := snapshotOf(t, f, full()).Model(small.ID)
	if text := string(one.Markdown()); !strings.Contains(text, "`meridian/atlas-large` or else `boreal/fjord-pro` serves instead, at its own price.") {
		t.Error(text)
	}
}
