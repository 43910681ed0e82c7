package dialect

import (
	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/dialect/messages"
	"umg/app/dialect/native"
	"umg/app/dialect/rawjson"
	"umg/app/dialect/responses"
	"umg/app/llm"
	"umg/app/sse"
)

// Dialect has the functions that the text pipeline needs for one style. They have no side effects.
type Dialect struct {
	Style llm.Style
	// peek reads the head of a request.
	peek func(body []byte, allowed llm.ExtraSet) (Head, error)
	// Splice appends the request with an edit. All other bytes are unchanged.
	Splice func(dst, body []byte, h *Head, e Edit) []byte
	// NewStream passes a stream of the same style through. The caller closes it. NewStream, ReadBody and KeepAlive are unset in styles
	// that only providers speak.
	NewStream func(a llm.ResponseOptions) Stream
	// ReadBody reads a whole JSON answer of the same style. The answer keeps raw.
	ReadBody func(raw []byte, a llm.ResponseOptions) (Body, error)
	// Frames writes a whole JSON answer as the frames of a stream, for upstreams that answer JSON to a call that asked for a stream.
	Frames func(raw []byte) ([]byte, error)
	// Status returns the HTTP status of an error, and AppendError appends its body.
	Status      func(*app.Error) int
	AppendError func(dst []byte, e *app.Error, requestID string) []byte
	// AppendNotice appends an error after the end of a stream that the gateway ended early. It is nil for styles whose clients would read
	// that as a failure of the whole answer.
	AppendNotice func(dst []byte, e *app.Error, requestID string) []byte
	// Codec reads and writes the style for translations.
	Codec llm.Codec
	// KeepAlive is the frame that keeps a silent stream open.
	KeepAlive string
}

// Of returns the dialect of a style. It reports false for an unknown style.
func Of(s llm.Style) (*Dialect, bool) {
	d, ok := dialects[s]
	return d, ok
}

// Peek reads the head of a request for which no extra is allowed. It checks the JSON only as far as it reads it, because the contract
// checks the rest.
func (d *Dialect) Peek(body []byte) (Head, error) { return d.peek(body, llm.ExtraSet{}) }

// PeekAllowing reads the head of a request as Peek does, with some extras allowed.
func (d *Dialect) PeekAllowing(body []byte, allowed llm.ExtraSet) (Head, error) {
	return d.peek(body, allowed)
}

// Read decodes a request of the style for a translation.
func (d *Dialect) Read(body []byte) (*llm.Request, error) { return d.Codec.DecodeRequest(body) }

// Error returns the status and the body of an error in a known style.
func Error(s llm.Style, e *app.Error, requestID string) (status int, body []byte) {
	d := dialects[s]
	return d.Status(e), d.AppendError(nil, e, requestID)
}

// Traits returns the rules of a style, and nil for an unknown style.
func Traits(s llm.Style) *llm.Traits {
	if d, ok := dialects[s]; ok {
		return d.Codec.Traits()
	}
	return nil
}

var dialects = map[llm.Style]*Dialect{
	llm.Chat: {
		Style: llm.Chat, peek: peekChat, Splice: spliceChat, NewStream: newChatStream, ReadBody: readChatBody, Frames: chatFrames,
		Codec:  chat.Codec{},
		Status: app.HTTPStatus, AppendError: chat.AppendError, AppendNotice: chat.AppendNotice, KeepAlive: chat.KeepAlive,
	},
	llm.Messages: {
		Style: llm.Messages, peek: peekMessages, Splice: spliceMessages, NewStream: newMessagesStream, ReadBody: readMessagesBody,
		Frames: framesBy(messages.Codec{}, deltaFormat), Codec: messages.Codec{},
		Status: messages.Status, AppendError: messages.AppendError, KeepAlive: messages.KeepAlive,
	},
	llm.Responses: {
		Style: llm.Responses, peek: peekResponses, Splice: spliceResponses, NewStream: newResponsesStream, ReadBody: readResponsesBody,
		Frames: framesBy(responses.Codec{}, responsesFormat), Codec: responses.Codec{},
		Status: app.HTTPStatus, AppendError: responses.AppendError, KeepAlive: responses.KeepAlive,
	},
	llm.Native: {
		Style: llm.Native, peek: peekNative, Splice: spliceNative, NewStream: newNativeStream, ReadBody: readNativeBody,
		Frames: nativeFrames, Codec: native.Codec{},
		Status: app.HTTPStatus, AppendError: native.AppendError, KeepAlive: native.KeepAlive,
	},
	llm.Converse: converseDialect,
	llm.Cohere:   cohereDialect,
}

// Head has the members of a request that the gateway needs to price and to send it.
type Head struct {
	Model  string
	Stream bool
	// IncludeUsage means that the client asks for the usage of a stream.
	IncludeUsage bool
	// MaxTokens is the bound on output tokens in the request; zero for none.
	MaxTokens int64
	// Choices is the number of answers, at least one.
	Choices int64
	// TextBytes counts the bytes that can become input tokens.
	TextBytes int64
	// DenseBytes counts those of TextBytes that make more tokens than others, such as digits, punctuation and Chinese characters, in what
	// the model reads. DenseTokens is the most tokens of them.
	DenseBytes, DenseTokens int64
	// Tools counts the tools that the request offers. TypedTools counts those of them that the provider has defined, though the client
	// runs them.
	Tools, TypedTools int64
	// Images counts the images of the request.
	Images int64
	// Documents counts the documents that the provider fetches or stores. The gateway does not know their lengths.
	Documents int64
	EndUser   string

	// BodyBytes is the size of the whole request.
	BodyBytes int64
	// TextTokens is an estimate of the tokens of the text. It is usually below what providers count.
	TextTokens int64
	// MediaTokens is such an estimate for documents, audio and video.
	MediaTokens int64
	// Opaque is the number of documents, audio and video. Their bytes do not bound their tokens.
	Opaque int64

	text textSize
	bad  *app.Error
	// allowed are the extras with which the head was read, and uses is what those of them can cause that the request asks for; nil for
	// nothing.
	allowed llm.ExtraSet
	uses    *Allowed
	// refusal is the extra for which the request is refused; nil for none.
	refusal *refusal
	// extras are the parts of the request that the gateway does not send to a provider; nil for none.
	extras *extraScan
	spans  [fieldCount]rawjson.Span
	// members are the model and the stream with their names.
	members [fieldStream + 1]rawjson.Span
}

// Err is the error for a value that the gateway itself depends on. The contract is checked first, since its errors are
// more exact; Err catches values that the contract allows.
func (h *Head) Err() error {
	if h.refusal != nil {
		return h.refusal.err(h.Model, nil)
	}
	if h.bad == nil {
		return nil
	}
	return h.bad
}

// Edit has the changes of a request before it goes upstream.
type Edit struct {
	// Model is the provider's name of the model.
	Model string
	// MaxTokens bounds the output tokens of each choice. Zero leaves the bound of the request.
	MaxTokens int64
	// Counting means that the provider only counts the tokens of the request.
	Counting bool
	// OutputBound is the name under which a bound is added to a chat request; empty for the former name, which most providers know.
	OutputBound string
	// NoStreamOptions means that the provider of a chat stream sends the usage unasked, and refuses to be asked.
	NoStreamOptions bool
	// EndUser replaces every id of an end user in the request; empty to keep them.
	EndUser string
	// EndUserMember is the member in which the provider takes EndUser, which is added; empty when it is not known to take one.
	EndUserMember string
}

// StreamStats are the statistics of an answer so far.
type StreamStats struct {
	// Usage is the last valid usage.
	Usage llm.Usage
	// Reported means that the provider sent a usage, and no content after it.
	Reported bool
	// ContentBytes counts the bytes of text, reasoning and tool arguments.
	ContentBytes int64
	// ContentFrames is the number of frames with content; zero for a body.
	ContentFrames int64
	// Finish is the llm.Stop of the answer; empty when the provider did not send one.
	Finish string
	// Progress counts the bytes of content from the provider, including content that the client received from an earlier attempt.
	Progress int64
	// Ended means that the provider sent its end mark and the answer is complete.
	Ended bool
	// Whole means that the answer is complete, even if the end mark or the usage is missing.
	Whole bool
	// Last means that the answer may have ended, in a style without an end mark.
	Last bool
	// Doubtful means that the provider continued after an earlier end of the answer.
	Doubtful bool
}

// Empty reports whether the answer has neither content nor an end that explains why.
func (t StreamStats) Empty() bool {
	return t.ContentBytes == 0 && (t.Finish == "" || t.Finish == string(llm.StopOther))
}

// Step says what a frame means to the caller of a Stream.
type Step uint8

// The steps of a stream.
const (
	// Idle frames have nothing for the client: a comment, a broken frame, or a frame that is left out.
	Idle Step = iota
	// Lifecycle frames announce the stream. They are kept until there is content.
	Lifecycle
	// Content means that the client may receive what was appended.
	Content
	// Held frames come after the end of the answer. They are kept until the charge is durable.
	Held
	// Done means that the provider has sent its end mark.
	Done
)

// Stream converts the frames of one answer to the client's style.
type Stream interface {
	// Frame appends the bytes that may be sent to the client now.
	Frame(dst []byte, f sse.Frame) ([]byte, Step, error)
	// Stats returns the statistics so far.
	Stats() StreamStats
	// Finish appends all held frames, with the charge, and the end of the stream.
	Finish(dst []byte, c llm.Charge) []byte
	// Fail appends the end of a stream with an error, before or after its first frame. The charge is nil when the call costs nothing.
	Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte
	// Close releases the stream's memory.
	Close()
}

// RunLimit bounds a run of frames. A run ends with the frame that reaches a bound.
type RunLimit struct {
	Frames       int64
	ContentBytes int64
	// Bytes bounds the bytes that wait for the client, with those of the run.
	Bytes int
}

// Runner is a Stream that can pass several frames at once, each of them content like the frame before.
type Runner interface {
	// Run appends the bytes that may be sent to the client now. It passes no frame when the next one needs Frame.
	Run(dst []byte, r *sse.Reader, limit RunLimit) []byte
}

// Body is a whole JSON answer.
type Body interface {
	Stats() StreamStats
	// Append appends the answer as the client reads it, with the charge.
	Append(dst []byte, c llm.Charge) []byte
}
