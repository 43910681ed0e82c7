package apidocs

import (
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/llm"
)

// featureRequirement is the name of a feature in the documents, and what a model must have for it to matter: a parameter, or one of
// the modalities in inputs.
type featureRequirement struct{ name, parameter, inputs string }

var features = [llm.FeatureCount]featureRequirement{
	llm.FeatureTopK:        {name: "drawing from the k most likely tokens"},
	llm.FeatureSeed:        {"a seed", "seed", ""},
	llm.FeaturePenalties:   {"penalties", "presence_penalty", ""},
	llm.FeatureVerbosity:   {"verbosity", "verbosity", ""},
	llm.FeatureMetadata:    {name: "your own metadata"},
	llm.FeatureEndUser:     {name: "your identifier of the person"},
	llm.FeatureParticipant: {name: "names of participants"},
	llm.FeatureDetail:      {"the detail of a picture", "", "image"},
	llm.FeatureParallel:    {"one tool call at most", "tools", ""},
	llm.FeatureReasoning:   {"how long to think", "reasoning_effort", ""},
	llm.FeatureCustomTool:  {"tools that take free text", "custom_tools", ""},
	llm.FeatureStop:        {"texts that end the answer", "stop", ""},
	llm.FeatureSchema:      {"JSON that follows a schema", "structured_outputs", ""},
	llm.FeatureJSON:        {"any JSON", "response_format", ""},
	llm.FeatureChoices:     {"more than one answer", "n", ""},
	llm.FeatureLogProbs:    {"probabilities of tokens", "logprobs", ""},
	llm.FeatureImageData:   {"pictures as data", "", "image"},
	llm.FeatureImageURL:    {"pictures by address", "", "image"},
	llm.FeatureFileData:    {"files as data", "", "file"},
	llm.FeatureFileURL:     {"files by address", "", "file"},
	llm.FeatureAudio:       {"sound", "", "audio"},
	llm.FeatureVideo:       {"film", "", "video"},
	llm.FeatureResultMedia: {"pictures and files in the result of a tool", "tools", "image file"},
}

// isMetBy reports whether the model meets the requirement.
func (r featureRequirement) isMetBy(m *catalog.Model) bool {
	reads := func(modality string) bool { return slices.Contains(m.InputModalities, modality) }
	return (r.parameter == "" || slices.Contains(m.Parameters, r.parameter)) &&
		(r.inputs == "" || slices.ContainsFunc(strings.Fields(r.inputs), reads))
}

// loss is a feature of a request that at least one style of the model's providers does not carry.
type loss struct {
	// field is the name of the feature in the style of the client.
	field string
	// feature describes it.
	feature string
	// outcomes has an entry for each style of the model's providers.
	outcomes []catalog.Outcome
}

// upstreamStyles returns the styles of the model's routes in the order in which they are tried.
func upstreamStyles(m *catalog.Model) []llm.Style {
	var all []llm.Style
	for _, r := range m.Routes {
		if !slices.Contains(all, r.Style) {
			all = append(all, r.Style)
		}
	}
	return all
}

// losses lists the features that a style can express and at least one style of the model's routes cannot. It is empty without
// Options.Traits.
func (w *writer) losses(m *catalog.Model, style llm.Style) []loss {
	client := w.traits(style)
	if client == nil {
		return nil
	}
	var all []loss
	for f, field := range client.Fields {
		feature := llm.Feature(f)
		if field == "" || feature == llm.FeatureFileID || !features[feature].isMetBy(m) {
			continue // Every style refuses files that a provider keeps.
		}
		l := loss{field: field, feature: features[feature].name}
		for _, upstream := range upstreamStyles(m) {
			l.outcomes = append(l.outcomes, catalog.TranslationOutcome(feature, client, w.traits(upstream)))
		}
		if slices.ContainsFunc(l.outcomes, func(o catalog.Outcome) bool { return o != catalog.Carried }) {
			all = append(all, l)
		}
	}
	return all
}

func (w *writer) traits(style llm.Style) *llm.Traits {
	if w.o.Traits == nil {
		return nil
	}
	return w.o.Traits(style)
}

// lossNotes returns a sentence for each field that no route of the model can carry.
func lossNotes(all []loss) map[string]string {
	fields := map[string]string{}
	for _, l := range all {
		if slices.ContainsFunc(l.outcomes, func(o catalog.Outcome) bool { return o != l.outcomes[0] }) {
			continue
		}
		for field := range strings.SplitSeq(l.field, ", ") {
			switch l.outcomes[0] {
			case catalog.Dropped:
				fields[field] = "Dropped: no provider of this model knows it."
			case catalog.Refused:
				fields[field] = "Refused for " + l.feature + ": no provider of this model can do it."
			}
		}
	}
	return fields
}
