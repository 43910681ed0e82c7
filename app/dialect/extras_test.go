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
	"umg/app/meter"
)

// oracle takes the extras out of a decoded request, by the table alone and without a look at the code that does it in bytes. It also adds
// the bounds of tools that are allowed.
type oracle struct {
	rows    []dialect.Extra
	allowed llm.ExtraSet
	// bounded are bounds of the whole request that are missing.
	bounded map[string]int64
	// odd means that a request bounds a tool in a wrong way.
	odd bool
}

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

// row is the row that covers a value at a place. It is nil when one of the rows that cover it is allowed.
func (o *oracle) row(at string, v any) (first *dialect.Extra) {
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
		if o.allowed.Has(i) {
			o.bound(x.Uses, m)
			return nil
		}
		if first == nil {
			first = x
		}
	}
	return first
}

// bound adds the bounds of an allowed tool that its request does not have.
func (o *oracle) bound(u *dialect.Uses, tool map[string]any) {
	if u == nil {
		return
	}
	missing := func(of map[string]any, member string, standard int64) {
		if n, ok := of[member].(float64); of[member] == nil {
			of[member] = float64(standard)
		} else if !ok || n < 1 || n > 1<<31 || n != float64(int64(n)) || member != u.TokensMember && n > 1000 {
			o.odd = true
		}
	}
	switch {
	case u.OfRequest:
		o.bounded = map[string]int64{u.Member: u.Max}
	case u.Member != "":
		missing(tool, u.Member, u.Max)
	}
	if u.TokensMember != "" {
		missing(tool, u.TokensMember, u.Tokens)
	}
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
func (o *oracle) left(style llm.Style, at string, v any) (rest any, stays, refused bool) {
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
				below = "?" // No row has this name.
			case style == llm.Native && name == strings.ToLower(name):
				below = camel(name)
			}
			isRest := func(x dialect.Extra) bool { return x.At == at+".*" && !slices.Contains(x.Except, below) }
			isNamed := func(x dialect.Extra) bool { return x.At == at+"."+below }
			if member != nil && slices.ContainsFunc(o.rows, isRest) && !slices.ContainsFunc(o.rows, isNamed) {
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
func holdsTheTable(t *testing.T, style llm.Style, allowed llm.ExtraSet, body []byte) {
	t.Helper()
	if !jsontext.Value(body).IsValid() { // The contract refuses names that repeat.
		return
	}
	d := dialectOf(t, style)
	h, err := d.PeekAllowing(body, allowed)
	before, ok := decoded(body)
	if err != nil || !ok {
		return
	}
	o := oracle{rows: dialect.Extras(style), allowed: allowed}
	want, _, refused := o.left(style, "", plain(before))
	if h.Err() != nil {
		return // The reason may also be a tool that is the only one.
	}
	if o.odd {
		t.Fatalf("%s: %s is taken, though the bound of a tool is no count", style, body)
	}
	for member, n := range o.bounded {
		if request := want.(map[string]any); request[member] == nil {
			request[member] = float64(n)
		}
	}
	if refused {
		t.Fatalf("%s: %s is taken, though the table refuses it", style, body)
	}
	after := body
	if h.Changed() {
		after = h.WithoutExtras()
	}
	rest, ok := decoded(after)
	if !ok || !reflect.DeepEqual(plain(rest), want) {
		t.Fatalf("%s: %s became %s, which has %v dropped", style, body, after, h.Extras())
	}
	again, err := d.PeekAllowing(after, allowed)
	if err != nil || again.Changed() || *again.Allowed() != *h.Allowed() {
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
	for _, seed := range []string{
		`{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"max_uses":null,"type":"web_fetch_20250910"},{"name":"a"}],"speed":"fast"}`,
		`{"model":"m","tools":[{"type":"web_search"},{"type":"x_search"},{"type":"mcp"}],"max_tool_calls":null,"service_tier":"flex","tool_choice":{"type":"web_search"}}`,
		`{"model":"m","tools":[{"googleSearch":{}},{"url_context":{},"functionDeclarations":[]}],"service_tier":"priority"}`,
		`{"model":"m","web_search_options":{"search_context_size":"high"},"service_tier":"priority","inference_geo":"us"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, style := range llm.Styles() {
			holdsTheTable(t, style, llm.ExtraSet{}, body)
			holdsTheTable(t, style, offerable(style), body)
		}
	})
}

// offerable are all rows that some model can offer.
func offerable(style llm.Style) (set llm.ExtraSet) {
	for i, row := range dialect.Extras(style) {
		if len(row.By) > 0 {
			set.Add(i)
		}
	}
	return set
}

// rowsOf are the rows of a style that cause a meter or are served on terms.
func rowsOf(style llm.Style, m meter.Meter, terms meter.Terms) (set llm.ExtraSet) {
	for i, row := range dialect.Extras(style) {
		if terms == (meter.Terms{}) && slices.Contains(row.Meters, m) || terms != (meter.Terms{}) && row.Terms == terms {
			set.Add(i)
		}
	}
	return set
}

func TestAllowedExtrasGoUpstreamBounded(t *testing.T) {
	t.Parallel()
	const search, fetch = 8192, 25_000
	for _, c := range []struct {
		style      llm.Style
		allowed    llm.ExtraSet
		body, want string
		dropped    []string
		fees       map[meter.Meter]int64
		rereads    int64
		terms      meter.Terms
		hour       bool
	}{
		{llm.Messages, rowsOf(llm.Messages, meter.WebSearches, meter.Terms{}),
			`{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910","name":"f"}]}`,
			`{"model":"m","tools":[{"max_uses":5,"type":"web_search_20250305","name":"web_search"}]}`, []string{"tools[1] (web_fetch_20250910)"},
			map[meter.Meter]int64{meter.WebSearches: 5, meter.InputTokens: 15 * search}, 5, meter.Terms{}, false},
		{llm.Messages, offerable(llm.Messages), `{"model":"m","tools":[{"type":"web_search_20260209","max_uses":9},{"type":"web_fetch_20260309","max_uses":null,"max_content_tokens":100}]}`,
			`{"model":"m","tools":[{"type":"web_search_20260209","max_uses":9},{"type":"web_fetch_20260309","max_uses":5,"max_content_tokens":100}]}`, nil,
			map[meter.Meter]int64{meter.WebSearches: 9, meter.WebFetches: 5, meter.InputTokens: 14 * 15 / 2 * search}, 14, meter.Terms{}, false},
		{llm.Messages, offerable(llm.Messages), `{"model":"m","tools":[{"type":"web_fetch_20260309"}],"service_tier":"auto","speed":"fast","inference_geo":"us"}`,
			`{"model":"m","tools":[{"max_uses":5,"max_content_tokens":25000,"type":"web_fetch_20260309"}],"service_tier":"auto","speed":"fast","inference_geo":"us"}`, nil,
			map[meter.Meter]int64{meter.WebFetches: 5, meter.InputTokens: 15 * fetch}, 5, meter.Terms{ServiceTier: "priority", Speed: "fast", Region: "us"}, false},
		{llm.Messages, offerable(llm.Messages), `{"model":"m","system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},{"cache_control":{"ttl":"9h"}}]}`,
			`{"model":"m","system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},{"cache_control":{}}]}`, []string{"cache_control.ttl"}, nil, 0, meter.Terms{}, true},
		{llm.Messages, offerable(llm.Messages), `{"model":"m","tools":[{"type":"code_execution_20250825"},{"type":"web_search_20250305"},{"type":"web_searches_1"}]}`,
			`{"model":"m","tools":[{"max_uses":5,"type":"web_search_20250305"}]}`, []string{"tools[0] (code_execution_20250825)", "tools[2] (web_searches_1)"},
			map[meter.Meter]int64{meter.WebSearches: 5, meter.InputTokens: 15 * search}, 5, meter.Terms{}, false},
		{llm.Responses, rowsOf(llm.Responses, meter.WebSearches, meter.Terms{}), `{"model":"m","tools":[{"type":"web_search"},{"type":"file_search","vector_store_ids":["vs_1"]}],"tool_choice":{"type":"web_search"}}`,
			`{"max_tool_calls":5,"model":"m","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}}`, []string{"tools[1] (file_search)"},
			map[meter.Meter]int64{meter.WebSearches: 15, meter.InputTokens: 120 * search}, 15, meter.Terms{}, false},
		{llm.Responses, rowsOf(llm.Responses, meter.WebSearchPreviews, meter.Terms{}), `{"model":"m","max_tool_calls":2,"tools":[{"type":"web_search_preview_2025_03_11"},{"type":"web_search_preview"}]}`,
			`{"model":"m","max_tool_calls":2,"tools":[{"type":"web_search_preview_2025_03_11"},{"type":"web_search_preview"}]}`, nil,
			map[meter.Meter]int64{meter.WebSearchPreviews: 4, meter.InputTokens: 10 * search}, 4, meter.Terms{}, false},
		{llm.Responses, rowsOf(llm.Responses, 0, meter.Terms{ServiceTier: "flex"}), `{"model":"m","service_tier":"flex","inference_geo":""}`, `{"model":"m","service_tier":"flex","inference_geo":""}`,
			nil, nil, 0, meter.Terms{ServiceTier: "flex"}, false},
		{llm.Chat, rowsOf(llm.Chat, 0, meter.Terms{ServiceTier: "flex"}), `{"model":"m","service_tier":"priority"}`, `{"model":"m"}`, []string{"service_tier"}, nil, 0, meter.Terms{}, false},
		{llm.Chat, offerable(llm.Chat), `{"model":"m","web_search_options":{"search_context_size":"high"}}`, `{"model":"m","web_search_options":{"search_context_size":"high"}}`,
			nil, nil, 0, meter.Terms{Size: "high"}, false},
		{llm.Chat, rowsOf(llm.Chat, meter.Requests, meter.Terms{}), `{"model":"m","web_search_options":{"search_context_size":"high"}}`, `{"model":"m","web_search_options":{}}`,
			[]string{"web_search_options.search_context_size"}, nil, 0, meter.Terms{}, false},
		{llm.Native, rowsOf(llm.Native, meter.GroundedQueries, meter.Terms{}), `{"model":"m","tools":[{"google_search":{}},{"codeExecution":{},"functionDeclarations":[]}]}`,
			`{"model":"m","tools":[{"google_search":{}},{"functionDeclarations":[]}]}`, []string{"tools[1].codeExecution"},
			map[meter.Meter]int64{meter.GroundedQueries: 10, meter.InputTokens: 10 * 512}, 0, meter.Terms{}, false},
		{llm.Native, offerable(llm.Native), `{"model":"m","tools":[{"googleSearch":{},"urlContext":{},"fileSearch":{}}],"service_tier":"FLEX"}`,
			`{"model":"m","tools":[{"googleSearch":{},"urlContext":{}}],"service_tier":"FLEX"}`, []string{"tools[0].fileSearch"},
			map[meter.Meter]int64{meter.GroundedPrompts: 1, meter.GroundedQueries: 10, meter.WebFetches: 10, meter.InputTokens: 11*512 + 10*16_384}, 0, meter.Terms{ServiceTier: "flex"}, false},
	} {
		h, err := dialectOf(t, c.style).PeekAllowing([]byte(c.body), c.allowed)
		if err != nil || h.Err() != nil {
			t.Errorf("%s: %v, %v", c.body, err, h.Err())
			continue
		}
		got := c.body
		if h.Changed() {
			got = string(h.WithoutExtras())
		}
		var fees meter.Counts
		for m, n := range c.fees {
			fees[m] = n
		}
		if got != c.want || !slices.Equal(h.Extras(), c.dropped) {
			t.Errorf("%s\n got %s\nwant %s\ndropped %q", c.body, got, c.want, h.Extras())
		}
		a := h.Allowed()
		if a.FeesMost != fees || a.Rereads != c.rereads || a.Terms != c.terms || a.WritesForHour != c.hour || a.RunsTools() != (len(c.fees) > 0) {
			t.Errorf("%s: at most %v, %d readings, on terms %q, for an hour %t", c.body, a.FeesMost, a.Rereads, a.Terms, a.WritesForHour)
		}
	}
}

func TestToolsAreBoundedByCounts(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
		`{"model":"m","tools":[{"type":"web_search_20250305","max_uses":0}]}`:                                                           "tools[0].max_uses",
		`{"model":"m","tools":[{"type":"web_search_20250305","max_uses":"9"}]}`:                                                         "tools[0].max_uses",
		`{"model":"m","tools":[{"name":"a"},{"type":"web_search_20250305","max_uses":1001}]}`:                                           "tools[1].max_uses",
		`{"model":"m","tools":[{"name":"a"},{"type":"web_fetch_20250910","max_content_tokens":1.5}]}`:                                   "tools[1].max_content_tokens",
		`{"model":"m","tools":[{"type":"code_execution_20250825"}]}`:                                                                    "tools[0]",
		`{"model":"m","tools":[{"type":"web_search_20250305"},{"type":"x","name":"x"}],"tool_choice":{"type":"tool","name":"x"}}`:       "tool_choice",
		`{"model":"m","tools":[{"type":"web_search_20250305"}],"messages":[{"content":[{"type":"container_upload","file_id":"f_1"}]}]}`: "messages[0].content[0]",
		`{"model":"m","speed":"ludicrous"}`:                                                                                             "speed",
		`{"model":"m","inference_geo":"mars"}`:                                                                                          "inference_geo",
	} {
		h, err := dialectOf(t, llm.Messages).PeekAllowing([]byte(body), offerable(llm.Messages))
		if e := app.AsError(h.Err()); err != nil || e == nil || e.Param != param || e.Kind != app.Invalid {
			t.Errorf("%s: %v, want a complaint about %s", body, h.Err(), param)
		}
	}
	for _, body := range []string{
		`{"model":"m","tools":[{"type":"web_search"}],"max_tool_calls":-1}`,
		`{"model":"m","tools":[{"type":"code_interpreter","container":"cntr_1"},{"type":"web_search"}]}`,
		`{"model":"m","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["file-1"]}},{"type":"web_search"}]}`,
		`{"model":"m","tools":[{"type":"web_search"}],"previous_response_id":"resp_1"}`,
		`{"model":"m","tools":[{"type":"web_search"}],"tool_choice":{"type":"image_generation"}}`,
	} {
		h, err := dialectOf(t, llm.Responses).PeekAllowing([]byte(body), offerable(llm.Responses))
		if err != nil || h.Err() == nil {
			t.Errorf("%s is taken, %v", body, err)
		}
	}
}

// TestRowsAreSound holds the table against what its readers rely on.
func TestRowsAreSound(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		rows := dialect.Extras(style)
		if len(rows) > llm.ExtraSetMax {
			t.Errorf("%s has %d rows, and a set holds %d", style, len(rows), llm.ExtraSetMax)
		}
		for _, row := range rows {
			if offers := len(row.By) > 0; offers != (len(row.Meters) > 0 || row.Terms != meter.Terms{}) {
				t.Errorf("%s: %s has providers without a price, or a price without providers", style, row.At)
			}
			if row.Uses != nil && (row.Uses.Max < 1 || row.Uses.Max > 1000 || row.Uses.Tokens < 1) {
				t.Errorf("%s: %s bounds nothing", style, row.At)
			}
			for _, m := range row.Meters {
				if m.Info().Side == meter.SideFee && m != meter.Requests && row.Uses == nil && strings.HasPrefix(row.At, "tools[]") {
					t.Errorf("%s: %s has a fee without a bound", style, row.At)
				}
			}
		}
	}
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
