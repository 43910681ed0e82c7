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

func chatDialect(t testing.TB) *dialect.Dialect {
	t.Helper()
	d, ok := dialect.Of(llm.Chat)
	if !ok {
		t.Fatal("the chat style is not spoken")
	}
	return d
}

func TestPeekReadsTheHeadWhereverItStands(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	for body, want := range map[string]dialect.Head{
		`{"model":"m","messages":[]}`:                                        {Model: "m", Choices: 1},
		"\t{ \"messages\" : [ ] , \"stream\" : true , \"model\" : \"m\" }\n": {Model: "m", Stream: true, Choices: 1},
		`{"mod\u0065l":"a\"b\u00e9","stream":false}`:                         {Model: `a"bé`, Choices: 1},
		`{"model":"m","stream":null,"max_tokens":null,"n":null}`:             {Model: "m", Choices: 1},
		`{"model":"m","max_tokens":5,"n":3}`:                                 {Model: "m", MaxTokens: 5, Choices: 3},
		`{"model":"m","max_tokens":5,"max_completion_tokens":7}`:             {Model: "m", MaxTokens: 7, Choices: 1},
		`{"model":"m","max_completion_tokens":7,"max_tokens":500}`:           {Model: "m", MaxTokens: 7, Choices: 1},
		`{"model":"m","max_tokens":1e2,"user":"u-1"}`:                        {Model: "m", MaxTokens: 100, Choices: 1, EndUser: "u-1"},
		`{"model":"m","stream":true,"stream_options":null}`:                  {Model: "m", Stream: true, Choices: 1},
		`{"model":"m","stream_options":{"x":1,"include_usage":true}}`:        {Model: "m", IncludeUsage: true, Choices: 1},
		`{"model":"m","usage":{"include":true}}`:                             {Model: "m", IncludeUsage: true, Choices: 1},
		`{"model":"m","usage":{"include":false}}`:                            {Model: "m", Choices: 1},
		`{"model":"m","x":{"model":"other","max_tokens":3,"n":9}}`:           {Model: "m", Choices: 1},
		`{"model":"m","x":"\"model\":\"other\"}","y":["{","[","\\\"",0]}`:    {Model: "m", Choices: 1},
	} {
		h, err := d.Peek([]byte(body))
		if err != nil || h.Err() != nil {
			t.Errorf("%s: %v, %v", body, err, h.Err())
			continue
		}
		got := dialect.Head{
			Model: h.Model, Stream: h.Stream, IncludeUsage: h.IncludeUsage, MaxTokens: h.MaxTokens, Choices: h.Choices, EndUser: h.EndUser,
		}
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", body, got, want)
		}
	}
}

func TestPeekRefusesWhatHasNoHead(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	deep := `{"model":"m","x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`
	for body, want := range map[string]struct{ code, param, message string }{
		``:                             {"invalid_json", "", "empty"},
		`[]`:                           {"invalid_json", "", "must be a JSON object"},
		`"model"`:                      {"invalid_json", "", "must be a JSON object"},
		`{"model":"m"`:                 {"invalid_json", "", "at byte 12 (line 1, column 13)"},
		`{"model":"m",}`:               {"invalid_json", "", "at byte"},
		`{"model":"m"} x`:              {"invalid_json", "", "at byte 13"},
		`{"model":"m"}{}`:              {"invalid_json", "", "at byte 13"},
		`{"model" "m"}`:                {"invalid_json", "", "at byte"},
		`{'model':'m'}`:                {"invalid_json", "", "at byte 1 "},
		`{"model":"m","a":tru}`:        {"invalid_json", "", "at byte"},
		deep:                           {"invalid_json", "", "deeper than 128"},
		`{}`:                           {"invalid_request_error", "model", "model is required"},
		`{"model":null}`:               {"invalid_request_error", "model", "model is required"},
		`{"Model":"m"}`:                {"invalid_request_error", "model", "model is required"},
		`{"model":""}`:                 {"invalid_request_error", "model", "non-empty string"},
		`{"model":7}`:                  {"invalid_request_error", "model", "non-empty string"},
		`{"model":["m"]}`:              {"invalid_request_error", "model", "non-empty string"},
		`{"model":"a","model":"b"}`:    {"invalid_request_error", "model", "twice"},
		`{"model":"a","mod\u0065l":1}`: {"invalid_request_error", "model", "twice"},
	} {
		_, err := d.Peek([]byte(body))
		e := app.AsError(err)
		if e == nil || e.Kind != app.Invalid || e.Code != want.code || e.Param != want.param || !strings.Contains(e.Message, want.message) {
			t.Errorf("%.40s: %+v, want %+v", body, e, want)
		}
	}
}

func TestWrongValuesAreGuardedAfterTheContract(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	for body, param := range map[string]string{
		`{"model":"m","stream":"true"}`:                                    "stream",
		`{"model":"m","max_tokens":-1}`:                                    "max_tokens",
		`{"model":"m","max_tokens":0}`:                                     "max_tokens",
		`{"model":"m","max_tokens":1.5}`:                                   "max_tokens",
		`{"model":"m","max_tokens":"100"}`:                                 "max_tokens",
		`{"model":"m","max_tokens":9223372036854775808}`:                   "max_tokens",
		`{"model":"m","max_tokens":1e18}`:                                  "max_tokens",
		`{"model":"m","max_completion_tokens":1e999}`:                      "max_completion_tokens",
		`{"model":"m","n":-3}`:                                             "n",
		`{"model":"m","stream_options":[]}`:                                "stream_options",
		`{"model":"m","stream_options":{"include_usage":"yes"}}`:           "stream_options.include_usage",
		`{"model":"m","stream":true,"stream_options":{"include_usage":1}}`: "stream_options.include_usage",
	} {
		h, err := d.Peek([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if e := app.AsError(h.Err()); e == nil || e.Param != param {
			t.Errorf("%s: %v, want a complaint about %s", body, e, param)
		}
	}
}

func TestImagesWeighApartFromText(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	data := strings.Repeat("A", 100_000)
	body := `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}},` +
		`{"type":"image_url","image_url" : {"url":"https://example.com/a.png"}},{"type":"text","text":"the word \"image_url\": in text"}]}]}`
	h, err := d.Peek([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if h.Images != 2 || h.TextBytes > 500 || h.TextBytes < 200 {
		t.Errorf("%d images and %d bytes of text", h.Images, h.TextBytes)
	}
}

func TestSpliceChangesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	d := chatDialect(t)
	edit := dialect.Edit{Model: `up"stream`}
	for _, c := range []struct {
		body, want string
		most       int64
	}{
		{body: `{"model":"m","x":1.0,"é":"\u00e9 \/ 🙂"}`, want: `{"model":"up\"stream","x":1.0,"é":"\u00e9 \/ 🙂"}`},
		{body: "{\n\t\"model\" : \"m\" ,\n\t\"big\":123456789012345678901234567890 }", want: "{\n\t\"model\" : \"up\\\"stream\" ,\n\t\"big\":123456789012345678901234567890 }"},
		{body: `{"model":"m","stream":true}`, want: `{"stream_options":{"include_usage":true},"model":"up\"stream","stream":true}`},
		{body: `{"stream":true,"stream_options":null,"model":"m"}`, want: `{"stream":true,"stream_options":{"include_usage":true},"model":"up\"stream"}`},
		{body: `{"stream":true,"stream_options":{ },"model":"m"}`, want: `{"stream":true,"stream_options":{"include_usage":true},"model":"up\"stream"}`},
		{body: `{"stream":true,"stream_options":{"a":1},"model":"m"}`, want: `{"stream":true,"stream_options":{"include_usage":true,"a":1},"model":"up\"stream"}`},
		{body: `{"stream":true,"stream_options":{"include_usage":false},"model":"m"}`, want: `{"stream":true,"stream_options":{"include_usage":true},"model":"up\"stream"}`},
		{body: `{"stream":true,"stream_options":{"include_usage":true},"model":"m"}`, want: `{"stream":true,"stream_options":{"include_usage":true},"model":"up\"stream"}`},
		{body: `{"model":"m"}`, most: 9, want: `{"max_tokens":9,"model":"up\"stream"}`},
		{body: `{"model":"m","max_tokens":null}`, most: 9, want: `{"model":"up\"stream","max_tokens":9}`},
		{body: `{"model":"m","max_tokens":10}`, most: 9, want: `{"model":"up\"stream","max_tokens":9}`},
		{body: `{"model":"m","max_tokens":8}`, most: 9, want: `{"model":"up\"stream","max_tokens":8}`},
		{body: `{"max_tokens":100,"model":"m","max_completion_tokens":5}`, most: 9, want: `{"max_tokens":9,"model":"up\"stream","max_completion_tokens":5}`},
		{body: ` {"model":"m","stream":true}`, most: 7, want: ` {"stream_options":{"include_usage":true},"max_tokens":7,"model":"up\"stream","stream":true}`},
	} {
		h, err := d.Peek([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		edit.MaxTokens = c.most
		if got := string(d.Splice(nil, []byte(c.body), &h, edit)); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

// FuzzRequest proves that Peek agrees with a full decode and that Splice yields valid JSON with nothing else changed.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":false}}`,
		`{"model":"m","max_tokens":5,"max_completion_tokens":1e2,"n":2}`,
		`{"mod\u0065l":"m","x":{"a":[1,2,{"b":null}]},"stream_options":{}}`,
		` {"model":"\ud83d\ude42","user":"x","y":"\\\"","z":-0.5e-3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := chatDialect(t)
		h, err := d.Peek(body)
		var all map[string]any
		decode := json.NewDecoder(bytes.NewReader(body))
		decode.UseNumber()
		if !utf8.Valid(body) || decode.Decode(&all) != nil || len(bytes.TrimSpace(body[decode.InputOffset():])) > 0 || all == nil {
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
		spliced := d.Splice(nil, body, &h, dialect.Edit{Model: "up", MaxTokens: 7})
		var after map[string]any
		decode = json.NewDecoder(bytes.NewReader(spliced))
		decode.UseNumber()
		if err := decode.Decode(&after); err != nil {
			t.Fatalf("%q became %q: %v", body, spliced, err)
		}
		if after["model"] != "up" {
			t.Fatalf("%q became %q", body, spliced)
		}
		for _, m := range []map[string]any{all, after} {
			for _, own := range []string{"model", "stream_options", "max_tokens", "max_completion_tokens"} {
				delete(m, own)
			}
		}
		if !reflect.DeepEqual(all, after) {
			t.Fatalf("%q became %q", body, spliced)
		}
	})
}

func request(size int) []byte {
	return []byte(`{"messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"` +
		strings.Repeat("Some words with \\\"quotes\\\" and lines.\\n", max(1, size/38-4)) +
		`"}],"temperature":0.7,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"model":"text-small","stream":true}`)
}

func benchmarkRequest(b *testing.B, size int) {
	d, body := chatDialect(b), request(size)
	var out []byte
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		h, err := d.Peek(body)
		if err != nil {
			b.Fatal(err)
		}
		out = d.Splice(out[:0], body, &h, dialect.Edit{Model: "upstream-name"})
	}
}

func BenchmarkPeekAndSplice1K(b *testing.B)   { benchmarkRequest(b, 1<<10) }
func BenchmarkPeekAndSplice100K(b *testing.B) { benchmarkRequest(b, 100<<10) }
