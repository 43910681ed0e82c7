package apidocs

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/jsontree"
	"umg/app/llm"
)

// full are options with which the documents say all they can. The traits and errors are made up: the tests only need to find them in
// the documents.
func full() Options {
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
		Now: func() time.Time { return time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC) }, BaseURL: "https://gateway.example/",
		Traits: func(s llm.Style) *llm.Traits { return traits[s] },
		Extras: func(s llm.Style) []catalog.Extra {
			return []catalog.Extra{{Field: "`tools[]` but for `own`, " + string(s), What: "a tool | of theirs", Fate: "left out"}}
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

// testSnapshot is a snapshot whose models have their documents.
type testSnapshot struct {
	*catalog.Snapshot

	documents *Documents
}

type testModel struct {
	*catalog.Model

	snapshot testSnapshot
}

func (s testSnapshot) Model(id string) (testModel, bool) {
	m, ok := s.Snapshot.Model(id)
	return testModel{m, s}, ok
}

func (s testSnapshot) Models() (all []testModel) {
	for _, m := range s.Snapshot.Models() {
		all = append(all, testModel{m, s})
	}
	return all
}

func (m testModel) document() Document {
	return m.snapshot.documents.Markdown(m.snapshot.Snapshot, m.Model)
}
func (m testModel) api() Document       { return m.snapshot.documents.OpenAPI(m.snapshot.Snapshot, m.Model) }
func (m testModel) Markdown() []byte    { return m.document().Body }
func (m testModel) MarkdownTag() string { return m.document().Tag }
func (m testModel) OpenAPI() []byte     { return m.api().Body }
func (m testModel) OpenAPITag() string  { return m.api().Tag }

func defaultFile(t testing.TB) catalog.File {
	t.Helper()
	f, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func snapshotOf(t testing.TB, f catalog.File, o Options) testSnapshot {
	t.Helper()
	s, err := catalog.NewSnapshot(f, catalog.Options{Now: o.Now, Secrets: func(name string) (string, bool) {
		v, ok := map[string]string{"UMG_SIMULATOR_URL": "http://127.0.0.1:9/", "UMG_SIMULATOR_KEY": "k"}[name]
		return v, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	return testSnapshot{s, New(o)}
}

// fullSnapshot is the default catalog with all that the documents can say.
func fullSnapshot(t testing.TB) testSnapshot {
	t.Helper()
	return snapshotOf(t, defaultFile(t), full())
}

// plainSnapshot is the default catalog with nothing but its own words in the documents.
func plainSnapshot(t testing.TB) testSnapshot {
	t.Helper()
	return snapshotOf(t, defaultFile(t), Options{Now: func() time.Time { return time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC) }})
}

// valuesIn lists a value and every value inside of it.
func valuesIn(v *jsontree.Value, into []*jsontree.Value) []*jsontree.Value {
	into = append(into, v)
	for _, item := range v.Items {
		into = valuesIn(item, into)
	}
	return into
}
