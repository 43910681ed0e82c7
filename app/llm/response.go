package llm

import "umg/app"

// Response is a whole answer.
type Response struct {
	// ID is the provider's own id of the answer.
	ID string
	// Parts are text, tool calls, reasoning and refusals.
	Parts []Part
	Stop  Stop
	// StopText is the stop sequence that ended the answer.
	StopText string
	Usage    Usage
	// Reported means that the provider sent a usage that can be correct.
	Reported bool
	// Cost is the price that the client sees; nil before it is known.
	Cost *app.Amount
}

// ResponseOptions is what the request says about the form of the answer.
type ResponseOptions struct {
	// Model is the public id, the only name of the model that a client sees.
	Model string
	// CallID is the id of the request. The ids of the answer and of its parts are derived from it.
	CallID string
	// Created is in Unix seconds.
	Created int64
	Choices int64
	// IncludeUsage means that a client of the chat style asked for the usage of its stream.
	IncludeUsage bool
	// Request is the request of the client; nil when the answer is passed on without translation.
	Request *Request
	// UsageReader reads the usage of the provider; nil for the reader of the provider's style.
	UsageReader UsageReader
	// ThinkText means that a text of the provider may begin with reasoning between the marks <think> and </think>.
	ThinkText bool
}

// Charge is the usage and the cost of an answer, as the client reads them.
type Charge struct {
	Usage Usage
	// Estimated means that the gateway counted the usage, which replaces the usage of the provider.
	Estimated bool
	Cost      app.Amount
	// Truncated means that the gateway ended the answer at the length that was paid for. The answer still needs a finish reason.
	Truncated bool
}

// EventKind is the kind of an event of a stream.
type EventKind uint8

// An answer has one start, then for each part its start, its deltas and its end, then one finish. Parts never overlap.
const (
	EventStart EventKind = iota + 1
	EventPart
	EventDelta
	EventPartEnd
	EventFinish
)

// Event is one event of a streamed answer.
type Event struct {
	Kind EventKind
	// Part is set for EventPart, EventDelta and EventPartEnd.
	Part PartKind

	// ID is set for EventStart: the provider's own id of the answer.
	ID string
	// Call is set for EventPart when it begins a tool call. Its arguments follow as deltas.
	Call ToolCall
	// Delta is set for EventDelta: a piece of text, reasoning, refusal or arguments.
	Delta string

	// Signature and Redacted come with the EventPartEnd of a reasoning part.
	Signature string
	Redacted  bool

	// Stop is set for EventFinish.
	Stop Stop
	// StopText is set for EventFinish.
	StopText string
	// Usage is set for EventStart as far as it is known, and for EventFinish.
	Usage Usage
	// Reported means that Usage was read and can be correct.
	Reported bool
	Cost     *app.Amount
}
