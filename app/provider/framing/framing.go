package framing

import (
	"errors"
	"io"
)

// Kind is the framing of a provider's stream.
type Kind string

// These are the framings.
const (
	// SSE is the framing of server-sent events.
	SSE Kind = "sse"
	// EventStream is the binary framing of AWS.
	EventStream Kind = "eventstream"
	// NDJSON is a JSON value a line.
	NDJSON Kind = "ndjson"
	// JSONArray is one JSON array, whose elements arrive over time.
	JSONArray Kind = "json_array"
)

// contentTypes has the media type of each framing.
var contentTypes = map[Kind]string{
	SSE:         "text/event-stream",
	EventStream: "application/vnd.amazon.eventstream",
	NDJSON:      "application/x-ndjson",
	JSONArray:   "application/json",
}

// ContentType returns the media type of answers with the framing. It is empty for an unknown one.
func (k Kind) ContentType() string { return contentTypes[k] }

const (
	// messageBytesMax bounds one message or one JSON value. AWS promises not to send larger messages.
	messageBytesMax = 16 << 20
	// keptBytes bounds the buffers that a stream keeps from one message to the next.
	keptBytes = 64 << 10
)

// A reader returns these errors, those of its source and io.ErrUnexpectedEOF.
var (
	// ErrTooLarge means that a message is larger than its limit.
	ErrTooLarge = errors.New("framing: a message is larger than 16 MiB")
	// ErrChecksum means that bytes of a message are wrong.
	ErrChecksum = errors.New("framing: the checksum of a message is wrong")
	// ErrMalformed means that a message cannot be parsed.
	ErrMalformed = errors.New("framing: a message is malformed")
)

// source reads messages.
type source interface {
	// next appends the frames of the next message. It returns io.EOF after a complete stream.
	next(dst []byte) ([]byte, error)
}

// NewReader returns server-sent events made from the framing of r. A stream that is cut, or that has a wrong checksum, ends with an error
// other than io.EOF. Closing the reader closes r. NewReader panics for an unknown kind.
func NewReader(kind Kind, r io.ReadCloser) io.ReadCloser {
	switch kind {
	case SSE:
		return r
	case EventStream:
		return &reader{body: r, source: &eventSource{src: r}}
	case NDJSON, JSONArray:
		return &reader{body: r, source: newJSONSource(r, kind == JSONArray)}
	}
	panic("framing.NewReader: there is no framing " + string(kind))
}

// reader hands out the frames of a source.
type reader struct {
	body   io.Closer
	source source
	// out[at:] has not been read yet.
	out []byte
	at  int
	err error
}

// Read reads the frames of at most one message.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.at == len(r.out) {
		if r.err != nil {
			return 0, r.err
		}
		if cap(r.out) > keptBytes {
			r.out = nil
		}
		r.at = 0
		r.out, r.err = r.source.next(r.out[:0])
	}
	n := copy(p, r.out[r.at:])
	r.at += n
	return n, nil
}

// Close closes the source.
func (r *reader) Close() error { return r.body.Close() }

// appendFrame appends a frame. The event may be empty. A line break in the data can only be between two tokens of JSON, where a space
// means the same.
func appendFrame(dst, event, data []byte) []byte {
	if len(event) > 0 {
		dst = append(append(dst, "event: "...), event...)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	from := len(dst)
	dst = append(dst, data...)
	for i := from; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return append(dst, "\n\n"...)
}
