package llm

// Number is the text of a JSON number, kept as it was written; empty when the request does not say.
type Number string

// Request is a text call. Zero values say nothing: an upstream's own default holds.
type Request struct {
	Model     string
	Stream    bool
	Turns     []Turn
	Tools     []Tool
	Choice    ToolChoice
	Parallel  *bool // whether one turn may hold several tool calls
	Sampling  Sampling
	MaxOutput int64 // tokens, reasoning included
	Stop      []string
	Format    Format
	Reasoning ReasoningOptions
	// Thinking says which forms of Reasoning the model refuses in the messages style.
	Thinking  ThinkingForms
	Verbosity string // low, medium or high
	EndUser   string
	// EndUserField is the member that named the end user, where its style has several and it was not the usual one.
	EndUserField string
	Metadata     []Pair // in the order of the wire

	Choices  int64 // answers asked for, when more than one
	LogProbs bool  // the probabilities of tokens are asked for
	OneCall  bool  // the client reads one call of an answer, in the way its style had before it knew several
	// Dropped are the members of the request, as its own style names them, that have no place in this form and do not
	// change what the answer means: cache hints, service tiers, unknown members, tools that only one vendor runs.
	Dropped []string
}

// Pair is one entry of the caller's own metadata.
type Pair struct{ Key, Value string }

// Sampling is how tokens are drawn.
type Sampling struct {
	Temperature, TopP, TopK, PresencePenalty, FrequencyPenalty, Seed Number
}

// Role says whose turn it is.
type Role uint8

// The roles. Tool results are parts of a user's turn.
const (
	User Role = iota
	Assistant
	System
)

// Turn is what one side says before the other does. Wires that repeat a role, or give each tool result a message of
// its own, are merged into one turn by their codec; system turns are never merged.
type Turn struct {
	Role  Role
	Name  string // of the participant, where a style has it
	Parts []Part
}

// PartKind is what a part of a turn, or of an answer, is.
type PartKind uint8

// The kinds of parts.
const (
	Text PartKind = iota + 1
	Image
	Audio
	Video
	File
	Call      // the model calls a tool
	Result    // what the tool said, in a user's turn
	Reasoning // what the model thought
	Refusal   // the model's words for not answering
)

// Part is one piece of a turn. Which fields count follows from its kind.
type Part struct {
	Kind   PartKind
	Text   string // of text, reasoning and refusal
	Media  Media  // of image, audio, video and file
	Call   ToolCall
	Result ToolResult

	// Signature is the proof that goes with a reasoning part, as text that only the provider that made it can read. A
	// wire that ties it to a tool call instead has it on the reasoning part right before that call, whose text is then
	// empty.
	Signature string
	// Redacted says that the signature is the whole reasoning: its text was withheld.
	Redacted bool
	Place    Place
}

// Media is what an image, a sound, a film or a file is. Exactly one of Data, URL, FileID and Text is set.
type Media struct {
	Type   string // media type such as image/png; empty when the wire does not say
	Data   string // base64
	URL    string // https
	FileID string // of the provider
	Text   string // a file given as plain text
	Name   string // of a file
	Detail string // of an image: low, high, auto or original
}

// ToolCall is one call of a tool. Arguments are JSON text, never parsed, so that no digit and no order is lost; for a
// custom tool they are free text.
type ToolCall struct {
	ID        string
	Name      string
	Group     string // the namespace of the tool, where a style has them
	Arguments string
	Custom    bool
}

// ToolResult is the answer to a tool call.
type ToolResult struct {
	CallID string
	Name   string // of the tool; codecs whose wire lacks it find it by the call's id
	Parts  []Part // text, images and files
	Error  bool
	Custom bool
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Group       string // the namespace it came in, where a style has them
	Description string
	Parameters  []byte // JSON Schema, compact or not; nil when it takes none
	Strict      *bool
	Custom      bool // takes free text; Parameters is then the wire's format object, or nil
}

// Choosing says whether the model must call a tool.
type Choosing uint8

// The ways to choose.
const (
	ChooseUnsaid Choosing = iota
	ChooseAuto
	ChooseNone
	ChooseRequired
)

// ToolChoice is which tools the model may or must call. Names narrows Auto and Required to some of the tools; Required
// with one name is that tool and no other.
type ToolChoice struct {
	Mode  Choosing
	Names []string
}

// FormatKind is what an answer's text must look like.
type FormatKind uint8

// The formats.
const (
	FormatUnsaid FormatKind = iota
	FormatText
	FormatJSON   // any JSON
	FormatSchema // JSON that a schema describes
)

// Format is what an answer's text must look like.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	Schema      []byte // JSON Schema
	Strict      *bool
}

// Effort is how hard a model is asked to think: none, minimal, low, medium, high, xhigh or max.
type Effort string

// ReasoningOptions steer the thinking of a model.
type ReasoningOptions struct {
	Effort Effort
	Budget Number // of tokens; -1 leaves it to the model
	Show   string // auto, concise, detailed or omitted: how much of it the caller wants to read
}
