package chat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

const (
	// callIDCharsMax bounds the id of a tool call, because the vendor of the style refuses longer ones.
	callIDCharsMax = 40
	// endUserCharsMax bounds the client's id of an end user, because the vendor of the style refuses longer ones.
	endUserCharsMax = 64
	// failureBytesMax bounds how much of an upstream's error is kept.
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

// finishReasons has the finish reason of each llm.Stop. All others are "stop".
var finishReasons = map[llm.Stop]string{
	llm.StopLength:      "length",
	llm.StopContextFull: "length",
	llm.StopToolCalls:   "tool_calls",
	llm.StopFilter:      "content_filter",
	llm.StopRefusal:     "content_filter",
}

// decodeStop returns why an answer ended whose parts are known. Some upstreams send "stop" after tool calls, and a refusal has no finish
// reason of its own.
func decodeStop(reason string, calls, refusal bool) llm.Stop {
	stop := llm.StopOf(reason)
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

// encodeStop returns the finish reason of an answer. It is the reverse of decodeStop.
func encodeStop(stop llm.Stop, calls, refusal bool) string {
	reason, ok := finishReasons[stop]
	if !ok || stop == llm.StopRefusal && refusal || stop == llm.StopToolCalls && !calls {
		reason = "stop"
	}
	if calls && reason == "stop" {
		reason = "tool_calls"
	}
	return reason
}

// verbatim are the options for writing a request, whose schemas stay as the client wrote them.
var verbatim = json.JoinOptions(jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// refused returns the error for a request that llm.Request cannot hold.
func refused(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "unsupported_parameter", format, args...).At(param)
}

// wrong returns the error for a request that does not follow the style.
func wrong(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
}
