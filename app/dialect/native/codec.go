package native

import "umg/app/llm"

// KeepAlive is a blank line: clients of this style take nothing else between two frames.
const KeepAlive = "\n"

// Codec reads and writes the native style.
type Codec struct{}

var _ llm.Codec = Codec{}

// Traits are the rules of this style.
func (Codec) Traits() *llm.Traits { return &traits }

// traits has no name for images by address, which are fetched beforehand, nor for media kept by a provider, which mean
// nothing to another one. A name of a tool begins with a letter or _ here.
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
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder { return &decoder{options: a} }

// Encoder writes the frames of one stream.
func (Codec) Encoder(a *llm.ResponseOptions) llm.StreamEncoder { return newEncoder(a) }
