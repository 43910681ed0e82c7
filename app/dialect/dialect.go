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

// Dialect is what the text pipeline needs of one style. All functions are pure.
type Dialect struct {
	Style llm.Style
	// Peek reads the head of a request. It checks the outline of the JSON only: the contract checks the rest.
	Peek func(body []byte) (Head, error)
	// Splice appends the request as it goes upstream: changed as told, and otherwise byte for byte.
	Splice func(dst, body []byte, h *Head, e Edit) []byte
	// NewStream passes on a stream of the same style. The caller closes it.
	NewStream func(a llm.ResponseOptions) Stream
	// ReadBody reads a whole JSON answer of the same style; the answer keeps raw.
	ReadBody func(raw []byte, a llm.ResponseOptions) (Body, error)
	// Frames writes a whole JSON answer as the frames of a stream, for upstreams that answer JSON to a call that asked
	// for a stream.
	Frames func(raw []byte) ([]byte, error)
	// Status is the HTTP status of an error in the style's own words, and AppendError its body.
	Status      func(*app.Error) int
	AppendError func(dst []byte, e *app.Error, requestID string) []byte
	// AppendNotice appends an error behind the end of a stream that ended well but before its time. It is nil for styles
	// whose clients take a second end for a failure of the whole answer.
	AppendNotice func(dst []byte, e *app.Error, requestID string) []byte
	// Codec reads and writes the style for translations.
	Codec llm.Codec
	// KeepAlive is what keeps a silent stream open.
	KeepAlive string
}

// Of returns the dialect of a style, if it is spoken.
func Of(s llm.Style) (*Dialect, bool) {
	d, ok := dialects[s]
	return d, ok
}

// Read decodes a request of the style for a translation.
func (d *Dialect) Read(body []byte) (*llm.Request, error) { return d.Codec.DecodeRequest(body) }

// Error is the status and the body of an error in a style that is spoken.
func Error(s llm.Style, e *app.Error, requestID string) (status int, body []byte) {
	d := dialects[s]
	return d.Status(e), d.AppendError(nil, e, requestID)
}

// Traits are the rules of a style, nil when it is not spoken.
func Traits(s llm.Style) *llm.Traits {
	if d, ok := dialects[s]; ok {
		return d.Codec.Traits()
	}
	return nil
}

var dialects = map[llm.Style]*Dialect{
	llm.Chat: {
		Style: llm.Chat, Peek: peekChat, Splice: spliceChat, NewStream: newChatStream, ReadBody: readChatBody, Frames: chatFrames,
		Codec:  chat.Codec{},
		Status: chat.Status, AppendError: chat.AppendError, AppendNotice: chat.AppendNotice, KeepAlive: chat.KeepAlive,
	},
	llm.Messages: {
		Style: llm.Messages, Peek: peekMessages, Splice: spliceMessages, NewStream: newMessagesStream, ReadBody: readMessagesBody,
		Frames: framesBy(messages.Codec{}, deltaMeter), Codec: messages.Codec{},
		Status: messages.Status, AppendError: messages.AppendError, KeepAlive: messages.KeepAlive,
	},
	llm.Responses: {
		Style: llm.Responses, Peek: peekResponses, Splice: spliceResponses, NewStream: newResponsesStream, ReadBody: readResponsesBody,
		Frames: framesBy(responses.Codec{}, responsesMeter), Codec: responses.Codec{},
		Status: responses.Status, AppendError: responses.AppendError, KeepAlive: responses.KeepAlive,
	},
	llm.Native: {
		Style: llm.Native, Peek: peekNative, Splice: spliceNative, NewStream: newNativeStream, ReadBody: readNativeBody,
		Frames: nativeFrames, Codec: native.Codec{},
		Status: native.Status, AppendError: native.AppendError, KeepAlive: native.KeepAlive,
	},
}

// Head is what the gateway must know of a request before it can be priced and sent.
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
	// Images counts the images of the request.
	Images int64
	// Documents are fetched or stored by the provider, so that the gateway does not know their lengths.
	Documents int64
	EndUser   string

	// BodyBytes is the size of the whole request.
	BodyBytes int64
	// TextTokens is how many tokens the text has, by an estimate that usually stays below what providers count.
	TextTokens int64
	// MediaTokens is an estimate of the same kind for documents, sounds and films.
	MediaTokens int64
	// Opaque is the number of documents, sounds and films, whose tokens their bytes do not bound.
	Opaque int64

	text textSize
	bad  *app.Error
	// extras are the parts of the request that the gateway does not send to a provider; nil for none.
	extras *extraScan
	spans  [fieldCount]rawjson.Span
	// members are the model and the stream with their names.
	members [fieldStream + 1]rawjson.Span
}

// Err is the error for a value that the gateway itself depends on. The contract is checked first, since its errors are
// more exact; Err catches values that the contract allows.
func (h *Head) Err() error {
	if h.bad == nil {
		return nil
	}
	return h.bad
}

// Edit is what changes in a request on its way upstream.
type Edit struct {
	// Model is the provider's name of the model.
	Model string
	// MaxTokens bounds the output tokens of each choice. Zero leaves the bound of the request.
	MaxTokens int64
	// Counting means that the provider only counts the tokens of the request.
	Counting bool
}

// StreamStats is what was seen of an answer so far.
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

// Step is what a frame was.
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

// Stream passes the frames of one answer on in the client's style.
type Stream interface {
	// Frame appends what the client may have now.
	Frame(dst []byte, f sse.Frame) ([]byte, Step, error)
	// Tally is what was seen so far.
	Stats() StreamStats
	// Finish appends all that was held back, with the bill, and the end of the stream.
	Finish(dst []byte, b llm.Charge) []byte
	// Fail appends how the stream ends with an error, whether the client has seen something of it or nothing, and what
	// was spent on it; nil when that is nothing.
	Fail(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte
	// Close gives the stream's memory back.
	Close()
}

// Body is a whole JSON answer.
type Body interface {
	Stats() StreamStats
	// Append appends the answer as the client reads it, with the bill.
	Append(dst []byte, b llm.Charge) []byte
}
