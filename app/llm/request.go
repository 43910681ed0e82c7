package llm

// Number is the text of a JSON number, kept as it was written; empty when the request does not say.
type Number string

// Request is a text call. Zero values say nothing: an upstream's own default holds.
type Request struct {
	Model  string
	Stream bool
	Turns  []Turn
	Tools  []Tool
	Choice ToolChoice
	// Parallel says whether one turn may have several tool calls; nil leaves it to the provider.
	Parallel *bool
	Sampling Sampling
	// MaxOutput bounds the output tokens, with reasoning. Zero means no bound.
	MaxOutput int64
	Stop      []string
	Format    Format
	Reasoning ReasoningOptions
	// Thinking says which forms of Reasoning the model refuses in the messages style.
	Thinking ThinkingForms
	// Verbosity is low, medium or high.
	Verbosity string
	EndUser   string
	// EndUserField is the member that named the end user, where its style has several and it was not the usual one.
	EndUserField string
	// Metadata keeps the order of the request.
	Metadata []Pair

	// Choices is the number of answers when it is more than one.
	Choices int64
	// LogProbs asks for the probabilities of tokens.
	LogProbs bool
	// OneCall means that the client reads only one tool call of an answer, in the older form of its style.
	OneCall bool
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
	Role Role
	// Name is the name of the participant in styles that have one.
	Name  string
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
	// Call is a tool call of the model.
	Call
	// Result is the result of a tool, in a turn of the user.
	Result
	// Reasoning is the reasoning of the model.
	Reasoning
	// Refusal is the text with which the model declines to answer.
	Refusal
)

// Part is one piece of a turn. Which fields count follows from its kind.
type Part struct {
	Kind PartKind
	// Text is set for Text, Reasoning and Refusal.
	Text string
	// Media is set for images, audio, video and files.
	Media  Media
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
	// Type is the media type, such as image/png. It is empty when the request does not say it.
	Type string
	// Data is base64.
	Data string
	// URL is an https address.
	URL string
	// FileID is the id of a file at the provider.
	FileID string
	// Text is a file that is sent as plain text.
	Text string
	// Name is the name of a file.
	Name string
	// Detail of an image is low, high, auto or original.
	Detail string
}

// ToolCall is one call of a tool. Arguments are JSON text, never parsed, so that no digit and no order is lost; for a
// custom tool they are free text.
type ToolCall struct {
	ID   string
	Name string
	// Group is the namespace of the tool in styles that have namespaces.
	Group     string
	Arguments string
	Custom    bool
}

// ToolResult is the answer to a tool call.
type ToolResult struct {
	CallID string
	// Name is the name of the tool. Codecs of styles without it look it up by the id of the call.
	Name string
	// Parts are text, images and files.
	Parts  []Part
	Error  bool
	Custom bool
}

// Tool is a function that the model may call.
type Tool struct {
	Name string
	// Group is the namespace of the tool in styles that have namespaces.
	Group       string
	Description string
	// Parameters is a JSON Schema; nil when the tool takes no parameters.
	Parameters []byte
	Strict     *bool
	// Custom tools take free text. Their Parameters is the format object of the style, or nil.
	Custom bool
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
	// FormatJSON is any JSON.
	FormatJSON
	// FormatSchema is JSON that follows a schema.
	FormatSchema
)

// Format is what an answer's text must look like.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	// Schema is a JSON Schema.
	Schema []byte
	Strict *bool
}

// Effort is how hard a model is asked to think: none, minimal, low, medium, high, xhigh or max.
type Effort string

// ReasoningOptions steer the thinking of a model.
type ReasoningOptions struct {
	Effort Effort
	// Budget is a number of tokens; -1 leaves it to the model.
	Budget Number
	// Show is auto, concise, detailed or omitted: how much of the reasoning the client wants to read.
	Show string
}
