package playground

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"umg/app"
	"umg/app/llm"
	"umg/app/markdown"
	"umg/app/sse"
	playpages "umg/views/playground"
)

const (
	frameBytesMax  = 4 << 20
	answerBytesMax = 64 << 20
	frameEnd       = "\n\n"
	paragraphGap   = "\n\n"
)

// listener receives the content of an answer while it arrives.
type listener interface {
	text(s string) error
	thought(s string) error
	call(index int, c playpages.ToolCall) error
	// raw receives the bytes as a client of the style reads them, in whole frames.
	raw(p []byte) error
	// flush passes on what was received. HasNews is false when only signs of life came.
	flush(hasNews bool) error
}

// answerParser parses the answer that the text pipeline writes, in any style.
type answerParser struct {
	codec   llm.Codec
	ask     *llm.ResponseOptions
	decoder llm.StreamDecoder
	out     listener

	isStream bool
	pending  []byte // These bytes are an incomplete frame, or the answer if it is not streamed.
	events   []llm.Event
	failed   bool // The stream has reported an error, whose text the report also has.
	hasNews  bool // Events have arrived since the last flush.

	calls     int
	open      llm.ToolCall // This call is being received.
	arguments strings.Builder
	hasText   bool
	textEnded bool // Another kind of content has followed the text.
}

// Begin notes whether the answer is a stream.
func (s *answerParser) Begin(_ int, contentType string, _ http.Header) error {
	if mediaType, _, _ := strings.Cut(contentType, ";"); mediaType == "text/event-stream" {
		s.isStream, s.decoder = true, s.codec.Decoder(s.ask)
	}
	return nil
}

// Write takes frames, which may end anywhere, or a piece of a whole answer.
func (s *answerParser) Write(p []byte) error {
	if len(s.pending)+len(p) > answerBytesMax {
		return app.Errorf(app.Internal, "internal_error", "The answer is too large for the playground.")
	}
	s.pending = append(s.pending, p...)
	if !s.isStream {
		return nil
	}
	end := bytes.LastIndex(s.pending, []byte(frameEnd))
	if end < 0 {
		return nil
	}
	frames := s.pending[:end+len(frameEnd)]
	err := s.out.raw(frames)
	if err == nil {
		err = s.read(frames)
	}
	s.pending = append(s.pending[:0], s.pending[len(frames):]...)
	return err
}

func (s *answerParser) read(frames []byte) error {
	r := sse.NewReader(bytes.NewReader(frames), sse.NewBudget(frameBytesMax))
	defer r.Close()
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.Data == nil || s.failed {
			continue
		}
		s.events, err = s.decoder.Decode(s.events[:0], f.Event, f.Data)
		if _, upstream := errors.AsType[*llm.UpstreamError](err); upstream {
			s.failed = true
		}
		for i := range s.events {
			if err := s.emit(&s.events[i]); err != nil {
				return err
			}
		}
	}
}

// emit passes the content of an event to the listener.
func (s *answerParser) emit(e *llm.Event) error {
	switch e.Kind {
	case llm.EventPart:
		s.textEnded = s.textEnded || s.hasText && e.Part != llm.Text && e.Part != llm.Refusal
		if e.Part == llm.Call {
			s.open = e.Call
			s.arguments.Reset()
		}
	case llm.EventDelta:
		return s.delta(e)
	case llm.EventPartEnd:
		if e.Part != llm.Call {
			return nil
		}
		s.hasNews = true
		s.calls++
		return s.out.call(s.calls-1, playpages.ToolCall{ID: s.open.ID, Name: s.open.Name, Arguments: s.arguments.String()})
	}
	return nil
}

func (s *answerParser) delta(e *llm.Event) error {
	if e.Delta == "" {
		return nil
	}
	switch e.Part {
	case llm.Call:
		s.arguments.WriteString(e.Delta)
		return nil
	case llm.Reasoning:
		s.hasNews = true
		return s.out.thought(e.Delta)
	}
	s.hasNews = true
	text := e.Delta
	if s.textEnded { // Text before and after a call makes two paragraphs.
		text = paragraphGap + text
	}
	s.hasText, s.textEnded = true, false
	return s.out.text(text)
}

// Flush sends what has arrived to the browser.
func (s *answerParser) Flush() error {
	hasNews := s.hasNews
	s.hasNews = false
	return s.out.flush(hasNews)
}

// finish passes on an answer that arrived in one piece, and ends a stream that has no last event.
func (s *answerParser) finish() error {
	if s.isStream {
		return s.end()
	}
	if len(s.pending) == 0 {
		return nil
	}
	if err := s.out.raw(s.pending); err != nil {
		return err
	}
	answer, err := s.codec.DecodeResponse(s.pending, s.ask)
	if err != nil {
		return err
	}
	for _, e := range llm.Unfold(nil, answer) {
		if err := s.emit(&e); err != nil {
			return err
		}
	}
	return s.Flush()
}

func (s *answerParser) end() error {
	if s.failed {
		return nil
	}
	events, _ := s.decoder.End(s.events[:0]) // The report says whether the answer is complete.
	for i := range events {
		if err := s.emit(&events[i]); err != nil {
			return err
		}
	}
	return s.Flush()
}

// wholeAnswer collects an answer for a page that is drawn when the answer is complete.
type wholeAnswer struct {
	turn     playpages.Turn
	texts    strings.Builder
	thoughts strings.Builder
	frames   bytes.Buffer
}

func (w *wholeAnswer) text(s string) error {
	w.texts.WriteString(s)
	return nil
}

func (w *wholeAnswer) thought(s string) error {
	w.thoughts.WriteString(s)
	return nil
}

func (w *wholeAnswer) call(_ int, c playpages.ToolCall) error {
	w.turn.Calls = append(w.turn.Calls, c)
	return nil
}

func (w *wholeAnswer) raw(p []byte) error {
	w.frames.Write(p[:min(len(p), rawBytesMax)])
	return nil
}

func (w *wholeAnswer) flush(bool) error { return nil }

// answer returns the answer as a turn.
func (w *wholeAnswer) answer() playpages.Turn {
	t := w.turn
	t.Answer, t.Text, t.Thought = true, w.texts.String(), w.thoughts.String()
	return t
}

// drawAnswers formats the answers of a conversation for a page that is drawn whole.
func drawAnswers(turns []playpages.Turn) {
	for i := range turns {
		if t := &turns[i]; t.Answer && t.HTML == "" && strings.TrimSpace(t.Text) != "" {
			t.HTML = markdown.Untrusted(t.Text)
		}
	}
}
