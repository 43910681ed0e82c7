package chat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	// callIDCharsMax is how long the id of a tool call may be: the maker of the style refuses longer ones.
	callIDCharsMax = 40
	// endUserCharsMax is how long the caller's own id of a person may be, for the same reason.
	endUserCharsMax = 64
	// failureBytesMax is how much is kept of an error that an upstream sent.
	failureBytesMax = 64 << 10
)

// Codec reads and writes the chat-completions style.
type Codec struct{}

// Traits are the rules of the style.
func (Codec) Traits() *llm.Traits { return &traits }

var traits = llm.Traits{
	Style:        llm.Chat,
	Conversation: "messages",
	StopsBlank:   true,
	Fields: [llm.FeatureCount]string{
		llm.FeatureSeed:        "seed",
		llm.FeaturePenalties:   "presence_penalty, frequency_penalty",
		llm.FeatureVerbosity:   "verbosity",
		llm.FeatureMetadata:    "metadata",
		llm.FeatureEndUser:     "user",
		llm.FeatureParticipant: "messages[].name",
		llm.FeatureDetail:      "image_url.detail",
		llm.FeatureParallel:    "parallel_tool_calls",
		llm.FeatureReasoning:   "reasoning_effort",
		llm.FeatureCustomTool:  "tools[].custom",
		llm.FeatureStop:        "stop",
		llm.FeatureSchema:      "response_format",
		llm.FeatureJSON:        "response_format",
		llm.FeatureChoices:     "n",
		llm.FeatureLogProbs:    "logprobs",
		llm.FeatureImageData:   "image_url",
		llm.FeatureImageURL:    "image_url",
		llm.FeatureFileData:    "file.file_data",
		llm.FeatureFileID:      "file.file_id",
		llm.FeatureAudio:       "input_audio",

		// The media of a result are in the message after it.
		llm.FeatureResultMedia: "image_url",
	},
	StopsMax: 4, TurnsBlank: true,
	NameMax: 64,
}

// stops are the words for why an answer ended: the style's own, and those that other makers of it use.
var stops = map[string]llm.Stop{
	"stop":           llm.StopEnd,
	"length":         llm.StopLength,
	"tool_calls":     llm.StopToolCalls,
	"content_filter": llm.StopFilter,
	"function_call":  llm.StopToolCalls,

	"end_turn":      llm.StopEnd,
	"eos":           llm.StopEnd,
	"stop_sequence": llm.StopSequence,
	"max_tokens":    llm.StopLength,
	"model_length":  llm.StopContextFull,
	"tool_use":      llm.StopToolCalls,
	"safety":        llm.StopFilter,
	"recitation":    llm.StopFilter,
	"refusal":       llm.StopRefusal,

	// Cohere uses this and the following words.
	"complete":    llm.StopEnd,
	"tool_call":   llm.StopToolCalls,
	"error_toxic": llm.StopFilter,
	"error_limit": llm.StopContextFull,

	"model_context_window_exceeded": llm.StopContextFull,

	"malformed_function_call": llm.StopMalformed,
	"malformed_tool_call":     llm.StopMalformed,

	"error":                        llm.StopError,
	"server_error":                 llm.StopError,
	"network_error":                llm.StopError,
	"insufficient_system_resource": llm.StopError,
	"sensitive":                    llm.StopError,
	"abort":                        llm.StopError,
	"aborted":                      llm.StopError,
	"cancelled":                    llm.StopError,
	"user_cancel":                  llm.StopError,
	"timeout":                      llm.StopError,
}

// stopWords are the style's words for the reasons; the others are "stop".
var stopWords = map[llm.Stop]string{
	llm.StopLength:      "length",
	llm.StopContextFull: "length",
	llm.StopToolCalls:   "tool_calls",
	llm.StopFilter:      "content_filter",
	llm.StopRefusal:     "content_filter",
}

// StopOf is what a finish reason means; empty when there is none.
func StopOf(word string) llm.Stop {
	if stop, ok := stops[word]; ok {
		return stop
	}
	if word == "" {
		return ""
	}
	if stop, ok := stops[strings.ToLower(word)]; ok {
		return stop
	}
	return llm.StopOther
}

// decodeStop says why an answer ended whose parts are known. Its calls count for more than the upstream's word, as
// some say "stop" after them, and so do words of refusal, which have no finish reason of their own.
func decodeStop(word string, calls, refusal bool) llm.Stop {
	stop := StopOf(word)
	switch {
	case stop != llm.StopEnd:
		return stop
	case calls:
		return llm.StopToolCalls
	case refusal:
		return llm.StopRefusal
	}
	return stop
}

// encodeStop is decodeStop the other way round.
func encodeStop(stop llm.Stop, calls, refusal bool) string {
	word, ok := stopWords[stop]
	if !ok || stop == llm.StopRefusal && refusal || stop == llm.StopToolCalls && !calls {
		word = "stop"
	}
	if calls && word == "stop" {
		word = "tool_calls"
	}
	return word
}

// lenient is how upstreams are read: what is odd in their JSON must not cost the client the answer.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// verbatim keeps schemas as they were written.
var verbatim = json.JoinOptions(jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// refused is a request that has no place in the form.
func refused(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "unsupported_parameter", format, args...).At(param)
}

// wrong is a request that the style does not know.
func wrong(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
}
