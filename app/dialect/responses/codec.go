package responses

import (
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

const (
	callIDCharsMax  = 64
	endUserCharsMax = 64
	// outputTokensMin is the smallest max_output_tokens.
	outputTokensMin = 16
)

const (
	// KeepAlive is a comment, which every client skips.
	KeepAlive = ": keepalive\n\n"

	// paragraph separates texts that are joined.
	paragraph = "\n\n"

	// endMark is not part of the style, but some servers end their streams with it.
	endMark = "[DONE]"
)

// Codec reads and writes the responses style.
type Codec struct{}

var _ llm.Codec = Codec{}

var traits = llm.Traits{
	Style:        llm.Responses,
	Conversation: "input",
	NameMax:      128,
	TurnsBlank:   true,
	UserLast:     true,
	SystemMedia:  true,
	Fields: [llm.FeatureCount]string{
		llm.FeatureVerbosity:   "text.verbosity",
		llm.FeatureMetadata:    "metadata",
		llm.FeatureEndUser:     "safety_identifier",
		llm.FeatureDetail:      "detail",
		llm.FeatureParallel:    "parallel_tool_calls",
		llm.FeatureReasoning:   "reasoning",
		llm.FeatureCustomTool:  "tools (custom)",
		llm.FeatureSchema:      "text.format (json_schema)",
		llm.FeatureJSON:        "text.format (json_object)",
		llm.FeatureLogProbs:    "top_logprobs",
		llm.FeatureImageData:   "input_image.image_url (data)",
		llm.FeatureImageURL:    "input_image.image_url",
		llm.FeatureFileData:    "input_file.file_data",
		llm.FeatureFileURL:     "input_file.file_url",
		llm.FeatureFileID:      "file_id",
		llm.FeatureResultMedia: "function_call_output.output",
	},
}

// Traits are the rules of the style.
func (Codec) Traits() *llm.Traits { return &traits }

// checked are the options for reading requests. Their contract has refused duplicate names of known members.
var checked = jsontext.AllowDuplicateNames(true)

// The statuses of an answer, and the reasons of an incomplete one.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusQueued     = "queued"

	reasonLength = "max_output_tokens"
	reasonFilter = "content_filter"
)

// ending is the status of an answer, with the reason of an incomplete one.
type ending struct{ status, reason string }

var endings = map[llm.Stop]ending{
	llm.StopEnd:         {statusCompleted, ""},
	llm.StopSequence:    {statusCompleted, ""},
	llm.StopToolCalls:   {statusCompleted, ""},
	llm.StopPause:       {statusCompleted, ""},
	llm.StopRefusal:     {statusCompleted, ""},
	llm.StopLength:      {statusIncomplete, reasonLength},
	llm.StopContextFull: {statusIncomplete, reasonLength},
	llm.StopFilter:      {statusIncomplete, reasonFilter},
}

// decodeStop returns why an answer ended. The status does not tell tool calls and refusals from other answers.
func decodeStop(e ending, calls, refused bool) llm.Stop {
	reason := e.status
	if reason == statusIncomplete && e.reason != "" {
		reason = e.reason
	}
	switch stop := llm.StopOf(reason); {
	case stop == llm.StopEnd && calls:
		return llm.StopToolCalls
	case stop == llm.StopEnd && refused:
		return llm.StopRefusal
	default:
		return stop
	}
}

// encodeStop returns the status of an answer. A refusal without text is reported as a content filter.
func encodeStop(stop llm.Stop, refused bool) ending {
	if stop == llm.StopRefusal && !refused {
		return ending{statusIncomplete, reasonFilter}
	}
	if e, known := endings[stop]; known {
		return e
	}
	return ending{status: statusFailed}
}
