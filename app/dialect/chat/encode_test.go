package chat_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// encoded is the wire of a request whose model is "m", without the members that every request has.
func encoded(t *testing.T, r *llm.Request) string {
	t.Helper()
	r.Model = "m"
	body, err := chat.Codec{}.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(body), `{"model":"m","messages":[`), "}")
}

func says(parts ...llm.Part) []llm.Turn { return []llm.Turn{{Role: llm.User, Parts: parts}} }

func answers(parts ...llm.Part) []llm.Turn { return []llm.Turn{{Role: llm.Assistant, Parts: parts}} }

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func result(r llm.ToolResult) llm.Part { return llm.Part{Kind: llm.Result, Result: r} }

func TestRequestsAreWrittenByTheMatrix(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	tool := []llm.Tool{{Name: "f"}, {Name: "c", Custom: true}}
	signed := llm.Part{Kind: llm.Reasoning, Text: "Hm.", Signature: "s"}
	call := llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c1", Name: "f"}}
	for name, c := range map[string]struct {
		request llm.Request
		want    string
	}{
		"results stand first": {llm.Request{Turns: says(text("x"), result(llm.ToolResult{CallID: "c1", Parts: []llm.Part{text("1")}}))},
			`{"role":"tool","content":"1","tool_call_id":"c1"},{"role":"user","content":"x"}]`},
		"an error has a prefix": {llm.Request{Turns: says(result(llm.ToolResult{CallID: "c1", Error: true, Parts: []llm.Part{text("no")}}))},
			`{"role":"tool","content":"Error: no","tool_call_id":"c1"}]`},
		"an error that says so stays": {llm.Request{Turns: says(result(llm.ToolResult{CallID: "c1", Error: true, Parts: []llm.Part{text("Error: no")}}))},
			`{"role":"tool","content":"Error: no","tool_call_id":"c1"}]`},
		"an error without words": {llm.Request{Turns: says(result(llm.ToolResult{CallID: "c1", Error: true}))},
			`{"role":"tool","content":"Error: ","tool_call_id":"c1"}]`},
		"an error of two parts": {llm.Request{Turns: says(result(llm.ToolResult{CallID: "c1", Error: true, Parts: []llm.Part{text("a"), text("b")}}))},
			`{"role":"tool","content":[{"type":"text","text":"Error: "},{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_call_id":"c1"}]`},
		"an id that does not fit is packed": {llm.Request{Turns: says(result(llm.ToolResult{CallID: "a.b:c"}))},
			`{"role":"tool","content":"","tool_call_id":"gwx_YS5iOmM"}]`},
		"a turn without parts": {llm.Request{Turns: []llm.Turn{{}, {Role: llm.Assistant}, {Role: llm.System}}},
			`{"role":"user","content":""},{"role":"assistant","content":""},{"role":"system","content":""}]`},
		"thoughts, text and calls in one message": {llm.Request{Turns: answers(signed, text("a"), call, llm.Part{Kind: llm.Reasoning, Text: "Oh."}, text("b"))},
			`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning_content":"Hm.\n\nOh.",` +
				`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"},` +
				`"extra_content":{"google":{"thought_signature":"s"}}}]}]`},
		"withheld thoughts have no place": {llm.Request{Turns: answers(llm.Part{Kind: llm.Reasoning, Signature: "s", Redacted: true}, text("a"), call)},
			`{"role":"assistant","content":"a","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`},
		"a plain text file": {llm.Request{Turns: says(llm.Part{Kind: llm.File, Media: llm.Media{Text: "hi"}})},
			`{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,aGk=","filename":"document.txt"}}]}]`},
		"a file without a name": {llm.Request{Turns: says(llm.Part{Kind: llm.File, Media: llm.Media{Type: "application/pdf", Data: "JVBERi0="}})},
			`{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"document.pdf"}}]}]`},
		"sound by its media type": {llm.Request{Turns: says(
			llm.Part{Kind: llm.Audio, Media: llm.Media{Type: "audio/mpeg", Data: "SUQz"}},
			llm.Part{Kind: llm.Audio, Media: llm.Media{Type: "audio/x-wav", Data: "UklG"}})},
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}},` +
				`{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}]}]`},
		"an image by file id": {llm.Request{Turns: says(llm.Part{Kind: llm.Image, Media: llm.Media{FileID: "file-1"}})},
			`{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]`},
		"a budget becomes an effort":                      {llm.Request{Reasoning: llm.ReasoningOptions{Budget: "9000"}}, `],"reasoning_effort":"high"`},
		"a budget that is left to the model says nothing": {llm.Request{Reasoning: llm.ReasoningOptions{Budget: "-1", Show: "auto"}}, `]`},
		"an effort wins over a budget":                    {llm.Request{Reasoning: llm.ReasoningOptions{Effort: "low", Budget: "9000"}}, `],"reasoning_effort":"low"`},
		"a schema gets a name": {llm.Request{Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte(`{"a": "\u00e9"}`)}},
			`],"response_format":{"type":"json_schema","json_schema":{"name":"response","schema":{"a":"\u00e9"}}}`},
		"text is said":        {llm.Request{Format: llm.Format{Kind: llm.FormatText}}, `],"response_format":{"type":"text"}`},
		"no tools, no choice": {llm.Request{Choice: llm.ToolChoice{Mode: llm.ChooseAuto}, Parallel: new(bool)}, `]`},
		"no choice":           {llm.Request{Tools: tool[:1]}, `],"tools":[{"type":"function","function":{"name":"f"}}]`},
		"none": {llm.Request{Tools: tool[:1], Choice: llm.ToolChoice{Mode: llm.ChooseNone}},
			`],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none"`},
		"one custom tool": {llm.Request{Tools: tool, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"c"}}},
			`],"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}],` +
				`"tool_choice":{"type":"custom","custom":{"name":"c"}}`},
		"some tools": {llm.Request{Tools: tool, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"c", "f"}}},
			`],"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}],` +
				`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"custom","custom":{"name":"c"}},` +
				`{"type":"function","function":{"name":"f"}}]}}`},
		"a stream asks for its usage": {llm.Request{Stream: true, MaxOutput: 7, Choices: 1}, `],"stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":7`},
	} {
		got := encoded(t, &c.request)
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
		if len(c.request.Turns) > 0 {
			s.fits(t, requestRoot, []byte(`{"model":"m","messages":[`+got+"}"))
		}
	}
}

func TestRequestsThatTheStyleCannotSayAreRefused(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]llm.Request{
		"a film":                       {Turns: says(llm.Part{Kind: llm.Video, Media: llm.Media{Data: "aGk="}})},
		"sound by its address":         {Turns: says(llm.Part{Kind: llm.Audio, Media: llm.Media{URL: "https://example.com/a.wav"}})},
		"a file by its address":        {Turns: says(text("x"), llm.Part{Kind: llm.File, Media: llm.Media{URL: "https://example.com/a.pdf"}})},
		"a film in a result":           {Turns: says(result(llm.ToolResult{CallID: "c", Parts: []llm.Part{{Kind: llm.Video}}}))},
		"a film as system":             {Turns: []llm.Turn{{Role: llm.System, Parts: []llm.Part{{Kind: llm.Video}}}}},
		"a number that is none":        {Sampling: llm.Sampling{Temperature: "warm"}},
		"a schema that is not JSON":    {Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte("{")}},
		"parameters that are not JSON": {Tools: []llm.Tool{{Name: "f", Parameters: []byte("{")}}},
	} {
		body, err := chat.Codec{}.EncodeRequest(&r)
		if err == nil {
			t.Errorf("%s: %s", name, body)
		} else if e := app.AsError(err); e.Kind != app.Invalid || e.Code != "unsupported_parameter" || e.Param != "messages" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestIDsThatAPreviousStylePackedAreUnpacked(t *testing.T) {
	t.Parallel()
	r, err := chat.Codec{}.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"gwx_YS5iOmM",` +
		`"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"gwx_YS5iOmM","content":"1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if call, res := r.Turns[0].Parts[0].Call, r.Turns[1].Parts[0].Result; call.ID != "a.b:c" || res.CallID != "a.b:c" || res.Name != "f" {
		t.Errorf("%+v %+v", call, res)
	}
}

func TestTheListOfWhatIsLeftOutIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[]`)
	for i := range 5000 {
		b.WriteString(`,"x` + strings.Repeat("y", i%500) + strings.Repeat("z", i/500) + `":1`)
	}
	b.WriteString("}")
	r, err := chat.Codec{}.DecodeRequest([]byte(b.String()))
	if err != nil || len(r.Dropped) != 64 {
		t.Errorf("%v, %d members", err, len(r.Dropped))
	}
}

func TestRequestsOutOfRangeAreRefusedByName(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
		`{"model":"m","messages":[],"max_completion_tokens":1.5}`:                                                         "max_completion_tokens",
		`{"model":"m","messages":[],"max_tokens":-1}`:                                                                     "max_tokens",
		`{"model":"m","messages":[],"max_tokens":1e300}`:                                                                  "max_tokens",
		`{"model":"m","messages":[],"n":"2"}`:                                                                             "n",
		`{"model":"m","messages":[],"n":0.5}`:                                                                             "n",
		`{"model":"m","messages":[],"metadata":[]}`:                                                                       "metadata",
		`{"model":"m","messages":[],"stop":[1]}`:                                                                          "stop[0]",
		`{"model":"m","messages":[],"tool_choice":5}`:                                                                     "tool_choice",
		`{"model":"m","messages":[],"tool_choice":"any"}`:                                                                 "tool_choice",
		`{"model":"m","messages":[],"tool_choice":{"type":5}}`:                                                            "tool_choice.type",
		`{"model":"m","messages":[],"function_call":{"name":"f","strict":5}}`:                                             "function_call.strict",
		`{"model":"m","messages":[],"tool_choice":{"type":"allowed_tools"}}`:                                              "tool_choice.allowed_tools.mode",
		`{"model":"m","messages":[],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{}]}}}`: "tool_choice",
		`{"model":"m","messages":[],"response_format":{"type":"json_schema"}}`:                                            "response_format.json_schema",
		`{"model":"m","messages":[],"response_format":{"type":"regex"}}`:                                                  "response_format.type",
		`{"model":"m","messages":[{"role":"tool","content":"x"}]}`:                                                        "messages[0].tool_call_id",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"file"}]}]}`:                                          "messages[0].content[0].file",
		`{"model":"m","messages":[{"role":"assistant","content":[{"type":"image_url"}]}]}`:                                "messages[0].content[0].type",
		`[]`: "body",
	} {
		_, err := chat.Codec{}.DecodeRequest([]byte(body))
		if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != param {
			t.Errorf("%s: %v at %q", body, err, app.AsError(err).Param)
		}
	}
}

func TestWordsForTheEndAreOneTableEachWay(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.Stop{
		"stop": llm.StopEnd, "length": llm.StopLength, "tool_calls": llm.StopToolCalls, "function_call": llm.StopToolCalls,
		"content_filter": llm.StopFilter, "": "", "MAX_TOKENS": llm.StopLength, "anything": llm.StopOther,
	} {
		if got := llm.StopOf(word); got != want {
			t.Errorf("%q is %q", word, got)
		}
	}
	say, refuse := text("x"), llm.Part{Kind: llm.Refusal, Text: "x"}
	call := llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}}
	for _, c := range []struct {
		stop llm.Stop
		part llm.Part
		want string
	}{
		{llm.StopEnd, say, "stop"}, {llm.StopSequence, say, "stop"}, {llm.StopLength, say, "length"}, {llm.StopContextFull, say, "length"},
		{llm.StopToolCalls, call, "tool_calls"}, {llm.StopEnd, call, "tool_calls"}, {llm.StopLength, call, "length"},
		{llm.StopToolCalls, say, "stop"}, {llm.StopFilter, say, "content_filter"}, {llm.StopRefusal, say, "content_filter"},
		{llm.StopRefusal, refuse, "stop"}, {llm.StopPause, say, "stop"}, {llm.StopMalformed, say, "stop"}, {llm.StopOther, say, "stop"},
	} {
		r := &llm.Response{Parts: []llm.Part{c.part}, Stop: c.stop}
		body := string(chat.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions()))
		if want := `"finish_reason":"` + c.want + `"`; !strings.Contains(body, want) {
			t.Errorf("%s with %v: %s", c.stop, c.part.Kind, body)
		}
		stream := string(streamOf(r))
		if want := `"delta":{},"finish_reason":"` + c.want + `"`; !strings.Contains(stream, want) {
			t.Errorf("%s with %v: %s", c.stop, c.part.Kind, stream)
		}
	}
}

func TestManyCallsInOneMessageAreReadInTimeThatGrowsWithThem(t *testing.T) {
	t.Parallel()
	const n = 50_000 // Quadratic time would be minutes for so many.
	body := `{"model":"m","messages":[{"role":"assistant","tool_calls":[` +
		strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{}"}},`, n), ",") + `]}]}`
	r, err := chat.Codec{}.DecodeRequest([]byte(body))
	if err != nil || len(r.Turns[0].Parts) != n || r.Turns[0].Parts[0].Call.ID == r.Turns[0].Parts[1].Call.ID {
		t.Errorf("%v", err)
	}
}

func TestMediaOfResultsFollowInTheUsersMessage(t *testing.T) {
	t.Parallel()
	image := llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGk="}}
	r := llm.Request{Turns: says(
		result(llm.ToolResult{CallID: "a", Error: true, Parts: []llm.Part{text("x"), image, text("y")}}),
		result(llm.ToolResult{CallID: "b", Parts: []llm.Part{image}}), text("Well?"),
	)}
	const picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}`
	want := `{"role":"tool","content":"Error: x\ny\n[1 attached to the next message, as the result of a]","tool_call_id":"a"},` +
		`{"role":"tool","content":"[1 attached to the next message, as the result of b]","tool_call_id":"b"},` +
		`{"role":"user","content":[{"type":"text","text":"[The result of a]"},` + picture + `,{"type":"text","text":"[The result of b]"},` + picture +
		`,{"type":"text","text":"Well?"}]}]`
	got := encoded(t, &r)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	loadSchemas(t).fits(t, requestRoot, []byte(`{"model":"m","messages":[`+got+"}"))
}

func TestResultsOfCallsWithOneIDComeInOrder(t *testing.T) {
	t.Parallel()
	const call = `{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}`
	r, err := chat.Codec{}.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[` +
		call + "," + call + `],"function_call":{"name":"g","arguments":"{}"}},{"role":"tool","tool_call_id":"c","content":"1"},` +
		`{"role":"tool","tool_call_id":"c","content":"2"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	asked, given := r.Turns[1].Parts, r.Turns[2].Parts
	if asked[0].Call.ID == asked[1].Call.ID || given[0].Result.CallID != asked[0].Call.ID || given[1].Result.CallID != asked[1].Call.ID {
		t.Errorf("asked %+v, given %+v", asked, given)
	}
}

func TestIDsAreSuchAsUpstreamsTake(t *testing.T) {
	t.Parallel()
	r := llm.Request{EndUser: strings.Repeat("u", 65), Turns: says(text("q"))}
	body, err := chat.Codec{}.EncodeRequest(&r)
	if err != nil || !strings.Contains(string(body), `"user":"gwh_`) {
		t.Errorf("%s, %v", body, err)
	}
	long := llm.ToolCall{ID: "functions.f:0", Name: "f"}
	answer := chat.Codec{}.EncodeResponse(nil, &llm.Response{Stop: llm.StopToolCalls, Parts: []llm.Part{{Kind: llm.Call, Call: long}}}, llmtest.NewOptions())
	if !strings.Contains(string(answer), `"id":"gwx_`) {
		t.Errorf("%s", answer)
	}
}

func TestTheGrammarOfAToolStandsWhereTheStyleHasIt(t *testing.T) {
	t.Parallel()
	const deep, flat = `{"type":"grammar","grammar":{"syntax":"lark","definition":"start: A"}}`, `{"type":"grammar","syntax":"lark","definition":"start: A"}`
	body := `{"model":"m","messages":[{"role":"user","content":"q"}],"tools":[{"type":"custom","custom":{"name":"c","format":` + deep + `}}]}`
	r, err := chat.Codec{}.DecodeRequest([]byte(body))
	if err != nil || string(r.Tools[0].Parameters) != flat {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := (chat.Codec{}).EncodeRequest(r); err != nil || !strings.Contains(string(again), `"format":`+deep) {
		t.Errorf("%s, %v", again, err)
	}
}
