package catalog

import "umg/app/llm"

// Outcome is what a translation to another style does with a feature of a request.
type Outcome string

// These are the outcomes, in the words of the documents.
const (
	Carried         Outcome = "carried"
	Dropped         Outcome = "dropped"
	Refused         Outcome = "refused"
	DoneByGateway   Outcome = "done by the gateway"
	FetchedAsData   Outcome = "fetched and sent as data"
	SentAsFunctions Outcome = "sent as functions"
)

// TranslationOutcome returns what a translation does with a feature of the client's style when the provider has the upstream style.
func TranslationOutcome(f llm.Feature, client, upstream *llm.Traits) Outcome {
	switch {
	case upstream == nil || upstream == client || upstream.Fields[f] != "" && f.Translated():
		return Carried
	case f == llm.FeatureStop:
		return DoneByGateway
	case f == llm.FeatureImageURL && upstream.Fields[llm.FeatureImageData] != "":
		return FetchedAsData
	case f == llm.FeatureCustomTool:
		return SentAsFunctions
	case f.Droppable():
		return Dropped
	default:
		return Refused
	}
}
