package contentlog

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/sse"
)

const (
	foldBytes     = 16 << 10  // Flush parses the pending frames from this many bytes on, after the client has them.
	frameBytesMax = 256 << 10 // Unparsed frames beyond this many bytes are dropped, and the answer is cut.
	eventsMax     = 1 << 20   // This bounds the events of frames that are parsed together.
	partsMax      = 1000      // An answer has at most this many texts, thoughts and calls.
	failureMax    = 16 << 10  // Only this many bytes of an error are stored.
	streamBytes   = foldBytes + 2*BytesMax
	frameEnd      = "\n\n"
)

// stream puts the answer together that the events of a stream come to: their frames say the same words in a hundred times the bytes,
// and a secret that is spread over many of them could not be told.
type stream struct {
	begun   bool // Begun means that the stream's memory is reserved.
	codec   llm.Codec
	ask     *llm.ResponseOptions
	decoder llm.StreamDecoder
	pending []byte
	events  []llm.Event
	folder  llm.Folder
	parts   int
	said    int // Said counts the bytes of texts, thoughts and arguments.
	cut     bool
	failure []byte // Failure is the error that ends the stream; nil without one.
}

// newStream reads streams of a style; nil is a stream in no style that is spoken, which is kept as it comes.
func newStream(style llm.Style, c Call) *stream {
	d, spoken := dialect.Of(style)
	if !spoken {
		return nil
	}
	s := &stream{codec: d.Codec, ask: &llm.ResponseOptions{CallID: c.RequestID, Created: c.At.Unix(), Choices: 1, IncludeUsage: true}}
	s.decoder = s.codec.Decoder(s.ask)
	return s
}

// hear takes frames, which may end anywhere.
func (s *stream) hear(p []byte) {
	if len(s.pending)+len(p) > frameBytesMax {
		s.fold()
	}
	if len(s.pending)+len(p) > frameBytesMax {
		s.cut = true // A frame of that size holds an image, not text.
		s.pending = s.pending[:0]
		if end := bytes.LastIndex(p, []byte(frameEnd)); end >= 0 {
			p = p[end+len(frameEnd):]
		}
		if len(p) > frameBytesMax {
			return
		}
	}
	s.pending = append(s.pending, p...)
}

// fold reads the frames that are whole.
func (s *stream) fold() {
	end := bytes.LastIndex(s.pending, []byte(frameEnd))
	if end < 0 {
		return
	}
	end += len(frameEnd)
	s.read(s.pending[:end])
	s.pending = append(s.pending[:0], s.pending[end:]...)
}

func (s *stream) read(frames []byte) {
	r := sse.NewReader(bytes.NewReader(frames), nil)
	defer r.Close()
	for range eventsMax {
		f, err := r.Next()
		if err != nil {
			return
		}
		if f.Data == nil || s.failure != nil {
			continue
		}
		s.events, err = s.decoder.Decode(s.events[:0], f.Event, f.Data)
		if wrong, failed := errors.AsType[*llm.UpstreamError](err); failed {
			s.failure = slices.Clone(wrong.Body[:min(len(wrong.Body), failureMax)])
		}
		s.add()
	}
}

// add folds events, up to the bound. What was cut stays a whole answer, with less in it.
func (s *stream) add() {
	for i := range s.events {
		e := &s.events[i]
		switch e.Kind {
		case llm.EventPart:
			s.parts++
		case llm.EventDelta:
			e.Delta = s.fitting(e.Delta)
		}
		if s.parts <= partsMax || e.Kind == llm.EventFinish {
			s.folder.Add(e)
		} else {
			s.cut = true
		}
	}
}

// fitting is what of a piece still fits, in whole characters.
func (s *stream) fitting(text string) string {
	room := BytesMax - s.said
	if len(text) > room {
		s.cut = true
		for room > 0 && !utf8.RuneStart(text[room]) {
			room--
		}
		text = text[:room]
		s.said = BytesMax
		return text
	}
	s.said += len(text)
	return text
}

// end reads the rest, and closes what is still open.
func (s *stream) end() {
	s.read(s.pending)
	s.pending = nil
	s.events, _ = s.decoder.End(s.events[:0]) // The usage record says whether the answer is complete.
	s.add()
}

// text is the answer as the style writes one that is not streamed, or the error that the stream was, or both.
func (s *stream) text() (text []byte, cut bool) {
	answer, _ := s.folder.Response()
	switch {
	case s.failure == nil:
		return s.codec.EncodeResponse(nil, answer, s.ask), s.cut
	case len(answer.Parts) == 0:
		return s.failure, s.cut
	}
	text = s.codec.EncodeResponse([]byte(`{"answer":`), answer, s.ask)
	text = append(append(append(text, `,"error":`...), s.failure...), '}')
	return text, s.cut
}
