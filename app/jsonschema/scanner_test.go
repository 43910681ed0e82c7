package jsonschema

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// texts are JSON and near it. Those that the scanner must take are marked.
var texts = []struct {
	text    string
	isPlain bool
}{
	{`{}`, true}, {" {\t}\r\n", true}, {`{"a":1}`, true}, {`{"a":[1,-0,0.5,1e5,1E+5,1e-5,-12.25e10]}`, true},
	{`{"a":[true,false,null,"",[],{}]}`, true}, {`{ "a" : [ 1 , 2 ] , "b" : { "c" : "d" } }`, true},
	{`{"a":"\"\\\/\b\f\n\r\t\u00e9\uD834\uDD1E\ud834\udd1e\uffff"}`, true}, {`{"a":"é漢😀� 12345678 é"}`, true},
	{`{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, true}, {`{"abcd":1,"abce":2,"bbcd":3,"abcde":4,"abxcd":5}`, true},
	{`{"a":` + strings.Repeat("[", depthMax-1) + strings.Repeat("]", depthMax-1) + `}`, true},
	{`{"a":` + strings.Repeat("[", depthMax) + strings.Repeat("]", depthMax) + `}`, false},
	{`{` + members(namesScannedMax) + `}`, true}, {`{` + members(namesScannedMax+1) + `}`, false},
	{`{"\u0061":1}`, false}, {`{"\u0061":1,"a":2}`, false}, {`{"a":1,"a":2}`, false}, {`{"long name":1,"b":2,"long name":3}`, false},
	{``, false}, {`{`, false}, {`}`, false}, {`{}}`, false}, {`{} {}`, false}, {`{},`, false}, {`[1,2`, false}, {`{"a"}`, false}, {`{"a":}`, false},
	{`{"a":1,}`, false}, {`{,"a":1}`, false}, {`{"a":1 "b":2}`, false}, {`{"a" 1}`, false}, {`{"a":[1,]}`, false}, {`{"a":[,1]}`, false},
	{`{"a":[1}`, false}, {`{"a":{]}`, false}, {`{1:2}`, false}, {`{a:1}`, false}, {`{"a":[1 2]}`, false}, {`{"a":1:2}`, false}, {`{"a"::1}`, false}, {`{"a":[1,,2]}`, false}, {`{"a","b"}`, false},
	{`{"a":01}`, false}, {`{"a":-}`, false}, {`{"a":1.}`, false}, {`{"a":.5}`, false}, {`{"a":1e}`, false}, {`{"a":1e+}`, false}, {`{"a":+1}`, false},
	{`{"a":tru}`, false}, {`{"a":truex}`, false}, {`{"a":nul`, false}, {`{"a":NaN}`, false}, {`{"a":1e999}`, false}, {`{"a":'b'}`, false},
	{"{\"a\":\"\x00\"}", false}, {"{\"a\":\"1234567\n\"}", false}, {"{\"a\":\"\x1f\"}", false}, {"{\"a\":\"\x7f\"}", true}, {`{"a":"b`, false},
	{`{"a":"\x"}`, false}, {`{"a":"\u12"}`, false}, {`{"a":"\u12g4"}`, false}, {`{"a":"\`, false}, {`{"a":"\u`, false}, {`{"a":"\U0041"}`, false},
	{`{"a":"\ud834"}`, false}, {`{"a":"\ud834x"}`, false}, {`{"a":"\ud834\n"}`, false}, {`{"a":"\udd1e\ud834"}`, false}, {`{"a":"\ud834\u0041"}`, false},
	{"{\"a\":\"\xff\"}", false}, {"{\"a\":\"12345678\xc3\"}", false}, {"{\"a\":\"\xc0\xaf\"}", false}, {"{\"a\":\"\xed\xa0\x80\"}", false},
	{"{\"a\":\"\xf4\x90\x80\x80\"}", false}, {"{\"a\":\"\xe2\x82", false}, {"\ufeff{}", false}, {"{\"a\v\":1}", false}, {"{\"\xff\":1}", false},
}

// members are so many members with different names.
func members(n int) string {
	var all []string
	for i := range n {
		all = append(all, `"`+strings.Repeat("x", i)+`":0`)
	}
	return strings.Join(all, ",")
}

// scanned checks a body with the scanner alone, and exactly.
func scanned(t testing.TB, schema *Schema, body []byte) (takes bool) {
	t.Helper()
	quick, exact := new(checker), new(checker)
	for _, c := range []*checker{quick, exact} {
		c.lenient, c.body = true, body
		c.dec.start(body, c == exact)
	}
	if quick.whole(schema) != nil {
		return false
	}
	if e := exact.whole(schema); e != nil {
		t.Errorf("the scanner takes %q: %v", body, e)
	}
	if !slices.Equal(quick.hints, exact.hints) {
		t.Errorf("%q has the hints %v, want %v", body, quick.hints, exact.hints)
	}
	return true
}

// documents are schemas that lead to all ways of reading: without rules, by the rules of schemaCases, and by hints at all levels.
func documents(t testing.TB) (all []*Schema) {
	t.Helper()
	docs := []string{`{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":20}}}`,
		`{"type":"object","additionalProperties":{"type":["array","object","number","string","boolean","null"],
			"items":{"` + KeywordStyle + `":{},"type":"boolean"},"properties":{"a":{"` + KeywordStyle + `":{},"type":"number","maximum":1}}}}`}
	for _, k := range schemaCases {
		docs = append(docs, k.doc)
	}
	for _, doc := range docs {
		schema, err := compileText(t, doc)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, schema)
	}
	return all
}

// bodies are texts, those of schemaCases, and those with which the contracts of models are tested.
func bodies(t testing.TB) (all []string) {
	t.Helper()
	for _, k := range texts {
		all = append(all, k.text)
	}
	for _, k := range schemaCases {
		all = append(all, splitBodies(k.accepted+" "+k.refused)...)
	}
	files, err := filepath.Glob("../catalog/testdata/*ed.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("the bodies of the contracts are missing", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "{") {
				all = append(all, line)
			}
		}
	}
	return all
}

func TestTheScannerTakesWhatTheExactDecoderTakes(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for _, k := range texts {
		if takes := scanned(t, all[0], []byte(k.text)); takes != k.isPlain {
			t.Errorf("the scanner takes %q: %t", k.text, takes)
		}
	}
	for _, body := range bodies(t) {
		for _, schema := range all {
			scanned(t, schema, []byte(body))
		}
	}
}

// TestTheScannerTakesNoChangedBodyThatIsWrong changes bytes of bodies, or joins parts of them.
func TestTheScannerTakesNoChangedBodyThatIsWrong(t *testing.T) {
	t.Parallel()
	schemas, seeds := documents(t), bodies(t)
	rapid.Check(t, func(r *rapid.T) {
		body := []byte(rapid.SampledFrom(seeds).Draw(r, "body"))
		for range rapid.IntRange(0, 3).Draw(r, "changes") {
			at := rapid.IntRange(0, len(body)).Draw(r, "at")
			part := rapid.SampledFrom([]string{"", `"`, `\`, "\x01", "\x80", "é", "漢", ",", ":", "[", "}", "0", "-", ".", " ", `\u00e9`, "\\ud834", "12345678"})
			body = append(append(body[:at:at], part.Draw(r, "part")...), body[min(len(body), at+rapid.IntRange(0, 2).Draw(r, "left out")):]...)
		}
		for _, schema := range schemas {
			scanned(t, schema, body)
		}
	})
}

func FuzzScanner(f *testing.F) {
	for _, body := range bodies(f) {
		f.Add([]byte(body))
	}
	schemas := documents(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		takes := false
		for _, schema := range schemas {
			takes = scanned(t, schema, body) || takes
		}
		if takes && !jsontext.Value(body).IsValid() {
			t.Errorf("the scanner takes %q", body)
		}
	})
}

// TestEachPlaceOfAStringIsRead puts what is unusual at each index of a string.
func TestEachPlaceOfAStringIsRead(t *testing.T) {
	t.Parallel()
	schema := documents(t)[0]
	for _, part := range []string{"\"", "\\", `\n`, `\u0041`, `\ud834\udd1e`, `\ud834`, "\x00", "\x1f", "\x7f", "\x80", "é", "漢", "😀", "\xf0\x9f", "a",
		"\xe0\x80\x80", "\xe0\xa0\x80", "\xe1\x80\x7f", "\xe1\xc0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd", "\xe2\x82", "\xc1\xbf", "\xc2\x80", "\xdf\xbf", "\xdf\xc0", "\xdf"} {
		for at := range 80 {
			body := `{"a":"` + strings.Repeat("x", at) + part + strings.Repeat("y", 80-at) + `"}`
			takes := scanned(t, schema, []byte(body))
			if want := jsontext.Value(body).IsValid(); takes != want {
				t.Errorf("the scanner takes %q: %t", body, takes)
			}
		}
	}
}

func TestACorrectStringIsNotReadAgain(t *testing.T) {
	t.Parallel()
	schema := documents(t)[0]
	body := []byte(`{"a":"b","c":["\x","d"]}`)
	for _, k := range []struct {
		correct [][2]int
		takes   bool
	}{{nil, false}, {[][2]int{{5, 8}, {14, 18}}, true}, {[][2]int{{6, 7}, {13, 15}, {14, 18}}, true}, {[][2]int{{15, 18}}, false}} {
		if _, err := schema.Admit(Subject{}, body, k.correct); (err == nil) != k.takes {
			t.Errorf("with the correct strings %v: %v", k.correct, err)
		}
	}
}

func BenchmarkValidStringEnd(b *testing.B) {
	for name, text := range map[string]string{
		"ASCII": "some words ", "lines": `some words of a line of code(1, 2);\n`, "accents": "où est la bibliothèque ", "Chinese": "漢字仮名交じり文",
	} {
		doc := []byte(strings.Repeat(text, 100_000/len(text)) + `"`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if validStringEnd(doc, 0) != len(doc) {
					b.Fatal("the string does not end")
				}
			}
		})
	}
}
