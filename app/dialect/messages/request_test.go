package messages_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func decode(t *testing.T, body string) *llm.Request {
	t.Helper()
	r, err := messages.Codec{}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	llmtest.ForgetPlaces(r)
	return r
}

// encodeChecked writes a request for an upstream, unless that has no place for its conversation.
func encodeChecked(r *llm.Request) ([]byte, error) {
	if err := r.Check(messages.Codec{}.Traits()); err != nil {
		return nil, err
	}
	return messages.Codec{}.EncodeRequest(r)
}

// with is a request with one turn and more members.
func with(members string) string {
	return `{"model":"m","messages":[{"role":"user","content":"hi"}],` + members + `}`
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func TestDecodeReadsAWholeConversation(t *testing.T) {
	t.Parallel()
	got := decode(t, `{"model":"m","max_tokens":1e3,"stream":true,"temperature":0.50,"top_p":1,"top_k":40,
		"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Be kind."}],
		"stop_sequences":["END"],"metadata":{"user_id":"u1","team":"blue"},"service_tier":"auto","new_thing":{"a":[1]},"speed":null,
		"messages":[
			{"role":"user","content":"What is the weather?"},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"Rome.","signature":"sig"},{"type":"redacted_thinking","data":"xx"},
				{"type":"text","text":"Let me see.","citations":null},
				{"type":"tool_use","id":"t1","name":"weather","input":{ "z": 1.10, "a": "\u00e9" },"caller":{"type":"direct"}}]},
			{"role":"system","content":"Late."},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"a"},
					{"type":"image","source":{"type":"url","url":"https://e.com/a.png"}}]},
				{"type":"text","text":"So?","cache_control":{"type":"ephemeral"}}]},
			{"role":"user","content":"Well?"}]}`)
	want := &llm.Request{
		Model: "m", Stream: true, MaxOutput: 1000, Stop: []string{"END"}, EndUser: "u1",
		Sampling: llm.Sampling{Temperature: "0.50", TopP: "1", TopK: "40"},
		Dropped:  []string{"service_tier", "new_thing", "cache_control", "metadata.team"},
		Turns: []llm.Turn{
			{Role: llm.System, Parts: []llm.Part{text("Be brief.")}},
			{Role: llm.System, Parts: []llm.Part{text("Be kind.")}},
			{Parts: []llm.Part{text("What is the weather?")}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.Reasoning, Text: "Rome.", Signature: "sig"}, {Kind: llm.Reasoning, Signature: "xx", Redacted: true},
				text("Let me see."),
				{Kind: llm.Call, Call: llm.ToolCall{ID: "t1", Name: "weather", Arguments: `{"z":1.10,"a":"\u00e9"}`}}}},
			{Role: llm.System, Parts: []llm.Part{text("Late.")}},
			{Parts: []llm.Part{
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "t1", Name: "weather", Error: true, Parts: []llm.Part{
					text("a"), {Kind: llm.Image, Media: llm.Media{URL: "https://e.com/a.png"}}}}},
				text("So?"), text("Well?")}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeReadsMediaOfEveryKind(t *testing.T) {
	t.Parallel()
	for block, want := range map[string][]llm.Part{
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`: {{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGk="}}},
		`{"type":"image","source":{"type":"file","file_id":"f1"}}`:                           {{Kind: llm.Image, Media: llm.Media{FileID: "f1"}}},
		`{"type":"document","title":"a.pdf","context":"Read it.","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}`: {
			text("Read it."), {Kind: llm.File, Media: llm.Media{Type: "application/pdf", Data: "JVBERi0=", Name: "a.pdf"}}},
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}}`: {{Kind: llm.File, Media: llm.Media{Type: "text/plain", Text: "hello"}}},
		`{"type":"document","source":{"type":"url","url":"https://e.com/a.pdf"}}`:               {{Kind: llm.File, Media: llm.Media{URL: "https://e.com/a.pdf"}}},
		`{"type":"document","source":{"type":"file","file_id":"f1"},"title":null}`:              {{Kind: llm.File, Media: llm.Media{FileID: "f1"}}},
		`{"type":"document","source":{"type":"content","content":"hello"}}`:                     {{Kind: llm.File, Media: llm.Media{Type: "text/plain", Text: "hello"}}},
		`{"type":"document","title":"T","source":{"type":"content","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},
			{"type":"image","source":{"type":"url","url":"https://e.com/a.png"}},{"type":"text","text":"c"}]}}`: {
			{Kind: llm.File, Media: llm.Media{Type: "text/plain", Text: "a\n\nb", Name: "T"}},
			{Kind: llm.Image, Media: llm.Media{URL: "https://e.com/a.png"}},
			{Kind: llm.File, Media: llm.Media{Type: "text/plain", Text: "c", Name: "T"}}},
		`{"type":"search_result","title":"T","source":"https://e.com","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {text("T\nhttps://e.com\n\na\nb")},
	} {
		got := decode(t, `{"model":"m","messages":[{"role":"user","content":[`+block+`]}]}`)
		if len(got.Turns) != 1 || !reflect.DeepEqual(got.Turns[0].Parts, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", block, got.Turns, want)
		}
	}
}

func TestDecodeReadsEveryToolChoice(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for choice, want := range map[string]llm.Request{
		`null`:            {},
		`"auto"`:          {Choice: llm.ToolChoice{Mode: llm.ChooseAuto}},
		`"any"`:           {Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
		`"required"`:      {Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
		`"none"`:          {Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
		`{"type":"none"}`: {Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
		`{"type":"any","disable_parallel_tool_use":true}`:              {Choice: llm.ToolChoice{Mode: llm.ChooseRequired}, Parallel: &no},
		`{"type":"auto","disable_parallel_tool_use":false}`:            {Choice: llm.ToolChoice{Mode: llm.ChooseAuto}, Parallel: &yes},
		`{"type":"tool","name":"f","disable_parallel_tool_use":false}`: {Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"f"}}, Parallel: &yes},
	} {
		got := decode(t, with(`"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}],"tool_choice":`+choice))
		if !reflect.DeepEqual(got.Choice, want.Choice) || !reflect.DeepEqual(got.Parallel, want.Parallel) {
			t.Errorf("%s: %+v %v", choice, got.Choice, got.Parallel)
		}
		if fmt.Sprint(got.Dropped) != "[defer_loading]" {
			t.Errorf("dropped %v", got.Dropped)
		}
	}
}

func TestDecodeReadsThinking(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]llm.ReasoningOptions{
		`"thinking":{"type":"enabled","budget_tokens":2048}`:                                                              {Budget: "2048"},
		`"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"}`:                                       {Budget: "2048", Show: "auto"},
		`"thinking":{"type":"enabled","budget_tokens":8192},"output_config":{"effort":"medium"}`:                          {Effort: "medium"},
		`"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"max"}`:                             {Effort: "max", Budget: "-1", Show: "omitted"},
		`"thinking":{"type":"between_tools"}`:                                                                             {Budget: "-1"},
		`"thinking":{"type":"disabled"},"output_config":{"effort":"high"}`:                                                {Effort: "none"},
		`"output_config":{"effort":"low"}`:                                                                                {Effort: "low"},
		`"thinking":null,"output_config":{"effort":null,"format":null}`:                                                   {},
		`"output_format":{"type":"json_schema","schema":{"type":"object"}},"thinking":{"type":"adaptive","display":null}`: {Budget: "-1"},
	} {
		if got := decode(t, with(members)); got.Reasoning != want {
			t.Errorf("%s: %+v", members, got.Reasoning)
		}
	}
}

func TestDecodeDropsWhatOnlyOneVendorRuns(t *testing.T) {
	t.Parallel()
	got := decode(t, `{"model":"m","mcp_servers":[{"url":"https://e.com"}],
		"tools":[{"name":"f","type":"custom","input_schema":{"type":"object"}},{"type":"web_search_20260318","name":"web_search"}],
		"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[
			{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},
			{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"https://e.com"}]},
			{"type":"web_fetch_tool_result","tool_use_id":"s1","content":{"type":"web_fetch_tool_result_error"}},
			{"type":"text","text":"Found."}]}]}`)
	const want = "[mcp_servers content (server_tool_use) content (web_search_tool_result) content (web_fetch_tool_result) tools[1] (web_search_20260318)]"
	if fmt.Sprint(got.Dropped) != want || len(got.Tools) != 1 || len(got.Turns) != 2 || len(got.Turns[1].Parts) != 1 {
		t.Errorf("dropped %v, turns %+v", got.Dropped, got.Turns)
	}
	alone := decode(t, with(`"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`))
	if alone.Choice.Mode != llm.ChooseUnset || alone.Parallel != nil || len(alone.Tools) != 0 {
		t.Errorf("a choice among no tools: %+v", alone)
	}
}

func TestTheListOfWhatWasDroppedIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, `"x%d":1,`, i)
	}
	if got := decode(t, with(strings.TrimSuffix(b.String(), ","))); len(got.Dropped) > 100 {
		t.Errorf("%d entries", len(got.Dropped))
	}
}

func TestDecodeRefusesAndNamesTheField(t *testing.T) {
	t.Parallel()
	message := func(m string) string { return `{"model":"m","messages":[` + m + `]}` }
	for body, want := range map[string]string{
		`{`:                                   "invalid_json ",
		`[]`:                                  "invalid_request_error ",
		`{"model":7}`:                         "invalid_request_error model",
		`{"model":"a","model":"b"}`:           "invalid_request_error model",
		with(`"container":"c1"`):              "unsupported_parameter container",
		with(`"max_tokens":0`):                "unsupported_parameter max_tokens",
		with(`"max_tokens":1.5`):              "invalid_request_error max_tokens",
		with(`"temperature":"warm"`):          "invalid_request_error temperature",
		with(`"system":[{"type":"image"}]`):   "invalid_request_error system[0].type",
		with(`"thinking":{"type":"deep"}`):    "invalid_request_error thinking.type",
		with(`"thinking":{"type":"enabled"}`): "invalid_request_error thinking.budget_tokens",
		with(`"output_config":{"format":{"type":"json_object"}}`): "invalid_request_error output_config.format",
		with(`"metadata":{"user_id":1}`):                          "invalid_request_error metadata.user_id",
		with(`"tool_choice":"perhaps"`):                           "invalid_request_error tool_choice",
		with(`"tool_choice":{"type":"tool"}`):                     "invalid_request_error tool_choice.name",
		with(`"tools":[{"type":"web_search_1","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}`): "unsupported_parameter tool_choice",
		with(`"tools":[{"type":"web_search_1","name":"web_search"}],"tool_choice":"any"`):                               "unsupported_parameter tool_choice",
		with(`"tools":[{"input_schema":{}}]`):                                                                  "invalid_request_error tools[0].name",
		message(`{"role":"assistant","content":[{"type":"tool_use","name":"f"}]}`):                             "invalid_request_error messages[0].content[0].id",
		message(`{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}`):                               "invalid_request_error messages[0].content[0].name",
		message(`{"role":"user","content":[{"type":"tool_result","content":"x"}]}`):                            "invalid_request_error messages[0].content[0].tool_use_id",
		message(`{"role":"robot","content":"x"}`):                                                              "invalid_request_error messages[0].role",
		message(`{"role":"user","content":7}`):                                                                 "invalid_request_error messages[0].content",
		message(`{"role":"user","content":[{"text":"x"}]}`):                                                    "invalid_request_error messages[0].content[0].type",
		message(`{"role":"user","content":[{"type":"tool_use","id":"a"}]}`):                                    "invalid_request_error messages[0].content[0].type",
		message(`{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]}`):                   "invalid_request_error messages[0].content[0].type",
		message(`{"role":"user","content":[{"type":"container_upload","file_id":"a"}]}`):                       "unsupported_parameter messages[0].content[0]",
		message(`{"role":"user","content":[{"type":"image","source":{"type":"base64"}}]}`):                     "invalid_request_error messages[0].content[0].source",
		message(`{"role":"user","content":[{"type":"image"}]}`):                                                "invalid_request_error messages[0].content[0].source",
		message(`{"role":"user","content":[{"type":"image","source":{"type":7}}]}`):                            "invalid_request_error messages[0].content[0].source.type",
		message(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":7}]}]}`): "invalid_request_error messages[0].content[0].content[0].type",
	} {
		_, err := messages.Codec{}.DecodeRequest([]byte(body))
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Invalid || e.Code+" "+e.Param != want {
			t.Errorf("%s\ngot  %v %+v\nwant %s", body, err, e, want)
		}
	}
}

// encode writes a request and checks it against both versions of the schema.
func encode(t *testing.T, s schemas, r *llm.Request) string {
	t.Helper()
	if r.Turns == nil {
		r.Turns = []llm.Turn{{Parts: []llm.Part{text("hi")}}}
	}
	r.Model = "m"
	body, err := messages.Codec{}.EncodeRequest(r)
	if err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	s.request(t, body)
	return string(body)
}

func TestEncodeNormalisesTurns(t *testing.T) {
	t.Parallel()
	call := func(id, arguments string) llm.Part {
		return llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: "f", Arguments: arguments}}
	}
	result := func(id string, parts ...llm.Part) llm.Part {
		return llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: id, Parts: parts, Error: len(parts) == 0}}
	}
	got := encode(t, loadSchemas(t), &llm.Request{Turns: []llm.Turn{
		{Parts: []llm.Part{text(""), text("a")}},
		{Role: llm.System, Parts: []llm.Part{text("One."), text("Two.")}},
		{Parts: []llm.Part{text("b")}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Reasoning, Text: "unsigned"}, call("c1", "")}},
		{Role: llm.Assistant, Parts: []llm.Part{call("a call:2", ` { "z" : 1.10 } `)}},
		{Role: llm.System, Parts: []llm.Part{text("Late.")}},
		{Parts: []llm.Part{text("c"), result("c1"), result("a call:2", text(""), text("r"))}},
		{Role: llm.Assistant, Parts: []llm.Part{text("")}},
		{Parts: []llm.Part{text("d")}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Refusal, Text: "No."}}},
	}})
	const want = `{"model":"m","system":[{"type":"text","text":"One.\n\nTwo."},{"type":"text","text":"Late."}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}},` +
		`{"type":"tool_use","id":"gwx_YSBjYWxsOjI","name":"f","input":{"z":1.10}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true},` +
		`{"type":"tool_result","tool_use_id":"gwx_YSBjYWxsOjI","content":[{"type":"text","text":"r"}]},` +
		`{"type":"text","text":"c"},{"type":"text","text":"d"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"No."}]}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEncodeRefusesWhatTheStyleCannotSay(t *testing.T) {
	t.Parallel()
	user := llm.Turn{Parts: []llm.Part{text("hi")}}
	calls := func(arguments string) llm.Turn {
		return llm.Turn{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Call, Call: llm.ToolCall{ID: "a", Name: "f", Arguments: arguments}}}}
	}
	results := llm.Turn{Parts: []llm.Part{{Kind: llm.Result, Result: llm.ToolResult{CallID: "a"}}}}
	media := func(kind llm.PartKind, m llm.Media) llm.Turn {
		return llm.Turn{Parts: []llm.Part{{Kind: kind, Media: m}}}
	}
	for name, r := range map[string]*llm.Request{
		"nothing said":             {},
		"only blanks":              {Turns: []llm.Turn{{Parts: []llm.Part{text("")}}}},
		"assistant first":          {Turns: []llm.Turn{{Role: llm.Assistant, Parts: []llm.Part{text("hi")}}, user}},
		"a call without a result":  {Turns: []llm.Turn{user, calls("{}"), user}},
		"a call at the end":        {Turns: []llm.Turn{user, calls("{}")}},
		"arguments that are none":  {Turns: []llm.Turn{user, calls(`{"a":`), results}},
		"arguments of no object":   {Turns: []llm.Turn{user, calls(`[1]`), results}},
		"sound":                    {Turns: []llm.Turn{media(llm.Audio, llm.Media{Data: "aGk="})}},
		"an image of another kind": {Turns: []llm.Turn{media(llm.Image, llm.Media{Type: "image/bmp", Data: "aGk="})}},
		"a file of another kind":   {Turns: []llm.Turn{media(llm.File, llm.Media{Type: "application/zip", Data: "AAAA"})}},
		"a picture in a system":    {Turns: []llm.Turn{{Role: llm.System, Parts: media(llm.Image, llm.Media{URL: "https://e.com"}).Parts}, user}},
		"parameters of no object":  {Turns: []llm.Turn{user}, Tools: []llm.Tool{{Name: "f", Parameters: []byte("7")}}},
		"a schema of no object":    {Turns: []llm.Turn{user}, Format: llm.Format{Kind: llm.FormatSchema}},
		"a temperature in words":   {Turns: []llm.Turn{user}, Sampling: llm.Sampling{Temperature: "warm"}},
	} {
		_, err := encodeChecked(r)
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Invalid || e.Param == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEncodeWritesEachWish(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	no, yes := false, true
	tools := []llm.Tool{{Name: "f", Description: "Does f."}, {Name: "g", Parameters: []byte(`{ "properties": {} }`), Strict: &yes}, {Name: "h", Parameters: []byte(`{}`)}}
	const (
		h   = `{"name":"h","input_schema":{"type":"object"}}]`
		gh  = `{"name":"g","input_schema":{"type":"object","properties":{}},"strict":true},` + h
		fgh = `"tools":[{"name":"f","description":"Does f.","input_schema":{"type":"object","properties":{}}},` + gh
	)
	think := func(effort llm.Effort, budget llm.Number, limit int64) *llm.Request {
		return &llm.Request{Reasoning: llm.ReasoningOptions{Effort: effort, Budget: budget}, MaxOutput: limit,
			Sampling: llm.Sampling{Temperature: "0.3", TopP: "0.5", TopK: "3"}}
	}
	for _, c := range []struct {
		r    *llm.Request
		want string
	}{
		{&llm.Request{Sampling: llm.Sampling{Temperature: "1.7", TopP: "0.90", TopK: "40"}}, `"temperature":1,"top_p":0.90,"top_k":40`},
		{&llm.Request{Stop: []string{"A", "B"}, EndUser: "u", Stream: true}, `"stop_sequences":["A","B"],"metadata":{"user_id":"u"}`},
		{&llm.Request{Tools: tools, Parallel: &no}, fgh + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{&llm.Request{Tools: tools, Parallel: &yes}, fgh},
		{&llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}, Parallel: &no}, fgh + `,"tool_choice":{"type":"none"}`},
		{&llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"g"}}}, fgh + `,"tool_choice":{"type":"tool","name":"g"}`},
		{&llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"g", "h"}}}, `"tools":[` + gh + `,"tool_choice":{"type":"any"}`},
		{&llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto, Names: []string{"h"}}}, `"tools":[` + h + `,"tool_choice":{"type":"auto"}`},
		{&llm.Request{Choice: llm.ToolChoice{Mode: llm.ChooseAuto}, Parallel: &no}, ``},
		{think("minimal", "", 0), `"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low"}`},
		{think("high", "", 5000), `"thinking":{"type":"enabled","budget_tokens":2500},"output_config":{"effort":"high"}`},
		{think("high", "4000", 5000), `"thinking":{"type":"enabled","budget_tokens":4000},"output_config":{"effort":"high"}`},
		{think("", "9000", 5000), `"thinking":{"type":"enabled","budget_tokens":2500}`},
		{think("high", "", 1000), `"temperature":0.3,"top_p":0.5,"top_k":3,"output_config":{"effort":"high"}`},
		{think("none", "", 0), `"thinking":{"type":"disabled"},"temperature":0.3,"top_p":0.5,"top_k":3`},
		{think("", "0", 0), `"thinking":{"type":"disabled"},"temperature":0.3,"top_p":0.5,"top_k":3`},
		{think("", "-1", 0), `"thinking":{"type":"adaptive"}`},
		{think("", "512", 0), `"thinking":{"type":"enabled","budget_tokens":1024}`},
		{&llm.Request{Reasoning: llm.ReasoningOptions{Effort: "max", Show: "concise"}}, `"thinking":{"type":"enabled","budget_tokens":65536,"display":"summarized"},"output_config":{"effort":"max"}`},
		{&llm.Request{Reasoning: llm.ReasoningOptions{Effort: "low"}, Tools: tools[2:], Choice: llm.ToolChoice{Mode: llm.ChooseRequired}},
			`"tools":[` + h + `,"tool_choice":{"type":"any"},"output_config":{"effort":"low"}`},
		{&llm.Request{Reasoning: llm.ReasoningOptions{Effort: "low"}, Format: llm.Format{Kind: llm.FormatSchema, Name: "n", Schema: []byte(`{"type": "object"}`)}},
			`"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}}`},
	} {
		got := encode(t, s, c.r)
		_, rest, _ := strings.Cut(got, `"text":"hi"}]}]`)
		want := c.want
		if want != "" {
			want = "," + want
		}
		if rest != want+"}" {
			t.Errorf("got  %s\nwant %s}", rest, want)
		}
		if c.r.Stream != strings.Contains(got, `"stream":true`) {
			t.Errorf("stream: %s", got)
		}
	}
}

func TestThinkingDoesNotBeginInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	thought := llm.Part{Kind: llm.Reasoning, Text: "Hm.", Signature: "sig"}
	user := llm.Turn{Parts: []llm.Part{text("hi")}}
	calls := func(id string, before ...llm.Part) llm.Turn {
		return llm.Turn{Role: llm.Assistant, Parts: append(before, llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: "f", Custom: id == "c", Arguments: "{}"}})}
	}
	result := func(id string, more ...llm.Part) llm.Turn {
		return llm.Turn{Parts: append([]llm.Part{{Kind: llm.Result, Result: llm.ToolResult{CallID: id}}}, more...)}
	}
	for name, c := range map[string]struct {
		turns []llm.Turn
		want  bool
	}{
		"nothing was called":               {[]llm.Turn{user}, true},
		"called with a thought":            {[]llm.Turn{user, calls("a", thought), result("a")}, true},
		"called without":                   {[]llm.Turn{user, calls("a"), result("a", text("and"))}, false},
		"called twice, with one thought":   {[]llm.Turn{user, calls("a", thought), result("a"), calls("b"), result("b")}, true},
		"called twice, thought too late":   {[]llm.Turn{user, calls("a"), result("a"), calls("b", thought), result("b")}, false},
		"called without, in an older turn": {[]llm.Turn{user, calls("c"), result("c"), {Role: llm.Assistant, Parts: []llm.Part{text("so")}}, user}, true},
	} {
		for budget, kind := range map[llm.Number]string{"2000": "enabled", "-1": "adaptive"} {
			got := encode(t, s, &llm.Request{Turns: c.turns, Reasoning: llm.ReasoningOptions{Budget: budget}})
			if thinks := strings.Contains(got, `"thinking":{"type":"`+kind); thinks != (c.want || kind == "adaptive") {
				t.Errorf("%s: %s", name, got)
			}
			if strings.Contains(name, "older") && !strings.Contains(got, `"input":{"input":"{}"}`) {
				t.Errorf("the text of a custom call: %s", got)
			}
		}
	}
}

func TestEncodeWritesMediaOfEveryKind(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	for _, c := range []struct {
		kind llm.PartKind
		m    llm.Media
		want string
	}{
		{llm.Image, llm.Media{Type: "image/jpg", Data: "/9j/"}, `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/"}}`},
		{llm.Image, llm.Media{Data: "iVBORw0KGgoA"}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoA"}}`},
		{llm.Image, llm.Media{URL: "https://e.com/a"}, `{"type":"image","source":{"type":"url","url":"https://e.com/a"}}`},
		{llm.Image, llm.Media{FileID: "f"}, `{"type":"image","source":{"type":"file","file_id":"f"}}`},
		{llm.File, llm.Media{Type: "image/webp", Data: "UklG"}, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"UklG"}}`},
		{llm.File, llm.Media{Data: "JVBERi0x", Name: "a.pdf"}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"},"title":"a.pdf"}`},
		{llm.File, llm.Media{Type: "text/csv", Data: "YSxi"}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"}}`},
		{llm.File, llm.Media{Text: "hello"}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}}`},
		{llm.File, llm.Media{URL: "https://e.com/a.pdf"}, `{"type":"document","source":{"type":"url","url":"https://e.com/a.pdf"}}`},
		{llm.File, llm.Media{FileID: "f"}, `{"type":"document","source":{"type":"file","file_id":"f"}}`},
	} {
		got := encode(t, s, &llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: c.kind, Media: c.m}}}}})
		if want := `{"model":"m","messages":[{"role":"user","content":[` + c.want + `]}]}`; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTextsOfAnyBytesBecomeValidRequests(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	rapid.Check(t, func(rt *rapid.T) {
		odd := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")) + "x"
		r := &llm.Request{
			EndUser: odd, Stop: []string{odd},
			Turns: []llm.Turn{{Role: llm.System, Parts: []llm.Part{text(odd)}}, {Parts: []llm.Part{text(odd)}}},
			Tools: []llm.Tool{{Name: odd, Description: odd}},
		}
		encode(t, s, r)
	})
}
