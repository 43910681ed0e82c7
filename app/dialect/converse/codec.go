package converse

import (
	"umg/app"
	"umg/app/llm"
	"umg/app/usagereader"
)

// Codec reads and writes the style.
type Codec struct{}

const (
	// stopsMax is the number of stop sequences that every model of the provider takes.
	stopsMax = 4
	// nameMax bounds the characters of the name of a tool.
	nameMax = 64
	// idMax bounds the characters of the id of a call.
	idMax = 64
)

// traits are the rules of the style.
var traits = llm.Traits{
	Style:        llm.Converse,
	Conversation: "messages",
	Fields: [llm.FeatureCount]string{
		llm.FeatureReasoning:   "additionalModelRequestFields",
		llm.FeatureStop:        "inferenceConfig.stopSequences",
		llm.FeatureSchema:      "outputConfig.textFormat",
		llm.FeatureImageData:   "image.source.bytes",
		llm.FeatureFileData:    "document.source.bytes",
		llm.FeatureResultMedia: "toolResult.content",
	},
	StopsMax: stopsMax, UserFirst: true, ResultsNext: true,
	NameMax: nameMax,
}

// Traits are the rules of the style.
func (Codec) Traits() *llm.Traits { return &traits }

// Decoder reads the stream of an upstream.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder {
	return &decoder{options: a, reader: usagereader.For(a, llm.Converse), report: usagereader.NewReport()}
}

// Encoder writes a stream.
func (Codec) Encoder(*llm.ResponseOptions) llm.StreamEncoder { return &encoder{} }

// Delivered returns a tracker that never resumes, because no client receives the style.
func (Codec) Delivered(*llm.ResponseOptions) llm.DeliveredStream { return llm.NotResumable{} }

// stops has the stopReason of each llm.Stop.
var stops = map[llm.Stop]string{
	llm.StopEnd:         "end_turn",
	llm.StopSequence:    "stop_sequence",
	llm.StopLength:      "max_tokens",
	llm.StopContextFull: "model_context_window_exceeded",
	llm.StopToolCalls:   "tool_use",
	llm.StopFilter:      "content_filtered",
	llm.StopRefusal:     "content_filtered",
	llm.StopMalformed:   "malformed_model_output",
	llm.StopError:       "malformed_model_output",
}

// stopWord returns the stopReason of a stop.
func stopWord(stop llm.Stop) string {
	if word, ok := stops[stop]; ok {
		return word
	}
	return stops[llm.StopEnd]
}

// stopOf returns why an answer ended. Some models send end_turn after tool calls.
func stopOf(word string, calls int) llm.Stop {
	stop := llm.StopOf(word)
	if stop == llm.StopEnd && calls > 0 {
		return llm.StopToolCalls
	}
	return stop
}

// AppendError appends the body of an error.
func AppendError(dst []byte, e *app.Error, _ string) []byte {
	return append(llm.Quote(append(dst, `{"message":`...), e.Message), '}')
}

// refuse returns the error for a request that the style cannot express.
func refuse(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
}
