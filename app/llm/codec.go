package llm

import (
	"errors"
	"strconv"

	"umg/app"
)

// BodyCodec reads and writes whole requests and answers of one wire format. It may assume that a request was checked
// against its contract, but must not panic whatever it is given.
type BodyCodec interface {
	// DecodeRequest reads a request. It returns an *app.Error of kind Invalid that names the field when something that
	// changes the answer's meaning has no place in the form, such as state kept by the provider.
	DecodeRequest(body []byte) (*Request, error)
	// EncodeRequest writes a request whose features the style has. It returns an *app.Error of kind Invalid when it
	// still cannot be said in this style.
	EncodeRequest(r *Request) ([]byte, error)
	// DecodeResponse reads an answer. It returns ErrBroken or an *UpstreamError when it is none.
	DecodeResponse(body []byte, a *Ask) (*Response, error)
	// EncodeResponse appends an answer.
	EncodeResponse(dst []byte, r *Response, a *Ask) []byte
}

// StreamCodec makes the two state machines of one streamed answer.
type StreamCodec interface {
	Decoder(a *Ask) StreamDecoder
	Encoder(a *Ask) StreamEncoder
}

// Codec is all of one wire format.
type Codec interface {
	BodyCodec
	StreamCodec
	Seen(a *Ask) Seen
	Traits() *Traits
}

// StreamDecoder turns the frames of one stream into events. What it appends is a legal sequence of events at any
// time, whatever the frames are; only a stream that is cut lacks its end.
type StreamDecoder interface {
	// Decode appends the events of one frame: its event line, which may be empty, and its data. Frames it does not
	// know are skipped. An unreadable frame is ErrMalformed, after which the stream may go on. An error that the
	// upstream sent in the stream is an *UpstreamError. ErrEnd says that the frame was the stream's last mark.
	Decode(dst []Event, event, data []byte) ([]Event, error)
	// End appends the events that close the answer when the upstream has ended the stream, with or without its last
	// mark: the open part's end and the finish. It returns ErrCut when the answer is not whole.
	End(dst []Event) ([]Event, error)
}

// StreamEncoder turns events into frames.
type StreamEncoder interface {
	// Append appends the frames of one event. The finish ends the stream, with its last mark.
	Append(dst []byte, e *Event) []byte
	// Fail appends how a stream, begun or not, ends with an error. Spent is nil when the client has nothing of the answer.
	Fail(dst []byte, e *app.Error, requestID string, spent *Spent) []byte
}

// Errors of decoders.
var (
	// ErrBroken says that an answer is cut, empty or not what its style calls an answer.
	ErrBroken = errors.New("llm: the answer is broken")
	// ErrMalformed says that one frame could not be read.
	ErrMalformed = errors.New("llm: the frame is malformed")
	// ErrCut says that a stream ended before its answer did.
	ErrCut = errors.New("llm: the stream ended before the answer did")
	// ErrEnd says that a stream has given its last mark.
	ErrEnd = errors.New("llm: the end of the stream")
)

// UpstreamError is an error that an upstream sent in place of an answer, in a frame or a body with status 200.
type UpstreamError struct {
	// Body is its JSON as it came. The caller decides what of it a client may see.
	Body []byte
}

// FailedError says that an answer ended for a reason that means a failure.
type FailedError struct {
	Stop Stop
	// Word is the provider's own word. It is empty when only the meaning is known.
	Word string
}

// Error is the operator's view.
func (e *FailedError) Error() string {
	if e.Word == "" {
		return "llm: the answer ended with " + string(e.Stop)
	}
	return "llm: the answer ended with " + strconv.Quote(e.Word[:min(len(e.Word), stopWordBytesMax)])
}

// stopWordBytesMax bounds what is shown of a provider's word for the end of an answer.
const stopWordBytesMax = 64

// Error is the operator's view; what the upstream said stays in Body.
func (e *UpstreamError) Error() string { return "llm: the upstream sent an error" }
