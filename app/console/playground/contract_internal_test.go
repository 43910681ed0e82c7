package playground

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/jsontree"
	"umg/app/llm"
	"umg/app/postgres/pgtest"
	"umg/views"
	modelpages "umg/views/models"
	playpages "umg/views/playground"
)

func defaultModels(t *testing.T) []*catalog.Model {
	t.Helper()
	db := pgtest.New(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(t.Context(), db, catalog.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: func(string) (string, bool) { return "http://127.0.0.1:1", true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Snapshot().Models()
}

// valuesOf are texts that a person may enter for a parameter.
func valuesOf(p playpages.Param) []string {
	switch p.Kind {
	case playpages.ParamEnum:
		return p.Options
	case playpages.ParamBoolean:
		return []string{"true", "false"}
	case playpages.ParamList:
		return []string{"one\r\ntwo"}
	default:
		var values []string
		for _, v := range []string{p.Default, p.Min, p.Max} {
			if v != "" {
				values = append(values, v)
			}
		}
		return append(values, p.Min)
	}
}

// TestEveryFieldOfTheFormIsTakenByTheContract: for every model and style, each parameter that the form offers, with each
// value that it names, makes a request that the contract accepts.
func TestEveryFieldOfTheFormIsTakenByTheContract(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, m := range defaultModels(t) {
		for _, style := range m.Served() {
			contract, ok := m.Contract(style)
			if !ok {
				t.Fatalf("%s has no contract for %s", m.ID, style)
			}
			params := paramsOf(contract.Schema())
			if len(params) == 0 || params[0].Key != maxKey {
				t.Errorf("%s, %s offers %+v", m.ID, style, params)
			}
			for i := range params {
				for _, value := range valuesOf(params[i]) {
					s := pane{model: m, style: style, view: viewOf([]playpages.Param{params[i]})}
					s.view.Params[0].Value = PlainLines(value)
					body, err := s.body([]playpages.Turn{{Text: "hi"}, {Answer: true, Text: "ho"}, {Text: "hu"}}, true)
					if err != nil {
						t.Fatalf("%s, %s, %s=%q: %v", m.ID, style, params[i].Path, value, err)
					}
					if err := contract.Check(body); err != nil {
						t.Errorf("%s, %s, %s=%q: %v in %s", m.ID, style, params[i].Path, value, err, body)
					}
					checked++
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d values were checked", checked)
	}
}

func TestContractsAreReadWhole(t *testing.T) {
	t.Parallel()
	for _, m := range defaultModels(t) {
		for _, style := range m.Served() {
			contract, _ := m.Contract(style)
			fields, hints, without := FieldsOf(contract.Schema())
			names := map[string]bool{}
			for _, f := range fields {
				names[f.Name] = true
			}
			var document struct {
				Properties map[string]json.RawMessage
			}
			if err := json.Unmarshal(contract.Schema(), &document); err != nil {
				t.Fatal(err)
			}
			if len(fields)+len(hints)+len(without) != len(document.Properties) || !fields[0].Required || fields[0].Name != "model" || !names["stream"] {
				t.Errorf("%s, %s: %d fields, %d hints and %d without, of %d", m.ID, style, len(fields), len(hints), len(without), len(document.Properties))
			}
			checkFields(t, m.ID+", "+string(style), fields, 0)
			if body := SampleRequest(m, style); contract.Check(body) != nil {
				t.Errorf("%s, %s: the sample %s is refused: %v", m.ID, style, body, contract.Check(body))
			}
		}
	}
}

func checkFields(t *testing.T, where string, fields []modelpages.Field, depth int) {
	t.Helper()
	if depth > 2*schemaDepthMax {
		t.Fatalf("%s is nested without end", where)
	}
	for _, f := range fields {
		if f.Name == "" || strings.Contains(f.Types, "null") || f.Types == "" && len(f.Fields) == 0 && f.Text == "" {
			t.Errorf("%s: %+v says nothing", where, f)
		}
		checkFields(t, where+"."+f.Name, f.Fields, depth+1)
	}
}

func TestARequestIsSaidInEveryStyle(t *testing.T) {
	t.Parallel()
	for _, m := range defaultModels(t) {
		if m.ID != "meridian/atlas-large" {
			continue
		}
		for _, style := range m.Served() {
			s := pane{model: m, form: url.Values{"param.temperature": {"0.25"}}}
			for _, one := range m.Served() {
				s.view.Model.Styles = append(s.view.Model.Styles, views.Style(one))
			}
			s.setStyle(views.Style(style))
			for _, v := range s.variants([]playpages.Turn{{Text: "hi"}}, true) {
				other, _ := m.Contract(llm.Style(v.Style))
				if v.Refusal != "" || other.Check(v.Body) != nil || !strings.Contains(string(v.Body), "0.25") {
					t.Errorf("%s said in %s: %s %s %v", style, v.Style, v.Body, v.Refusal, other.Check(v.Body))
				}
			}
		}
	}
}

func TestLongImagesAreShortInCode(t *testing.T) {
	t.Parallel()
	long := "data:image/png;base64," + strings.Repeat("QUJD", 4000)
	words := strings.Repeat("a word ", 2000)
	body := &jsontree.Value{Kind: '{', Names: []string{"image", "raw", "text"}, Items: []*jsontree.Value{jsontree.Text(long), jsontree.Text(long[22:]), jsontree.Text(words)}}
	got := string(withShortImages(body.AppendTo(nil)))
	if len(got) > len(words)+400 || !strings.Contains(got, `"data:image/png;base64,QUJD`) || !strings.Contains(got, "…") || !strings.Contains(got, words) {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

func TestParamValuesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	number := playpages.Param{Path: "a.b", Kind: playpages.ParamNumber}
	for text, want := range map[string]string{"0.5": "0.5", " 1 ": "1", "-2": "-2", "1e3": "1e3", "": "", "x": "!", "0,5": "!", `"1"`: "!", "1 2": "!", "NaN": "!"} {
		v, err := paramValue(number, text)
		got := ""
		switch {
		case err != nil:
			got = "!"
			if app.AsError(err).Param != "a.b" {
				t.Errorf("%q blames %q", text, app.AsError(err).Param)
			}
		case v != nil:
			got = string(v.AppendTo(nil))
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	list, _ := paramValue(playpages.Param{Kind: playpages.ParamList}, "one\n\ntwo ")
	word, _ := paramValue(playpages.Param{Kind: playpages.ParamEnum, Options: []string{"LOW", "HIGH"}}, "high")
	gone, _ := paramValue(playpages.Param{Kind: playpages.ParamEnum, Options: []string{"LOW", "HIGH"}}, "medium")
	if string(list.AppendTo(nil)) != `["one","two"]` || word.Text != "HIGH" || gone != nil {
		t.Errorf("%s, %+v, %+v", list.AppendTo(nil), word, gone)
	}
}

func viewOf(params []playpages.Param) playpages.Playground {
	return playpages.Playground{Pane: playpages.Pane{Params: params, Form: playpages.Form{System: "s"}}}
}
