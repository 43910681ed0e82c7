package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// sketch writes events so that a person can check them: each part with its deltas, the finish with the usage as
// input+read/output(reasoning).
func sketch(events []llm.Event) string {
	names := map[llm.PartKind]string{llm.Text: "text", llm.Reasoning: "thought", llm.Call: "call", llm.Refusal: "refusal"}
	var b strings.Builder
	for i := range events {
		switch e := &events[i]; e.Kind {
		case llm.EventStart:
			fmt.Fprintf(&b, "start %s", e.ID)
		case llm.EventPart:
			fmt.Fprintf(&b, "; %s", names[e.Part])
			if e.Part == llm.Call {
				fmt.Fprintf(&b, " %s %s", e.Call.ID, e.Call.Name)
			}
		case llm.EventDelta:
			fmt.Fprintf(&b, " %q", e.Delta)
		case llm.EventPartEnd:
			if e.Signature != "" {
				fmt.Fprintf(&b, " signed %s", e.Signature)
			}
			b.WriteString(" end")
		case llm.EventFinish:
			u := e.Usage
			fmt.Fprintf(&b, "; %s %d+%d/%d(%d) %v", e.Stop, u.Input, u.CacheRead, u.Output, u.Reasoning, e.Reported)
		}
	}
	return b.String()
}

func decodeStream(wire []byte) ([]llm.Event, error) {
	return llmtest.DecodeStream(native.Codec{}.Decoder(llmtest.NewOptions()), wire)
}

func TestStreamsAreReadAsTheyMean(t *testing.T) {
	t.Parallel()
	const hi = `start rid_fx1; text "Hi" end; stop 5+4/3(0) true`
	for file, want := range map[string]string{
		"native_blank.sse":    hi,
		"native_comment.sse":  hi,
		"native_done.sse":     hi,
		"native_event.sse":    hi,
		"native_text.sse":     `start rid_fx1; text "Hel" "lo" end; stop 5+4/3(0) true`,
		"native_crlf.sse":     `start rid_fx1; text "Hel" "lo" end; stop 5+4/3(0) true`,
		"native_blocked.sse":  `start rid_fx1; content_filter 9+0/0(0) true`,
		"native_thinking.sse": `start rid_fx1; thought "think " "more" signed c2ln end; text "42" end; stop 9+0/12(9) true`,
		"native_tool.sse": `start rid_fx1; text "Let me check." end; thought signed c2ln end; call call_a1 get_weather "{\"city\":\"Rome\"}" end` +
			`; call call_b2 get_time "{}" end; tool_calls 5+4/3(0) true`,
	} {
		events, err := decodeStream(readFile(t, file))
		if got := sketch(events); err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", file, err, got, want)
		}
	}
}

func TestAnErrorInAStreamIsTheUpstreams(t *testing.T) {
	t.Parallel()
	events, err := decodeStream(readFile(t, "native_err_mid.sse"))
	upstream, ok := errors.AsType[*llm.UpstreamError](err)
	if !ok || string(upstream.Body) != `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}` {
		t.Fatalf("%v", err)
	}
	if got := sketch(events); got != `start rid_fx1; text "Hel"` {
		t.Errorf("%s", got)
	}
	if _, err := (native.Codec{}).DecodeResponse(readFile(t, "native_err.json"), llmtest.NewOptions()); !errors.As(err, &upstream) {
		t.Errorf("%v", err)
	}
}

// frames makes a stream of candidates' contents.
func frames(list ...string) []byte {
	return []byte("data: " + strings.Join(list, "\n\ndata: ") + "\n\n")
}

func partsWriter(parts, rest string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + rest + `}]}`
}

func TestOddStreamsAreStillRead(t *testing.T) {
	t.Parallel()
	const stop = `,"finishReason":"STOP"`
	for name, c := range map[string]struct {
		wire []byte
		want string
	}{
		"the last usage counts": {frames(partsWriter(`{"text":"a"}`, "")+"", `{"usageMetadata":{"promptTokenCount":1}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"toolUsePromptTokenCount":3,"cachedContentTokenCount":4,"totalTokenCount":12}}`),
			`start ; text "a" end; stop 6+4/2(0) true`},
		"a usage before the last content does not count": {frames(`{"usageMetadata":{"promptTokenCount":1}}`, partsWriter(`{"text":"a"}`, stop)), `start ; text "a" end; stop 0+0/0(0) false`},
		"a usage that cannot be true does not count":     {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":-1}}`), `start ; stop 0+0/0(0) false`},
		"a usage of the wrong type does not count":       {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"many"}}`), `start ; stop 0+0/0(0) false`},
		"no more is cached than there is":                {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"cachedContentTokenCount":2}}`), `start ; stop 0+1/0(0) true`},
		"an output without an input counts":              {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":-1,"candidatesTokenCount":3}}`), `start ; stop 0+0/3(0) true`},
		"a usage that counts nothing does not count":     {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{}}`), `start ; stop 0+0/0(0) false`},
		"the total tells what the candidates said":       {frames(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":2,"totalTokenCount":10}}`), `start ; stop 5+0/5(2) true`},
		"a broken frame is passed over":                  {frames(partsWriter(`{"text":"a"}`, ""), `{"candidates":[`, `[]`, `5`, partsWriter(`{"text":1}`, ""), partsWriter(`{"text":"b"}`, stop)), `start ; text "a" "b" end; stop 0+0/0(0) false`},
		"an unknown frame is passed over":                {frames(`{"ping":1}`, `{"error":null}`, partsWriter(`{"text":"b"},{"sound":{}},{}`, stop)), `start ; text "b" end; stop 0+0/0(0) false`},
		"only the first answer is read":                  {frames(`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]},"finishReason":"SAFETY"},{"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}]}`), `start ; text "yes" end; stop 0+0/0(0) false`},
		"ids that are missing or taken are minted": {frames(partsWriter(`{"functionCall":{"name":"f"}},{"functionCall":{"id":"x","name":"f","args":null}},{"functionCall":{"id":"x","name":"f"}}`, stop)),
			`start ; call call_01test f "{}" end; call x f "{}" end; call call_01test_2 f "{}" end; tool_calls 0+0/0(0) false`},
		"a signature is of the thought before it": {frames(partsWriter(`{"text":"a","thought":true}`, ""), partsWriter(`{"functionCall":{"id":"1","name":"f"},"thoughtSignature":"s1"},{"functionCall":{"id":"2","name":"f"},"thoughtSignature":"s2"}`, stop)),
			`start ; thought "a" signed s1 end; call 1 f "{}" end; thought signed s2 end; call 2 f "{}" end; tool_calls 0+0/0(0) false`},
		"a signed thought ends": {frames(partsWriter(`{"text":"a","thought":true,"thoughtSignature":"s1"},{"text":"b","thought":true},{"text":"","thoughtSignature":"s2"}`, stop)),
			`start ; thought "a" signed s1 end; thought "b" signed s2 end; stop 0+0/0(0) false`},
		"the dummy is no signature": {frames(partsWriter(`{"functionCall":{"id":"1","name":"f"},"thoughtSignature":"skip_thought_signature_validator"}`, stop)), `start ; call 1 f "{}" end; tool_calls 0+0/0(0) false`},
		"code is fenced":            {frames(partsWriter(`{"text":"See"},{"executableCode":{"language":"PYTHON","code":"1"}}`, stop)), "start ; text \"See\" \"\\n```python\\n1\\n```\\n\" end; stop 0+0/0(0) false"},
		"a call in pieces that has no end": {frames(partsWriter(`{"functionCall":{"id":"1","name":"f","partialArgs":[{"jsonPath":"$.a","stringValue":"x"}],"willContinue":true}}`, stop)),
			`start ; call 1 f "{\"a\":\"x\"}" end; malformed 0+0/0(0) false`},
		"a call in pieces": {frames(
			partsWriter(`{"functionCall":{"id":"1","name":"f","willContinue":true},"thoughtSignature":"s1"}`, ""),
			partsWriter(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x\"","willContinue":true},{"jsonPath":"$.b[0].c","numberValue":1.50}],"willContinue":true}}`, ""),
			partsWriter(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.b[1]","boolValue":true},{"jsonPath":"$['d.e']","nullValue":"NULL_VALUE"}],"willContinue":true}}`, ""),
			partsWriter(`{"functionCall":{}},{"functionCall":{"id":"2","name":"g","partialArgs":[{"jsonPath":"$.a","stringValue":"z"}]}}`, stop)),
			`start ; thought signed s1 end; call 1 f "{\"a\":\"x\\\"y\",\"b\":[{\"c\":1.50},true],\"d.e\":null}" end; call 2 g "{\"a\":\"z\"}" end; tool_calls 0+0/0(0) false`},
		"a piece without a call":                {frames(partsWriter(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}]}}`, stop)), `start ; malformed 0+0/0(0) false`},
		"a piece at no place":                   {frames(partsWriter(`{"functionCall":{"id":"1","name":"f","partialArgs":[{"jsonPath":"$.a[2]","stringValue":"x"}]}}`, stop)), `start ; call 1 f "{\"a\":[]}" end; malformed 0+0/0(0) false`},
		"a piece within a text":                 {frames(partsWriter(`{"functionCall":{"id":"1","name":"f","partialArgs":[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b","boolValue":true}]}}`, stop)), `start ; call 1 f "{\"a\":\"x\"}" end; malformed 0+0/0(0) false`},
		"an interrupted call":                   {frames(partsWriter(`{"functionCall":{"id":"1","name":"f","willContinue":true}},{"text":"a"}`, stop)), `start ; call 1 f "{}" end; text "a" end; malformed 0+0/0(0) false`},
		"a call without an object is malformed": {frames(partsWriter(`{"functionCall":{"id":"1","name":"f"}},{"functionCall":{"name":"f","args":[1]}}`, stop)), `start ; call 1 f "{}" end; malformed 0+0/0(0) false`},
		"a call that was cut stays cut":         {frames(partsWriter(`{"functionCall":{"id":"1","name":"f"}}`, `,"finishReason":"MAX_TOKENS"`)), `start ; call 1 f "{}" end; length 0+0/0(0) false`},
		"the order of arguments stays":          {frames(partsWriter(`{"functionCall":{"id":"1","name":"f","args":{"z" : 1.10, "a":[ 12345678901234567890 ]}}}`, stop)), `start ; call 1 f "{\"z\":1.10,\"a\":[12345678901234567890]}" end; tool_calls 0+0/0(0) false`},
		"bytes that are no text are replaced":   {frames(partsWriter("{\"text\":\"a\xff\"},{\"functionCall\":{\"id\":\"1\",\"name\":\"f\",\"args\":{\"a\":\"\xff\"}}}", stop)), "start ; text \"a\ufffd\" end; call 1 f \"{\\\"a\\\":\\\"\ufffd\\\"}\" end; tool_calls 0+0/0(0) false"},
	} {
		events, err := decodeStream(c.wire)
		if got := sketch(events); err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, c.want)
		}
		if fault := llmtest.Legal(events); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

func TestAStreamWithoutAReasonToEndIsCut(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		string(frames(partsWriter(`{"text":"a"}`, ""))):                                            `start ; text "a" end`,
		string(frames(partsWriter(`{"text":"a"}`, ""), "[DONE]")):                                  `start ; text "a" end`,
		string(frames(partsWriter(`{"text":"a"}`, `,"finishReason":"FINISH_REASON_UNSPECIFIED"`))): `start ; text "a" end`,
		"": "",
	} {
		events, err := decodeStream([]byte(wire))
		if got := sketch(events); !errors.Is(err, llm.ErrCut) || got != want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	}
}

func TestTheFinishComesOnce(t *testing.T) {
	t.Parallel()
	d := native.Codec{}.Decoder(llmtest.NewOptions())
	events, err := d.Decode(nil, nil, []byte(partsWriter(`{"text":"a"}`, `,"finishReason":"STOP"`)))
	if err != nil {
		t.Fatal(err)
	}
	if events, err = d.Decode(events, nil, []byte("[DONE]")); !errors.Is(err, llm.ErrEnd) {
		t.Fatal(err)
	}
	if events, err = d.Decode(events, nil, []byte(partsWriter(`{"text":"b"}`, ""))); err != nil {
		t.Fatal(err)
	}
	if events, err = d.End(events); err != nil || sketch(events) != `start ; text "a" end; stop 0+0/0(0) false` {
		t.Errorf("%s, %v", sketch(events), err)
	}
}

func TestABodyThatIsNoAnswerIsBroken(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{}", "null", "[]", `{"candidates":[]}`, partsWriter(`{"text":"a"}`, ""), partsWriter(`{"text":"a"}`, "")[:20], "[DONE]"} {
		if r, err := (native.Codec{}).DecodeResponse([]byte(body), llmtest.NewOptions()); !errors.Is(err, llm.ErrBroken) {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
}

func TestEveryReasonToEndHasItsWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.Stop{
		"": "", "STOP": llm.StopEnd, "MAX_TOKENS": llm.StopLength, "SAFETY": llm.StopFilter, "RECITATION": llm.StopFilter, "SPII": llm.StopFilter,
		"BLOCKLIST": llm.StopFilter, "PROHIBITED_CONTENT": llm.StopFilter, "OTHER": llm.StopOther, "MALFORMED_FUNCTION_CALL": llm.StopMalformed,
		"UNEXPECTED_TOOL_CALL": llm.StopMalformed, "CONTINUATION": llm.StopPause, "NO_IMAGE": llm.StopOther, "A_NEW_ONE": llm.StopOther,
	} {
		if got := llm.StopOf(word); got != want {
			t.Errorf("%s means %s, not %s", word, got, want)
		}
	}
	for stop, want := range map[llm.Stop]string{
		llm.StopEnd: "STOP", llm.StopSequence: "STOP", llm.StopLength: "MAX_TOKENS", llm.StopContextFull: "MAX_TOKENS", llm.StopToolCalls: "STOP",
		llm.StopFilter: "SAFETY", llm.StopRefusal: "SAFETY", llm.StopPause: "STOP", llm.StopMalformed: "MALFORMED_FUNCTION_CALL", llm.StopOther: "OTHER",
	} {
		body := native.Codec{}.EncodeResponse(nil, &llm.Response{Stop: stop}, llmtest.NewOptions())
		if !strings.Contains(string(body), `"finishReason":"`+want+`"`) {
			t.Errorf("%s: %s", stop, body)
		}
	}
	words := &llm.Response{Parts: []llm.Part{{Kind: llm.Refusal, Text: "no"}}, Stop: llm.StopRefusal}
	body := native.Codec{}.EncodeResponse(nil, words, llmtest.NewOptions())
	var frames []byte
	encoder := native.Codec{}.Encoder(llmtest.NewOptions())
	for _, e := range llm.Unfold(nil, words) {
		frames = encoder.Append(frames, &e)
	}
	for _, answer := range []string{string(body), string(frames)} {
		if !strings.Contains(answer, `"finishReason":"STOP"`) {
			t.Errorf("a refusal in words: %s", answer)
		}
	}
}

// answer has one of everything: two calls of which the first is signed, a refusal, and usage with every count.
func answer() *llm.Response {
	cost := app.Amount(43_000)
	return &llm.Response{
		Parts: []llm.Part{
			thought("I should look.", "gw1.quillon.c2ln"), text("Let me\ncheck 🙂."), thought("", "gw1.quillon."),
			call("call_a", "weather", "{ \"city\": \"Rome\" }"), call("call_b", "clock", ""), {Kind: llm.Refusal, Text: "No."},
		},
		Stop: llm.StopToolCalls, Usage: llm.Usage{Input: 5, CacheRead: 4, CacheWrite: 2, Output: 12, Reasoning: 9}, Reported: true, Cost: &cost,
	}
}

const answered = `{"candidates":[{"content":{"parts":[{"text":"I should look.","thought":true,"thoughtSignature":"Z3cxLnF1aWxsb24uYzJsbg=="},` +
	`{"text":"Let me\ncheck 🙂."},` +
	`{"functionCall":{"id":"call_a","name":"weather","args":{"city":"Rome"}},"thoughtSignature":"Z3cxLnF1aWxsb24u"},` +
	`{"functionCall":{"id":"call_b","name":"clock","args":{}}},{"text":"No."}],"role":"model"},"finishReason":"STOP","index":0}],` +
	`"usageMetadata":{"promptTokenCount":11,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":9,"totalTokenCount":23,` +
	`"cost":0.000043},"modelVersion":"meridian/atlas","responseId":"01test"}`

func TestAnAnswerIsWrittenWhole(t *testing.T) {
	t.Parallel()
	body := native.Codec{}.EncodeResponse([]byte("x"), answer(), llmtest.NewOptions())
	if string(body) != "x"+answered {
		t.Errorf("got  %s\nwant x%s", body, answered)
	}
	loadSchemas(t).fits(t, "GenerateContentResponse", body[1:])
}

func TestAnAnswerIsStreamedInFramesOfItsOwn(t *testing.T) {
	t.Parallel()
	enc := native.Codec{}.Encoder(llmtest.NewOptions())
	var wire []byte
	for _, e := range llm.Unfold(nil, answer()) {
		wire = enc.Append(wire, &e)
	}
	const open, shut = `{"candidates":[{"content":{"parts":[`, `],"role":"model"},"index":0}],"modelVersion":"meridian/atlas","responseId":"01test"}`
	equal(t, loadSchemas(t).stream(t, wire), []string{
		open + `{"text":"I should look.","thought":true}` + shut,
		open + `{"text":"","thought":true,"thoughtSignature":"Z3cxLnF1aWxsb24uYzJsbg=="}` + shut,
		open + `{"text":"Let me\ncheck 🙂."}` + shut,
		open + `{"functionCall":{"id":"call_a","name":"weather","args":{"city":"Rome"}},"thoughtSignature":"Z3cxLnF1aWxsb24u"}` + shut,
		open + `{"functionCall":{"id":"call_b","name":"clock","args":{}}}` + shut,
		open + `{"text":"No."}` + shut,
		`{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":11,` +
			`"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":9,"totalTokenCount":23,"cost":0.000043},` +
			`"modelVersion":"meridian/atlas","responseId":"01test"}`,
	})
}

func TestAStreamHasNoEventLinesNoCommentsAndNoLastMark(t *testing.T) {
	t.Parallel()
	enc := native.Codec{}.Encoder(llmtest.NewOptions())
	var wire []byte
	r := answer()
	r.Parts = append(r.Parts, text("data: [DONE]\nevent: x\n: y"))
	for _, e := range llm.Unfold(nil, r) {
		wire = enc.Append(append(wire, native.KeepAlive...), &e)
	}
	wire = enc.Fail(wire, app.Errorf(app.Upstream, "upstream_error", "a\nb"), "req_1", nil)
	for line := range strings.Lines(string(wire)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "data: {") {
			t.Errorf("a line that clients of this style fail at: %q", line)
		}
	}
	if n := strings.Count(string(wire), `"finishReason"`); n != 1 {
		t.Errorf("%d frames say why the answer ended", n)
	}
	if strings.Contains(string(wire), "CONTINUATION") {
		t.Error("clients would send the request again")
	}
}

func TestThoughtsAreShownOnlyToThoseWhoAskForThem(t *testing.T) {
	t.Parallel()
	for config, shown := range map[string]bool{
		`{}`: false, `{"thinkingConfig":{"thinkingBudget":1024}}`: false, `{"thinkingConfig":{"includeThoughts":true}}`: true,
	} {
		a := llmtest.NewOptions()
		a.Request = decodeRequest(t, `{"contents":"Hi","generationConfig":`+config+`}`)
		enc := native.Codec{}.Encoder(a)
		var wire []byte
		for _, e := range llm.Unfold(nil, answer()) {
			wire = enc.Append(wire, &e)
		}
		for _, out := range []string{string(wire), string(native.Codec{}.EncodeResponse(nil, answer(), a))} {
			if strings.Contains(out, `"thought":true`) != shown || !strings.Contains(out, `"text":"Let me`) ||
				!strings.Contains(out, `"args":{"city":"Rome"}},"thoughtSignature":"Z3cxLnF1aWxsb24u"`) {
				t.Errorf("%s: %s", config, out)
			}
		}
	}
}

func TestBrokenArgumentsAreNeverMadeUp(t *testing.T) {
	t.Parallel()
	all := loadSchemas(t)
	for _, args := range []string{`{"city":"Ro`, `[1]`, `"x"`, `{} {}`, `nonsense`} {
		for stop, want := range map[llm.Stop]string{llm.StopToolCalls: "MALFORMED_FUNCTION_CALL", llm.StopLength: "MAX_TOKENS", llm.StopFilter: "SAFETY"} {
			r := &llm.Response{Parts: []llm.Part{text("a"), call("1", "f", args), call("2", "g", "{}")}, Stop: stop}
			body := native.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
			enc := native.Codec{}.Encoder(llmtest.NewOptions())
			var wire []byte
			for _, e := range llm.Unfold(nil, r) {
				wire = enc.Append(wire, &e)
			}
			all.fits(t, "GenerateContentResponse", body)
			all.stream(t, wire)
			for _, out := range []string{string(body), string(wire)} {
				if !strings.Contains(out, `"finishReason":"`+want+`"`) || strings.Contains(out, `"name":"f"`) || !strings.Contains(out, `"name":"g"`) {
					t.Errorf("%s, %s: %s", args, stop, out)
				}
			}
		}
	}
}

func TestUsageIsLeftOutWhereItIsUnknown(t *testing.T) {
	t.Parallel()
	body := native.Codec{}.EncodeResponse(nil, &llm.Response{Stop: llm.StopEnd}, llmtest.NewOptions())
	want := `{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"meridian/atlas","responseId":"01test"}`
	if string(body) != want {
		t.Errorf("%s", body)
	}
}

func TestSignaturesAreBytesForClients(t *testing.T) {
	t.Parallel()
	const sealed = "gw1.quillon.a/b+c?>\u00ff"
	r := &llm.Response{Parts: []llm.Part{thought("a", sealed), text("b")}, Stop: llm.StopEnd}
	body := string(native.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions()))
	_, rest, _ := strings.Cut(body, `"thoughtSignature":"`)
	signature, _, _ := strings.Cut(rest, `"`)
	if !strings.HasPrefix(signature, native.SealedMark) || strings.Contains(signature, ".") {
		t.Errorf("%q is not base64 that shows who sealed it", signature)
	}
	for _, back := range []string{signature, strings.TrimRight(signature, "="), strings.NewReplacer("+", "-", "/", "_").Replace(signature)} {
		history := decodeRequest(t, `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"a","thought":true,"thoughtSignature":"`+back+`"}]}]}`)
		equal(t, history.Turns[1].Parts, []llm.Part{thought("a", sealed)})
	}
}

func TestWhatComesBehindTheEndIsNoPartOfTheAnswer(t *testing.T) {
	t.Parallel()
	frame := func(text, finish, usage string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":"` + text + `"}],"role":"model"}` + finish + `}],"usageMetadata":{"promptTokenCount":1,` + usage + "}}\n\n"
	}
	const end = `,"finishReason":"STOP"`
	for name, c := range map[string]struct {
		behind, text string
		output       int64
	}{
		"nothing":            {"", "ab", 2},
		"a stray piece":      {frame("c", "", `"candidatesTokenCount":9`), "ab", 2},
		"another end":        {frame("c", end, `"candidatesTokenCount":3`), "abc", 3},
		"usage of its own":   {"data: {\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":4}}\n\n", "ab", 4},
		"an empty candidate": {frame("", end, `"candidatesTokenCount":5`), "ab", 5},
	} {
		wire := frame("a", "", `"candidatesTokenCount":1`) + frame("b", end, `"candidatesTokenCount":2`) + c.behind
		events, err := llmtest.DecodeStream(native.Codec{}.Decoder(llmtest.NewOptions()), []byte(wire))
		if err != nil {
			t.Fatal(err)
		}
		if r := llm.Fold(events); r.Parts[0].Text != c.text || r.Usage.Output != c.output || !r.Reported || r.Stop != llm.StopEnd {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
