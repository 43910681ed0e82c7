package cohere

import (
	"umg/app"
	"umg/app/llm"
	"umg/app/usagereader"
)

// Codec reads and writes the style.
type Codec struct{}

const (
	// stopsMax is the number of stop sequences that the provider takes.
	stopsMax = 5
	// nameMax bounds the characters of the name of a tool.
	nameMax = 64
)

// traits are the rules of the style.
var traits = llm.Traits{
	Style:        llm.Cohere,
	Conversation: "messages",
	Fields: [llm.FeatureCount]string{
		llm.FeatureTopK:      "k",
		llm.FeatureSeed:      "seed",
		llm.FeaturePenalties: "presence_penalty, frequency_penalty",
		llm.FeatureDetail:    "image_url.detail",
		llm.FeatureReasoning: "thinking",
		llm.FeatureStop:      "stop_sequences",
		llm.FeatureSchema:    "response_format.json_schema",
		llm.FeatureJSON:      "response_format",
		llm.FeatureImageData: "image_url.url",
		llm.FeatureImageURL:  "image_url.url (address)",
	},
	StopsMax: stopsMax, StopsBlank: true, UserLast: true,
	NameMax: nameMax, NameWord: true,
}

// Traits are the rules of the style.
func (Codec) Traits() *llm.Traits { return &traits }

// Decoder reads the stream of an upstream.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder {
	return &decoder{options: a, reader: usagereader.For(a, llm.Cohere), report: usagereader.NewReport()}
}

// Encoder writes a stream.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder { return &encoder{options: a} }

// Delivered returns a tracker that never resumes, because no client receives the style.
func (Codec) Delivered(*llm.ResponseOptions) llm.DeliveredStream { return llm.NotResumable{} }

// finishes has the finish_reason of each llm.Stop.
var finishes = map[llm.Stop]string{
	llm.StopEnd:         "COMPLETE",
	llm.StopSequence:    "STOP_SEQUENCE",
	llm.StopLength:      "MAX_TOKENS",
	llm.StopContextFull: "ERROR_LIMIT",
	llm.StopToolCalls:   "TOOL_CALL",
	llm.StopFilter:      "ERROR_TOXIC",
	llm.StopRefusal:     "ERROR_TOXIC",
	llm.StopMalformed:   "ERROR",
	llm.StopError:       "ERROR",
}

// finishWord returns the finish_reason of a stop.
func finishWord(stop llm.Stop) string {
	if word, ok := finishes[stop]; ok {
		return word
	}
	return finishes[llm.StopEnd]
}

// finishOf returns why an answer ended, and the stop sequence that ended it. The provider does not tell which it was.
func finishOf(word string, calls int, a *llm.ResponseOptions) (stop llm.Stop, stopText string) {
	stop = llm.StopOf(word)
	switch {
	case stop == llm.StopEnd && calls > 0:
		stop = llm.StopToolCalls
	case stop == llm.StopSequence && a != nil && a.Request != nil && len(a.Request.Stop) == 1:
		stopText = a.Request.Stop[0]
	}
	return stop, stopText
}

// AppendError appends the body of an error.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = llm.Quote(append(dst, `{"id":`...), requestID)
	return append(llm.Quote(append(dst, `,"message":`...), e.Message), '}')
}

// refuse returns the error for a request that the style cannot express.
func refuse(param, format string, args ...any) *app.Error {
	return app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
}
