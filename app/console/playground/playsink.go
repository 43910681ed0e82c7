package playground

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/markdown"
	"umg/app/sse"
	playpages "umg/views/playground"
)

const (
	playFrameMax  = 4 << 20
	playBytesMax  = 64 << 20
	playBlankLine = "\n\n"
	paragraphGap  = "\n\n"
)

// listener hears what is in an answer while it comes.
type listener interface {
	text(s string) error
	thought(s string) error
	call(index int, c playpages.ToolCall) error
	// raw are the bytes as a client of the style reads them, in whole frames.
	raw(p []byte) error
	// flush passes on what was heard. Told says whether there was anything but signs of life.
	flush(told bool) error
}

// playSink parses the answer that the text pipeline writes, in any style.
type playSink struct {
	codec   llm.Codec
	ask     *llm.ResponseOptions
	decoder llm.StreamDecoder
	out     listener

	isStream bool
	pending  []byte // an incomplete frame, or an answer without streaming
	events   []llm.Event
	failed   bool // the stream has an error; the report has its text, too
	told     bool // there were events since the last flush

	calls     int
	open      llm.ToolCall // the call that is being received
	arguments strings.Builder
	spoken    bool // there was text
	apart     bool // there was something else after the text
}

// Begin learns which form the answer has.
func (s *playSink) Begin(_ int, contentType string, _ http.Header) error {
	if mediaType, _, _ := strings.Cut(contentType, ";"); mediaType == "text/event-stream" {
		s.isStream, s.decoder = true, s.codec.Decoder(s.ask)
	}
	return nil
}

// Write takes frames, which may end anywhere, or a piece of a whole answer.
func (s *playSink) Write(p []byte) error {
	if len(s.pending)+len(p) > playBytesMax {
		return app.Errorf(app.Internal, "internal_error", "The answer is too large for the playground.")
	}
	s.pending = append(s.pending, p...)
	if !s.isStream {
		return nil
	}
	end := bytes.LastIndex(s.pending, []byte(playBlankLine))
	if end < 0 {
		return nil
	}
	frames := s.pending[:end+len(playBlankLine)]
	err := s.out.raw(frames)
	if err == nil {
		err = s.read(frames)
	}
	s.pending = append(s.pending[:0], s.pending[len(frames):]...)
	return err
}

func (s *playSink) read(frames []byte) error {
	r := sse.NewReader(bytes.NewReader(frames), sse.NewBudget(playFrameMax))
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
			if err := s.tell(&s.events[i]); err != nil {
				return err
			}
		}
	}
}

// tell passes on what an event says.
func (s *playSink) tell(e *llm.Event) error {
	switch e.Kind {
	case llm.EventPart:
		s.apart = s.apart || s.spoken && e.Part != llm.Text && e.Part != llm.Refusal
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
		s.told = true
		s.calls++
		return s.out.call(s.calls-1, playpages.ToolCall{ID: s.open.ID, Name: s.open.Name, Arguments: s.arguments.String()})
	}
	return nil
}

func (s *playSink) delta(e *llm.Event) error {
	if e.Delta == "" {
		return nil
	}
	switch e.Part {
	case llm.Call:
		s.arguments.WriteString(e.Delta)
		return nil
	case llm.Reasoning:
		s.told = true
		return s.out.thought(e.Delta)
	}
	s.told = true
	text := e.Delta
	if s.apart { // text before and after a call makes two paragraphs
		text = paragraphGap + text
	}
	s.spoken, s.apart = true, false
	return s.out.text(text)
}

// Flush lets the browser have what there is.
func (s *playSink) Flush() error {
	told := s.told
	s.told = false
	return s.out.flush(told)
}

// finish passes on an answer that came in one piece, and the end of a stream that says it by ending.
func (s *playSink) finish() error {
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
		if err := s.tell(&e); err != nil {
			return err
		}
	}
	return s.Flush()
}

func (s *playSink) end() error {
	if s.failed {
		return nil
	}
	events, _ := s.decoder.End(s.events[:0]) // the report says whether the answer is complete
	for i := range events {
		if err := s.tell(&events[i]); err != nil {
			return err
		}
	}
	return s.Flush()
}

// refused shows what a client of the style reads of a call that was refused.
func (s *playSink) refused(style llm.Style, e *app.Error) error {
	_, body := dialect.Error(style, e, s.ask.CallID)
	return s.out.raw(body)
}

// wholeAnswer keeps an answer for the page that is drawn when it has come.
type wholeAnswer struct {
	turn   playpages.Turn
	said   strings.Builder
	mused  strings.Builder
	frames bytes.Buffer
}

func (w *wholeAnswer) text(s string) error {
	w.said.WriteString(s)
	return nil
}

func (w *wholeAnswer) thought(s string) error {
	w.mused.WriteString(s)
	return nil
}

func (w *wholeAnswer) call(_ int, c playpages.ToolCall) error {
	w.turn.Calls = append(w.turn.Calls, c)
	return nil
}

func (w *wholeAnswer) raw(p []byte) error {
	w.frames.Write(p[:min(len(p), playRawMax)])
	return nil
}

func (w *wholeAnswer) flush(bool) error { return nil }

// answer is the turn that was heard.
func (w *wholeAnswer) answer() playpages.Turn {
	t := w.turn
	t.Answer, t.Text, t.Thought = true, w.said.String(), w.mused.String()
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
