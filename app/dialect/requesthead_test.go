package dialect_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

func TestEveryStyleReadsItsHead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style llm.Style
		body  string
		want  dialect.Head
	}{
		{llm.Messages, `{"model":"m","messages":[]}`, dialect.Head{Model: "m", Choices: 1}},
		{llm.Messages, `{"max_tokens":9,"stream":true,"metadata":{"x":1,"user_id":"u\u00e9"},"model":"m"}`, dialect.Head{Model: "m", Stream: true, MaxTokens: 9, Choices: 1, EndUser: "ué"}},
		{llm.Messages, `{"model":"m","metadata":null,"n":7,"thinking":{"type":"adaptive"},"tool_choice":"any"}`, dialect.Head{Model: "m", Choices: 1}},
		{llm.Responses, `{"model":"m","input":"hi"}`, dialect.Head{Model: "m", Choices: 1}},
		{llm.Responses, `{"model":"m","max_output_tokens":99,"user":"old","stream":true,"n":4,"max_tokens":3}`, dialect.Head{Model: "m", Stream: true, MaxTokens: 99, Choices: 1, EndUser: "old"}},
		{llm.Responses, `{"model":"m","user":"old","safety_identifier":"new"}`, dialect.Head{Model: "m", Choices: 1, EndUser: "new"}},
		{llm.Native, `{"model":"m","contents":[]}`, dialect.Head{Model: "m", Choices: 1}},
		{llm.Native, `{"model":"m","stream":true,"generationConfig":{"maxOutputTokens":5,"candidateCount":2}}`, dialect.Head{Model: "m", Stream: true, MaxTokens: 5, Choices: 2}},
		{llm.Native, `{"generation_config":{"candidate_count":3,"max_output_tokens":1e1},"model":"m"}`, dialect.Head{Model: "m", MaxTokens: 10, Choices: 3}},
		{llm.Native, `{"model":"m","generationConfig":null,"max_tokens":4}`, dialect.Head{Model: "m", Choices: 1}},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil || h.Err() != nil {
			t.Errorf("%s: %v, %v", c.body, err, h.Err())
			continue
		}
		got := dialect.Head{Model: h.Model, Stream: h.Stream, MaxTokens: h.MaxTokens, Choices: h.Choices, EndUser: h.EndUser}
		if got != c.want || h.TextBytes != int64(len(c.body)) || h.Images != 0 {
			t.Errorf("%s:\n got %+v\nwant %+v", c.body, got, c.want)
		}
	}
}

func TestEveryStyleGuardsItsNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style       llm.Style
		body, param string
	}{
		{llm.Messages, `{"model":"m","max_tokens":"9"}`, "max_tokens"},
		{llm.Messages, `{"model":"m","stream":1}`, "stream"},
		{llm.Messages, `{"model":"m","metadata":"u"}`, "metadata"},
		{llm.Messages, `{"model":"m","thinking":true}`, "thinking"},
		{llm.Responses, `{"model":"m","max_output_tokens":0}`, "max_output_tokens"},
		{llm.Native, `{"model":"m","generationConfig":[]}`, "generationConfig"},
		{llm.Native, `{"model":"m","generation_config":{"max_output_tokens":-1}}`, "generationConfig.maxOutputTokens"},
		{llm.Native, `{"model":"m","generationConfig":{"candidateCount":1.5}}`, "generationConfig.candidateCount"},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if e := app.AsError(h.Err()); e == nil || e.Param != c.param {
			t.Errorf("%s: %v, want a complaint about %s", c.body, e, c.param)
		}
	}
	for _, style := range llm.Styles() {
		for _, body := range []string{`{"model":"a","model":"b"}`, `{}`, `{"model":"m"`, `[]`} {
			if _, err := dialectOf(t, style).Peek([]byte(body)); app.KindOf(err) != app.Invalid || err == nil {
				t.Errorf("%s %s: %v", style, body, err)
			}
		}
	}
	if _, err := dialectOf(t, llm.Native).Peek([]byte(`{"model":"m","generationConfig":{},"generation_config":{}}`)); err == nil {
		t.Error("two spellings of one member were taken")
	}
}

func TestEveryStyleIsSentOnWithOnlyWhatMustChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style      llm.Style
		body, want string
		most       int64
	}{
		{llm.Messages, `{"model":"m","x":1.0,"é":"\u00e9 \/ 🙂","max_tokens":5}`, `{"model":"up","x":1.0,"é":"\u00e9 \/ 🙂","max_tokens":5}`, 0},
		{llm.Messages, "{ \"model\" : \"m\" }\n", "{\"max_tokens\":9, \"model\" : \"up\" }\n", 9},
		{llm.Messages, `{"model":"m","max_tokens":null}`, `{"model":"up","max_tokens":9}`, 9},
		{llm.Messages, `{"model":"m","max_tokens":10}`, `{"model":"up","max_tokens":9}`, 9},
		{llm.Messages, `{"model":"m","max_tokens":8}`, `{"model":"up","max_tokens":8}`, 9},
		{llm.Messages, `{"thinking":{"type":"enabled","budget_tokens":4000},"model":"m","max_tokens":8000}`, `{"thinking":{"type":"enabled","budget_tokens":1999},"model":"up","max_tokens":2000}`, 2000},
		{llm.Messages, `{"thinking":{"type":"enabled","budget_tokens":4000},"model":"m"}`, `{"max_tokens":1025,"thinking":{"type":"enabled","budget_tokens":1024},"model":"up"}`, 1025},
		{llm.Messages, `{"thinking":{"type":"enabled","budget_tokens":1024},"model":"m","max_tokens":5000}`, `{"thinking":{"type":"disabled"},"model":"up","max_tokens":1024}`, 1024},
		{llm.Messages, `{"thinking":{"type":"enabled","budget_tokens":1500},"model":"m","max_tokens":5000}`, `{"thinking":{"type":"enabled","budget_tokens":1500},"model":"up","max_tokens":4000}`, 4000},
		{llm.Messages, `{"thinking":{"type":"enabled","budget_tokens":1500},"model":"m","max_tokens":1200}`, `{"thinking":{"type":"enabled","budget_tokens":1500},"model":"up","max_tokens":1200}`, 4000},
		{llm.Messages, `{"thinking":{"type":"adaptive"},"model":"m","max_tokens":5000}`, `{"thinking":{"type":"adaptive"},"model":"up","max_tokens":500}`, 500},
		{llm.Messages, `{"model":"m","tool_choice":"auto"}`, `{"model":"up","tool_choice":{"type":"auto"}}`, 0},
		{llm.Messages, `{"model":"m","tool_choice":"required"}`, `{"model":"up","tool_choice":{"type":"any"}}`, 0},
		{llm.Messages, `{"model":"m","tool_choice":"any"}`, `{"model":"up","tool_choice":{"type":"any"}}`, 0},
		{llm.Messages, `{"model":"m","tool_choice":"none"}`, `{"model":"up","tool_choice":{"type":"none"}}`, 0},
		{llm.Messages, `{"model":"m","tool_choice":{"type":"tool","name":"auto"}}`, `{"model":"up","tool_choice":{"type":"tool","name":"auto"}}`, 0},
		{llm.Responses, `{"model":"m","x":[ ]}`, `{"store":false,"model":"up","x":[ ]}`, 0},
		{llm.Responses, `{"model":"m"}`, `{"max_output_tokens":99,"store":false,"model":"up"}`, 99},
		{llm.Responses, `{"model":"m"}`, `{"max_output_tokens":16,"store":false,"model":"up"}`, 3},
		{llm.Responses, `{"model":"m","max_output_tokens":3}`, `{"store":false,"model":"up","max_output_tokens":16}`, 0},
		{llm.Responses, `{"model":"m","max_output_tokens":100}`, `{"store":false,"model":"up","max_output_tokens":16}`, 3},
		{llm.Responses, `{"store":false,"model":"m","reasoning":{"effort":"low"}}`, `{"store":false,"model":"up","reasoning":{"effort":"low"}}`, 0},
		{llm.Responses, `{"store":null,"model":"m"}`, `{"store":false,"model":"up"}`, 0},
		{llm.Responses, `{"model":"m","reasoning":{"effort":"low"}}`,
			`{"store":false,"include":["reasoning.encrypted_content"],"model":"up","reasoning":{"effort":"low"}}`, 0},
		{llm.Responses, `{"include":["a"],"model":"m","reasoning":{"effort":"low"}}`,
			`{"store":false,"include":["reasoning.encrypted_content","a"],"model":"up","reasoning":{"effort":"low"}}`, 0},
		{llm.Responses, `{"include":[ ],"model":"m","reasoning":{"effort":"low"}}`,
			`{"store":false,"include":["reasoning.encrypted_content"],"model":"up","reasoning":{"effort":"low"}}`, 0},
		{llm.Responses, `{"include":["reasoning.encrypted_content"],"model":"m","reasoning":{"effort":"low"}}`,
			`{"store":false,"include":["reasoning.encrypted_content"],"model":"up","reasoning":{"effort":"low"}}`, 0},
		{llm.Native, `{"model":"m","contents":[]}`, `{"contents":[]}`, 0},
		{llm.Native, `{"contents":[],"model":"m"}`, `{"contents":[]}`, 0},
		{llm.Native, `{"contents":[],"model":"m","stream":true}`, `{"contents":[]}`, 0},
		{llm.Native, `{"stream":true , "model":"m", "contents":[] }`, `{"contents":[] }`, 0},
		{llm.Native, `{"model":"m","contents":[],"stream":true}`, `{"contents":[]}`, 0},
		{llm.Native, `{"a":1,"model":"m","contents":[] , "stream":true ,"b":2}`, `{"a":1,"contents":[] , "b":2}`, 0},
		{llm.Native, `{"model":"m"}`, `{}`, 0},
		{llm.Native, `{"model":"m","stream":false}`, `{"generationConfig":{"maxOutputTokens":9}}`, 9},
		{llm.Native, `{"model":"m","contents":[]}`, `{"generationConfig":{"maxOutputTokens":9},"contents":[]}`, 9},
		{llm.Native, ` {"contents":[],"generationConfig":{"x":1.0},"model":"m"}`, ` {"contents":[],"generationConfig":{"maxOutputTokens":9,"x":1.0}}`, 9},
		{llm.Native, `{"contents":[],"generation_config":{ },"model":"m"}`, `{"contents":[],"generation_config":{"maxOutputTokens":9}}`, 9},
		{llm.Native, `{"contents":[],"generationConfig":null,"model":"m"}`, `{"contents":[],"generationConfig":{"maxOutputTokens":9}}`, 9},
		{llm.Native, `{"generation_config":{"max_output_tokens":10},"model":"m"}`, `{"generation_config":{"max_output_tokens":9}}`, 9},
		{llm.Native, `{"generationConfig":{"maxOutputTokens":8},"model":"m"}`, `{"generationConfig":{"maxOutputTokens":8}}`, 9},
	} {
		d := dialectOf(t, c.style)
		h, err := d.Peek([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Splice([]byte("x"), []byte(c.body), &h, dialect.Edit{Model: "up", MaxTokens: c.most})); got != "x"+c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.style, c.body, got, c.want)
		}
	}
}

func TestANativeBodyIsNamedAfterItsPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"contents":[ ]}`:             `{"model":"a/\"b","stream":true,"contents":[ ]}`,
		` {}`:                          ` {"model":"a/\"b","stream":true}`,
		`{ "model":"x","contents":[]}`: `{"stream":true, "model":"a/\"b","contents":[]}`,
		`{"stream":false,"mod\u0065l":7,"model":"no"}`: `{"stream":true,"mod\u0065l":"a/\"b","model":"no"}`,
	} {
		got, err := dialect.NameModel([]byte(in), `a/"b`, true)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", in, err, got, want)
		}
	}
	for _, bad := range []string{``, `[]`, `{`, `{"a":1}x`} {
		if _, err := dialect.NameModel([]byte(bad), "m", false); app.KindOf(err) != app.Invalid || err == nil {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// own are the members that a splice may touch, by style.
func own(style llm.Style) []string {
	return map[llm.Style][]string{
		llm.Messages:  {"model", "max_tokens", "thinking", "tool_choice"},
		llm.Responses: {"model", "max_output_tokens", "store", "include"},
		llm.Native:    {"model", "stream", "generationConfig", "generation_config"},
	}[style]
}

// decoded is a JSON object, if text is one and nothing else.
func decoded(text []byte) (map[string]any, bool) {
	var all map[string]any
	decode := json.NewDecoder(bytes.NewReader(text))
	decode.UseNumber()
	ok := utf8.Valid(text) && decode.Decode(&all) == nil && all != nil && len(bytes.TrimSpace(text[decode.InputOffset():])) == 0
	return all, ok
}

// fuzzPeek proves that Peek agrees with a full decode and that Splice yields valid JSON with nothing else changed.
func fuzzPeek(f *testing.F, style llm.Style, seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s), int64(7))
	}
	f.Fuzz(func(t *testing.T, body []byte, most int64) {
		d := dialectOf(t, style)
		h, err := d.Peek(body)
		all, ok := decoded(body)
		if !ok {
			return // The body may pass, because the contract refuses it.
		}
		if err != nil {
			if m, ok := all["model"].(string); ok && m != "" && app.AsError(err).Code == "invalid_json" && !strings.Contains(err.Error(), "deeper") {
				t.Fatalf("refused valid JSON %q: %v", body, err)
			}
			return
		}
		if h.Model != all["model"] {
			t.Fatalf("%q: model %q, want %q", body, h.Model, all["model"])
		}
		if h.Err() != nil {
			return // The gateway refuses such a request.
		}
		spliced := d.Splice(nil, body, &h, dialect.Edit{Model: "up", MaxTokens: most})
		after, ok := decoded(spliced)
		if !ok {
			t.Fatalf("%q became %q", body, spliced)
		}
		if after["model"] != any("up") && style != llm.Native || style == llm.Native && (after["model"] != nil || after["stream"] != nil) {
			t.Fatalf("%q became %q", body, spliced)
		}
		for _, m := range []map[string]any{all, after} {
			for _, name := range own(style) {
				delete(m, name)
			}
		}
		if !reflect.DeepEqual(all, after) {
			t.Fatalf("%q became %q", body, spliced)
		}
		if style == llm.Native {
			fuzzName(t, body, all)
		}
	})
}

func fuzzName(t *testing.T, body []byte, all map[string]any) {
	t.Helper()
	named, err := dialect.NameModel(body, "other", true)
	if err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	after, ok := decoded(named)
	if !ok || after["model"] != any("other") {
		t.Fatalf("%q became %q", body, named)
	}
	for _, name := range own(llm.Native) {
		delete(after, name)
	}
	if !reflect.DeepEqual(all, after) {
		t.Fatalf("%q became %q", body, named)
	}
}

func FuzzPeekMessages(f *testing.F) {
	fuzzPeek(f, llm.Messages, `{"model":"m","max_tokens":5,"stream":true,"metadata":{"user_id":"u"}}`,
		`{"thinking":{"type":"enabled","budget_tokens":2000},"model":"m","tool_choice":"any"}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ"}}]}]}`)
}

func FuzzPeekResponses(f *testing.F) {
	fuzzPeek(f, llm.Responses, `{"model":"m","input":"hi","max_output_tokens":5}`, `{"user":"u","model":"m","stream":true}`)
}

func FuzzPeekNative(f *testing.F) {
	fuzzPeek(f, llm.Native, `{"model":"m","stream":true,"generationConfig":{"maxOutputTokens":5}}`,
		`{"stream":false,"generation_config":{},"model":"m"}`, ` { "contents" : [ ] , "model" : "m" , "stream" : true } `, `{"a":1,"stream":true,"model":"m"}`)
}

func BenchmarkPeekAndSpliceStyles(b *testing.B) {
	text := strings.Repeat("Some words with \\\"quotes\\\" and lines.\\n", 1000/38)
	for style, body := range map[llm.Style]string{
		llm.Messages:  `{"model":"m","max_tokens":500,"messages":[{"role":"user","content":"` + text + `"}],"stream":true}`,
		llm.Responses: `{"model":"m","max_output_tokens":500,"input":"` + text + `","stream":true}`,
		llm.Native:    `{"model":"m","contents":[{"role":"user","parts":[{"text":"` + text + `"}]}],"generationConfig":{"maxOutputTokens":500},"stream":true}`,
	} {
		b.Run(string(style), func(b *testing.B) {
			d, raw := dialectOf(b, style), []byte(body)
			var out []byte
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				h, err := d.Peek(raw)
				if err != nil {
					b.Fatal(err)
				}
				out = d.Splice(out[:0], raw, &h, dialect.Edit{Model: "upstream-name"})
			}
		})
	}
}
