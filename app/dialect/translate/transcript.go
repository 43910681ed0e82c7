package translate

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"umg/app/dialect"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// TranscriptBytesMax bounds how much of an answer is kept so that another stream can continue it.
const TranscriptBytesMax = 256 << 10

// Transcript is what a client has received of a streamed answer, read from the frames that were sent. With it, another stream can
// continue where the first one broke off.
type Transcript struct {
	style     *dialect.Dialect
	options   *llm.ResponseOptions
	decoder   llm.StreamDecoder
	delivered llm.DeliveredStream
	frames    sse.Reader
	pattern   pattern
	events    []llm.Event
	parts     []deliveredPart
	bytes     int
	unusable  bool
}

// deliveredPart is a part of the answer that the client has, or the beginning of one.
type deliveredPart struct {
	kind  llm.PartKind
	text  []byte
	ended bool
}

// NewTranscript returns an empty transcript of a stream in a style.
func NewTranscript(d *dialect.Dialect, a llm.ResponseOptions) *Transcript {
	options := &a
	return &Transcript{style: d, options: options, decoder: d.Codec.Decoder(options), delivered: d.Codec.Delivered(options)}
}

// Add adds whole frames that were sent to the client.
func (t *Transcript) Add(frames []byte) {
	if t.unusable {
		return
	}
	t.frames.ResetBytes(frames)
	for !t.unusable {
		t.addRun()
		f, err := t.frames.Next()
		if err != nil {
			break
		}
		if len(f.Data) > 0 {
			t.frame(f)
		}
	}
	t.frames.Close()
	// An unusable transcript is not needed any more.
	if t.unusable {
		t.decoder, t.delivered, t.parts, t.events = nil, nil, nil, nil
	}
}

func (t *Transcript) frame(f sse.Frame) {
	var err error
	if t.addText(f) {
		return
	}
	t.delivered.Note(f.Event, f.Data)
	if t.events, err = t.decoder.Decode(t.events[:0], f.Event, f.Data); err != nil {
		t.unusable = true
	}
	for i := range t.events {
		t.event(&t.events[i])
	}
	if last := len(t.parts) - 1; last >= 0 && string(f.Event) == messagePartDone {
		t.parts[last].ended = true
	}
	if len(t.events) == 1 && t.events[0].Kind == llm.EventDelta {
		t.pattern.learn(f, t.events[0].Delta)
	}
	t.grow(frameOverhead)
}

// addText adds a frame that differs from the last one only in its piece of text, which most frames do. It reports false for every other
// frame.
func (t *Transcript) addText(f sse.Frame) bool {
	text, number, ok := t.pattern.match(f)
	if !ok || len(t.parts) == 0 {
		return false
	}
	if t.pattern.numbered {
		counter, counts := t.delivered.(llm.FrameCounter)
		if !counts {
			return false
		}
		counter.Count(number)
	}
	last := &t.parts[len(t.parts)-1]
	if t.grow(len(text) + frameOverhead); !t.unusable {
		last.text = append(last.text, text...)
	}
	return true
}

// addRun adds the next frames as long as they differ from the last one only in their piece of text.
func (t *Transcript) addRun() {
	if !t.pattern.runs() || len(t.parts) == 0 {
		return
	}
	ahead, at := t.frames.Ahead(), 0
	last := &t.parts[len(t.parts)-1]
	for !t.unusable {
		text, size := t.pattern.next(ahead[at:])
		if size == 0 {
			break
		}
		at += size
		if t.grow(len(text) + frameOverhead); !t.unusable {
			last.text = append(last.text, text...)
		}
	}
	if at > 0 {
		t.frames.Skip(at)
	}
}

// grow counts the bytes of the transcript. A transcript that is too large is lost.
func (t *Transcript) grow(n int) {
	if t.bytes += n; t.bytes > TranscriptBytesMax {
		t.unusable = true
	}
}

// messagePartDone ends a part in the responses style. The decoder reports that only with the end of the item.
const messagePartDone = "response.content_part.done"

// frameOverhead is an estimate of what a style keeps of a frame in addition to its text.
const frameOverhead = 1

// event adds an event that the client has received. After a tool call or signed reasoning, no other stream can continue the answer.
func (t *Transcript) event(e *llm.Event) {
	last := len(t.parts) - 1
	switch e.Kind {
	case llm.EventPart:
		t.unusable = t.unusable || e.Part == llm.Call
		t.parts = append(t.parts, deliveredPart{kind: e.Part})
		t.bytes += partOverhead
	case llm.EventDelta:
		if t.bytes += len(e.Delta); last >= 0 && t.bytes <= TranscriptBytesMax {
			t.parts[last].text = append(t.parts[last].text, e.Delta...)
		}
	case llm.EventPartEnd:
		if last >= 0 {
			t.parts[last].ended = true
		}
		t.unusable = t.unusable || e.Signature != "" || e.Redacted
	case llm.EventFinish:
		// Nothing is left to continue.
		t.unusable = true
	}
}

const partOverhead = 64

// Size is about how many bytes the transcript holds.
func (t *Transcript) Size() int { return t.bytes }

// Unusable reports whether no other stream can continue the answer, whatever the client receives later.
func (t *Transcript) Unusable() bool { return t.unusable }

// Resumable reports whether the transcript has everything that the client has, and another stream may continue.
func (t *Transcript) Resumable() bool {
	_, ok := t.resume()
	return ok
}

// resume returns an encoder that continues after what the client has.
func (t *Transcript) resume() (llm.StreamEncoder, bool) {
	if t.unusable || len(t.parts) == 0 {
		return nil, false
	}
	last := &t.parts[len(t.parts)-1]
	if last.ended {
		return t.delivered.Resume(0, "")
	}
	return t.delivered.Resume(last.kind, string(last.text))
}

// text returns the only text of the answer so far, which reasoning may precede. It reports false when there is none or more than one.
func (t *Transcript) text() (string, bool) {
	if t.unusable || len(t.parts) == 0 {
		return "", false
	}
	last := len(t.parts) - 1
	for i := range t.parts {
		if kind := t.parts[i].kind; kind != llm.Text && i == last || kind != llm.Reasoning && i < last {
			return "", false
		}
	}
	return string(t.parts[last].text), len(t.parts[last].text) > 0
}

// prefillBytesMin is the shortest text that the gateway sends to a provider as a prefix. A provider repeats a shorter one quickly, and
// might continue with the same text by chance.
const prefillBytesMin = 32

// prefixTurns has the turn at the end of a conversation that a provider continues, around its text.
var prefixTurns = map[llm.Style]struct{ list, before, after string }{
	llm.Chat:     {"messages", `{"role":"assistant","content":`, `}`},
	llm.Messages: {"messages", `{"role":"assistant","content":`, `}`},
	llm.Native:   {"contents", `{"role":"model","parts":[{"text":`, `}]}`},
}

// Prefill ends the request with the text of the transcript as a prefix of the answer. It reports false in the responses style, after a
// turn of the assistant, with thinking in the messages style, and when there is no single text of at least prefillBytesMin.
func (x *Exchange) Prefill(t *Transcript, request *llm.Request) bool {
	text, ok := t.text()
	if x.upstream.Style == llm.Messages {
		// Providers of the style refuse a prefix that ends in white space.
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		ok = ok && !asksForThinking(request.Reasoning)
	}
	if _, known := prefixTurns[x.upstream.Style]; !ok || !known || len(text) < prefillBytesMin || lastSpeaker(request.Turns) != llm.User {
		return false
	}
	if x.t != nil {
		ok = x.prefillTranslated(text)
	} else {
		ok = x.prefillPassthrough(text)
	}
	if ok {
		x.prefix = text
	}
	return ok
}

func (x *Exchange) prefillTranslated(text string) bool {
	changed := *x.t
	request := *x.t.request
	request.Turns = append(slices.Clip(request.Turns),
		llm.Turn{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Text, Text: text}}})
	changed.request = &request
	next := Exchange{client: x.client, upstream: x.upstream, t: &changed, quirks: x.quirks, imagesAsData: x.imagesAsData}
	if x.body != nil && next.Prepare() != nil {
		return false
	}
	*x = next
	return true
}

func (x *Exchange) prefillPassthrough(text string) bool {
	turn := prefixTurns[x.upstream.Style]
	at := rawjson.MemberOf(x.body, turn.list)
	list := at.Of(x.body)
	if len(list) == 0 || list[0] != '[' {
		return false
	}
	body := append(make([]byte, 0, len(x.body)+len(text)+turnBytes), x.body[:at.To-1]...)
	body = append(append(append(append(body, ','), turn.before...), rawjson.Quote(text)...), turn.after...)
	body = append(body, x.body[at.To-1:]...)
	head, err := x.upstream.Peek(body)
	if err != nil {
		return false
	}
	x.body, x.head = body, &head
	return true
}

// turnBytes is an estimate of the bytes of an assistant turn without its text.
const turnBytes = 128

// ErrOtherAnswer means that a stream does not repeat the beginning of the answer, so that it cannot replace the one before.
var ErrOtherAnswer = errors.New("dialect: the stream does not repeat what the client has")

// Continue returns the stream of an answer whose beginning, the transcript, the client already has. Before has the statistics of the
// transcript. When the provider restarts the answer, the stream drops what repeats the transcript, byte for byte. The options have the
// client's request, which some styles repeat at the end. Continue reports false when no stream can continue the transcript.
func (x *Exchange) Continue(a llm.ResponseOptions, t *Transcript, before dialect.StreamStats) (dialect.Stream, bool) {
	t.options.Request, t.options.Model = a.Request, a.Model
	encoder, ok := t.resume()
	if !ok {
		return nil, false
	}
	if x.t == nil {
		begun := x.prefix
		x = &Exchange{client: x.client, upstream: x.upstream, t: &translation{original: a.Request, request: &llm.Request{}}, prefix: begun}
	}
	full := x.options(a)
	s := &translatedStream{
		exchange: x, options: full, decoder: x.upstream.Codec.Decoder(full), encoder: encoder,
		stops: stopWatcher{list: x.t.stops}, phase: phaseContent,
		stats:   dialect.StreamStats{Usage: before.Usage, ContentBytes: before.ContentBytes, ContentFrames: before.ContentFrames},
		resumer: &resumer{delivered: t.parts}, before: before.Usage,
	}
	if x.prefix != "" {
		r := s.resumer
		r.partIndex, r.repeatedBytes, r.hasPrefix, r.undecided = len(t.parts)-1, len(x.prefix), true, true
	}
	if last := &t.parts[len(t.parts)-1]; !last.ended {
		s.open = last.kind
	}
	return s, true
}
