package llm

import (
	"errors"
	"strconv"

	"umg/app"
)

// BodyCodec reads and writes whole requests and answers of one style. It may assume that a request follows its contract, but must not
// panic for any input.
type BodyCodec interface {
	// DecodeRequest reads a request. It returns an *app.Error of kind Invalid with the field when the canonical form cannot hold
	// something that changes the answer, such as state at the provider.
	DecodeRequest(body []byte) (*Request, error)
	// EncodeRequest writes a request whose features the style has. It returns an *app.Error of kind Invalid when the style still cannot
	// express it.
	EncodeRequest(r *Request) ([]byte, error)
	// DecodeResponse reads an answer. It returns ErrBroken or an *UpstreamError when the body is not an answer.
	DecodeResponse(body []byte, a *ResponseOptions) (*Response, error)
	// EncodeResponse appends an answer.
	EncodeResponse(dst []byte, r *Response, a *ResponseOptions) []byte
}

// StreamCodec makes the decoder and the encoder of one streamed answer.
type StreamCodec interface {
	Decoder(a *ResponseOptions) StreamDecoder
	Encoder(a *ResponseOptions) StreamEncoder
}

// Codec reads and writes everything of one style.
type Codec interface {
	BodyCodec
	StreamCodec
	Delivered(a *ResponseOptions) DeliveredStream
	Traits() *Traits
}

// StreamDecoder turns the frames of one stream into events. The events are a legal sequence at any time, whatever the frames are. Only
// a stream that is cut lacks its end.
type StreamDecoder interface {
	// Decode appends the events of one frame: its event line, which may be empty, and its data. It skips unknown frames. It returns
	// ErrMalformed for a frame that cannot be parsed, after which the stream may continue, an *UpstreamError for an error of the
	// provider, and ErrEnd for the end mark of the stream.
	Decode(dst []Event, event, data []byte) ([]Event, error)
	// End appends the events that close the answer when the provider has ended the stream, with or without an end mark: the end of the
	// open part and the finish. It returns ErrCut when the answer is not complete.
	End(dst []Event) ([]Event, error)
}

// StreamEncoder turns events into frames.
type StreamEncoder interface {
	// Append appends the frames of one event. The finish ends the stream with its end mark.
	Append(dst []byte, e *Event) []byte
	// Fail ends a stream with an error, before or after its first frame. The charge is nil when the client has no part of the answer.
	Fail(dst []byte, e *app.Error, requestID string, spent *Charge) []byte
}

// These are errors of decoders.
var (
	// ErrBroken means that an answer is cut, empty or not an answer of its style.
	ErrBroken = errors.New("llm: the answer is broken")
	// ErrMalformed means that one frame could not be parsed.
	ErrMalformed = errors.New("llm: the frame is malformed")
	// ErrCut means that a stream ended before its answer.
	ErrCut = errors.New("llm: the stream ended before the answer did")
	// ErrEnd means that a stream has sent its end mark.
	ErrEnd = errors.New("llm: the end of the stream")
)

// UpstreamError is an error that a provider sent instead of an answer, in a frame or in a body with status 200.
type UpstreamError struct {
	// Body is its JSON as it came. The caller decides what of it a client may see.
	Body []byte
	// Usage is that of the part of the answer before the error, when it is Reported with the error.
	Usage    Usage
	Reported bool
}

// FailedError means that an answer ended for a reason that is a failure.
type FailedError struct {
	Stop Stop
	// Word is the provider's own word. It is empty when only the meaning is known.
	Word string
}

// Error returns a text for operators.
func (e *FailedError) Error() string {
	if e.Word == "" {
		return "llm: the answer ended with " + string(e.Stop)
	}
	return "llm: the answer ended with " + strconv.Quote(e.Word[:min(len(e.Word), stopWordBytesMax)])
}

// stopWordBytesMax bounds how much an error repeats of the provider's finish reason.
const stopWordBytesMax = 64

// Error returns a text for operators. It does not repeat Body.
func (e *UpstreamError) Error() string { return "llm: the upstream sent an error" }
