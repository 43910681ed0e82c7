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

const begin = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"up","choices":[`

func chunk(rest string) string { return "data: " + begin + rest + "]}\n\n" }

func delta(d, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return chunk(`{"index":0,"delta":` + d + `,"finish_reason":` + finish + `}`)
}

// passed is what a stream did with its frames.
type passed struct {
	live  string // Live is what the client may have before the answer has ended.
	end   string // End is what the client gets once the charge is durable.
	steps []dialect.Step
	err   error
	tally dialect.StreamStats
	whole bool
}

func pass(t testing.TB, in string, a llm.ResponseOptions, charge llm.Charge) passed {
	t.Helper()
	return passIn(t, llm.Chat, strings.NewReader(in), a, charge)
}

var (
	role   = delta(`{"role":"assistant","content":""}`, "null")
	hello  = delta(`{"content":"Hello"}`, "null")
	stop   = delta(`{}`, "stop")
	usage  = strings.TrimSuffix(chunk(""), "}\n\n") + `,"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	done   = "data: [DONE]\n\n"
	told   = `: {"cost":0.00021}` + "\n\n" // The cost of the charge, for a client that did not ask for the usage.
	asModl = strings.NewReplacer(`"model":"up"`, `"model":"public"`)
	charge = llm.Charge{Usage: llm.Usage{Input: 5, CacheRead: 4, Output: 3}, Cost: 210_000}
)

func TestContentFlowsAndTheEndWaits(t *testing.T) {
	t.Parallel()
	p := pass(t, role+hello+stop+usage+done, llm.ResponseOptions{Model: "public", Choices: 1}, charge)
	if want := asModl.Replace(role + hello); p.live != want {
		t.Errorf("live %q\nwant %q", p.live, want)
	}
	if want := asModl.Replace(stop) + told + done; p.end != want {
		t.Errorf("end %q\nwant %q", p.end, want)
	}
	want := []dialect.Step{dialect.Lifecycle, dialect.Content, dialect.Held, dialect.Idle, dialect.Done}
	if !reflect.DeepEqual(p.steps, want) {
		t.Errorf("steps %v, want %v", p.steps, want)
	}
	if !p.whole || !p.tally.Reported || p.tally.Usage != charge.Usage || p.tally.ContentBytes != 5 || p.tally.Finish != "stop" {
		t.Errorf("whole %v, tally %+v", p.whole, p.tally)
	}
}

func TestTheUsageFrameCarriesTheCostForThoseWhoAsked(t *testing.T) {
	t.Parallel()
	options := llm.ResponseOptions{Model: "public", Choices: 1, IncludeUsage: true}
	p := pass(t, role+hello+stop+usage+done, options, charge)
	want := asModl.Replace(stop) + strings.Replace(asModl.Replace(usage), `"cached_tokens":4}}`, `"cached_tokens":4},"cost":0.00021}`, 1) + done
	if p.end != want {
		t.Errorf("end %q\nwant %q", p.end, want)
	}
	foreign := strings.Replace(usage, `"total_tokens":12`, `"cost":99,"total_tokens":12`, 1)
	if p := pass(t, role+hello+stop+foreign+done, options, charge); !strings.Contains(p.end, `"cost":0.00021,`) || strings.Contains(p.end, "99") {
		t.Errorf("the upstream's own cost shows: %q", p.end)
	}
	missing := pass(t, role+hello+stop+done, options, llm.Charge{Usage: llm.Usage{Input: 7, Output: 2}, Estimated: true, Cost: 1})
	if !strings.Contains(missing.end, `"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"cost":0.000000001}}`) {
		t.Errorf("no usage frame in place of the missing one: %q", missing.end)
	}
}

// nulled adds a member to every chunk.
func nulled(in, m string) string { return strings.ReplaceAll(in, "]}\n\n", "],"+m+"}\n\n") }

func TestWhatWeAskedForAndTheClientDidNotIsTakenOut(t *testing.T) {
	t.Parallel()
	in := nulled(role+hello+stop, `"usage":null`) + usage + done
	p := pass(t, in, llm.ResponseOptions{Model: "public", Choices: 1}, charge)
	if strings.Contains(p.live+p.end, "usage") {
		t.Errorf("usage shows: %q", p.live+p.end)
	}
	p = pass(t, in, llm.ResponseOptions{Model: "public", Choices: 1, IncludeUsage: true}, charge)
	if strings.Count(p.live+p.end, `"usage":null`) != 3 || strings.Count(p.end, `"cost"`) != 1 {
		t.Errorf("usage is not null until the end: %q", p.live+p.end)
	}
}

func TestUsageBesideContentIsToldOnceAtTheEnd(t *testing.T) {
	t.Parallel()
	counts := func(n string) string { return `"usage":{"prompt_tokens":9,"completion_tokens":` + n + `,"x":1}` }
	in := nulled(role, counts("0")) + nulled(hello, counts("1")) + nulled(stop, counts("3")) + done
	for include, want := range map[bool]string{
		true: `"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"x":1,"cost":0.00021}}`, false: "",
	} {
		p := pass(t, in, llm.ResponseOptions{Model: "public", Choices: 1, IncludeUsage: include}, charge)
		if !strings.Contains(p.end, want) || strings.Contains(p.live, "tokens") || strings.Count(p.end, "prompt_tokens") != strings.Count(want, "prompt_tokens") {
			t.Errorf("include %v: live %q\nend %q", include, p.live, p.end)
		}
		if !p.tally.Reported || p.tally.Usage.Output != 3 {
			t.Errorf("tally %+v", p.tally)
		}
	}
}

func TestAReadingThatContentFollowsIsNotTheLast(t *testing.T) {
	t.Parallel()
	first := nulled(role, `"usage":{"prompt_tokens":9,"completion_tokens":0}`)
	if p := pass(t, first+hello+stop+done, llm.ResponseOptions{Choices: 1}, charge); p.tally.Reported {
		t.Errorf("the usage of the first chunk counts for the whole: %+v", p.tally)
	}
	twice := strings.Replace(usage, `"completion_tokens":3`, `"completion_tokens":1`, 1)
	if p := pass(t, role+hello+stop+twice+usage+done, llm.ResponseOptions{Choices: 1}, charge); p.tally.Usage.Output != 3 {
		t.Errorf("not the last reading: %+v", p.tally)
	}
	bad := strings.Replace(usage, `"completion_tokens":3`, `"completion_tokens":-3`, 1)
	if p := pass(t, role+hello+stop+usage+bad+done, llm.ResponseOptions{Choices: 1}, charge); !p.tally.Reported || p.tally.Usage.Output != 3 {
		t.Errorf("not the last valid reading: %+v", p.tally)
	}
}

// TestHostileUsageIsReadCountByCount takes what can be true of a usage object and nothing else.
func TestHostileUsageIsReadCountByCount(t *testing.T) {
	t.Parallel()
	noInput, noOutput := llm.Usage{Output: 3, Doubts: llm.InputUnknown}, llm.Usage{Input: 9, Doubts: llm.OutputUnknown}
	for u, want := range map[string]llm.Usage{
		`{"prompt_tokens":-1,"completion_tokens":3}`: noInput, `{"prompt_tokens":9,"completion_tokens":2147483649}`: noOutput,
		`{"prompt_tokens":"9","completion_tokens":3}`: noInput, `{"prompt_tokens":9.5,"completion_tokens":3}`: noInput,
		`{"prompt_tokens":1e3,"completion_tokens":3}`: {Input: 1000, Output: 3}, `{"completion_tokens":3}`: noInput, `{"prompt_tokens":9}`: noOutput,
		`{"prompt_tokens":9,"completion_tokens":null}`: noOutput, `{"prompt_tokens":9,"completion_tokens":99999999999999999999}`: noOutput,
		`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":10}}`:        {CacheRead: 9, Output: 3, Doubts: llm.PartUnknown},
		`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":-1}}`:        {Input: 9, Output: 3, Doubts: llm.PartUnknown},
		`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cache_write_tokens":10}}`:   {Input: 9, Output: 3, Doubts: llm.PartUnknown},
		`{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":7}`:                           {Input: 9, Output: 3, Doubts: llm.PartUnknown},
		`{"prompt_tokens":9,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":4}}`:  {Input: 9, Output: 3, Doubts: llm.PartUnknown},
		`{"prompt_tokens":9,"completion_tokens":-3,"completion_tokens_details":{"reasoning_tokens":4}}`: noOutput,
		`{"prompt_tokens":-9,"completion_tokens":-3}`:                                                   {}, `{}`: {}, `"9"`: {}, `[9,3]`: {}, `true`: {},
	} {
		in := strings.TrimSuffix(chunk(""), "}\n\n") + `,"usage":` + u + "}\n\n"
		if p := pass(t, role+hello+stop+in+done, llm.ResponseOptions{Choices: 1}, charge); p.tally.Reported != (want != llm.Usage{}) || p.tally.Usage != want || !p.whole {
			t.Errorf("%s: %+v", u, p.tally)
		}
		body := `{"id":"x","choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}],"usage":` + u + `}`
		b, err := chatDialect(t).ReadBody([]byte(body), llm.ResponseOptions{})
		if err != nil || b.Stats().Usage != want || b.Stats().Reported != (want != llm.Usage{}) {
			t.Errorf("%s in a body: %v", u, err)
			continue
		}
		estimate := llm.Charge{Usage: llm.Usage{Input: 1, Output: 1}, Estimated: true, Cost: 5}
		if got := string(b.Append(nil, estimate)); !strings.Contains(got, `"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2,"cost":0.000000005}`) {
			t.Errorf("the body shows %s", got)
		}
	}
}

func TestTheFirstChunkHasTheRoleAndNoContent(t *testing.T) {
	t.Parallel()
	want := asModl.Replace(role)
	for name, in := range map[string]string{
		"never sent":           hello,
		"together with text":   delta(`{"role":"assistant","content":"Hello"}`, "null"),
		"without content":      delta(`{"role":"assistant"}`, "null") + hello,
		"with null content":    delta(`{"role":"assistant","content":null}`, "null") + hello,
		"only with the finish": "",
	} {
		p := pass(t, in+stop+usage+done, llm.ResponseOptions{Model: "public", Choices: 1}, charge)
		all := p.live + p.end
		if strings.HasPrefix(name, "with") && !strings.HasPrefix(all, `data: `+strings.Replace(begin, `"up"`, `"public"`, 1)+`{"index":0,"delta":{"role":"assistant"`) ||
			!strings.HasPrefix(name, "with") && !strings.HasPrefix(all, want) {
			t.Errorf("%s: the stream begins %q", name, all)
		}
	}
}

func TestOddFramesBecomeOrdinaryOnes(t *testing.T) {
	t.Parallel()
	options := llm.ResponseOptions{Model: "up", Choices: 1}
	for name, c := range map[string]struct{ in, want string }{
		"CRLF":             {strings.ReplaceAll(role+hello, "\n", "\r\n"), role + hello},
		"event and id":     {role + "event: message\nid: 7\n" + hello, role + hello},
		"two data lines":   {role + "data: {\"choices\":\ndata: [{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n", role + "data: {\"choices\": [{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"},
		"error null":       {nulled(role+hello, `"error":null`), role + hello},
		"another id":       {role + strings.Replace(hello, "chatcmpl-1", "chatcmpl-2", 1), role + hello},
		"unknown members":  {role + nulled(hello, `"x":{"y":[1.50,"\u00e9"]}`), role + nulled(hello, `"x":{"y":[1.50,"\u00e9"]}`)},
		"not a chunk":      {role + "data: {\"ping\":1}\n\n" + hello, role + hello},
		"a note":           {role + hello + chunk(""), role + hello + chunk("")},
		"not JSON":         {role + "data: hello\n\n" + hello, role + hello},
		"a comment":        {": hi\n\n" + role + ": hi\n\n" + hello, role + hello},
		"reasoning":        {role + delta(`{"reasoning_content":"hm"}`, "null"), role + delta(`{"reasoning_content":"hm"}`, "null")},
		"tool calls":       {role + delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "null"), role + delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`, "null")},
		"blanks in a body": {role + "data:  " + hello[6:], role + "data:  " + hello[6:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pass(t, c.in, options, charge)
			if name == "blanks in a body" {
				p.live, c.want = strings.ReplaceAll(p.live, "data:  ", "data: "), role+hello
			}
			if p.live != c.want || p.err != nil {
				t.Errorf("got  %q, %v\nwant %q", p.live, p.err, c.want)
			}
		})
	}
}

func TestContentInTheLastChunkNeedNotWait(t *testing.T) {
	t.Parallel()
	p := pass(t, role+delta(`{"content":"Hello"}`, "stop")+done, llm.ResponseOptions{Model: "up", Choices: 1}, charge)
	if p.live != role+hello || p.end != stop+told+done {
		t.Errorf("live %q\nend %q", p.live, p.end)
	}
}

func TestSeveralChoicesEndTogether(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer(`"index":0`, `"index":1`)
	in := role + second.Replace(role) + hello + stop + second.Replace(hello) + second.Replace(stop)
	p := pass(t, in+usage+done, llm.ResponseOptions{Model: "up", Choices: 2}, charge)
	if p.live != role+second.Replace(role)+hello+stop+second.Replace(hello) || p.end != second.Replace(stop)+told+done {
		t.Errorf("live %q\nend %q", p.live, p.end)
	}
}

func TestAnErrorInTheStreamIsNotAFrame(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`data: {"error":{"message":"overloaded","code":503}}` + "\n\n",
		"event: error\n" + `data: {"message":"overloaded"}` + "\n\n",
	} {
		p := pass(t, role+hello+in, llm.ResponseOptions{Model: "up", Choices: 1}, charge)
		var up *llm.UpstreamError
		if !errors.As(p.err, &up) || !strings.Contains(string(up.Body), "overloaded") || strings.Contains(p.live, "overloaded") {
			t.Errorf("%v, %q", p.err, p.live)
		}
	}
}

func TestAnAnswerIsWholeOnlyWithItsOwnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		whole bool
	}{
		"all of it":                     {role + hello + stop + usage + done, true},
		"no usage":                      {role + hello + stop + done, true},
		"no mark but all it has to say": {role + hello + stop + usage, true},
		"no mark and no usage":          {role + hello + stop, true},
		"no finish reason":              {role + hello + done, false},
		"cut":                           {role + hello, false},
		"only a role":                   {role, false},
		"nothing":                       {"", false},
		"only a mark":                   {done, false},
	} {
		p := pass(t, c.in, llm.ResponseOptions{Choices: 1}, charge)
		if p.whole != c.whole {
			t.Errorf("%s: whole %v", name, p.whole)
		}
		if empty := !strings.Contains(c.in, "Hello"); p.tally.Empty() != empty {
			t.Errorf("%s: empty %v", name, p.tally.Empty())
		}
	}
}

func TestEndlessAnnouncementsEnd(t *testing.T) {
	t.Parallel()
	p := pass(t, strings.Repeat(role, 5000), llm.ResponseOptions{Choices: 1}, charge)
	if !errors.Is(p.err, llm.ErrBroken) || p.live != "" {
		t.Errorf("%v after %d frames", p.err, len(p.steps))
	}
	p = pass(t, role+hello+stop+strings.Repeat(hello, 5000)+done, llm.ResponseOptions{Choices: 1}, charge)
	if p.err != nil || !p.whole || len(p.end) > 300<<10 {
		t.Errorf("after the end: %v, %d bytes kept", p.err, len(p.end))
	}
}

func TestBodiesKeepEverythingButTheModelAndTheCost(t *testing.T) {
	t.Parallel()
	options := llm.ResponseOptions{Model: "public"}
	message := `"choices":[{"index":0,"message":{"role":"assistant","content":"h\u00e9 🙂","x":1.50},"finish_reason":"stop"}]`
	for in, want := range map[string]string{
		`{"id":"a","model":"up",` + message + `,"usage":{"prompt_tokens":9,"completion_tokens":3},"z":[ ]}`: `{"id":"a","model":"public",` +
			message + `,"usage":{"prompt_tokens":9,"completion_tokens":3,"cost":0.00021},"z":[ ]}`,
		"{\n  \"model\": \"up\",\n  " + message + ",\n  \"usage\": {\n \"prompt_tokens\":9,\"completion_tokens\":3\n }\n}\n": "{\n  \"model\": \"public\",\n  " +
			message + ",\n  \"usage\": {\n \"prompt_tokens\":9,\"completion_tokens\":3\n ,\"cost\":0.00021}\n}\n",
		`{"error":null,"model":"up",` + message + `,"usage":{"cost":"free","prompt_tokens":9,"completion_tokens":3}}`: `{"model":"public",` +
			message + `,"usage":{"cost":0.00021,"prompt_tokens":9,"completion_tokens":3}}`,
		`{"model":"public",` + message + `}`:              `{"model":"public",` + message + `,"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"cost":0.00021}}`,
		`{"model":"public",` + message + `,"usage":null}`: `{"model":"public",` + message + `,"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12,"cost":0.00021}}`,
	} {
		b, err := chatDialect(t).ReadBody([]byte(in), options)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		one := charge
		one.Estimated = !b.Stats().Reported
		if got := string(b.Append(nil, one)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if b.Stats().ContentBytes != 9 || b.Stats().Finish != "stop" {
			t.Errorf("%s: %+v", in, b.Stats())
		}
	}
}

func TestBodiesThatAreNoAnswer(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `{}`, `[]`, `{"choices":[]}`, `{"choices":null}`, `{"choices":[{"message":{"content":"hi"}`, `{"choices":[{"message":{"content":"hi`,
		`<html></html>`, `{"choices":[{"message":"hi"}]}`, `{"choices":{}}`, `{"choices":[1]}`, `{"a":1}{}`, `{"choices":[{"message":{"content":"x"}}]} x`,
	} {
		if _, err := chatDialect(t).ReadBody([]byte(in), llm.ResponseOptions{}); !errors.Is(err, llm.ErrBroken) {
			t.Errorf("%s: %v", in, err)
		}
	}
	var up *llm.UpstreamError
	if _, err := chatDialect(t).ReadBody([]byte(`{"code":429,"error":{"message":"slow down"}}`), llm.ResponseOptions{}); !errors.As(err, &up) {
		t.Errorf("an error in the place of an answer: %v", err)
	}
}

func TestABodyBecomesTheFramesOfAStream(t *testing.T) {
	t.Parallel()
	body := "{\n\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1760000000,\"model\":\"up\",\"choices\":[\n" +
		`{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"},` +
		`{"index":1,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2"}]},"finish_reason":"tool_calls"}` +
		`],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	frames, err := chatDialect(t).Frames([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	p := pass(t, string(frames), llm.ResponseOptions{Model: "up", Choices: 2, IncludeUsage: true}, charge)
	if !p.whole || p.tally.Usage.Output != 3 || !strings.HasPrefix(p.live, role) || !strings.Contains(p.live, `"content":"Hello"`) ||
		!strings.Contains(p.live, `"tool_calls":[{"index":0,"id":"c1"`) || !strings.Contains(p.live, `{"index":1,"id":"c2"}`) {
		t.Errorf("whole %v, %+v\n%s", p.whole, p.tally, p.live)
	}
	if first, _, _ := strings.Cut(p.live, "\n\n"); !strings.Contains(first, `"delta":{"role":"assistant","content":""}`) ||
		strings.Count(p.live, `"role"`) != 2 {
		t.Errorf("each choice begins with its role, once, and with nothing else:\n%s", p.live)
	}
	for f := range strings.SplitSeq(strings.TrimSpace(p.live+p.end), "\n\n") {
		data := strings.TrimPrefix(f, "data: ")
		if data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("not JSON: %s", data)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"choices":null}`, `{"choices":[`} {
		if _, err := chatDialect(t).Frames([]byte(bad)); err == nil {
			t.Errorf("%s became frames", bad)
		}
	}
}

// FuzzAnswer proves that no bytes of an upstream make the tap panic or write a line that is not JSON.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(role + hello + stop + usage + done))
	f.Add([]byte(nulled(role+hello, `"error":null,"usage":null`) + delta(`{"content":"x"}`, "stop")))
	f.Add([]byte("data: {\"usage\":{},\"error\":null,\"choices\":[{}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\u00e9\\\"\"}}]}\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, include := range []bool{false, true} {
			p := pass(t, string(in), llm.ResponseOptions{Model: "public", CallID: "req_1", Choices: 1, IncludeUsage: include}, charge)
			r := sse.NewReader(strings.NewReader(p.live+p.end), nil)
			for {
				frame, err := r.Next()
				if err != nil {
					break
				}
				if !frame.Plain() && len(frame.Data) > 0 && !strings.Contains(string(in), "\r") {
					t.Fatalf("not one line: %q", frame.Raw)
				}
			}
			r.Close()
		}
		if b, err := chatDialect(t).ReadBody(in, llm.ResponseOptions{Model: "public"}); err == nil {
			out := b.Append(nil, llm.Charge{Usage: llm.Usage{Input: 1}, Estimated: !b.Stats().Reported, Cost: app.Nano})
			if json.Valid(in) && !json.Valid(out) {
				t.Fatalf("%s became %s", in, out)
			}
		}
		_, _ = chatDialect(t).Frames(in)
	})
}

func TestAnAnswerThatWasCutShortHasItsReason(t *testing.T) {
	t.Parallel()
	short := llm.Charge{Usage: llm.Usage{Input: 7, Output: 2}, Estimated: true, Cost: 1, Truncated: true}
	p := pass(t, role+hello+hello, llm.ResponseOptions{Model: "up", Choices: 1, IncludeUsage: true}, short)
	if want := delta(`{}`, "length"); !strings.HasPrefix(p.end, want) || !strings.HasSuffix(p.end, `"cost":0.000000001}}`+"\n\n"+done) || p.tally.ContentFrames != 2 {
		t.Errorf("end %q after %d frames", p.end, p.tally.ContentFrames)
	}
}
