package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/llm"
	"umg/app/sse"
)

const (
	playLines     = "application/x-ndjson"
	playStallMax  = 30 * time.Second // for the browser to take what is written
	playFrameMax  = 4 << 20
	playBytesMax  = 64 << 20
	playBlankLine = "\n\n"
)

// playSink reads what the corridor writes, in whatever style that is, and passes its text on. The browser never sees the
// style's own frames.
type playSink struct {
	codec   llm.Codec
	ask     *llm.Ask
	decoder llm.StreamDecoder
	emit    func(kind llm.PartKind, text string) error
	push    func() error
	wait    func() error // tells the browser that there is nothing yet, so that nobody on the way takes silence for the end

	isStream bool
	pending  []byte // of a frame that has not ended, or of an answer in one piece
	events   []llm.Event
	failed   bool // the stream holds an error; what it says is in the report, too
	told     bool // something was passed on since the last flush
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
	err := s.read(frames)
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

// tell passes on what an event says. A tool call is written out: the playground has no tools, but a model may try.
func (s *playSink) tell(e *llm.Event) error {
	switch {
	case e.Kind == llm.EventDelta && e.Delta != "":
		s.told = true
		return s.emit(e.Part, e.Delta)
	case e.Kind == llm.EventPart && e.Part == llm.Call:
		return s.emit(llm.Call, e.Call.Name+" ")
	}
	return nil
}

// Flush sends the browser what it may have, and a sign of life when that is nothing.
func (s *playSink) Flush() error {
	if !s.told {
		if err := s.wait(); err != nil {
			return err
		}
	}
	s.told = false
	return s.push()
}

// finish passes on an answer that came in one piece.
func (s *playSink) finish() error {
	if s.isStream || len(s.pending) == 0 {
		return nil
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
	return s.push()
}

// playEvent is one line for the script of the page, which puts it into the page as text and as nothing else.
type playEvent struct {
	Kind    string     `json:"kind"` // text, thought, wait, done or error
	Text    string     `json:"text,omitempty"`
	Facts   [][]string `json:"facts,omitempty"`
	Note    string     `json:"note,omitempty"`
	Request string     `json:"request,omitempty"`
	Field   string     `json:"field,omitempty"`
	Balance *playFunds `json:"balance,omitempty"`
	Credit  bool       `json:"credit,omitempty"` // the balance does not cover it
}

// playFunds is the new balance for the top of the page.
type playFunds struct {
	Text  string `json:"text"`
	Label string `json:"label"`
	Tone  string `json:"tone"`
}

// playWriter writes events to the browser, each write under a deadline of its own.
type playWriter struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	now        app.Clock
}

func newPlayWriter(w http.ResponseWriter, now app.Clock) *playWriter {
	out := &playWriter{w: w, controller: http.NewResponseController(w), now: now}
	_ = out.controller.SetWriteDeadline(time.Time{}) // the model may think for minutes before there is anything to write
	h := w.Header()
	h.Set("Content-Type", playLines)
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return out
}

func (p *playWriter) write(e playEvent) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_ = p.controller.SetWriteDeadline(p.now().Add(playStallMax))
	_, err = p.w.Write(append(line, '\n'))
	return err
}

func (p *playWriter) part(kind llm.PartKind, text string) error {
	if kind == llm.Reasoning {
		return p.write(playEvent{Kind: "thought", Text: text})
	}
	return p.write(playEvent{Kind: "text", Text: text})
}

func (p *playWriter) wait() error { return p.write(playEvent{Kind: "wait"}) }

func (p *playWriter) flush() error {
	err := p.controller.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// quietWriter is a page that is written only after the answer has come.
type quietWriter struct{ controller *http.ResponseController }

func newQuietWriter(w http.ResponseWriter) quietWriter {
	q := quietWriter{http.NewResponseController(w)}
	_ = q.controller.SetWriteDeadline(time.Time{})
	return q
}

func (q quietWriter) hurry(now time.Time) { _ = q.controller.SetWriteDeadline(now.Add(playStallMax)) }
