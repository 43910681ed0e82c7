package dialect_test

import (
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

// oracle takes the extras out of a decoded request, by the table alone and without a look at the code that does it in bytes.
type oracle struct{ rows []dialect.Extra }

// plainWord is a pattern of the table as one of package path: no text here has brackets or slashes but addresses.
func plainWord(pattern, s string) bool {
	if head, ok := strings.CutSuffix(pattern, "#"); ok {
		rest, found := strings.CutPrefix(s, head)
		return found && rest != "" && strings.Trim(rest, "0123456789") == ""
	}
	hide := strings.NewReplacer("/", "|", "[", "(", "]", ")", "\\", "!", "?", "~").Replace
	ok, err := path.Match(hide(pattern), hide(s))
	return ok && err == nil
}

func anyWord(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return plainWord(p, s) })
}

// row is the row that covers a value at a place.
func (o oracle) row(at string, v any) *dialect.Extra {
	m, isObject := v.(map[string]any)
	kind, _ := m["type"].(string)
	var said string
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		said = v
	default:
		raw, _ := json.Marshal(v)
		said = string(raw)
	}
	for i := range o.rows {
		x := &o.rows[i]
		typed := x.Types != nil || x.Except != nil
		switch {
		case x.At != at, typed && !isObject,
			x.Types != nil && !anyWord(x.Types, kind), x.Except != nil && anyWord(x.Except, kind),
			x.Only != nil && !anyWord(x.Only, strings.ToLower(said)), anyWord(x.Free, said),
			slices.ContainsFunc(x.Unless, func(name string) bool { return !blank(m[name]) }):
			continue
		}
		return x
	}
	return nil
}

func blank(v any) bool {
	raw, _ := json.Marshal(v)
	return slices.Contains([]string{"null", `""`, "[]", "{}"}, string(raw))
}

// camel spells file_data as fileData.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

// left is what is left of a value, and whether anything is; refused says that the request must not go at all.
func (o oracle) left(style llm.Style, at string, v any) (rest any, stays, refused bool) {
	row := o.row(at, v)
	switch {
	case row == nil:
	case row.Rule == dialect.ExtraRefused:
		refused = true
	case row.Instead != "":
		return decodedAny(row.Instead), true, false
	default:
		return nil, false, false
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			below := name
			switch {
			case name == "" || strings.ContainsAny(name, ".[*"):
				below = "?" // no row names it
			case style == llm.Native && name == strings.ToLower(name):
				below = camel(name)
			}
			if i := slices.IndexFunc(o.rows, func(x dialect.Extra) bool { return x.At == at+".*" }); i >= 0 && member != nil &&
				!slices.Contains(o.rows[i].Except, below) {
				continue
			}
			kept, ok, bad := o.left(style, strings.TrimPrefix(at+"."+below, "."), member)
			if refused = refused || bad; ok {
				out[name] = kept
			}
		}
		return out, !strings.HasSuffix(at, "tools[]") || style != llm.Native || len(out) > 0 || len(v) == 0, refused
	case []any:
		out := []any{}
		for _, element := range v {
			kept, ok, bad := o.left(style, at+"[]", element)
			if refused = refused || bad; ok {
				out = append(out, kept)
			}
		}
		return out, true, refused
	}
	return v, true, refused
}

func decodedAny(text string) (v any) {
	if json.Unmarshal([]byte(text), &v) != nil {
		panic("the table has no JSON: " + text)
	}
	return v
}

// holdsTheTable proves that what is left of a request is what the table says, and that it has no extra any more.
func holdsTheTable(t *testing.T, style llm.Style, body []byte) {
	t.Helper()
	if !jsontext.Value(body).IsValid() { // a contract sees to it that no name stands here twice
		return
	}
	d := dialectOf(t, style)
	h, err := d.Peek(body)
	before, ok := decoded(body)
	if err != nil || !ok {
		return
	}
	o := oracle{dialect.Extras(style)}
	want, _, refused := o.left(style, "", plain(before))
	if h.Err() != nil {
		return // this may also be because of a tool that is the only one
	}
	if refused {
		t.Fatalf("%s: %s is taken, though the table refuses it", style, body)
	}
	after := body
	if len(h.Extras()) > 0 {
		after = h.WithoutExtras()
	}
	rest, ok := decoded(after)
	if !ok || !reflect.DeepEqual(plain(rest), want) {
		t.Fatalf("%s: %s became %s, which has %v dropped", style, body, after, h.Extras())
	}
	again, err := d.Peek(after)
	if err != nil || len(again.Extras()) > 0 {
		t.Fatalf("%s: %s became %s, of which %v would be dropped, %v", style, body, after, again.Extras(), err)
	}
}

// plain is a decoded value with its numbers as Go has them.
func plain(v any) any {
	raw, _ := json.Marshal(v)
	return decodedAny(string(raw))
}

func FuzzExtras(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","tools":[{"type":"a","name":"x"},{"type":"function","function":{}} , {"type":"b"}],"service_tier":"auto"}`,
		`{"model":"m" , "store" : true, "tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp"},{"type":"function"}]},"background":false}`,
		`{"model":"m","tools":[{"google_search":{}},{"functionDeclarations":[{}],"codeExecution":{}},{"urlContext":null}],"contents":[]}`,
		`{"messages":[{"content":[{"cache_control":{"type":"e","ttl":"1h"}},{"content":[{"cache_control":{"ttl":"1h"}}]}]}],"model":"m"}`,
		`{"\u0073tore":true,"model":"m","t\u006fols":[{"t\u0079pe":"web\u005fsearch"},{"type":"custom"}],"cache_control":{"ttl":"1\u0068"}}`,
		`{"model":"m","input":[{"type":"reasoning","id":"rs"},{"type":"mcp_call"},{"type":"message","content":[{"file_id":""}]}]}`,
		`{"model":"m","contents":[{"parts":[{"fileData":{"fileUri":"gs://a"}},{"file_data":{"file_uri":"https://a"}}]}],"serviceTier":"flex"}`,
		`{"model":"m","context_management":{"edits":[{"type":"compact_20260112"},{"type":"clear_tool_uses_20250919"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, style := range llm.Styles() {
			holdsTheTable(t, style, body)
		}
	})
}

func TestWhatIsCutLeavesTheRestByteForByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style      llm.Style
		body, want string
		dropped    []string
	}{
		{llm.Chat, `{ "service_tier" : "flex" , "model" : "m" }`, `{ "model" : "m" }`, []string{"service_tier"}},
		{llm.Chat, `{"model":"m", "service_tier":"flex" }`, `{"model":"m" }`, []string{"service_tier"}},
		{llm.Chat, `{"model":"m","x":1.0, "models":["a"] ,"route":"r" , "é":"\u00e9"}`, `{"model":"m","x":1.0, "é":"\u00e9"}`, []string{"models", "route"}},
		{llm.Chat, `{"model":"m","store":true}`, `{"model":"m","store":false}`, []string{"store"}},
		{llm.Chat, `{"model":"m","tools":[ {"type":"a"} , {"type":"function"} , {"type":"b"},{"type":"c"} ]}`, `{"model":"m","tools":[ {"type":"function"} ]}`,
			[]string{"tools[0] (a)", "tools[2] (b)", "tools[3] (c)"}},
		{llm.Messages, `{"model":"m","system":[{"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"}}],"tools":[{"name":"a","cache_control":{"ttl":"1h"}}]}`,
			`{"model":"m","system":[{"type":"text","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"a","cache_control":{}}]}`, []string{"cache_control.ttl"}},
		{llm.Messages, `{"model":"m","tools":[{"type":"web_fetch_20260318","cache_control":{"ttl":"1h"}},{"name":"a"}]}`, `{"model":"m","tools":[{"name":"a"}]}`,
			[]string{"tools[0] (web_fetch_20260318)"}},
		{llm.Native, `{"model":"m","tools":[{"google_search":{}},{"functionDeclarations":[],"urlContext":{}}]}`, `{"model":"m","tools":[{"functionDeclarations":[]}]}`,
			[]string{"tools[0].google_search", "tools[1].urlContext"}},
		{llm.Responses, `{"model":"m","input":[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"reasoning","id":"rs_2","encrypted_content":"g"}]}`,
			`{"model":"m","input":[{"type":"reasoning","id":"rs_2","encrypted_content":"g"}]}`, []string{"input[0] (reasoning)"}},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil || h.Err() != nil {
			t.Errorf("%s: %v, %v", c.body, err, h.Err())
			continue
		}
		if got := string(h.WithoutExtras()); got != c.want || !slices.Equal(h.Extras(), c.dropped) {
			t.Errorf("%s\n got %s\nwant %s\ndropped %q", c.body, got, c.want, h.Extras())
		}
	}
}

func TestARequestThatNeedsAnExtraIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		style       llm.Style
		body, param string
	}{
		{llm.Messages, `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "tools[0]"},
		{llm.Messages, `{"model":"m","tool_choice":{"type":"tool","name":"web_search"},"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"a"}]}`, "tool_choice"},
		{llm.Messages, `{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"a"}],"tool_choice":{"type":"tool","name":"web_search"}}`, "tool_choice"},
		{llm.Chat, `{"model":"m","web_search_options":{}}`, "web_search_options"},
		{llm.Chat, `{"model":"m","tools":[],"web_search_options":{}}`, "web_search_options"},
		{llm.Chat, `{"model":"m","tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"type":"x"}]}}}`, "tool_choice.allowed_tools.tools[0]"},
		{llm.Responses, `{"model":"m","tools":[{"type":"function"},{"type":"namespace","tools":[{"type":"mcp"}]}]}`, "tools[1].tools[0]"},
		{llm.Responses, `{"model":"m","tools":[{"type":"shell","environment":{"type":"container_auto"}}]}`, "tools[0].environment"},
		{llm.Native, `{"model":"m","tools":[{"googleSearch":{}}]}`, "tools[0].googleSearch"},
		{llm.Native, `{"model":"m","contents":[{"parts":[{"text":"a"},{"file_data":{"file_uri":"HTTPS://GenerativeLanguage.googleapis.com/v1beta/files/a"}}]}]}`,
			"contents[0].parts[1].file_data.file_uri"},
	} {
		h, err := dialectOf(t, c.style).Peek([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if e := app.AsError(h.Err()); e == nil || e.Param != c.param || e.Code != "unsupported_parameter" || e.Kind != app.Invalid {
			t.Errorf("%s: %+v, want a complaint about %s", c.body, e, c.param)
		}
	}
}

func TestToolsThatTheClientRunsGoOn(t *testing.T) {
	t.Parallel()
	for style, tools := range map[llm.Style]string{
		llm.Chat:      `{"type":"function","function":{"name":"a"}},{"type":"custom","custom":{"name":"b"}}`,
		llm.Messages:  `{"name":"a","input_schema":{}},{"type":"bash_20250124"},{"type":"text_editor_20250728"},{"type":"memory_20250818"},{"type":"computer_20251124"},{"type":"computer_toolset_20260801"},{"type":"browser_toolset_20260801"},{"type":"tool_search_tool_bm25_20251119"},{"type":null,"name":"c"}`,
		llm.Responses: `{"type":"function","name":"a"},{"type":"custom","name":"b"},{"type":"namespace","tools":[{"type":"function","name":"c"}]},{"type":"local_shell"},{"type":"shell","environment":{"type":"local"}},{"type":"apply_patch"},{"type":"computer"},{"type":"tool_search"}`,
		llm.Native:    `{"functionDeclarations":[{"name":"a"}]},{"function_declarations":[{"name":"a"}]},{"computerUse":{}},{"computer_use":{}}`,
	} {
		h, err := dialectOf(t, style).Peek([]byte(`{"model":"m","tools":[` + tools + `]}`))
		if err != nil || h.Err() != nil || len(h.Extras()) > 0 {
			t.Errorf("%s: %v, %v, dropped %q", style, err, h.Err(), h.Extras())
		}
	}
}

func TestAMillionExtrasAreListedInAFewNames(t *testing.T) {
	t.Parallel()
	const block = `{"type":"text","text":"","cache_control":{"type":"ephemeral","ttl":"1h"}},`
	body := `{"model":"m","messages":[{"role":"user","content":[` + strings.Repeat(block, 100_000) + `{"type":"text"}]}],"tools":[` +
		strings.Repeat(`{"type":"x"},`, 1000) + `{"name":"a"}]}`
	h, err := dialectOf(t, llm.Messages).Peek([]byte(body))
	if err != nil || h.Err() != nil || len(h.Extras()) > 64 || h.Extras()[0] != "cache_control.ttl" {
		t.Errorf("%v, %v, %d names", err, h.Err(), len(h.Extras()))
	}
	if after := string(h.WithoutExtras()); strings.Contains(after, "1h") || strings.Contains(after, `"x"`) || !strings.Contains(after, `"tools":[{"name":"a"}]`) {
		t.Errorf("%d bytes are left", len(after))
	}
	if header := dialect.DroppedHeader(h.Extras()); len(header) > 4<<10 {
		t.Errorf("the header has %d bytes", len(header))
	}
}
