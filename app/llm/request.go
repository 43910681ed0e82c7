package llm

import "slices"

// Number is the text of a JSON number, kept as it was written; empty when the request does not say.
type Number string

// Request is a text call. A zero value leaves the setting to the default of the provider.
type Request struct {
	Model string
	// ProviderModel is the name that the provider has for the model, for codecs whose options depend on the model. It may be empty.
	ProviderModel string

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
	// EndUserField is the member with the end user, when its style has several and the request did not use the usual one.
	EndUserField string
	// Metadata keeps the order of the request.
	Metadata []Pair

	// Choices is the number of answers when it is more than one.
	Choices int64
	// LogProbs asks for the probabilities of tokens.
	LogProbs bool
	// OneCall means that the client reads only one tool call of an answer, in the older form of its style.
	OneCall bool
	// Dropped are the members of the request, by their names in its style, that this form cannot hold and that do not change what the
	// answer means: cache hints, service tiers, unknown members and tools that only one vendor runs.
	Dropped []string
}

// droppedMax bounds the list of dropped members, which the client reads in a header.
const droppedMax = 64

// Drop adds a member to the list of dropped members, once.
func (r *Request) Drop(name string) {
	if len(r.Dropped) < droppedMax && !slices.Contains(r.Dropped, name) {
		r.Dropped = append(r.Dropped, name)
	}
}

// AddTurn appends parts to the last turn when it has the same role, and otherwise as a turn of their own. Turns of the system stay apart.
func (r *Request) AddTurn(role Role, parts ...Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(r.Turns); n > 0 && role != System && r.Turns[n-1].Role == role {
		r.Turns[n-1].Parts = append(r.Turns[n-1].Parts, parts...)
		return
	}
	r.Turns = append(r.Turns, Turn{Role: role, Parts: parts})
}

// TextBytes is the size of the texts, the arguments and the media of the conversation, without the results of tools.
func (r *Request) TextBytes() (n int) {
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			p := &r.Turns[i].Parts[j]
			n += len(p.Text) + len(p.Call.Arguments) + len(p.Media.Data)
		}
	}
	return n
}

// Pair is one entry of the metadata of the client.
type Pair struct{ Key, Value string }

// Sampling is how the provider draws tokens.
type Sampling struct {
	Temperature, TopP, TopK, PresencePenalty, FrequencyPenalty, Seed Number
}

// Role is the role of a turn.
type Role uint8

// These are the roles. Results of tools are parts of a turn of the user.
const (
	User Role = iota
	Assistant
	System
)

// Turn is what one role says before the other. The codecs merge consecutive messages of one role into one turn, except turns of the system.
type Turn struct {
	Role Role
	// Name is the name of the participant in styles that have one.
	Name  string
	Parts []Part
}

// PartKind is the kind of a part of a turn or of an answer.
type PartKind uint8

// These are the kinds of parts.
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

// Part is one piece of a turn. Its kind decides which fields are used.
type Part struct {
	Kind PartKind
	// Text is set for Text, Reasoning and Refusal.
	Text string
	// Media is set for images, audio, video and files.
	Media  Media
	Call   ToolCall
	Result ToolResult

	// Signature is the proof of a reasoning part. Only the provider that made it can read it. In styles where the proof belongs to a
	// tool call, it is on an empty reasoning part before the call.
	Signature string
	// Redacted means that the signature is the whole reasoning, because its text was withheld.
	Redacted bool
	Place    Place
}

// SortFirst moves the parts of a kind to the front. The order is otherwise unchanged.
func SortFirst(parts []Part, kind PartKind) {
	rank := func(p *Part) int {
		if p.Kind == kind {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return rank(&a) - rank(&b) })
}

// TextPart returns a text with its path in the request of the client.
func TextPart(text, path string) Part { return Part{Kind: Text, Text: text, Place: Place{Path: path}} }

// Media is an image, a sound, a video or a file. Exactly one of Data, URL, FileID and Text is set.
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

// ToolCall is one call of a tool. Arguments are JSON text that is never parsed, so that digits and order stay; for a custom tool they
// are free text.
type ToolCall struct {
	ID   string
	Name string
	// Group is the namespace of the tool in styles that have namespaces.
	Group     string
	Arguments string
	Custom    bool
}

// ToolResult is the result of a tool call.
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

// These are the values of Choosing.
const (
	ChooseUnset Choosing = iota
	ChooseAuto
	ChooseNone
	ChooseRequired
)

// ToolChoice says which tools the model may or must call. Names restricts Auto and Required to some of the tools. Required with one
// name means exactly this tool.
type ToolChoice struct {
	Mode  Choosing
	Names []string
}

// FormatKind is the kind of text that an answer must be.
type FormatKind uint8

// These are the formats.
const (
	FormatUnset FormatKind = iota
	FormatText
	// FormatJSON is any JSON.
	FormatJSON
	// FormatSchema is JSON that follows a schema.
	FormatSchema
)

// Format is the form that the text of an answer must have.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	// Schema is a JSON Schema.
	Schema []byte
	Strict *bool
}

// Effort is the amount of thinking that a request asks for: none, minimal, low, medium, high, xhigh or max.
type Effort string

// ReasoningOptions control the thinking of a model.
type ReasoningOptions struct {
	Effort Effort
	// Budget is a number of tokens; -1 leaves it to the model.
	Budget Number
	// Show is auto, concise, detailed or omitted: how much of the reasoning the client wants to read.
	Show string
}
