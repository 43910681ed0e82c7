package framing_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/provider/framing"
	"umg/app/provider/framing/framingtest"
	"umg/app/provider/recordings"
	"umg/app/sse"
)

// read returns the whole text that a framing becomes.
func read(kind framing.Kind, r io.Reader) (string, error) {
	text, err := io.ReadAll(framing.NewReader(kind, io.NopCloser(r)))
	return string(text), err
}

// recordedStreams returns the recorded event streams of AWS by their names.
func recordedStreams(t testing.TB) map[string][]byte {
	t.Helper()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string][]byte{}
	for i := range all {
		if all[i].Header.Get("Content-Type") == framing.EventStream.ContentType() {
			streams[all[i].File] = all[i].Body
		}
	}
	if len(streams) < 5 {
		t.Fatalf("%d recorded event streams", len(streams))
	}
	return streams
}

// TestRecordedEventStreamsBecomeFrames reads each recorded stream whole and byte by byte.
func TestRecordedEventStreamsBecomeFrames(t *testing.T) {
	t.Parallel()
	first := map[string]string{
		"bedrock/anthropic-invoke-bearer-stream.json":  "event: message_start\ndata: {\"type\":\"message_start\",",
		"bedrock/anthropic-invoke-tools-stream.2.json": "event: message_start\ndata: {\"type\":\"message_start\",",
	}
	last := map[string]string{
		"bedrock/anthropic-invoke-bearer-stream.json":  "event: message_stop",
		"bedrock/anthropic-invoke-tools-stream.2.json": "event: message_stop",
	}
	for name, stream := range recordedStreams(t) {
		whole, err := read(framing.EventStream, bytes.NewReader(stream))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		begin, end := first[name], last[name]
		if begin == "" {
			begin, end = "event: messageStart\ndata: {", "event: metadata\ndata: {"
		}
		if !strings.HasPrefix(whole, begin) || !strings.Contains(whole[strings.LastIndex(whole[:len(whole)-2], "\n\n")+2:], end) {
			t.Errorf("%s: %s", name, whole)
		}
		bytewise, err := read(framing.EventStream, iotest.OneByteReader(bytes.NewReader(stream)))
		if err != nil || bytewise != whole {
			t.Errorf("%s byte by byte: %v, %s", name, err, bytewise)
		}
	}
}

// TestInvokeStreamIsAnAnswerOfTheMessagesStyle reads a recorded stream of Claude with the codec of its style.
func TestInvokeStreamIsAnAnswerOfTheMessagesStyle(t *testing.T) {
	t.Parallel()
	answer, err := decode(t, recordedStreams(t)["bedrock/anthropic-invoke-bearer-stream.json"])
	if err != nil || answer.Stop != llm.StopEnd || len(answer.Parts) != 1 || !strings.HasPrefix(answer.Parts[0].Text, "Olá!") {
		t.Fatalf("%v, %+v", err, answer)
	}
	if u := answer.Usage; u.Input != 16 || u.Output <= 1 || u.Unread || u.Doubts != 0 {
		t.Errorf("%+v", answer.Usage)
	}
}

// decode reads an event stream with the codec of the messages style.
func decode(t *testing.T, stream []byte) (*llm.Response, error) {
	t.Helper()
	frames := sse.NewReader(framing.NewReader(framing.EventStream, io.NopCloser(bytes.NewReader(stream))), nil)
	defer frames.Close()
	decoder := messages.Codec{}.Decoder(&llm.ResponseOptions{})
	var events []llm.Event
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			events, err = decoder.End(events)
			return llm.Fold(events), err
		}
		if err != nil {
			return nil, err
		}
		if events, err = decoder.Decode(events, f.Event, f.Data); err != nil && !errors.Is(err, llm.ErrEnd) {
			return nil, err
		}
	}
}

// TestExceptionsBecomeErrors has exceptions and errors before and inside of streams. The data has the form that codecs read.
func TestExceptionsBecomeErrors(t *testing.T) {
	t.Parallel()
	start := framingtest.AppendChunk(nil, `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":1,"output_tokens":1}}}`)
	for name, tc := range map[string]struct {
		message []byte
		want    string
	}{
		"exception": {
			framingtest.AppendException(nil, "throttlingException", `{"message":"Too many tokens, please wait."}`),
			"event: throttlingException\ndata: {\"type\":\"error\",\"error\":{\"message\":\"Too many tokens, please wait.\"," +
				"\"type\":\"throttlingException\"}}\n\n",
		},
		"upper case": {
			framingtest.AppendException(nil, "modelStreamErrorException", `{"Message":"M","originalStatusCode":500}`),
			"event: modelStreamErrorException\ndata: {\"type\":\"error\",\"error\":{\"Message\":\"M\",\"message\":\"M\"," +
				"\"originalStatusCode\":500,\"type\":\"modelStreamErrorException\"}}\n\n",
		},
		"no JSON": {
			framingtest.AppendException(nil, "internalServerException", "down\n"),
			"event: internalServerException\ndata: {\"type\":\"error\",\"error\":{\"message\":\"down\\n\",\"type\":\"internalServerException\"}}\n\n",
		},
		"error": {
			framingtest.Append(nil, []framingtest.Header{
				{Name: ":message-type", Value: "error"}, {Name: ":error-code", Value: "InternalFailure"}, {Name: ":error-message", Value: `broken "pipe"`},
			}, nil),
			"event: InternalFailure\ndata: {\"type\":\"error\",\"error\":{\"message\":\"broken \\\"pipe\\\"\",\"type\":\"InternalFailure\"}}\n\n",
		},
	} {
		if got, err := read(framing.EventStream, bytes.NewReader(tc.message)); err != nil || got != tc.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		var failure *llm.UpstreamError
		if _, err := decode(t, append(bytes.Clone(start), tc.message...)); !errors.As(err, &failure) {
			t.Errorf("%s: the codec reads %v", name, err)
		}
	}
}

// TestDamagedEventStreamsHaveNoCleanEnd cuts a recorded stream at each byte and changes each byte of its first messages.
func TestDamagedEventStreamsHaveNoCleanEnd(t *testing.T) {
	t.Parallel()
	stream := recordedStreams(t)["bedrock/stream.json"]
	ends := map[int]bool{0: true}
	for at := 0; at < len(stream); ends[at] = true {
		at += int(stream[at+2])<<8 + int(stream[at+3])
	}
	for n := range len(stream) {
		_, err := read(framing.EventStream, bytes.NewReader(stream[:n]))
		if ends[n] != (err == nil) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	for n := range min(len(stream), 1000) {
		damaged := bytes.Clone(stream)
		damaged[n] ^= 0x10
		if _, err := read(framing.EventStream, bytes.NewReader(damaged)); !errors.Is(err, framing.ErrChecksum) {
			t.Fatalf("byte %d changed: %v", n, err)
		}
	}
}

// TestHostileMessagesAreRefused has messages with valid checksums that are too large or cannot be read.
func TestHostileMessagesAreRefused(t *testing.T) {
	t.Parallel()
	event := func(headers ...framingtest.Header) []byte { return framingtest.Append(nil, headers, []byte("{}")) }
	for name, tc := range map[string]struct {
		stream []byte
		want   error
	}{
		"large payload": {framingtest.AppendEvent(nil, "messageStart", strings.Repeat("x", 16<<20)), framing.ErrTooLarge},
		"large headers": {event(
			framingtest.Header{Name: "a", Value: strings.Repeat("x", 65000)}, framingtest.Header{Name: "b", Value: strings.Repeat("x", 65000)},
			framingtest.Header{Name: "c", Value: strings.Repeat("x", 65000)}), framing.ErrTooLarge},
		"no type":       {event(framingtest.Header{Name: ":event-type", Value: "messageStart"}), framing.ErrMalformed},
		"no event":      {event(framingtest.Header{Name: ":message-type", Value: "event"}), framing.ErrMalformed},
		"lines":         {framingtest.AppendEvent(nil, "a\ndata: b", "{}"), framing.ErrMalformed},
		"lines inside":  {framingtest.AppendChunk(nil, `{"type":"a\ndata: b"}`), framing.ErrMalformed},
		"no base64":     {framingtest.AppendEvent(nil, "chunk", `{"bytes":"%%"}`), framing.ErrMalformed},
		"an empty word": {framingtest.AppendException(nil, "", "{}"), framing.ErrMalformed},
	} {
		if text, err := read(framing.EventStream, bytes.NewReader(tc.stream)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v after %q", name, err, text)
		}
	}
}

// TestJSONFramings has sequences and arrays of JSON values.
func TestJSONFramings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind framing.Kind
		text string
		want string
		err  error
	}{
		"lines":          {framing.NDJSON, "{\"a\":1}\n\n{\"a\":2}\r\n", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", nil},
		"no last break":  {framing.NDJSON, "{\"a\":1}\n{\"a\":2}", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", nil},
		"cut line":       {framing.NDJSON, "{\"a\":1}\n{\"a\":", "data: {\"a\":1}\n\n", io.ErrUnexpectedEOF},
		"broken line":    {framing.NDJSON, "{\"a\":1}\n}", "data: {\"a\":1}\n\n", framing.ErrMalformed},
		"no lines":       {framing.NDJSON, "", "", nil},
		"array":          {framing.JSONArray, "[{\"a\":\n1}\n,\r\n{\"b\":[2]}\n]\n", "data: {\"a\": 1}\n\ndata: {\"b\":[2]}\n\n", nil},
		"empty array":    {framing.JSONArray, "[]", "", nil},
		"cut array":      {framing.JSONArray, "[{\"a\":1}", "data: {\"a\":1}\n\n", io.ErrUnexpectedEOF},
		"cut element":    {framing.JSONArray, "[{\"a\":1},{\"b", "data: {\"a\":1}\n\n", io.ErrUnexpectedEOF},
		"no array":       {framing.JSONArray, "", "", io.ErrUnexpectedEOF},
		"single object":  {framing.JSONArray, "{\"error\":{}}", "data: {\"error\":{}}\n\n", nil},
		"more":           {framing.JSONArray, "[1] 2", "data: 1\n\n", framing.ErrMalformed},
		"broken array":   {framing.JSONArray, "[1 2]", "data: 1\n\n", framing.ErrMalformed},
		"large element":  {framing.JSONArray, "[\"" + strings.Repeat("x", 17<<20) + "\"]", "", framing.ErrTooLarge},
		"events as such": {framing.SSE, "data: 1\n\n", "data: 1\n\n", nil},
	} {
		for _, r := range []io.Reader{strings.NewReader(tc.text), iotest.HalfReader(strings.NewReader(tc.text))} {
			if got, err := read(tc.kind, r); got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%s: %v, %q", name, err, got)
			}
		}
	}
}

// TestElementsComeAtOnce reads an element of an array whose source then waits.
func TestElementsComeAtOnce(t *testing.T) {
	t.Parallel()
	for kind, text := range map[framing.Kind]string{
		framing.NDJSON: "{\"a\":1}\n", framing.JSONArray: "[{\"a\":1}",
		framing.EventStream: string(framingtest.AppendEvent(nil, "messageStart", `{"a":1}`)),
	} {
		source, sink := io.Pipe()
		go func() { _, _ = io.WriteString(sink, text) }() // goroutine: the test's; it ends when the text is read.
		r := framing.NewReader(kind, source)
		got := make([]byte, 100)
		if n, err := r.Read(got); err != nil || !strings.HasSuffix(string(got[:n]), "data: {\"a\":1}\n\n") {
			t.Errorf("%s: %v, %q", kind, err, got[:n])
		}
		if r.Close() != nil {
			t.Errorf("%s: it does not close", kind)
		}
		if _, err := sink.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: the source is open: %v", kind, err)
		}
	}
}

func TestKindsHaveContentTypes(t *testing.T) {
	t.Parallel()
	if framing.Kind("x").ContentType() != "" || framing.NDJSON.ContentType() != "application/x-ndjson" {
		t.Error("wrong content types")
	}
	defer func() {
		if recover() == nil {
			t.Error("an unknown kind does not panic")
		}
	}()
	framing.NewReader("x", io.NopCloser(strings.NewReader("")))
}

// FuzzReader reads any bytes in each framing. The text has whole frames only, and a stream that ends without an error is the same
// when it is read in small pieces.
func FuzzReader(f *testing.F) {
	for _, stream := range recordedStreams(f) {
		f.Add(stream)
	}
	f.Add(framingtest.AppendException(nil, "throttlingException", `{"message":"slow"}`))
	f.Add([]byte("[{\"a\":1},\n{\"b\":2}]"))
	f.Add([]byte("{\"a\":1}\n{\"b\":2}\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, kind := range []framing.Kind{framing.EventStream, framing.NDJSON, framing.JSONArray} {
			text, err := read(kind, bytes.NewReader(stream))
			if text != "" && !strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\r") {
				t.Fatalf("%s: %q", kind, text)
			}
			again, againErr := read(kind, iotest.OneByteReader(bytes.NewReader(stream)))
			if again != text || (err == nil) != (againErr == nil) {
				t.Fatalf("%s: %q, %v and %q, %v", kind, text, err, again, againErr)
			}
		}
	})
}

// BenchmarkEventStream reads a recorded stream of Converse.
func BenchmarkEventStream(b *testing.B) {
	stream := recordedStreams(b)["bedrock/stream.json"]
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, framing.NewReader(framing.EventStream, io.NopCloser(bytes.NewReader(stream)))); err != nil {
			b.Fatal(err)
		}
	}
}
