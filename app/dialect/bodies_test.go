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

var (
	mBody = `{"id":"msg_1","type":"message","role":"assistant","model":"up","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},` +
		`{"type":"text","text":"h\u00e9 🙂","x":1.50},{"type":"tool_use","id":"t","name":"f","input":{"a":"b"}}],"stop_reason":"end_turn","stop_sequence":null`
	nBody = `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"h\u00e9 🙂","x":1.50},` +
		`{"functionCall":{"name":"f","args":{"a":"b"}}}],"role":"model"},"finishReason":"STOP","index":0}],"modelVersion":"up","responseId":"r1"`
	rBody = `{"id":"resp_1","object":"response","created_at":1760000000,"status":"completed","error":null,"incomplete_details":null,"model":"up","output":[` +
		`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xxxxxxxx"},` +
		`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"h\u00e9 🙂","annotations":[],"logprobs":[],"x":1.50}]},` +
		`{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{\"a\":\"b\"}"}]`
	mUsage = `"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":3}`
)

func TestBodiesOfEveryStyleKeepEverythingButTheModelAndTheCost(t *testing.T) {
	t.Parallel()
	public := strings.NewReplacer(`"up"`, `"public"`)
	for _, c := range []struct {
		style           llm.Style
		in, usage, want string
	}{
		{llm.Messages, mBody, `,` + mUsage + `,"z":[ ]}`, `,` + mUsage[:len(mUsage)-1] + `,"cost":0.00021},"z":[ ]}`},
		{llm.Messages, strings.Replace(mBody, `"id":"msg_1",`, "\n \"id\" : \"msg_1\" ,\r\n ", 1), " }\n", ` ,"usage":{"cache_creation":null,"inference_geo":null,"service_tier":null,"speed":null,` +
			`"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3,"output_tokens_details":null,"server_tool_use":null,"cost":0.00021}}` + "\n"},
		{llm.Responses, rBody, `,"usage":` + rUsage + `,"z":[ ]}`, `,"usage":` + rUsage[:len(rUsage)-1] + `,"cost":0.00021},"z":[ ]}`},
		{llm.Responses, rBody, `,"usage":null}`, `,"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},"output_tokens":3,` +
			`"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12,"cost":0.00021}}`},
		{llm.Native, nBody, nUsage + `,"z":[ ]}`, nUsage[:len(nUsage)-1] + `,"cost":0.00021},"z":[ ]}`},
		{llm.Native, nBody, `}`, `,"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":3,"totalTokenCount":12,"cost":0.00021}}`},
	} {
		b, err := dialectOf(t, c.style).ReadBody([]byte(c.in+c.usage), llm.ResponseOptions{Model: "public"})
		if err != nil {
			t.Errorf("%s: %v", c.style, err)
			continue
		}
		one := charge
		one.Estimated = !b.Stats().Reported
		if got := string(b.Append([]byte("x"), one)); got != "x"+public.Replace(c.in)+c.want {
			t.Errorf("got  %s\nwant %s", got, public.Replace(c.in)+c.want)
		}
		tally := b.Stats()
		if tally.Finish != "tool_calls" || tally.ContentBytes < 13 || tally.ContentBytes > 22 || tally.Reported && tally.Usage != charge.Usage {
			t.Errorf("%s: %+v", c.style, tally)
		}
	}
}

func TestBodiesOfNoStyleAreNoAnswer(t *testing.T) {
	t.Parallel()
	for style, list := range map[llm.Style][]string{
		llm.Messages:  {`{"type":"message","model":"m"}`, `{"content":null}`, `{"content":"hi"}`, `{"content":[{]}`},
		llm.Responses: {`{"object":"response","status":"completed"}`, `{"status":"completed","output":null}`, `{"output":"hi"}`},
		llm.Native:    {`{"modelVersion":"m"}`, `{"candidates":[]}`, `{"candidates":null}`, `{"promptFeedback":{}}`},
	} {
		for _, in := range append(list, ``, `{}`, `[]`, `<html></html>`, `{"a":1}{}`, `{"content":[],"output":[],"candidates":[{}]`, `{"content":[],"output":[],"candidates":[{}]} x`) {
			if _, err := dialectOf(t, style).ReadBody([]byte(in), llm.ResponseOptions{}); !errors.Is(err, llm.ErrBroken) {
				t.Errorf("%s %s: %v", style, in, err)
			}
		}
	}
	for in, style := range map[string]llm.Style{
		`{"type":"error","error":{"type":"overloaded_error","message":"slow down"}}`:                                llm.Messages,
		`{"object":"response","status":"failed","error":{"code":"server_error","message":"slow down"},"output":[]}`: llm.Responses,
		`{"object":"response","status":"failed","error":null,"note":"slow down","output":[]}`:                       llm.Responses,
		`{"error":{"message":"slow down","type":"server_error"}}`:                                                   llm.Responses,
		`{"error":{"code":503,"message":"slow down","status":"UNAVAILABLE"}}`:                                       llm.Native,
	} {
		var up *llm.UpstreamError
		if _, err := dialectOf(t, style).ReadBody([]byte(in), llm.ResponseOptions{}); !errors.As(err, &up) || !strings.Contains(string(up.Body), "slow down") {
			t.Errorf("%s: %v", in, err)
		}
	}
	b, err := dialectOf(t, llm.Native).ReadBody([]byte(`{"promptFeedback":{"blockReason":"SAFETY"}`+nUsage+`}`), llm.ResponseOptions{})
	if err != nil || b.Stats().Finish != "content_filter" || !b.Stats().Reported {
		t.Errorf("a blocked prompt: %v", err)
	}
}

func TestABodyOfAnyStyleBecomesTheFramesOfAStream(t *testing.T) {
	t.Parallel()
	for style, body := range map[llm.Style]string{
		llm.Messages: mBody + "," + mUsage + "}", llm.Responses: rBody + `,"usage":` + rUsage + `}`, llm.Native: nBody + nUsage + "}",
	} {
		d := dialectOf(t, style)
		frames, err := d.Frames([]byte(strings.Replace(body, `,"model"`, ",\n\"model\"", 1)))
		if err != nil {
			t.Fatalf("%s: %v", style, err)
		}
		p := run(t, style, string(frames), charge)
		if !p.whole || p.err != nil || p.tally.Usage != charge.Usage || !p.tally.Reported || p.tally.Finish != "tool_calls" {
			t.Errorf("%s: whole %v, %v, %+v\n%s", style, p.whole, p.err, p.tally, frames)
		}
		want, err := d.Codec.DecodeResponse([]byte(body), &llm.ResponseOptions{Choices: 1})
		if err != nil {
			t.Fatal(err)
		}
		if style == llm.Responses && strings.Contains(string(frames), `"created_at":0`) {
			t.Errorf("the answer lost its date: %s", frames)
		}
		got := decodeStream(t, d, p.live+p.end)
		got.Usage.ProviderCost = nil // The answer has the price of the gateway.
		if !sameParts(got.Parts, want.Parts) || got.Usage != want.Usage {
			t.Errorf("%s: %+v\nwant %+v", style, got, want)
		}
		bare := strings.NewReplacer(","+mUsage, "", `,"usage":`+rUsage, "", nUsage, "").Replace(body)
		if frames, err = d.Frames([]byte(bare)); err != nil {
			t.Fatalf("%s: %v", style, err)
		}
		if p := run(t, style, string(frames), charge); !p.whole || p.tally.Reported {
			t.Errorf("%s without usage: whole %v, %+v\n%s", style, p.whole, p.tally, frames)
		}
		for _, bad := range []string{``, `{`, `[]`, `{"model":"m"}x`} {
			if _, err := d.Frames([]byte(bad)); err == nil {
				t.Errorf("%s: %s became frames", style, bad)
			}
		}
	}
}

func decodeStream(t *testing.T, d *dialect.Dialect, in string) *llm.Response {
	t.Helper()
	decoder := d.Codec.Decoder(&llm.ResponseOptions{Choices: 1})
	r := sse.NewReader(strings.NewReader(in), nil)
	defer r.Close()
	var events []llm.Event
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		if events, err = decoder.Decode(events, f.Event, f.Data); errors.Is(err, llm.ErrEnd) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	events, err := decoder.End(events)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Fold(events)
}

// sameParts compares parts but for the ids of calls, which are minted where the wire has none.
func sameParts(a, b []llm.Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		x.Call.ID, y.Call.ID = "", ""
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// fuzzAnswer proves that no bytes of an upstream make the tap panic or write a line that is not JSON.
func fuzzAnswer(f *testing.F, style llm.Style, seeds ...string) {
	f.Helper()
	for _, s := range samples(f) {
		if s.style == style {
			f.Add([]byte(s.in))
		}
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d := dialectOf(t, style)
		for _, b := range []llm.Charge{charge, {Usage: charge.Usage, Estimated: true, Cost: 1, Truncated: true}} {
			p := run(t, style, string(in), b)
			checkFrames(t, style, string(in), p.live+p.end)
		}
		if b, err := d.ReadBody(in, llm.ResponseOptions{Model: "public"}); err == nil {
			out := b.Append(nil, llm.Charge{Usage: llm.Usage{Input: 1}, Estimated: !b.Stats().Reported, Cost: app.Nano})
			if json.Valid(in) && !json.Valid(out) {
				t.Fatalf("%s became %s", in, out)
			}
		}
		_, _ = d.Frames(in)
	})
}

// checkFrames checks that every frame has the lines it should have, and JSON where the upstream sent JSON.
func checkFrames(t *testing.T, style llm.Style, in, out string) {
	t.Helper()
	valid := true
	r := sse.NewReader(strings.NewReader(in), nil)
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		valid = valid && (f.Data == nil || json.Valid(f.Data))
	}
	r.Close()
	r = sse.NewReader(strings.NewReader(out), nil)
	defer r.Close()
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		lines := strings.Count(strings.TrimSuffix(string(f.Raw), "\n\n"), "\n")
		named := style == llm.Messages || style == llm.Responses
		if f.Data == nil || named && (lines != 1 || len(f.Event) == 0) || !named && lines != 0 {
			t.Fatalf("%q is no frame of the %s style, from %q", f.Raw, style, in)
		}
		if valid && !json.Valid(f.Data) {
			t.Fatalf("%q is not JSON, from %q", f.Data, in)
		}
	}
}

func FuzzAnswerMessages(f *testing.F) {
	fuzzAnswer(f, llm.Messages, mBody+","+mUsage+"}", mStart+mHello+mEnd+mEnd+mStop, "data: {\"type\":\"message_start\",\"message\":{\"model\":1,\"model\":2,\"usage\":{}}}\n\n")
}

func FuzzAnswerResponses(f *testing.F) {
	fuzzAnswer(f, llm.Responses, rBody+`,"usage":`+rUsage+`}`, rCreated+rHello, "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"content\":[{}]}]}}\n\n")
}

func FuzzAnswerNative(f *testing.F) {
	fuzzAnswer(f, llm.Native, nBody+nUsage+"}", nHello+nEnd+nHello+nEnd, "data: {\"candidates\":[{\"content\":{\"parts\":[{}]},\"finishReason\":\"STOP\"}]}\n\n")
}
