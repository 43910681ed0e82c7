package dialect_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/sse"
)

func dialectOf(t testing.TB, style llm.Style) *dialect.Dialect {
	t.Helper()
	d, ok := dialect.Of(style)
	if !ok {
		t.Fatalf("the %s style is not spoken", style)
	}
	return d
}

// sample is a stream as an upstream of a style sends it.
type sample struct {
	name  string
	style llm.Style
	in    string
	fails bool
}

func samples(t testing.TB) []sample {
	t.Helper()
	paths, err := filepath.Glob("testdata/sse/*.sse")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d samples, %v", len(paths), err)
	}
	var all []sample
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".sse")
		word, _, _ := strings.Cut(name, "_")
		style := llm.Style(word)
		if !slices.Contains(llm.Styles(), style) {
			t.Fatalf("%s is of no style", path)
		}
		fails := strings.Contains(name, "_err_") || strings.HasSuffix(name, "_failed")
		all = append(all, sample{name, style, string(raw), fails})
	}
	return all
}

// passIn passes a stream of any style on.
func passIn(t testing.TB, style llm.Style, in io.Reader, a llm.ResponseOptions, charge llm.Charge) passed {
	t.Helper()
	s := dialectOf(t, style).NewStream(a)
	defer s.Close()
	r := sse.NewReader(in, nil)
	defer r.Close()
	var p passed
	var out []byte
	for p.err == nil {
		f, err := r.Next()
		if err != nil {
			break
		}
		var step dialect.Step
		out, step, p.err = s.Frame(out, f)
		p.steps = append(p.steps, step)
		if step == dialect.Done {
			break
		}
	}
	p.live, p.tally = string(out), s.Stats()
	p.whole = p.tally.Ended || p.tally.Whole
	p.tally.Ended, p.tally.Whole = false, false
	p.end = string(s.Finish(nil, charge))
	return p
}

// billOf is the bill of an answer as it was tallied.
func billOf(t testing.TB, s sample) llm.Charge {
	t.Helper()
	p := passIn(t, s.style, strings.NewReader(s.in), llm.ResponseOptions{Model: "text-1", Choices: 1}, llm.Charge{})
	return llm.Charge{Usage: p.tally.Usage, Estimated: !p.tally.Reported, Cost: 210_000}
}

func TestSamplesPassByteForByteButForTheCost(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		if s.style == llm.Chat {
			continue // Other tests cover its usage, which only clients that ask for it get.
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			charge := billOf(t, s)
			p := passIn(t, s.style, strings.NewReader(s.in), llm.ResponseOptions{Model: "text-1", Choices: 1}, charge)
			if s.fails {
				var up *llm.UpstreamError
				if !errors.As(p.err, &up) || p.whole {
					t.Fatalf("whole %v, %v", p.whole, p.err)
				}
				if !strings.HasPrefix(s.in, p.live) {
					t.Errorf("passed %q", p.live)
				}
				return
			}
			got := strings.ReplaceAll(p.live+p.end, `,"cost":0.00021}`, "}")
			want := strings.TrimLeft(strings.ReplaceAll(s.in, "\r\n", "\n"), "\n")
			for strings.Contains(want, "\n\n\n") {
				want = strings.ReplaceAll(want, "\n\n\n", "\n\n")
			}
			if got != want || strings.Count(p.live, "cost") != 0 || strings.Count(p.end, `"cost":0.00021`) != 1 {
				t.Errorf("live %s\nend  %s\nwant %s", p.live, p.end, want)
			}
			if !p.whole || p.err != nil || p.tally.Finish == "" || !p.tally.Reported {
				t.Errorf("whole %v, %v, %+v", p.whole, p.err, p.tally)
			}
			if p.tally.ContentFrames > 0 != (p.live != "") {
				t.Errorf("%d frames of content in %q", p.tally.ContentFrames, p.live)
			}
		})
	}
}

func TestTheModelsNameIsReplacedWhereverItStands(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		if s.fails {
			continue
		}
		p := passIn(t, s.style, strings.NewReader(s.in), llm.ResponseOptions{Model: `pub"lic`, Choices: 1}, billOf(t, s))
		q := passIn(t, s.style, strings.NewReader(s.in), llm.ResponseOptions{Model: "text-1", Choices: 1}, billOf(t, s))
		if all := p.live + p.end; strings.Contains(all, "text-1") || !strings.Contains(all, `"pub\"lic"`) ||
			strings.ReplaceAll(all, `"pub\"lic"`, `"text-1"`) != q.live+q.end {
			t.Errorf("%s: %s", s.name, all)
		}
	}
}

// cutReader gives its bytes in two pieces.
type cutReader struct {
	data []byte
	cut  int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := len(r.data)
	if r.cut > 0 {
		n = r.cut
	}
	n = copy(p, r.data[:n])
	r.data, r.cut = r.data[n:], max(0, r.cut-n)
	return n, nil
}

func TestItDoesNotMatterWhereAStreamIsSplit(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			options := llm.ResponseOptions{Model: "public", Choices: 1, IncludeUsage: true}
			charge := billOf(t, s)
			want := passIn(t, s.style, strings.NewReader(s.in), options, charge)
			for cut := 1; cut < len(s.in); cut++ {
				got := passIn(t, s.style, &cutReader{[]byte(s.in), cut}, options, charge)
				if got.live != want.live || got.end != want.end || !reflect.DeepEqual(got.tally, want.tally) || got.whole != want.whole {
					t.Fatalf("cut at %d:\n got %q %q %+v\nwant %q %q %+v", cut, got.live, got.end, got.tally, want.live, want.end, want.tally)
				}
			}
		})
	}
}

func TestASampleThatIsCutIsNotWhole(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		if s.fails {
			continue
		}
		for cut := range len(s.in) {
			p := passIn(t, s.style, strings.NewReader(s.in[:cut]), llm.ResponseOptions{Model: "text-1", Choices: 1}, llm.Charge{})
			if p.whole && strings.TrimSpace(s.in[cut:]) != "" && !allSaid(s, cut) {
				t.Errorf("%s is whole without its last %d bytes: %q", s.name, len(s.in)-cut, s.in[cut:])
			}
			if p.err != nil && !errors.Is(p.err, llm.ErrMalformed) { // The cut frame is malformed.
				t.Errorf("%s cut at %d: %v", s.name, cut, p.err)
			}
		}
	}
}

// allSaid reports whether a stream that ends there has given its answer and its usage, and lacks a mark only.
func allSaid(s sample, cut int) bool {
	rest := strings.TrimSpace(s.in[cut:])
	switch s.style {
	case llm.Messages:
		mark := "event: message_stop\ndata: {\"type\":\"message_stop\"}"
		return strings.HasSuffix(mark, rest)
	case llm.Chat: // The finish reason ends the answer.
		reason := strings.LastIndex(s.in, `"finish_reason":"`)
		return reason >= 0 && cut >= reason+strings.Index(s.in[reason:], "\n\n")
	}
	return false
}

func TestUnknownMembersSurvive(t *testing.T) {
	t.Parallel()
	strange := map[llm.Style][2]string{ // The first string is a frame, the second is the event before which it goes.
		llm.Messages: {"event: x_news\ndata: {\"type\":\"x_news\",\"n\":1.50,\"t\":\"\\u00e9 \\/ 🙂\"}\n\n", "event: content_block_stop"},
		llm.Responses: {"event: response.x.news\ndata: {\"type\":\"response.x.news\",\"n\":1.50,\"t\":\"\\u00e9 \\/ 🙂\"}\n\n",
			"event: response.output_text.done"},
	}
	for _, s := range samples(t) {
		news, ok := strange[s.style]
		if !ok || !strings.HasSuffix(s.name, "_text") || strings.HasSuffix(s.name, "reasoning_text") {
			continue
		}
		in := strings.Replace(s.in, news[1], news[0]+news[1], 1)
		in = strings.ReplaceAll(in, `"usage":{`, `"x_tra" : [ 1.0 ] ,"usage":{"x":{},`)
		p := passIn(t, s.style, strings.NewReader(in), llm.ResponseOptions{Model: "text-1", Choices: 1}, billOf(t, s))
		if got := strings.ReplaceAll(p.live+p.end, `,"cost":0.00021}`, "}"); got != in || !strings.Contains(p.live, news[0]) {
			t.Errorf("%s: got  %q\nwant %q", s.name, got, in)
		}
	}
}

// TestTheTapReadsWhatTheCodecReads holds the usage and the finish of a passed stream against a full decode of it.
func TestTheTapReadsWhatTheCodecReads(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		codec := dialectOf(t, s.style).Codec
		if s.fails || codec == nil {
			continue
		}
		p := passIn(t, s.style, strings.NewReader(s.in), llm.ResponseOptions{Model: "text-1", Choices: 1}, llm.Charge{})
		decoder := codec.Decoder(&llm.ResponseOptions{Model: "text-1", Choices: 1})
		r := sse.NewReader(strings.NewReader(s.in), nil)
		var events []llm.Event
		for {
			f, err := r.Next()
			if err != nil {
				break
			}
			if f.Data == nil {
				continue
			}
			if events, err = decoder.Decode(events, f.Event, f.Data); errors.Is(err, llm.ErrEnd) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
		}
		events, err := decoder.End(events)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		answer := llm.Fold(events)
		if !reflect.DeepEqual(answer.Usage, p.tally.Usage) || answer.Reported != p.tally.Reported || string(answer.Stop) != p.tally.Finish {
			t.Errorf("%s: decoded %+v %v %s\ntapped %+v", s.name, answer.Usage, answer.Reported, answer.Stop, p.tally)
		}
		n := 0
		for _, part := range answer.Parts {
			n += len(part.Text) + len(part.Call.Arguments)
		}
		if int64(n) > p.tally.ContentBytes || n > 0 && p.tally.ContentBytes > int64(n)+80 {
			t.Errorf("%s: %d bytes decoded, %d counted", s.name, n, p.tally.ContentBytes)
		}
	}
}
