package messages_test

import (
	"errors"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func hasText(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func calls(id string) llm.Part {
	return llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: "f", Arguments: "{}"}}
}

func answers(id string) llm.Part {
	return llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: id, Parts: []llm.Part{hasText("ok")}}}
}

func user(parts ...llm.Part) llm.Turn { return llm.Turn{Parts: parts} }

func assistant(parts ...llm.Part) llm.Turn { return llm.Turn{Role: llm.Assistant, Parts: parts} }

func TestWhiteSpaceThatUpstreamsRefuseIsLeftOut(t *testing.T) {
	t.Parallel()
	system := llm.Turn{Role: llm.System, Parts: []llm.Part{hasText(" \n")}}
	for name, c := range map[string]struct {
		turns []llm.Turn
		want  string
	}{
		"a message that is nothing else": {
			[]llm.Turn{system, user(hasText(" ")), user(hasText("q")), assistant(hasText("\n\n")), user(hasText("r"))},
			`"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"r"}]}]`,
		},
		"but not beside something": {
			[]llm.Turn{user(hasText("q")), assistant(hasText("\n\n"), calls("c")), user(answers("c"))},
			`"content":[{"type":"text","text":"\n\n"},{"type":"tool_use"`,
		},
		"the end of words to go on with": {
			[]llm.Turn{user(hasText("q")), assistant(hasText("Sure: \n"))}, `{"role":"assistant","content":[{"type":"text","text":"Sure:"}]}`,
		},
	} {
		body, err := messages.Codec{}.EncodeRequest(&llm.Request{Model: "m", Turns: c.turns})
		if err != nil || !strings.Contains(string(body), c.want) || strings.Contains(string(body), `"system"`) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	_, err := encodeChecked(&llm.Request{Model: "m", Turns: []llm.Turn{user(hasText(" "))}})
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Param != "messages" {
		t.Errorf("nothing but white space: %v", err)
	}
}

func TestCallsAndResultsThatDoNotMatchAreRefusedHere(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]llm.Turn{
		"a result without a call": {user(hasText("q"), answers("x"))},
		"a call without a result": {user(hasText("q")), assistant(calls("a"), calls("b")), user(answers("a"))},
		"a call at the end":       {user(hasText("q")), assistant(calls("a"))},
		"a result that is late":   {user(hasText("q")), assistant(calls("a")), user(answers("a")), assistant(hasText("x")), user(answers("a"))},
	} {
		_, err := encodeChecked(&llm.Request{Model: "m", Turns: turns})
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid || e.Param != "messages" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIdsOfPeopleThatUpstreamsRefuseAreHidden(t *testing.T) {
	t.Parallel()
	for id, stays := range map[string]bool{
		"user-1": true, `{"device_id":"a","session_id":"b"}`: true, "42": true,
		"bob@example.com": false, "+47 22 33 44 55": false, strings.Repeat("x", 257): false,
	} {
		r := &llm.Request{Model: "m", EndUser: id, Turns: []llm.Turn{user(hasText("q"))}}
		body, err := messages.Codec{}.EncodeRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := messages.Codec{}.DecodeRequest(body)
		if err != nil || (back.EndUser == id) != stays || len(back.EndUser) > 256 || strings.Contains(back.EndUser, "@") {
			t.Errorf("%q became %q, %v", id, back.EndUser, err)
		}
	}
}

func TestIdsOfCallsAreSuchAsUpstreamsTakeBack(t *testing.T) {
	t.Parallel()
	r := &llm.Response{Stop: llm.StopToolCalls, Parts: []llm.Part{calls("functions.f:0"), calls("toolu_1")}}
	body := string(messages.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions()))
	var stream []byte
	enc := messages.Codec{}.Encoder(llmtest.NewOptions())
	for _, e := range llm.Unfold(nil, r) {
		stream = enc.Append(stream, &e)
	}
	for _, wire := range []string{body, string(stream)} {
		if strings.Contains(wire, "functions.f:0") || !strings.Contains(wire, `"id":"gwx_`) || !strings.Contains(wire, `"id":"toolu_1"`) {
			t.Error(wire)
		}
	}
}

func TestAnAnswerWithoutCallsDoesNotEndWithThem(t *testing.T) {
	t.Parallel()
	r := &llm.Response{Stop: llm.StopToolCalls, Parts: []llm.Part{hasText("x")}}
	body := string(messages.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions()))
	var stream []byte
	enc := messages.Codec{}.Encoder(llmtest.NewOptions())
	for _, e := range llm.Unfold(nil, r) {
		stream = enc.Append(stream, &e)
	}
	for _, wire := range []string{body, string(stream)} {
		if !strings.Contains(wire, `"stop_reason":"end_turn"`) {
			t.Error(wire)
		}
	}
}

func TestWhatWasSaidInShortIsText(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"compaction","content":"So far."}]},{"role":"user","content":"r"}]}`
	r, err := messages.Codec{}.DecodeRequest([]byte(body))
	if err != nil || len(r.Turns) != 3 || r.Turns[1].Parts[0].Text != "So far." {
		t.Errorf("%+v, %v", r, err)
	}
}
