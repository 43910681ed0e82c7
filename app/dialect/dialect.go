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
	NewStream func(a Ask) Stream
	// ReadBody reads a whole JSON answer of the same style; the answer keeps raw.
	ReadBody func(raw []byte, a Ask) (Body, error)
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
	Model        string
	Stream       bool
	IncludeUsage bool  // the client wants to read the usage of a stream
	MaxTokens    int64 // the output tokens asked for at most, zero when the request does not say
	Choices      int64 // how many answers are asked for, at least one
	TextBytes    int64 // bytes that can become input tokens
	Images       int64 // images beside them
	Documents    int64 // Documents are fetched or kept by the provider; the gateway does not know their lengths.
	EndUser      string

	// BodyBytes is the size of the whole request.
	BodyBytes int64
	// TextTokens is how many tokens the text has, by an estimate that usually stays below what providers count.
	TextTokens int64
	// MediaTokens is an estimate of the same kind for documents, sounds and films.
	MediaTokens int64
	// Opaque is the number of documents, sounds and films, whose tokens their bytes do not bound.
	Opaque int64

	text    textWeight
	bad     *app.Error
	extras  *extraWalk // what the request asks for beside an answer, and that does not go upstream; nil when that is nothing
	spans   [fieldCount]rawjson.Span
	members [fieldStream + 1]rawjson.Span // the model and the stream, with their names
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
	Model     string // the upstream's name of the model
	MaxTokens int64  // the most output tokens of each choice; zero leaves the request's own bound
	Counting  bool   // the request goes to the upstream's counting of tokens, which keeps nothing
}

// Ask is what the client asked for, as far as it shapes the answer.
type Ask = llm.Ask

// StreamStats is what was seen of an answer so far.
type StreamStats struct {
	Usage         llm.Usage // the last valid reading
	Reported      bool      // whether there was one, and no content after it
	ContentBytes  int64     // bytes of text, reasoning and tool arguments
	ContentFrames int64     // frames they came in; zero for a body
	Finish        string    // why the answer ended, in the words of llm.Stop; empty when it did not say
	Progress      int64     // bytes of content that the upstream has sent, also of what the client had before
	Ended         bool      // the upstream gave its last mark, and the answer is whole
	Whole         bool      // the answer is whole, though the last mark or the usage may not have come
	Last          bool      // the answer may have ended, in a style that has no last mark
	Doubtful      bool      // the upstream has said before that it had, and went on
}

// Empty reports whether the answer has neither content nor an end that explains why.
func (t StreamStats) Empty() bool {
	return t.ContentBytes == 0 && (t.Finish == "" || t.Finish == string(llm.StopOther))
}

// Bill is what a finished answer tells the client of its price.
type Bill struct {
	Usage     llm.Usage
	Estimated bool // the usage was counted here and replaces what the upstream said
	Cost      app.Amount
	CutShort  bool // the answer was ended here, at the length that was paid for, and needs its finish reason
}

// Step is what a frame was.
type Step uint8

// The steps of a stream.
const (
	Idle      Step = iota // nothing for the client: a comment, a broken frame, or one that is withheld
	Lifecycle             // the stream announces itself; kept until there is content
	Content               // the client may have what was appended
	Held                  // the answer has ended; kept until the charge is durable
	Done                  // the upstream said its last word
)

// Stream passes the frames of one answer on in the client's style.
type Stream interface {
	// Frame appends what the client may have now.
	Frame(dst []byte, f sse.Frame) ([]byte, Step, error)
	// Tally is what was seen so far.
	Tally() StreamStats
	// Finish appends all that was held back, with the bill, and the end of the stream.
	Finish(dst []byte, b Bill) []byte
	// Fail appends how the stream ends with an error, whether the client has seen something of it or nothing, and what
	// was spent on it; nil when that is nothing.
	Fail(dst []byte, e *app.Error, requestID string, spent *llm.Spent) []byte
	// Close gives the stream's memory back.
	Close()
}

// Body is a whole JSON answer.
type Body interface {
	Tally() StreamStats
	// Append appends the answer as the client reads it, with the bill.
	Append(dst []byte, b Bill) []byte
}
