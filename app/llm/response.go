package llm

import "umg/app"

// Stop says why an answer ended.
type Stop string

// The reasons. Each dialect has one table from these to its own words and one back; wire.md section 2.5.
const (
	StopEnd         Stop = "stop"
	StopSequence    Stop = "stop_sequence"
	StopLength      Stop = "length"
	StopContextFull Stop = "context_full"
	StopToolCalls   Stop = "tool_calls"
	StopFilter      Stop = "content_filter"
	StopRefusal     Stop = "refusal"
	StopPause       Stop = "pause"
	StopMalformed   Stop = "malformed" // the model's tool call could not be read
	StopError       Stop = "error"     // the provider failed, or gave the answer up
	StopOther       Stop = "other"
)

// Failed reports whether an answer that ended for this reason has failed: no client can use it as an answer.
func (s Stop) Failed() bool { return s == StopError || s == StopMalformed }

// Response is a whole answer.
type Response struct {
	ID       string // the provider's own
	Parts    []Part // text, calls, reasoning and refusals
	Stop     Stop
	StopText string // the stop sequence that was met
	Usage    Usage
	Reported bool        // whether the provider gave a usage that can be true
	Cost     *app.Amount // Cost is the price that the caller sees; nil before it is known.
}

// Ask is what shapes an answer besides what the model said.
type Ask struct {
	Model        string // the public id, which is the only name that shows
	CallID       string // of the call; ids of the answer and of its parts are made from it
	Created      int64  // Unix seconds
	Choices      int64
	IncludeUsage bool     // a chat client asked for the usage of its stream
	Request      *Request // as the client made it; nil when the answer is passed on and not translated
}

// Spent is what an answer has used and cost when it ends with an error, up to what the client has of it.
type Spent struct {
	Usage Usage
	Cost  app.Amount
}

// EventKind is what an event of a stream is.
type EventKind uint8

// The events, in the order they come: one start, then for each part its start, its deltas and its end, then one
// finish. Parts never overlap.
const (
	EventStart EventKind = iota + 1
	EventPart
	EventDelta
	EventPartEnd
	EventFinish
)

// Event is one step of a streamed answer.
type Event struct {
	Kind EventKind
	Part PartKind // of EventPart, EventDelta and EventPartEnd

	ID    string   // of EventStart: the provider's own id of the answer
	Call  ToolCall // of EventPart when it begins a call; its arguments follow as deltas
	Delta string   // of EventDelta: text, reasoning, refusal, or a piece of the arguments

	// Signature and Redacted come with the EventPartEnd of a reasoning part.
	Signature string
	Redacted  bool

	Stop     Stop   // of EventFinish
	StopText string // of EventFinish
	Usage    Usage  // of EventStart as far as it is known then, and of EventFinish
	Reported bool   // whether Usage was read and can be true
	Cost     *app.Amount
}
