package catalog

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

// wordy are options under which documents say all they can. The traits and errors are made up: only that they arrive
// matters here.
func wordy() Options {
	traits := map[llm.Style]*llm.Traits{}
	for _, s := range llm.Styles() {
		t := &llm.Traits{Style: s}
		for f := range t.Fields {
			t.Fields[f] = "f" + strconv.Itoa(f)
		}
		traits[s] = t
	}
	traits[llm.Chat].Fields[llm.FeatureTopK] = ""
	traits[llm.Chat].Fields[llm.FeatureReasoning] = "reasoning_effort"
	traits[llm.Chat].Fields[llm.FeatureStop] = "stop"
	traits[llm.Messages].Fields[llm.FeatureTopK] = "top_k"
	for _, f := range []llm.Feature{llm.FeatureSeed, llm.FeatureLogProbs, llm.FeatureAudio, llm.FeaturePenalties} {
		traits[llm.Messages].Fields[f] = ""
	}
	traits[llm.Native].Fields[llm.FeatureTopK] = "generationConfig.topK"
	traits[llm.Native].Fields[llm.FeatureImageURL] = ""
	traits[llm.Native].Fields[llm.FeatureFileID] = ""
	traits[llm.Responses].Fields[llm.FeatureStop] = ""
	return Options{
		Now: func() time.Time { return time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC) }, Secrets: lookup, BaseURL: "https://gateway.example/",
		Traits: func(s llm.Style) *llm.Traits { return traits[s] },
		Extras: func(s llm.Style) []Extra {
			return []Extra{{Field: "`tools[]` but for `own`, " + string(s), What: "a tool | of theirs", Fate: "left out"}}
		},
		Errors: func(s llm.Style, e *app.Error, id string) (int, []byte) {
			status := 400 + int(e.Kind)
			layout := map[llm.Style]string{
				llm.Chat:      `{"code":%[1]d,"error":{"code":%[2]q,"message":%[3]q,"type":"t"},"request_id":%[4]q}`,
				llm.Messages:  `{"type":"error","error":{"type":"t","message":%[3]q,"details":{"error_code":%[2]q}},"request_id":%[4]q}`,
				llm.Responses: `{"error":{"message":%[3]q,"type":"t","param":null,"code":%[2]q}}`,
				llm.Native:    `{"error":{"code":%[1]d,"message":%[3]q,"status":"S","details":[{"reason":%[2]q,"request_id":%[4]q}]}}`,
			}[s]
			if s == llm.Responses {
				return status, fmt.Appendf(nil, layout, status, e.Code, e.Message)
			}
			return status, fmt.Appendf(nil, layout, status, e.Code, e.Message, id)
		},
	}
}

// wordySnapshot is the default catalog with all that documents can say.
func wordySnapshot(t testing.TB) *Snapshot {
	t.Helper()
	return snapshotWith(t, parse(t, string(Default())), wordy())
}

func TestTheGuideNamesEveryFieldOfEveryStyle(t *testing.T) {
	t.Parallel()
	for _, m := range wordySnapshot(t).Models() {
		guide := string(m.Markdown())
		for _, style := range m.Served() {
			c, _ := m.Contract(style)
			var visit func(s *jsontree.Value)
			visit = func(s *jsontree.Value) {
				if props := s.Get("properties"); props != nil && s.Get("type") != nil { // a condition repeats members
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
	s := wordySnapshot(t)
	m, _ := s.Model("meridian/atlas-large")
	guide := string(m.Markdown())
	for _, want := range []string{
		"# Atlas Large\n", "`meridian/atlas-large`", "$2.5 per 1000000 input tokens", "60 requests a minute", "200000 tokens a minute",
		"5000 requests a day", "Context: 256000 tokens; longest answer: 32000 tokens", m.ContractVersion(), "POST /v1/chat/completions", "POST /v1/messages",
		"POST /v1/responses", "POST /vendorc/native", "Also at `/anthropic/v1/messages`",
		"`/v1beta/models/{model}:generateContent`, `/v1beta/models/{model}:streamGenerateContent`", "at most 32000",
		"| `systemInstruction` or `system_instruction` |", "vendorb-version", "X-Error-Status", "x-gateway-dropped", "https://gateway.example/v1/messages",
		"`tools[]`", "event: message_stop", "data: [DONE]", "| 402 |", "`insufficient_quota`",
	} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide does not say %q", want)
		}
	}
	for _, wrong := range []string{hostWord, modelWord, ":countTokens", "count_tokens", "gateway.example//"} {
		if strings.Contains(guide, wrong) {
			t.Errorf("the guide says %q", wrong)
		}
	}
	if plain, _ := defaultSnapshot(t).Model("meridian/atlas-large"); !strings.Contains(string(plain.Markdown()), hostWord+"/v1/responses") {
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
	m, _ := wordySnapshot(t).Model("meridian/atlas-large")
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
	s := wordySnapshot(t)
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
	if m, _ := defaultSnapshot(t).Model("quillon/folio-large"); strings.Contains(string(m.Markdown()), "All else is carried") {
		t.Error("a guide that knows nothing of the styles promises something")
	}
}

func TestTheDocumentsTellWhatIsNotOffered(t *testing.T) {
	t.Parallel()
	s := wordySnapshot(t)
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
			if m.Kind != KindVideo && strings.Contains(string(m.Markdown()), promise) {
				t.Errorf("the guide of %s promises %q", m.ID, promise)
			}
		}
	}
}

func TestDocumentsAreMadeOnceAndNamedByTheirContent(t *testing.T) {
	t.Parallel()
	a, b := wordySnapshot(t), wordySnapshot(t)
	for i, m := range a.Models() {
		other := b.Models()[i]
		api, page := &m.OpenAPI()[0], &m.Markdown()[0]
		if api != &m.OpenAPI()[0] || page != &m.Markdown()[0] {
			t.Errorf("%s: a document is made again for everybody", m.ID)
		}
		if m.OpenAPITag() != other.OpenAPITag() || m.MarkdownTag() != other.MarkdownTag() || m.OpenAPITag() == m.MarkdownTag() ||
			m.OpenAPITag() != ETag(m.OpenAPI()) || m.ContractVersion() != other.ContractVersion() {
			t.Errorf("%s: tags %s and %s, %s and %s", m.ID, m.OpenAPITag(), other.OpenAPITag(), m.MarkdownTag(), other.MarkdownTag())
		}
	}
	f := parse(t, string(Default()))
	i := slices.IndexFunc(f.Models, func(m FileModel) bool { return m.ID == "quillon/folio-large" })
	f.Models[i].MaxOutputTokens--
	before, _ := a.Model("quillon/folio-large")
	after, _ := snapshotWith(t, f, wordy()).Model("quillon/folio-large")
	if before.ContractVersion() == after.ContractVersion() || before.OpenAPITag() == after.OpenAPITag() || before.MarkdownTag() == after.MarkdownTag() {
		t.Error("another contract has the same version")
	}
}

func TestDocumentsOfOddModelsAreStillDocuments(t *testing.T) {
	t.Parallel()
	f := parse(t, with(t, "name: One", `name: "O|n\ne"`, "owner: acme", `owner: "ac|me"`+"\n    description: \"a \\\"b\\\" <c>\\n| d\"",
		"max_output_tokens: 500", "max_output_tokens: 1", "parameters: [temperature, stop, reasoning_effort]", "parameters: []", "    ranges: {temperature: {max: 1.5}}\n", ""))
	m, _ := snapshotWith(t, f, wordy()).Model("acme/one")
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
		s := wordySnapshot(b)
		m, _ := s.Model("meridian/atlas-large")
		_, _ = m.Markdown(), m.OpenAPI()
	}
}
