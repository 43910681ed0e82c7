package messages

import (
	"umg/app/llm"
	"umg/app/usagereader"
)

// Codec reads and writes the style.
type Codec struct{}

const (
	// stopsMax is the gateway's own bound. The style has none.
	stopsMax = 1000
	// nameMax bounds the characters of the name of a tool.
	nameMax = 128
	// idMax bounds the characters of the id of a call, so that every provider of the style accepts it.
	idMax = 64
)

// traits are the rules of the style.
var traits = llm.Traits{
	Style:        llm.Messages,
	Conversation: "messages",
	Fields: [llm.FeatureCount]string{
		llm.FeatureTopK:        "top_k",
		llm.FeatureEndUser:     "metadata.user_id",
		llm.FeatureParallel:    "tool_choice.disable_parallel_tool_use",
		llm.FeatureReasoning:   "thinking",
		llm.FeatureStop:        "stop_sequences",
		llm.FeatureSchema:      "output_config.format",
		llm.FeatureImageData:   "image.source.data",
		llm.FeatureImageURL:    "image.source.url",
		llm.FeatureFileData:    "document.source.data",
		llm.FeatureFileURL:     "document.source.url",
		llm.FeatureFileID:      "source.file_id",
		llm.FeatureResultMedia: "tool_result.content",
	},
	StopsMax: stopsMax, UserFirst: true, ResultsNext: true,
	NameMax: nameMax,
}

// Traits are the rules of the style.
func (Codec) Traits() *llm.Traits { return &traits }

// Decoder reads the stream of an upstream.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder {
	return &decoder{options: a, reader: usagereader.For(a, llm.Messages), report: usagereader.NewReport()}
}

// Encoder writes a stream for a client.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder { return &encoder{options: a} }

// stops has the stop_reason of each llm.Stop.
var stops = map[llm.Stop]string{
	llm.StopEnd:         "end_turn",
	llm.StopSequence:    "stop_sequence",
	llm.StopLength:      "max_tokens",
	llm.StopContextFull: "model_context_window_exceeded",
	llm.StopToolCalls:   "tool_use",
	llm.StopFilter:      "refusal",
	llm.StopRefusal:     "refusal",
	llm.StopPause:       "pause_turn",
	llm.StopMalformed:   "end_turn",
	llm.StopError:       "end_turn",
	llm.StopOther:       "end_turn",
}

// reasons has what each stop_reason means.
var reasons = map[string]llm.Stop{
	"end_turn":                      llm.StopEnd,
	"stop_sequence":                 llm.StopSequence,
	"max_tokens":                    llm.StopLength,
	"model_context_window_exceeded": llm.StopContextFull,
	"tool_use":                      llm.StopToolCalls,
	"refusal":                       llm.StopRefusal,
	"pause_turn":                    llm.StopPause,

	// Providers that translate from another style send these reasons.
	"malformed_tool_use":     llm.StopMalformed,
	"malformed_model_output": llm.StopMalformed,
}

// StopOf returns what a stop_reason means. It is empty when there is none.
func StopOf(reason string) llm.Stop {
	if reason == "" {
		return ""
	}
	if s, ok := reasons[reason]; ok {
		return s
	}
	return llm.StopOfUnknown(reason)
}
