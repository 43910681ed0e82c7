package dialect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/sse"
)

// failureWords are the reasons for an end that mean a failure, and what they mean. Providers of every style send them.
var failureWords = map[string]llm.Stop{
	"error": llm.StopError, "ERROR": llm.StopError, "server_error": llm.StopError, "insufficient_system_resource": llm.StopError,
	"INSUFFICIENT_SYSTEM_RESOURCE": llm.StopError, "network_error": llm.StopError, "sensitive": llm.StopError, "SENSITIVE": llm.StopError,
	"abort": llm.StopError, "aborted": llm.StopError, "cancelled": llm.StopError, "USER_CANCEL": llm.StopError, "TIMEOUT": llm.StopError,
	"malformed_tool_use": llm.StopMalformed, "MALFORMED_FUNCTION_CALL": llm.StopMalformed, "UNEXPECTED_TOOL_CALL": llm.StopMalformed,
	"MISSING_THOUGHT_SIGNATURE": llm.StopMalformed,
}

// endedStream is a stream of two words that ends with a reason.
func endedStream(style llm.Style, word string) string {
	switch style {
	case llm.Chat:
		return role + hello + delta(`{}`, word) + usage + done
	case llm.Messages:
		return mStart + mOpen + mHello + mClose + strings.Replace(mEnd, "end_turn", word, 1) + mStop
	case llm.Responses:
		return rCreated + rItem + rHello + strings.NewReplacer("response.completed", "response.incomplete", `"completed"`,
			`"incomplete","incomplete_details":{"reason":"`+word+`"}`).Replace(rEnd)
	}
	return nHello + strings.Replace(nEnd, "STOP", word, 1)
}

// endedBody is an answer in one piece that ends with a reason.
func endedBody(style llm.Style, word string) string {
	switch style {
	case llm.Chat:
		return `{"id":"x","choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"` + word + `"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	case llm.Messages:
		return `{"id":"x","type":"message","role":"assistant","content":[{"type":"text","text":"Hello"}],"stop_reason":"` + word +
			`","usage":{"input_tokens":1,"output_tokens":1}}`
	case llm.Responses:
		return `{"id":"x","object":"response","status":"incomplete","incomplete_details":{"reason":"` + word + `"},"output":[{"type":"message",` +
			`"role":"assistant","content":[{"type":"output_text","text":"Hello"}]}],"usage":{"input_tokens":1,"output_tokens":1}}`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hello"}]},"index":0,"finishReason":"` + word +
		`"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`
}

// wayBetween leads from a client of one style to an upstream of another, or of its own.
func wayBetween(t *testing.T, client, upstream llm.Style) *translate.Exchange {
	t.Helper()
	if client == upstream {
		return translate.Passthrough(dialectOf(t, client), nil, &dialect.Head{})
	}
	way, err := translate.New(dialectOf(t, client), dialectOf(t, upstream),
		&llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}, "p", 9)
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// passAll passes a stream on to its end, which it reports as an upstream's.
func passAll(s dialect.Stream, in string) (string, error) {
	r := sse.NewReader(strings.NewReader(in), nil)
	defer r.Close()
	var out []byte
	for {
		f, broken := r.Next()
		if broken != nil {
			f = sse.Frame{}
		}
		var err error
		if out, _, err = s.Frame(out, f); err != nil || broken != nil {
			return string(out), err
		}
	}
}

// eachForm reads an answer as every client does: as a stream, in one piece, and in the form that was not asked for.
func eachForm(t *testing.T, style llm.Style, stream, body string, test func(name string, t dialect.StreamStats, out string, err error)) {
	t.Helper()
	for _, client := range llm.Styles() {
		way := wayBetween(t, client, style)
		options := llm.ResponseOptions{Model: "public", CallID: "call", Choices: 1}
		s := way.NewStream(options)
		out, err := passAll(s, stream)
		test(fmt.Sprint(client, " stream"), s.Stats(), out, err)
		s.Close()

		folded := way.NewFolded(options)
		_, err = passAll(folded, stream)
		test(fmt.Sprint(client, " folded"), folded.Stats(), "", err)

		b, err := way.ReadBody([]byte(body), options)
		var tally dialect.StreamStats
		if err == nil {
			tally = b.Stats()
		}
		test(fmt.Sprint(client, " body"), tally, "", err)

		frames, err := way.Frames([]byte(body))
		if err == nil {
			s = way.NewStream(options)
			out, err = passAll(s, string(frames))
			tally = s.Stats()
			s.Close()
		}
		test(fmt.Sprint(client, " body as a stream"), tally, out, err)
	}
}

func TestAReasonThatMeansAFailureIsNoEndOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		for word, stop := range failureWords {
			eachForm(t, style, endedStream(style, word), endedBody(style, word), func(name string, tally dialect.StreamStats, out string, err error) {
				var failed *llm.FailedError
				if !errors.As(err, &failed) || failed.Stop != stop || tally.Ended || tally.Whole || tally.Finish != "" {
					t.Errorf("%s from %s, %s: %v, %+v", name, style, word, err, tally)
				}
				if strings.HasSuffix(name, " stream") && !strings.HasSuffix(name, "a stream") && !strings.Contains(out, "Hello") || strings.Contains(out, `:"`+word+`"`) {
					t.Errorf("%s from %s, %s: the client has %q", name, style, word, out)
				}
			})
		}
	}
}

// TestAnEndThatAClientCanReadIsNoFailure has the reasons of filters, lengths and the like, and unknown words.
func TestAnEndThatAClientCanReadIsNoFailure(t *testing.T) {
	t.Parallel()
	for style, words := range map[llm.Style][]string{
		llm.Chat:      {"stop", "length", "content_filter", "COMPLETE", "MAX_TOKENS", "ERROR_TOXIC", "eos", "model_length", "refusal", "x_new"},
		llm.Messages:  {"end_turn", "max_tokens", "refusal", "stop_sequence", "pause_turn", "content_filtered", "x_new"},
		llm.Responses: {"max_output_tokens", "content_filter", "x_new"},
		llm.Native:    {"STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"},
	} {
		for _, word := range words {
			eachForm(t, style, endedStream(style, word), endedBody(style, word), func(name string, tally dialect.StreamStats, _ string, err error) {
				if word == "x_new" && strings.HasSuffix(name, "a stream") {
					// The gateway writes these frames, and their style may lack this reason.
					return
				}
				unnamed := word == "x_new" || word == "OTHER"
				if unnamed && strings.HasPrefix(name, "responses") && (style != llm.Responses || strings.HasSuffix(name, "folded")) {
					if failed := (*llm.FailedError)(nil); !errors.As(err, &failed) {
						t.Errorf("%s from %s, %s: %v, although its client would read failed", name, style, word, err)
					}
					return
				}
				if err != nil || !tally.Ended && !tally.Whole && !strings.Contains(name, "body") || tally.Finish == "" || tally.Empty() {
					t.Errorf("%s from %s, %s: %v, %+v", name, style, word, err, tally)
				}
			})
		}
	}
}

// TestACountedAnswerNeedsNoReason ends a stream without a finish reason. It is complete only when the provider has counted all of it.
func TestACountedAnswerNeedsNoReason(t *testing.T) {
	t.Parallel()
	body := strings.Replace(endedBody(llm.Chat, "stop"), `,"finish_reason":"stop"`, "", 1)
	eachForm(t, llm.Chat, role+hello+usage+done, body, func(name string, tally dialect.StreamStats, out string, err error) {
		if strings.Contains(name, "body") {
			return // Bodies are complete without a reason.
		}
		if err != nil || tally.Finish != "stop" || !tally.Reported || !tally.Ended && !tally.Whole {
			t.Errorf("%s: %v, %+v, %s", name, err, tally, out)
		}
	})
	for _, stream := range []string{role + hello + done, role + hello + usage, role + usage + hello + done, role + usage + done} {
		s := dialectOf(t, llm.Chat).NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
		_, err := passAll(s, stream)
		if tally := s.Stats(); tally.Ended || tally.Whole || tally.Finish != "" {
			t.Errorf("%q: %v, %+v", stream, err, tally)
		}
		s.Close()
		events, err := []llm.Event(nil), error(nil)
		decoder := dialectOf(t, llm.Chat).Codec.Decoder(&llm.ResponseOptions{Choices: 1})
		frames := sse.NewReader(strings.NewReader(stream), nil)
		for {
			f, broken := frames.Next()
			if broken != nil {
				break
			}
			if events, err = decoder.Decode(events, f.Event, f.Data); err != nil {
				break
			}
		}
		if err == nil {
			_, err = decoder.End(events)
		}
		if !errors.Is(err, llm.ErrCut) {
			t.Errorf("%q: the decoder returned %v", stream, err)
		}
		frames.Close()
	}
	s := dialectOf(t, llm.Chat).NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
	defer s.Close()
	if _, err := passAll(s, role+hello+usage+done); err != nil {
		t.Fatal(err)
	}
	if end := string(s.Finish(nil, charge)); strings.Count(end, `"finish_reason":"stop"`) != 1 || strings.Count(end, "[DONE]") != 1 {
		t.Errorf("the client gets %s", end)
	}
}

func TestAnAnswerThatIsNotOverHasFailed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"cancelled", "in_progress", "queued"} {
		body := strings.Replace(endedBody(llm.Responses, "x"), "incomplete", status, 1)
		for _, client := range llm.Styles() {
			if b, err := wayBetween(t, client, llm.Responses).ReadBody([]byte(body), llm.ResponseOptions{Model: "public", Choices: 1}); err == nil {
				t.Errorf("%s for %s: %+v", status, client, b.Stats())
			}
		}
	}
}

func TestOneChoiceThatHasFailedFailsTheAnswer(t *testing.T) {
	t.Parallel()
	options := llm.ResponseOptions{Model: "public", Choices: 2}
	choice := func(index int, word string) string {
		return fmt.Sprintf(`{"index":%d,"message":{"content":"Hello"},"finish_reason":"%s"}`, index, word)
	}
	body := `{"id":"x","choices":[` + choice(0, "error") + "," + choice(1, "stop") + `]}`
	if _, err := dialectOf(t, llm.Chat).ReadBody([]byte(body), options); err == nil {
		t.Error("a chat answer with a failed choice is taken")
	}
	stream := strings.ReplaceAll("data: "+body+"\n\n", "message", "delta")
	if p := passIn(t, llm.Chat, strings.NewReader(stream+done), options, charge); p.err == nil || p.whole {
		t.Errorf("a chat stream with a failed choice is taken: %v", p.err)
	}
	native := `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"ERROR"},{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`
	if _, err := dialectOf(t, llm.Native).ReadBody([]byte(native), options); err == nil {
		t.Error("a native answer with a failed candidate is taken")
	}
}

// TestAFrameThatCannotBeReadEndsTheAnswer damages a frame of each style in several ways. What a frame held that cannot be read is lost.
func TestAFrameThatCannotBeReadEndsTheAnswer(t *testing.T) {
	t.Parallel()
	// The first string goes before the damaged frame, the second is the frame.
	whole := map[llm.Style][2]string{
		llm.Chat:      {role + hello, hello},
		llm.Messages:  {mStart + mOpen + mHello, mHello},
		llm.Responses: {rCreated + rItem + rHello, rHello},
		llm.Native:    {nHello, nHello},
	}
	ends := map[llm.Style]string{llm.Chat: "stop", llm.Messages: "end_turn", llm.Responses: "max_output_tokens", llm.Native: "STOP"}
	for style, c := range whole {
		frame := strings.TrimSuffix(c[1], "\n\n")
		at := strings.Index(frame, "data: ") + len("data: ")
		rest := strings.TrimPrefix(endedStream(style, ends[style]), c[0])
		for name, damaged := range map[string]string{
			"its first half":     frame[:at+(len(frame)-at)/2],
			"its first brace":    frame[:at+1],
			"without its start":  frame[:at] + frame[at+9:],
			"without its end":    frame[:len(frame)-1],
			"with a broken word": strings.Replace(frame, `"Hello"`, `"Hel"lo"`, 1),
		} {
			for _, client := range llm.Styles() {
				way := wayBetween(t, client, style)
				for _, form := range []dialect.Stream{way.NewStream(llm.ResponseOptions{Model: "public", Choices: 1}), way.NewFolded(llm.ResponseOptions{Model: "public", Choices: 1})} {
					_, err := passAll(form, c[0]+damaged+"\n\n"+rest)
					if tally := form.Stats(); !errors.Is(err, llm.ErrMalformed) || tally.Ended || tally.Whole || tally.ContentBytes != 5 {
						t.Errorf("%s for %s, %s: %v, %+v", style, client, name, err, tally)
					}
					form.Close()
				}
			}
		}
		for name, remark := range map[string]string{"a remark": "data: keep-alive", "a text": `data: "ping"`, "a number": "data: 7", "a ping": "event: ping\ndata: {"} {
			for _, client := range llm.Styles() {
				form := wayBetween(t, client, style).NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
				_, err := passAll(form, c[0]+remark+"\n\n"+rest)
				if tally := form.Stats(); err != nil || !tally.Ended && !tally.Whole {
					t.Errorf("%s for %s, %s: %v, %+v", style, client, name, err, tally)
				}
				form.Close()
			}
		}
	}
}

// TestProgressIsWhatTheUpstreamSaid counts thoughts, calls and text as content, and nothing else.
func TestProgressIsWhatTheUpstreamSaid(t *testing.T) {
	t.Parallel()
	quiet := map[llm.Style]string{
		llm.Chat:      role + delta(`{"content":""}`, "null") + delta(`{}`, "null") + chunk("") + ": hi\n\n",
		llm.Messages:  mStart + mOpen + event("ping", "") + event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":""}`) + ": hi\n\n",
		llm.Responses: rCreated + rItem + event("keepalive", `,"sequence_number":3`) + event("response.output_text.delta", `,"output_index":0,"content_index":0,"delta":""`),
		llm.Native:    answer(`{"text":""}`, `}]`) + ": hi\n\n" + data(`{"usageMetadata":{"promptTokenCount":1}}`),
	}
	says := map[llm.Style][]string{
		llm.Chat: {hello, delta(`{"reasoning_content":"hm"}`, "null"), delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "null")},
		llm.Messages: {mHello, event("content_block_start", `,"index":1,"content_block":{"type":"thinking","thinking":""}`) +
			event("content_block_delta", `,"index":1,"delta":{"type":"thinking_delta","thinking":"hm"}`)},
		llm.Responses: {rHello, event("response.reasoning_summary_text.delta", `,"output_index":0,"summary_index":0,"delta":"hm"`)},
		llm.Native:    {nHello, answer(`{"thought":true,"text":"hm"}`, `}]`)},
	}
	for style := range quiet {
		for _, client := range llm.Styles() {
			form := wayBetween(t, client, style).NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
			feed := func(in string) int64 {
				r := sse.NewReader(strings.NewReader(in), nil)
				defer r.Close()
				for f, err := r.Next(); err == nil; f, err = r.Next() {
					if _, _, err := form.Frame(nil, f); err != nil {
						t.Fatal(style, client, err)
					}
				}
				return form.Stats().Progress
			}
			if n := feed(quiet[style]); n != 0 {
				t.Errorf("%s for %s: %d bytes of progress by signs of life", style, client, n)
			}
			last := int64(0)
			for i, in := range says[style] {
				n := feed(in)
				if n <= last {
					t.Errorf("%s for %s: content %d is no progress", style, client, i)
				}
				last = n
			}
			form.Close()
		}
	}
}
