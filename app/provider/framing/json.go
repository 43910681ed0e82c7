package framing

import (
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// jsonSource reads the values of a sequence, or the elements of an array.
type jsonSource struct {
	decoder *jsontext.Decoder
	limit   *valueLimit
	isArray bool
	begun   bool
}

func newJSONSource(r io.Reader, isArray bool) *jsonSource {
	limit := &valueLimit{src: r, left: messageBytesMax}
	return &jsonSource{decoder: jsontext.NewDecoder(limit, llm.Lenient), limit: limit, isArray: isArray}
}

// valueLimit bounds what a decoder reads for one value.
type valueLimit struct {
	src  io.Reader
	left int
}

// Read reads from the source. It returns ErrTooLarge at the limit.
func (l *valueLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := l.src.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// next appends the frame of the next value. A single value instead of an array, such as an error, is the only element.
func (s *jsonSource) next(dst []byte) ([]byte, error) {
	s.limit.left = messageBytesMax
	if s.isArray {
		if isEnd, err := s.enter(); isEnd || err != nil {
			return dst, s.fault(err)
		}
	}
	value, err := s.decoder.ReadValue()
	if err != nil {
		return dst, s.fault(err)
	}
	return appendFrame(dst, nil, value), nil
}

// enter reads the brackets of the array. It reports whether the array has ended, after which the source must end too.
func (s *jsonSource) enter() (isEnd bool, err error) {
	if !s.begun && s.decoder.PeekKind() == '[' {
		if _, err := s.decoder.ReadToken(); err != nil {
			return false, err
		}
	}
	isInside := s.decoder.StackDepth() > 0
	if s.begun && !isInside || isInside && s.decoder.PeekKind() == ']' {
		return true, s.leave(isInside)
	}
	s.begun = true
	return false, nil
}

// leave reads the end of the array and of the source. It always returns an error: io.EOF for a complete array.
func (s *jsonSource) leave(isInside bool) error {
	if isInside {
		if _, err := s.decoder.ReadToken(); err != nil {
			return err
		}
	}
	if _, err := s.decoder.ReadToken(); err != nil {
		return err
	}
	return ErrMalformed
}

// fault returns the error of the source, or ErrMalformed. An empty answer is a cut array.
func (s *jsonSource) fault(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && s.isArray && s.decoder.InputOffset() == 0:
		return io.ErrUnexpectedEOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &syntax):
		return ErrMalformed
	}
	return err
}
