package dialect_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/sse"
)

// event is a frame with an event line, as the messages and the responses styles have them.
func event(kind, rest string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
}

func data(doc string) string { return "data: " + doc + "\n\n" }

func answer(parts, rest string) string {
	return data(`{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0` + rest + `,"modelVersion":"up","responseId":"r1"}`)
}

var (
	mStart = event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"up","content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":1}}`)
	mOpen  = event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	mHello = event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"Hello"}`)
	mClose = event("content_block_stop", `,"index":0`)
	mEnd   = event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}`)
	mStop  = event("message_stop", "")

	rObject  = `{"id":"resp_1","object":"response","status":"in_progress","model":"up","output":[]`
	rCreated = event("response.created", `,"sequence_number":0,"response":`+rObject+`}`)
	rItem    = event("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}`)
	rHello   = event("response.output_text.delta", `,"sequence_number":2,"item_id":"msg_1","delta":"Hello"`)
	rOutput  = `[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"Hello"}]}]`
	rUsage   = `{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"total_tokens":12}`
	rWhole   = `{"id":"resp_1","object":"response","status":"completed","model":"up","output":` + rOutput
	rEnd     = event("response.completed", `,"sequence_number":3,"response":`+rWhole+`,"usage":`+rUsage+`}`)

	nHello = answer(`{"text":"Hello"}`, `}]`)
	nUsage = `,"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12,"cachedContentTokenCount":4}`
	nEnd   = answer(``, `,"finishReason":"STOP"}]`+nUsage)
)

func run(t testing.TB, style llm.Style, in string, b llm.Charge) passed {
	t.Helper()
	return passIn(t, style, strings.NewReader(in), llm.ResponseOptions{Model: "up", CallID: "req_1", Choices: 1}, b)
}

func costed(frame string) string {
	for _, usage := range []string{`"output_tokens":3}`, `"total_tokens":12}`, `"cachedContentTokenCount":4}`} {
		if i := strings.LastIndex(frame, usage); i >= 0 {
			return frame[:i+len(usage)-1] + `,"cost":0.00021` + frame[i+len(usage)-1:]
		}
	}
	return frame
}

func TestEveryStyleKeepsItsEndUntilTheChargeIsDurable(t *testing.T) {
	t.Parallel()
	for style, c := range map[llm.Style]struct {
		before, live, end string
		steps             []dialect.Step
	}{
		llm.Messages: {mStart + mOpen + event("ping", ""), mHello + mClose, mEnd + mStop, []dialect.Step{
			dialect.Lifecycle, dialect.Lifecycle, dialect.Lifecycle, dialect.Content, dialect.Content, dialect.Held, dialect.Done,
		}},
		llm.Responses: {rCreated + rItem, rHello, rEnd, []dialect.Step{dialect.Lifecycle, dialect.Lifecycle, dialect.Content, dialect.Done}},
		llm.Native:    {answer(`{"text":""}`, `}]`), nHello, nEnd, []dialect.Step{dialect.Lifecycle, dialect.Content, dialect.Held}},
	} {
		p := run(t, style, c.before+c.live+c.end, charge)
		if p.live != c.before+c.live || p.end != costed(c.end) || !reflect.DeepEqual(p.steps, c.steps) {
			t.Errorf("%s: live %q\nend  %q\nsteps %v", style, p.live, p.end, p.steps)
		}
		want := dialect.StreamStats{Usage: charge.Usage, Reported: true, ContentBytes: 5, ContentFrames: 1, Progress: 5, Finish: "stop", Last: style == llm.Native}
		if !p.whole || p.tally != want {
			t.Errorf("%s: whole %v, %+v", style, p.whole, p.tally)
		}
		if p := run(t, style, c.before, charge); p.live != "" || !p.tally.Empty() {
			t.Errorf("%s shows before there is content: %q", style, p.live)
		}
		if p := run(t, style, c.before+c.live, charge); p.whole || p.tally.Reported {
			t.Errorf("%s is whole without its end: %+v", style, p.tally)
		}
		if p := run(t, style, c.before+c.end, charge); p.live != "" || !p.whole || p.end != c.before+costed(c.end) {
			t.Errorf("%s without content: live %q, end %q", style, p.live, p.end)
		}
	}
}

func TestEveryStyleShowsACountOfOursInPlaceOfNoCount(t *testing.T) {
	t.Parallel()
	own := llm.Charge{Usage: llm.Usage{Input: 7, CacheRead: 2, Output: 6, Reasoning: 1}, Estimated: true, Cost: 1}
	for name, c := range map[string]struct {
		style    llm.Style
		in, want string
	}{
		"messages missing":  {llm.Messages, mStart + mHello + event("message_delta", `,"delta":{"stop_reason":"end_turn"}`) + mStop, `"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":6,"output_tokens_details":{"thinking_tokens":1},"server_tool_use":null,"cost":0.000000001}}`},
		"messages false":    {llm.Messages, mStart + mHello + strings.Replace(mEnd, ":3}", ":-3}", 1) + mStop, `"stop_sequence":null},"usage":{"input_tokens":7,`},
		"messages null":     {llm.Messages, mStart + mHello + strings.Replace(mEnd, `{"output_tokens":3}`, `null`, 1) + mStop, `"stop_sequence":null},"usage":{"input_tokens":7,`},
		"messages no input": {llm.Messages, mHello + mEnd + mStop, `"stop_sequence":null},"usage":{"input_tokens":7,`},
		"responses missing": {llm.Responses, rHello + event("response.completed", `,"response":`+rWhole+`}`), `"output":` + rOutput + `,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":2,"cache_write_tokens":0},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":15,"cost":0.000000001}}}`},
		"responses false":   {llm.Responses, rHello + strings.Replace(rEnd, `"output_tokens":3`, `"output_tokens":"3"`, 1), `"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":2,`},
		"native missing":    {llm.Native, nHello + answer(``, `,"finishReason":"STOP"}]`), `"responseId":"r1","usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":2,"candidatesTokenCount":5,"thoughtsTokenCount":1,"totalTokenCount":15,"cost":0.000000001}}`},
		"native false":      {llm.Native, nHello + strings.Replace(nEnd, `TokenCount":3`, `TokenCount":99999999999`, 1), `"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":2,`},
	} {
		p := run(t, c.style, c.in, own)
		if !p.whole || p.tally.Reported && p.tally.Usage.Doubts == 0 || !strings.Contains(p.end, c.want) || strings.Count(p.end, "cost") != 1 {
			t.Errorf("%s: whole %v, %+v\n%s", name, p.whole, p.tally, p.end)
		}
	}
}

func TestAnErrorInTheStreamOfAnyStyleIsNotAFrame(t *testing.T) {
	t.Parallel()
	for in, style := range map[string]llm.Style{
		mStart + mHello + event("error", `,"error":{"type":"overloaded_error","message":"overloaded"}`):                                 llm.Messages,
		mStart + mHello + "data: {\"type\":\"error\",\"error\":{\"message\":\"overloaded\"}}\n\n":                                       llm.Messages,
		mStart + mHello + "event: error\ndata: {\"type\":\"x\",\"m\":\"overloaded\"}\n\n":                                               llm.Messages,
		rCreated + rHello + event("response.failed", `,"response":`+rObject+`,"error":{"code":"server_error","message":"overloaded"}}`): llm.Responses,
		rCreated + rHello + event("error", `,"code":"server_error","message":"overloaded"`):                                             llm.Responses,
		rCreated + rHello + event("error", `,"error":{"code":"server_error","message":"overloaded"}`):                                   llm.Responses,
		nHello + data(`{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`):                                           llm.Native,
		nHello + "event: error\n" + data(`{"message":"overloaded"}`):                                                                    llm.Native,
	} {
		p := run(t, style, in, charge)
		var up *llm.UpstreamError
		if !errors.As(p.err, &up) || !strings.Contains(string(up.Body), "overloaded") || strings.Contains(p.live, "overloaded") || p.whole {
			t.Errorf("%s: %v, %q", in, p.err, p.live)
			continue
		}
		var body struct{ Error map[string]any }
		if json.Unmarshal(up.Body, &body) != nil || style == llm.Responses && body.Error["code"] != "server_error" {
			t.Errorf("%s: the error is %s", in, up.Body)
		}
	}
}

func TestFramesOfAnyStyleBecomeAsTheirClientsReadThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		style    llm.Style
		in, want string
	}{
		"messages without event lines":   {llm.Messages, strings.ReplaceAll(mStart+mHello, "event: ", "x: "), mStart + mHello},
		"messages with a wrong event":    {llm.Messages, mStart + strings.Replace(mHello, "event: content_block_delta", "event: message", 1), mStart + mHello},
		"messages CRLF":                  {llm.Messages, strings.ReplaceAll(mStart+mHello, "\n", "\r\n"), mStart + mHello},
		"messages with a mark":           {llm.Messages, mStart + data("[DONE]") + mHello, mStart + mHello},
		"messages with a comment":        {llm.Messages, mStart + ": hi\n\n" + mHello, mStart + mHello},
		"messages with remarks":          {llm.Messages, mStart + data(`{}`) + data("7") + data(`"hi"`) + "event: ping\n" + data("{") + mHello, mStart + mHello},
		"messages type only in the line": {llm.Messages, mStart + "event: content_block_delta\ndata: {\"delta\":{\"text\":\"x\"}}\n\n", mStart + "event: content_block_delta\ndata: {\"delta\":{\"text\":\"x\"}}\n\n"},
		"messages in two lines":          {llm.Messages, mStart + "data: {\"type\":\"content_block_delta\",\ndata: \"delta\":{\"text\":\"x\"}}\n\n", mStart + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\", \"delta\":{\"text\":\"x\"}}\n\n"},
		"messages tool":                  {llm.Messages, mStart + event("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`), mStart + event("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`)},
		"responses without event lines":  {llm.Responses, strings.ReplaceAll(rCreated+rHello, "event: ", "x: "), rCreated + rHello},
		"responses with a ping":          {llm.Responses, rCreated + rHello + event("keepalive", `,"sequence_number":3`), rCreated + rHello + event("keepalive", `,"sequence_number":3`)},
		"native with an event line":      {llm.Native, "event: message\nid: 3\n" + nHello, nHello},
		"native with a comment":          {llm.Native, ": hi\n\n" + nHello + ": hi\n\n\n\n" + data("[DONE]"), nHello},
		"native tool":                    {llm.Native, answer(`{"functionCall":{"name":"f","args":{}}}`, `}]`), answer(`{"functionCall":{"name":"f","args":{}}}`, `}]`)},
		"native picture":                 {llm.Native, answer(`{"inlineData":{"mimeType":"image/png","data":"QUFB"}}`, `}]`), answer(`{"inlineData":{"mimeType":"image/png","data":"QUFB"}}`, `}]`)},
		"native signature only":          {llm.Native, answer(`{"thought":true,"thoughtSignature":"c2ln"}`, `}]`), ""},
	} {
		if p := run(t, c.style, c.in, charge); p.live != c.want || p.err != nil || p.whole {
			t.Errorf("%s: %v\ngot  %q\nwant %q", name, p.err, p.live, c.want)
		}
	}
}

func TestAMarkIsNoEndWithoutAnAnswersEnd(t *testing.T) {
	t.Parallel()
	for in, style := range map[string]llm.Style{
		mStart + mHello + mStop: llm.Messages,
		rCreated + rHello + event("response.completed", `,"response":null`): llm.Responses,
		rCreated + rHello + event("response.completed", ``):                 llm.Responses,
		nHello + data("[DONE]"): llm.Native,
		answer(`{"text":"Hello"}`, `,"finishReason":"FINISH_REASON_UNSPECIFIED"}]`): llm.Native,
	} {
		p := run(t, style, in, charge)
		if p.whole || strings.Contains(p.live, "message_stop") || strings.Contains(p.live, "completed") || !strings.Contains(p.live, "Hello") {
			t.Errorf("%s: %+v, %q", in, p.tally, p.live)
		}
	}
	p := run(t, llm.Messages, mStart+mHello+mEnd, charge)
	if !p.whole || p.end != costed(mEnd)+mStop {
		t.Errorf("without its mark: whole %v, %q", p.whole, p.end)
	}
	if p := run(t, llm.Messages, mStart+mHello+strings.Replace(mEnd, `{"output_tokens":3}`, `{}`, 1), charge); !p.whole || p.tally.Reported {
		t.Error("an answer with its reason for the end is not whole without mark and usage")
	}
}

func TestEveryStyleSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	tool := event("content_block_start", `,"index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}`)
	reason := func(word string) string { return strings.Replace(mEnd, "end_turn", word, 1) + mStop }
	incomplete := func(details string) string {
		return strings.NewReplacer("response.completed", "response.incomplete", `"completed"`, `"incomplete","incomplete_details":`+details).Replace(rEnd)
	}
	call := strings.Replace(rEnd, rOutput, `[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`, 1)
	finish := func(word string) string { return strings.Replace(nEnd, "STOP", word, 1) }
	for in, want := range map[string]struct {
		style  llm.Style
		finish llm.Stop
	}{
		mStart + mHello + reason("max_tokens"):                            {llm.Messages, llm.StopLength},
		mStart + mHello + reason("refusal"):                               {llm.Messages, llm.StopRefusal},
		mStart + mHello + reason("stop_sequence"):                         {llm.Messages, llm.StopSequence},
		mStart + mHello + reason("pause_turn"):                            {llm.Messages, llm.StopPause},
		mStart + mHello + reason("model_context_window_exceeded"):         {llm.Messages, llm.StopContextFull},
		mStart + mHello + reason("x_new"):                                 {llm.Messages, llm.StopOther},
		mStart + tool + reason("end_turn"):                                {llm.Messages, llm.StopToolCalls},
		rHello + incomplete(`{"reason":"max_output_tokens"}`):             {llm.Responses, llm.StopLength},
		rHello + incomplete(`{"reason":"content_filter"}`):                {llm.Responses, llm.StopFilter},
		rHello + incomplete(`null`):                                       {llm.Responses, llm.StopOther},
		rHello + call:                                                     {llm.Responses, llm.StopToolCalls},
		rHello + strings.Replace(rEnd, `"text":`, `"refusal":`, 1):        {llm.Responses, llm.StopRefusal},
		nHello + finish("MAX_TOKENS"):                                     {llm.Native, llm.StopLength},
		nHello + finish("SAFETY"):                                         {llm.Native, llm.StopFilter},
		nHello + finish("OTHER"):                                          {llm.Native, llm.StopOther},
		answer(`{"functionCall":{"name":"f","args":{}}}`, `}]`) + nEnd:    {llm.Native, llm.StopToolCalls},
		data(`{"promptFeedback":{"blockReason":"SAFETY"}` + nUsage + `}`): {llm.Native, llm.StopFilter},
	} {
		if p := run(t, want.style, in, charge); p.tally.Finish != string(want.finish) || !p.whole || !p.tally.Reported {
			t.Errorf("%s: whole %v, %+v", in, p.whole, p.tally)
		}
	}
}

func TestAnswersOfEveryStyleThatWereCutShortHaveTheirReason(t *testing.T) {
	t.Parallel()
	short := llm.Charge{Usage: llm.Usage{Input: 7, Output: 2}, Estimated: true, Cost: 1, Truncated: true}
	counted := `"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2,"output_tokens_details":null,"server_tool_use":null,"cost":0.000000001}`
	delta := event("message_delta", `,"delta":{"stop_reason":"max_tokens","stop_sequence":null,"stop_details":null,"container":null},`+counted)
	for in, c := range map[string]struct {
		style llm.Style
		end   string
	}{
		mStart + mOpen + mHello:          {llm.Messages, mClose + delta + mStop},
		mStart + mOpen + mHello + mClose: {llm.Messages, delta + mStop},
		rCreated + rItem + rHello: {llm.Responses, event("response.incomplete", `,"sequence_number":3,"response":`+strings.Replace(rObject, "in_progress", "incomplete", 1)+
			`,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":9,"cost":0.000000001}}`)},
		nHello: {llm.Native, data(`{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"MAX_TOKENS","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9,"cost":0.000000001},"modelVersion":"up","responseId":"r1"}`)},
	} {
		if p := run(t, c.style, in, short); p.live != in || p.end != c.end {
			t.Errorf("live %q\nend  %q\nwant %q", p.live, p.end, c.end)
		}
	}
	for in, style := range map[string]llm.Style{mStart + mHello + mEnd + mStop: llm.Messages, rHello + rEnd: llm.Responses, nHello + nEnd: llm.Native} {
		if p := run(t, style, in, short); strings.Contains(p.end, "max_") || strings.Contains(p.end, "MAX_") || strings.Count(p.end, "cost") != 1 {
			t.Errorf("an answer that has its end got another: %s", p.end)
		}
	}
}

func TestMessagesUsageAddsUpOverItsFrames(t *testing.T) {
	t.Parallel()
	last := event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":50,"cache_creation_input_tokens":6,"output_tokens":30,"output_tokens_details":{"thinking_tokens":8}}`)
	early := event("message_delta", `,"delta":{"stop_reason":null},"usage":{"output_tokens":2}`)
	p := run(t, llm.Messages, mStart+mHello+early+mHello+last+mStop, charge)
	if want := (llm.Usage{Input: 50, CacheRead: 4, CacheWrite: 6, Output: 30, Reasoning: 8}); p.tally.Usage != want || !p.tally.Reported {
		t.Errorf("%+v", p.tally)
	}
	if p.live != mStart+mHello+early+mHello {
		t.Errorf("live %q", p.live)
	}
	two := run(t, llm.Messages, mStart+mHello+mEnd+event("message_delta", `,"delta":{"stop_reason":null},"usage":{"output_tokens":4}`)+mStop, charge)
	if !strings.Contains(two.end, `"usage":{"output_tokens":4,"cost":0.00021}`) || !strings.HasPrefix(two.end, mEnd) || two.tally.Usage.Output != 4 {
		t.Errorf("%+v, end %q", two.tally, two.end)
	}
}

func TestANativeUpstreamMaySayOfEveryFrameThatItEnds(t *testing.T) {
	t.Parallel()
	one := answer(`{"text":"Hello"}`, `,"finishReason":"STOP"}]`)
	all := strings.Repeat(one, 9000) // No stream holds back so much.
	p := run(t, llm.Native, all+nEnd, charge)
	if p.live != all[len(one):]+"" && p.live+p.end != all+costed(nEnd) || !p.whole || p.tally.ContentBytes != 45_000 {
		t.Errorf("%d of %d bytes, whole %v, %+v", len(p.live+p.end), len(all), p.whole, p.tally)
	}
	late := data(`{` + nUsage[1:] + `}`)
	if p := run(t, llm.Native, nHello+answer(``, `,"finishReason":"STOP"}]`)+late, charge); !strings.HasSuffix(p.end, costed(late)) || strings.Count(p.end, "cost") != 1 || p.tally.Usage != charge.Usage {
		t.Errorf("the usage behind the end: %+v, %q", p.tally, p.end)
	}
}

func TestSeveralNativeCandidatesEndTogether(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer(`"index":0`, `"index":1`)
	first := answer(``, `,"finishReason":"STOP"}]`)
	p := passIn(t, llm.Native, strings.NewReader(nHello+first+second.Replace(nHello)+second.Replace(nEnd)), llm.ResponseOptions{Model: "up", Choices: 2}, charge)
	if p.live != nHello+first+second.Replace(nHello) || p.end != costed(second.Replace(nEnd)) || !p.whole {
		t.Errorf("live %q\nend %q", p.live, p.end)
	}
}

func TestLongAnnouncementsOfResponsesAreKept(t *testing.T) {
	t.Parallel()
	long := strings.Replace(rCreated, `"output":[]`, `"output":[],"instructions":"`+strings.Repeat("x", 1<<20)+`"`, 1)
	if p := run(t, llm.Responses, long+rHello+rEnd, charge); p.err != nil || p.live != long+rHello || !p.whole {
		t.Errorf("%v, %d bytes", p.err, len(p.live))
	}
	for style, one := range map[llm.Style]string{llm.Messages: mStart, llm.Responses: rCreated, llm.Native: answer("", "}]")} {
		if p := run(t, style, strings.Repeat(one, 40_000), charge); !errors.Is(p.err, llm.ErrBroken) || p.live != "" {
			t.Errorf("%s: %v after %d frames", style, p.err, len(p.steps))
		}
	}
}

func TestAStreamOfAnyStyleFailsInItsOwnWords(t *testing.T) {
	t.Parallel()
	e := app.Errorf(app.Upstream, "upstream_error", "It broke.")
	for style, c := range map[llm.Style]struct{ in, event, part string }{
		llm.Messages:  {mStart + mHello, "error", `"type":"api_error"`},
		llm.Responses: {rCreated + rHello, "response.failed", `"sequence_number":3`},
		llm.Native:    {nHello, "", `"status":"INTERNAL"`},
	} {
		for _, in := range []string{"", c.in} {
			s := dialectOf(t, style).NewStream(llm.ResponseOptions{Model: "up", CallID: "req_1", Choices: 1})
			r := sse.NewReader(strings.NewReader(in), nil)
			for f, err := r.Next(); err == nil; f, err = r.Next() {
				_, _, _ = s.Frame(nil, f)
			}
			r.Close()
			out := string(s.Fail(nil, e, "req_1", nil))
			s.Close()
			if !strings.Contains(out, "It broke.") || in != "" && !strings.Contains(out, c.part) || c.event != "" && !strings.Contains(out, "event: "+c.event+"\n") {
				t.Errorf("%s after %q: %s", style, in, out)
			}
			for f := range strings.SplitSeq(strings.TrimSpace(out), "\n\n") {
				_, doc, _ := strings.Cut("\n"+f, "\ndata: ")
				if !json.Valid([]byte(doc)) {
					t.Errorf("%s: not JSON: %q", style, f)
				}
			}
		}
	}
}
