package native

import (
	"umg/app/llm"
	"umg/app/usagereader"
)

// KeepAlive is a blank line, which is all that clients of this style accept between two frames.
const KeepAlive = "\n"

// Codec reads and writes the native style.
type Codec struct{}

var _ llm.Codec = Codec{}

// Traits are the rules of this style.
func (Codec) Traits() *llm.Traits { return &traits }

// traits has no field for images by address, because the gateway fetches them, and none for files that a provider keeps, because another
// provider cannot read them.
var traits = llm.Traits{
	Style:        llm.Native,
	Conversation: "contents",
	StopsBlank:   true,
	Fields: [llm.FeatureCount]string{
		llm.FeatureTopK:        "generationConfig.topK",
		llm.FeatureSeed:        "generationConfig.seed",
		llm.FeaturePenalties:   "generationConfig.presencePenalty, generationConfig.frequencyPenalty",
		llm.FeatureMetadata:    "labels",
		llm.FeatureReasoning:   "generationConfig.thinkingConfig",
		llm.FeatureStop:        "generationConfig.stopSequences",
		llm.FeatureSchema:      "generationConfig.responseJsonSchema",
		llm.FeatureJSON:        "generationConfig.responseMimeType",
		llm.FeatureImageData:   "inlineData",
		llm.FeatureFileData:    "inlineData",
		llm.FeatureAudio:       "inlineData",
		llm.FeatureVideo:       "inlineData",
		llm.FeatureResultMedia: "functionResponse.parts",
	},
	StopsMax: 5, TurnsBlank: true, UserFirst: true, ResultsNext: true,
	NameMax:  128,
	NameAlso: ".:",
	NameWord: true,
}

// Decoder reads the frames of one stream.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder {
	return &decoder{options: a, report: usagereader.NewReport()}
}

// Encoder writes the frames of one stream.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder { return newEncoder(a) }
